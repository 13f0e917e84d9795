"""Libraries of one wheel that are alternatives: the package loads one of them, by the GPU runtime that it finds.

bitsandbytes has libbitsandbytes_rocm64.so, …_rocm70.so and more: each is linked to another ROCm, and no process loads two.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable

from stackbuild.inspection.facts import Library

_SHARED_FRACTION = 0.5
"""Least share of the exports of one that another has too: alternatives offer the same functions."""


def alternatives(libraries: Iterable[Library]) -> tuple[tuple[Library, ...], ...]:
    """All libraries in groups: those of a group are alternatives, one that has none is a group of its own.

    Alternatives lie in one folder, have names that differ by numbers alone, export much the same, and none needs another.
    """
    alike: dict[str, list[Library]] = defaultdict(list)
    for lib in libraries:
        alike[re.sub(r"\d+", "", lib.path)].append(lib)
    return tuple(group for members in alike.values() for group in _groups(members))


def _groups(alike: list[Library]) -> list[tuple[Library, ...]]:
    if len(alike) > 1 and all(_exclude(alike[0], other) for other in alike[1:]):
        return [tuple(alike)]
    return [(lib,) for lib in alike]


def _exclude(one: Library, other: Library) -> bool:
    """Whether no process has a use for both: each exports what the other does, and neither needs the other."""
    needed_libraries = {*one.needed, *other.needed}
    names = {lib.soname or lib.path.rsplit("/", 1)[-1] for lib in (one, other)}
    ours, theirs = set(one.exports), set(other.exports)
    return not needed_libraries & names and len(ours & theirs) > _SHARED_FRACTION * min(len(ours), len(theirs))
