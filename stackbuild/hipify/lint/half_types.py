"""Lint of 16-bit floating point where HIP's types have fewer conversions and operators than CUDA's.

Each form was compiled for HIP 5.7 and 6.4 (`cuda_forms.py --forms halves`). Types are those of the nearest declaration
before a name in the same text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from stackbuild.hipify.cpp.scan import back_space
from stackbuild.hipify.cpp.source_text import View
from stackbuild.hipify.lint.catalogue import BRAIN_FLOATS, LintMatch
from stackbuild.hipify.lint.overloads import WIDE_INTEGERS, type_of_value

_HALF = ("__half", "half")
_HALF_VALUES = frozenset(("__half", "half", "__half2", "half2"))
_FLOATS = frozenset((*_HALF, *BRAIN_FLOATS[:2]))
_ANY_FLOAT = "|".join(sorted(_FLOATS))
_INITIAL = re.compile(rf"\b({_ANY_FLOAT})(?:\s+\w+)?\s*(?:=|[({{])\s*([A-Za-z_]\w*)\s*[;)}},]")
_CAST = re.compile(rf"(?:\(\s*({_ANY_FLOAT})\s*\)|static_cast<\s*({_ANY_FLOAT})\s*>\s*\()\s*([A-Za-z_]\w*)\s*[;),]")
_CHANGES = re.compile(r"[-+*/]=|\+\+|--")
"""The operators that HIP 5.7 lacks for pairs of halves in functions for the host alone: it has the others."""
_HALF_ASSIGNMENT = re.compile(r"(?<![\w.>*&])([A-Za-z_]\w*)\s*([-+*/]?=)\s*([A-Za-z_]\w*)\s*;")
# Each begins with its type's letters: the search then skips to those.
_WIDE_DECLARED = {
    name: re.compile(rf"{name}(?<!\w{name})(?:\s+(?:int|const|long|unsigned))*\s+([A-Za-z_]\w*)\s*[=;,)]")
    for name in ("long", "size_t", "int64_t", "uint64_t")
}
_FLOAT_DECLARED = {
    name: re.compile(rf"{name}(?<!\w{name})(?:\s+const)?\s+([A-Za-z_]\w*)\s*[=;,)]")
    for name in (*sorted(_FLOATS), "__half2", "half2")
}
_INTEGERS = frozenset(
    (
        *("bool", "char", "signed char", "unsigned char", "short", "unsigned short", "int", "unsigned", "unsigned int"),
        *("uint8_t", "int8_t", "uint16_t", "int16_t", "uint32_t", "int32_t"),
        *WIDE_INTEGERS,
    )
)


@dataclass(frozen=True)
class _HalfConversion:
    """A value that becomes one of 16 bits: where the target is named, its type, and where the value's name begins."""

    at: int
    target: str
    value_at: int
    value: str


def conversions(view: View, major: int) -> Iterator[LintMatch]:
    """Values that HIP's bfloat16 or half has no conversion from, or several: 64-bit integers, and each other.

    Before ROCm 6.0 the support header's bfloat16 takes both.
    """
    if 0 < major < 6 or view.words.isdisjoint(BRAIN_FLOATS):
        return
    for use in _uses(view):
        kind = type_of_value(view.code, use.value_at, use.value_at + len(use.value))
        is_wide = use.target in BRAIN_FLOATS and kind in WIDE_INTEGERS
        if is_wide or (kind in _FLOATS and (kind in _HALF) != (use.target in _HALF)):
            yield use.at, "LINT-NO-OVERLOAD", (use.target, kind, "cast the value to float first")


def _declared_names(view: View, patterns: dict[str, re.Pattern[str]]) -> set[str]:
    """The names that a text declares with one of some types, by a pattern for each."""
    types = view.words & patterns.keys()
    return {name for of in types for name in patterns[of].findall(view.code)}


