"""Lint of C++ that nvcc takes and clang, or HIP's types, do not."""

from __future__ import annotations

import re
from collections.abc import Iterator

from stackbuild.hipify.cpp.source_text import View
from stackbuild.hipify.lint.catalogue import LintMatch
from stackbuild.hipify.passes.own_overloads import VECTORS
from stackbuild.hipify.passes.vector_values import ARRAY

_PARAMETERS = re.compile(r"template(?<!\wtemplate)\s*<([^{};()]*?)>\s*(?:[\w:_]|\[\[)")
_PARAMETER = re.compile(r"(\w+)\s*(?:=[^,]*)?(?:,|$)")
_MEMBER_TEMPLATE = re.compile(r"<([^<>;{}()]*)>\s*::\s*(\w+)\s*<[^<>;{}()]*>\s*\(")
_MEMBER = re.compile(r">\s*::\s*\w+\s*<")
_INSTANTIATION = re.compile(r"(?:[^\n]*\W)?template\s+[\w:]")
_BARE_POSITION = re.compile(r"[(,]\s*(threadIdx|blockIdx)\s*[,)]")
_DIM3 = re.compile(r"\bdim3(?:\s+\w+)?\s*\Z")
_UINT3_OF_DIM3 = re.compile(r"\buint3\s+\w+\s*[=({]\s*(dim3)\s*[({]")
_UINT3 = re.compile(r"\buint3\s+([A-Za-z_]\w*)\s*[;=,)({]")
_WORD = re.compile(r"[A-Za-z_]\w*")


def member_templates(view: View) -> Iterator[LintMatch]:
    """Calls of a dependent type's member template without `template`: `cast<T, U>::apply<n>(…)` within a template."""
    if "template" not in view.words or not _MEMBER.search(view.code):
        return
    parameters: set[str] | None = None
    for match in _MEMBER_TEMPLATE.finditer(view.code):
        if parameters is None:
            parameters = {one[1] for of in _PARAMETERS.finditer(view.code) for one in _PARAMETER.finditer(of[1])}
        begins = max(view.code.rfind(mark, 0, match.start()) for mark in ";{}\n") + 1
        if _INSTANTIATION.match(view.code, begins, match.start()):
            continue
        is_name = match[2] not in ("template", "operator")
        if is_name and not parameters.isdisjoint(_WORD.findall(match[1])):
            yield match.start(2), "LINT-TEMPLATE-KEYWORD", (match[2],)


def dimensions(view: View) -> Iterator[LintMatch]:
    """A position of a thread that is handed on as it is, in a text with `uint3`: in HIP it becomes a dim3 only."""
    if "uint3" not in view.words:
        return
    for match in _BARE_POSITION.finditer(view.code):
        if not _DIM3.search(view.code, max(0, match.start() - 60), match.start()):
            yield match.start(1), "LINT-DIM3", (match[1],)
    for match in _UINT3_OF_DIM3.finditer(view.code):
        yield match.start(1), "LINT-DIM3", (match[1],)
    for name in sorted(set(_UINT3.findall(view.code))):
        for match in re.finditer(rf"(?<![\w.>]){name}\s*=\s*(dim3)\s*[({{]", view.code):
            yield match.start(1), "LINT-DIM3", (match[1],)


_POSITION = re.compile(
    r"extern(?<!\wextern)\s+(?:const\s+)?(?:uint3|dim3)\s+(?:const\s+)?(threadIdx|blockIdx|blockDim|gridDim)\s*;"
)


def positions(view: View) -> Iterator[LintMatch]:
    """Declarations of CUDA's built-in variables, which other headers of CUDA's repeat and HIP has with other types."""
    if "extern" in view.words:
        for match in _POSITION.finditer(view.code):
            yield match.start(1), "LINT-BUILT-IN", (match[1],)


_ONE_COMPONENT = frozenset(name for name in VECTORS if name.endswith("1"))
_SINGLE = re.compile(r"[{(,]\s*(\{)\s*(?:[^{}(),;]|\([^{}();]*\))+\}(?!\s*,\s*\")\s*[,})]")

_JINJA = re.compile(r"\{\{\s*\w+\s*\}\}\s*[\w(<>+*]")
"""A value that a program that makes C++ puts in: `{{ type }} a = …`."""


def single_values(view: View) -> Iterator[LintMatch]:
    """Braces of one value among other values, in a text with vectors of one component.

    The values of an array of them get their type by the fix `vector-values`.
    """
    kinds = sorted(view.words & _ONE_COMPONENT)
    if not kinds or _JINJA.search(view.code):
        return
    arrays = [ARRAY.match(view.code, at + len(kind)) for kind in kinds for at in view.places(kind)]
    typed_spans = [array.span(1) for array in arrays if array]
    at = 0
    while match := _SINGLE.search(view.code, at):
        at = match.end() - 1
        if not any(start <= match.start(1) < end for start, end in typed_spans):
            yield match.start(1), "LINT-ONE-VALUE", (kinds[0],)


_TRANSPOSE = frozenset(f"BLOCK_{way}_WARP_TRANSPOSE{end}" for way in ("LOAD", "STORE") for end in ("", "_TIMESLICED"))


def transposes(view: View) -> Iterator[LintMatch]:
    """CUB's loads and stores that transpose by warps: hipCUB wants blocks of whole wavefronts for them."""
    for name in sorted(view.words & _TRANSPOSE):
        for at in view.places(name):
            yield at, "LINT-WARP-TRANSPOSE", (name,)
