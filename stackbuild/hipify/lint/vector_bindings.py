"""Lint of structured bindings of CUDA's vectors: those of CUDA are structs, those of HIP do not decompose."""

from __future__ import annotations

import re
from collections.abc import Iterator

from stackbuild.hipify.cpp.source_text import View
from stackbuild.hipify.lint.catalogue import LintMatch
from stackbuild.hipify.passes.own_overloads import VECTORS

_BINDING = re.compile(r"auto(?<!\wauto)\s*&{0,2}\s*\[([\w\s,]+)\]\s*(?:=|\(|\{)\s*([^;\n]{1,200})")
_CONSTRUCTION = re.compile(r"(?:::)?(make_)?(\w+)\s*[({]")
_NAME = re.compile(r"\(*\s*[&*]*\s*([A-Za-z_]\w*)\s*(?:\[[^\[\]]*\]|\)|\Z|[;,})])")
_LOAD = re.compile(r"(?:__ld\w+\s*\(\s*[&*]?\s*|tex\w+\s*<\s*)([A-Za-z_]\w*)")
_CAST = re.compile(r"(?:\*\s*)?(?:reinterpret_cast|static_cast)\s*<\s*(?:const\s+)?(\w+)\b|\(+\s*\(\s*(?:const\s+)?(\w+)\s*(?:const\s*)?\*")
_DECLARATION = r"\b([A-Za-z_]\w*)\b(?:\s*>)?(?:\s+const\b)?[\s*&]*(?:__restrict__\s+|const\s+)*\b{name}\b"
_NEAR = 20000
"""So many characters before a binding the declaration may stand."""
_KEYWORDS = frozenset(("return", "else", "case", "goto", "new", "delete", "typename", "const", "volatile"))


def bindings(view: View) -> Iterator[LintMatch]:
    """`auto [x, y] = v` where `v` is a CUDA vector, by its nearest declaration before, its cast or its make function."""
    if "auto" not in view.words or not view.is_cuda:
        return
    for match in _BINDING.finditer(view.code):
        kind = _kind(view.code, match.start(), match[2].strip())
        if kind in VECTORS and int(kind[-1]) == match[1].count(",") + 1:
            yield match.start(), "LINT-VECTOR-BINDING", (kind,)


def _kind(code: str, at: int, value: str) -> str:
    """The type of an initializer, as far as the text tells; empty for none."""
    if (construction := _CONSTRUCTION.match(value)) and (construction[1] or construction[2] in VECTORS):
        return construction[2]
    if cast := _CAST.match(value):
        return cast[1] or cast[2]
    load = _LOAD.match(value)
    if load and load[1] in VECTORS:
        return load[1]
    name = load or _NAME.match(value)
    return _declared_kind(code, at, name[1]) if name else ""


def _declared_kind(code: str, at: int, name: str) -> str:
    """The type that the nearest declaration of a name before an offset gives it."""
    pattern = re.compile(_DECLARATION.format(name=re.escape(name)))
    kinds = [m[1] for m in pattern.finditer(code, max(0, at - _NEAR), at) if m[1] not in _KEYWORDS and _is_declared(m)]
    return kinds[-1] if kinds else ""


def _is_declared(match: re.Match[str]) -> bool:
    """Whether a type and a name are a declaration, and not a product: `a * b`."""
    after = match.string[match.end() : match.end() + 40].lstrip()
    return after[:1] in ("[", "=", ";", ",", ")", "{", "(", ":")
