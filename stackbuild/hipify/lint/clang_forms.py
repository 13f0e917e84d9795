"""Lint of C++ that nvcc takes and clang, or HIP's types, do not."""

from __future__ import annotations

import re
from collections.abc import Iterator

from stackbuild.hipify.cpp.source_text import View
from stackbuild.hipify.lint.catalogue import LintMatch

_PARAMETERS = re.compile(r"template(?<!\wtemplate)\s*<([^{};()]*?)>\s*(?:[\w:_]|\[\[)")
_PARAMETER = re.compile(r"(\w+)\s*(?:=[^,]*)?(?:,|$)")
_MEMBER_TEMPLATE = re.compile(r"<([^<>;{}()]*)>\s*::\s*(\w+)\s*<[^<>;{}()]*>\s*\(")
_DIM3 = re.compile(r"dim3(?<!\wdim3)\s+(?:const\s+)?([A-Za-z_]\w*)")
_WORD = re.compile(r"[A-Za-z_]\w*")


def member_templates(view: View) -> Iterator[LintMatch]:
    """Calls of a dependent type's member template without `template`: `cast<T, U>::apply<n>(…)` within a template."""
    if "template" not in view.words:
        return
    known: set[str] | None = None
    for match in _MEMBER_TEMPLATE.finditer(view.code):
        if known is None:
            known = {one[1] for of in _PARAMETERS.finditer(view.code) for one in _PARAMETER.finditer(of[1])}
        if not known.isdisjoint(_WORD.findall(match[1])) and match[2] != "template":
            yield match.start(2), "LINT-TEMPLATE-KEYWORD", (match[2],)


def dimensions(view: View) -> Iterator[LintMatch]:
    """A dim3 that is given a uint3: HIP's dim3 is made of numbers only."""
    if "dim3" not in view.words or "make_uint3" not in view.words:
        return
    for name in sorted({match[1] for match in _DIM3.finditer(view.code)}):
        for match in re.finditer(rf"{name}(?<!\w{name})(?<!\.{name})\s*=\s*make_uint3\s*\(", view.code):
            yield match.start(), "LINT-DIM3", (name,)


_TRANSPOSE = frozenset(f"BLOCK_{way}_WARP_TRANSPOSE{end}" for way in ("LOAD", "STORE") for end in ("", "_TIMESLICED"))


def transposes(view: View) -> Iterator[LintMatch]:
    """CUB's loads and stores that transpose by warps: hipCUB wants blocks of whole wavefronts for them."""
    for name in sorted(view.words & _TRANSPOSE):
        for at in view.places(name):
            yield at, "LINT-WARP-TRANSPOSE", (name,)
