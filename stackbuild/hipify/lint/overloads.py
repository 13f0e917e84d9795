"""Functions that differ in CUDA by types that are one type in HIP: there the second one is a redefinition."""

from __future__ import annotations

import re
from collections.abc import Iterator

from stackbuild.hipify.cpp.source_text import View
from stackbuild.hipify.lint.catalogue import LintMatch

# CUDA's types that HIP has one type for.
_PAIRS = (("CUresult", ("cudaError_t", "cudaError")), ("CUdeviceptr", ("void",)))
_DEFINITION = re.compile(r"\b(\w+)(?:\s*<\s*(\w+)\s*>)?\s*\(([^(){};]*)\)\s*(?:const\s*)?(?:noexcept\s*)?\{")
_PARAMETER_NAME = re.compile(r"(?<=[\s*&])\w+\s*(?:=.*)?$")
_NO_FUNCTION = frozenset(("if", "for", "while", "switch", "catch", "return"))


def overloads(view: View) -> Iterator[LintMatch]:
    """The later of two definitions of a name that are the same in HIP: overloads, or specializations of a template."""
    for one, others in _PAIRS:
        if one not in view.words or view.words.isdisjoint(others):
            continue
        definitions: dict[tuple[str, ...], tuple[str, ...]] = {}
        for match in _DEFINITION.finditer(view.code):
            if match[1] in _NO_FUNCTION:
                continue
            own = (match[1], match[2] or "", *(_type(text) for text in match[3].split(",")))
            key = tuple(_in_hip(text, one, others) for text in own)
            if definitions.setdefault(key, own) != own:
                yield match.start(1), "LINT-SAME-OVERLOAD", (match[1], one, others[0])


def _type(parameter: str) -> str:
    """The type of a parameter, without its name and with single blanks."""
    words = parameter.replace("const", " ").split()
    text = " ".join(words)
    return _PARAMETER_NAME.sub("", text).strip() if len(words) > 1 else text


def _in_hip(text: str, one: str, others: tuple[str, ...]) -> str:
    """The type with the two types as one; `void` only as a pointer."""
    if others == ("void",):
        return "void *" if text in (one, "void *", "void*") else text
    return one if text in others else text