def _assignments(view: View, names: set[str]) -> Iterator[re.Match[str]]:
    """The assignments of one name to one of `names`."""
    for name in sorted(names):
        for at in view.places(name):
            if match := _HALF_ASSIGNMENT.match(view.code, at):
                yield match


def _casts(view: View) -> Iterator[re.Match[str]]:
    """The casts of one name to a 16-bit type."""
    code = view.code
    for name in sorted(view.words & _FLOATS):
        for at in view.places(name):
            before = back_space(code, at)
            start = before - 1 if code.startswith("(", before - 1) else before - len(_STATIC)
            if start >= 0 and (match := _CAST.match(code, start)):
                yield match


_STATIC = "static_cast<"


def _uses(view: View) -> Iterator[_HalfConversion]:
    """Initial values, casts and assignments of a 16-bit type by one name."""
    for name in sorted(view.words & _FLOATS):
        for at in view.places(name):
            if match := _INITIAL.match(view.code, at):
                yield _HalfConversion(match.start(), match[1], match.start(2), match[2])
    for match in _casts(view):
        yield _HalfConversion(match.start(), match[1] or match[2], match.start(3), match[3])
    floats, wide = _declared_names(view, _FLOAT_DECLARED), _declared_names(view, _WIDE_DECLARED)
    for match in _assignments(view, floats):
        if match[3] in wide or match[3] in floats:
            target = type_of_value(view.code, match.start(1), match.end(1))
            if target in _FLOATS:
                yield _HalfConversion(match.start(1), target, match.start(3), match[3])


def host_operators(view: View, major: int) -> Iterator[LintMatch]:
    """Arithmetic and comparison of halves in functions that the host may call: before ROCm 6.0 the device alone has it."""
    if not 0 < major < 6 or not view.is_cuda or view.words.isdisjoint(_HALF_VALUES):
        return
    names = sorted(_declared_names(view, _FLOAT_DECLARED))
    if not names:
        return
    either = "|".join(map(re.escape, names))
    operators = re.compile(
        rf"(?<![\w.>])(?P<first>{either})\s*(?:\+\+|--|[-+*/]=?|[<>]=?|[=!]=)(?!>)"
        rf"|(?:\+\+|--|(?:=|return)\s*[-+])\s*(?P<last>{either})\b"
    )
    for match in operators.finditer(view.code):
        group = "first" if match["first"] else "last"
        kind = type_of_value(view.code, *match.span(group))
        if kind not in _HALF_VALUES or not _may_be_of_host(view, match.start()):
            continue
        is_for_both = any("__device__" in head for head in _heads(view, match.start()))
        if kind in _HALF or is_for_both or _CHANGES.search(match[0]):
            yield match.start(), "LINT-HALF-HOST", (match[group],)


def host_assignments(view: View) -> Iterator[LintMatch]:
    """Integers assigned to a half in a function for host and device: HIP has these assignments for the device alone."""
    if not view.is_cuda or view.words.isdisjoint(_HALF):
        return
    for match in _assignments(view, _declared_names(view, _FLOAT_DECLARED)):
        if match[2] == "=" and type_of_value(view.code, *match.span(1)) in _HALF:
            kind = type_of_value(view.code, *match.span(3))
            heads = _heads(view, match.start()) if kind in _INTEGERS else []
            if any("__host__" in head and "__device__" in head for head in heads):
                yield match.start(), "LINT-HALF-HOST", (match[1],)


def _may_be_of_host(view: View, at: int) -> bool:
    """Whether an offset stands in a function that is not for the device alone."""
    heads = _heads(view, at)
    return bool(heads) and not any(
        "__global__" in head or ("__device__" in head and "__host__" not in head) or _MACRO.search(head)
        for head in heads
    )


_MACRO = re.compile(r"\b[A-Z][A-Z0-9_]{2,}\b")
"""A macro of the project, which may say that a function is for the device."""


def _heads(view: View, at: int) -> list[str]:
    """What stands before the braces around an offset, of those that may be functions."""
    return [head for head in (view.braces.head(pair) for pair in view.braces.around(at)) if "(" in head]
