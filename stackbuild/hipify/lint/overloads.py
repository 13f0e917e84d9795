"""Overloads: two that are one in HIP, and calls with a type that HIP has no overload for."""

from __future__ import annotations

import re
from collections.abc import Iterator

from stackbuild.hipify.cpp.keywords import STATEMENT_HEADS
from stackbuild.hipify.cpp.scan import call_arguments
from stackbuild.hipify.cpp.source_text import View
from stackbuild.hipify.lint.catalogue import BRAIN_FLOATS, LintMatch
from stackbuild.hipify.lint.cpp import branches
from stackbuild.hipify.passes import calls

# CUDA's types that HIP has one type for.
_PAIRS = (("CUresult", ("cudaError_t", "cudaError")), ("CUdeviceptr", ("void",)))
_DEFINITION = re.compile(r"\b(\w+)(?:\s*<\s*(\w+)\s*>)?\s*\(([^(){};]*)\)\s*(?:const\s*)?(?:noexcept\s*)?\{")
_PARAMETER_NAME = re.compile(r"(?<=[\s*&])\w+\s*(?:=.*)?$")
_NO_FUNCTION = STATEMENT_HEADS | {"return"}


def overloads(view: View) -> Iterator[LintMatch]:
    """The later of two definitions of a name that are the same in HIP: overloads, or specializations of a template.

    Of two that each stand in a branch of the preprocessor's it is not sure that both are compiled.
    """
    for one, others in _PAIRS:
        if one not in view.words or view.words.isdisjoint(others):
            continue
        definitions: dict[tuple[str, ...], tuple[tuple[str, ...], bool]] = {}
        for match in _DEFINITION.finditer(view.code):
            if match[1] in _NO_FUNCTION:
                continue
            own = (match[1], match[2] or "", *(_type(text) for text in match[3].split(",")))
            key = tuple(_in_hip(text, one, others) for text in own)
            types, is_always_there = definitions.setdefault(key, (own, branches.is_unconditional(view, match.start())))
            if types != own:
                is_sure = is_always_there or branches.is_unconditional(view, match.start())
                yield match.start(1), "LINT-SAME-OVERLOAD" if is_sure else "LINT-SAME-OVERLOAD-IF", (match[1], one, others[0])


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


_BIT_ATOMIC = "cast the pointer to unsigned long long*"
WIDE_INTEGERS = frozenset(
    (
        *(
            "long",
            "unsigned long",
            "long long",
            "unsigned long long",
            "long long int",
            "unsigned long long int",
            "long int",
        ),
        *("unsigned long int", "size_t", "int64_t", "uint64_t", "std::size_t", "std::int64_t", "std::uint64_t"),
    )
)
"""Integers of 64 bits, as sources spell them."""
_REALS = frozenset(("float", "double", "__half", "half", *BRAIN_FLOATS))
# Types of the first argument that CUDA has an overload for, or converts, and HIP 5.7 and 6.4 do not; and what to do.
_WITHOUT = {
    **dict.fromkeys(("atomicAnd", "atomicOr", "atomicXor"), (frozenset(("long long", "long long int")), _BIT_ATOMIC)),
    "atomicCAS": (
        frozenset(("short", "unsigned short", "unsigned short int", "uint16_t", "std::uint16_t", "ushort", "__half", "half")),
        "compare and swap the 32 bits that it lies in",
    ),
    "__ldg": (frozenset((*BRAIN_FLOATS, "ushort4")), "use a plain load"),
    "sincos": (frozenset(("float",)), "use sincosf"),
    "__ffs": (WIDE_INTEGERS | _REALS, "cast it to int, or use __ffsll"),
}  # fmt: skip
_CAST = re.compile(
    r"\s*(?:\(\s*(?:const\s+|volatile\s+)?([\w: ]+?)\s*\*?\s*\)|(?:reinterpret|static)_cast\s*<\s*(?:const\s+|volatile\s+)?([\w: ]+?)\s*\*?\s*>\s*\()"
)
_VARIABLE = re.compile(r"[&(*\s]*(\w+)\s*(?:\[[^\[\]]*\]\s*)*(?:[-+].*)?\Z", re.S)
_TYPE = re.compile(
    r"((?:\b(?:unsigned|signed|long|short)\s+)*\b[A-Za-z_][\w:]*)(?:\s+const)?(?:\s*[*&]\s*|\s+)(?:__restrict__\s*)?\Z"
)
_BEFORE = 3000


def no_overloads(view: View) -> Iterator[LintMatch]:
    """Calls whose first argument has a type that HIP has no overload for: by a cast, or the nearest declaration before."""
    for name in sorted(view.words & _WITHOUT.keys()):
        types, fix = _WITHOUT[name]
        for at in view.own(name):
            argument_list = call_arguments(view.code, at + len(name))
            if not argument_list or calls.declares(view, at, argument_list[0]):
                continue
            kind = type_of_value(view.code, *argument_list[0][0])
            if kind in types:
                yield at, "LINT-NO-OVERLOAD", (name, kind, fix)


def type_of_value(code: str, start: int, end: int) -> str:
    """The type that an argument is cast to, or that its variable is declared with before; without `*`."""
    argument = code[start:end]
    cast = _CAST.match(argument)
    if cast and (argument[cast.end() :].strip() or cast[2]):
        return " ".join((cast[1] or cast[2]).split())
    variable = _VARIABLE.match(argument)
    if not variable:
        return ""
    text = code[max(0, start - _BEFORE) : start]
    for use in reversed(list(re.finditer(rf"{variable[1]}(?<!\w{variable[1]})\s*[=;,)\[{{]", text))):
        kind = _TYPE.search(text, max(0, use.start() - 80), use.start())
        if kind and kind[1] != "return":
            return " ".join(kind[1].split())
    return ""
