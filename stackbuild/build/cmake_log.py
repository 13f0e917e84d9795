"""CMake cache entries that a project did not use. An option that was renamed upstream is ignored in silence otherwise, and
the ROCm wheel turns out to be a CPU build (lilbee#630). Pure.
"""

from __future__ import annotations

import re

_WARNING = re.compile(r"Manually-specified variables were not used by the project:\n((?:[ \t]*\n|[ \t]+\S+[ \t]*\n?)*)")


def unused_entries(log: str, must_use: tuple[str, ...]) -> tuple[str, ...]:
    """The cache entries that must be used and that CMake's output lists as unused, sorted.

    Entries that a project's own build script adds may stay unused (onnxruntime#11719).
    """
    named_options = {name for block in _WARNING.findall(log) for name in block.split()}
    return tuple(sorted(named_options & set(must_use)))
