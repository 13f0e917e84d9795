"""variant.json of a wheel variant (PEP 825, a draft): its values, and which of them name a GPU target without a look at one."""

from __future__ import annotations

import re
from collections.abc import Iterator

from stackbuild.core.digest import Json

_TARGET = re.compile(r"gfx[0-9a-f]{3,5}(-[a-z0-9-]+)?")


def static_values(value: Json) -> set[str]:
    """The texts under `static-properties`, at any depth: drafts had it at the top and within a provider."""
    return {text for part in _under("static-properties", value) for text in _texts(part)}


def is_gpu_target(text: str) -> bool:
    """Whether a value of a property names a gfx target, as `gfx1100` or `gfx9-4-generic`."""
    return _TARGET.fullmatch(text) is not None


def _under(name: str, value: Json) -> Iterator[Json]:
    for inner in _all(value):
        if isinstance(inner, dict) and name in inner:
            yield inner[name]


def _texts(value: Json) -> Iterator[str]:
    for inner in _all(value):
        if isinstance(inner, str):
            yield inner[:200]


def _all(value: Json) -> Iterator[Json]:
    """A value and all values within it. No depth is too much for it."""
    rest = [value]
    while rest:
        inner = rest.pop()
        yield inner
        if isinstance(inner, dict | list):
            rest.extend(inner.values() if isinstance(inner, dict) else inner)
