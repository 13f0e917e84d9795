"""The conditional branches of a text that HIP's compiler leaves out, by the macros that only HIP defines."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial

from stackbuild.hipify.cpp.chains import CONDITIONAL, conditionals
from stackbuild.hipify.cpp.scan import NAME, call_arguments, line_end, line_start, skip_space
from stackbuild.hipify.cpp.source_text import View
from stackbuild.hipify.lint.cpp import conditions
from stackbuild.model.findings import Finding, Severity

# Parts of macros' names, between underscores, that say HIP: USE_AMD_ROCM, GGML_USE_HIP, __HIP_DEVICE_COMPILE__, __AMDGCN__.
_PARTS = re.compile(
    r"(?<![A-Z0-9])(?:HIP(?:CC|BLAS|CL|RTC)?|ROC(?:M|TX|BLAS|PRIM|THRUST|SPARSE|FFT|RAND|SOLVER)|RCCL|MIOPEN|AMD(?:GPU|GCN)?|[RC]DNA\d?|GFX\w+)(?![A-Z0-9])",
    re.I,
)
# The same for CUDA: SPFFT_CUDA, USE_CUDNN, __NVCC__. Beside a branch for HIP, such a branch is the other one.
_CUDA_PARTS = re.compile(r"(?<![A-Z0-9])(?:CUDA(?:CC|RT)?|NV(?:CC|IDIA|COMPILER)?|CU(?:BLAS|DNN))(?![A-Z0-9])", re.I)
# HIP over CUDA: what HIP's headers define for NVIDIA's GPUs alone.
_HIP_ON_CUDA = re.compile(r"HIP_PLATFORM_NV(?:CC|IDIA)")
_IN_TEXT = ("HIP", "ROC", "RCCL", "MIOPEN", "AMD", "DNA", "GFX", "hip", "roc", "rccl", "miopen", "amd", "gfx")
# What HIP's headers and compiler never define: CUDA's architecture and versions, macros of NVIDIA's headers that nothing
# stands for, those of other compilers, and those of editors that only read the text.
_FOREIGN_MACROS = frozenset(
    ("__CUDA_ARCH__", "CUDART_VERSION", "CUDA_VERSION", "__CUDACC_VER_MAJOR__", "__CUDACC_VER_MINOR__", "CUB_VERSION", "CUDNN_VERSION", "CUDNN_MAJOR", "CCCL_VERSION", "CCCL_MAJOR_VERSION",
     "NV_NPPIDEFS_H", "NVJPEGAPI", "NVML_API_VERSION", "NVML_DEVICE_SERIAL_BUFFER_SIZE", "NVML_DEVICE_NAME_BUFFER_SIZE",
     "__JETBRAINS_IDE__", "__CLION_IDE__", "__INTELLISENSE__", "__CDT_PARSER__", "__RESHARPER__", "Q_CREATOR_RUN",
     "__xlC__", "__xlc__", "__INTEL_COMPILER", "__PGI", "__PGIC__", "__NVCOMPILER", "_CRAYC", "__SUNPRO_CC", "_MSC_VER")
)  # fmt: skip
# Versions of CUDA's libraries, and what the headers of libraries of NVIDIA's alone define.
_OF_LIBRARY = re.compile(
    r"CU(?:BLAS|SPARSE|FFT|RAND|SOLVER|TENSOR|DSS)_VER_\w+|(?:CUPTI|NVML|NPP|NVJPEG|NVSHMEMX?|OPTIX|NV_ENC|CUTE_ARCH|CUTLASS_ARCH)_\w+"
    r"|_?LIBCUDACXX_VERSION"
)
_LIBRARY_PARTS = (
    "_VER_",
    "CUPTI_",
    "NVML_",
    "NPP_",
    "NVJPEG_",
    "NVSHMEM",
    "OPTIX_",
    "NV_ENC_",
    "CUTE_ARCH_",
    "CUTLASS_ARCH_",
    "LIBCUDACXX_VERSION",
)
_CONSTANT = re.compile(r"#[ \t]*if[ \t]+[01][ \t]*\n")
# `!defined(X) || X >= 200`, the reverse, `defined(X) && X < 200`: without X the branch of the newest is taken.
_AS_NEWEST = re.compile(
    r"!\s*defined\s*\(?\s*(\w+)\s*\)?\s*\|\|\s*\(?\s*\1\s*>=?"
    r"|\b(\w+)\s*>=?\s*\w+\s*\)?\s*\|\|\s*!\s*defined\s*\(?\s*\2\b"
    r"|(?<!!)(?<!! )defined\s*\(?\s*(\w+)\s*\)?\s*&&?\s*\(?\s*\3\s*<=?\s*\w+"
)
_PRAGMAS = re.compile(
    r"(?:\s*#[ \t]*pragma\b[^\n]*\n)+(?:\s*#[ \t]*else\b[^\n]*\n(?:\s*#[ \t]*pragma\b[^\n]*\n)*)?\s*#[ \t]*endif\b"
)
"""A branch that only tells the compiler what to print or how to unroll: without it the code does the same."""
_INCLUDES = re.compile(r"(?:\s*#[ \t]*include\b[^\n]*\n)+\s*#[ \t]*endif\b")
"""A branch that only includes what would define the macro."""
_NEGATION = re.compile(r"!\s*(?:defined\s*)?\(?\s*\Z")

_DIRECTIVE = re.compile(r"[ \t]*#[ \t]*(if|elif|ifdef|ifndef|elifdef|elifndef|define|undef|error|warning|pragma)\b")

Span = tuple[int, int]


def left_out(view: View) -> list[Span]:
    """The spans that are not compiled for HIP: `#ifndef USE_ROCM …`, `#if 0`, and what stands beside a branch for HIP.

    Macros that only such branches define are not defined for HIP, and other names of CUDA's versions are as little.
    """
    given_names = view.tree.absent_macros & view.words
    zeros = view.tree.zero_macros & view.words
    if given_names or zeros:
        own = {macro.name for macro in view.macros}
        given_names, zeros = given_names - own, zeros - own
    names = (part for part in _IN_TEXT if part in view.word_lines)
    if (
        next(names, None) is None
        and view.words.isdisjoint(view.hip_macros)
        and view.words.isdisjoint(_FOREIGN_MACROS)
        and not any(part in view.word_lines for part in _LIBRARY_PARTS)
        and not given_names
        and not zeros
        and not _CONSTANT.search(view.code)
    ):
        return []
    spans = _spans(view, given_names, zeros)
    undefined_names = absent_macros(view, spans) | given_names
    every_zero = zero_macros(view, spans) | zeros
    if undefined_names > given_names or every_zero > zeros:
        return _spans(view, undefined_names, every_zero)
    return spans


def zero_macros(view: View, spans: list[Span]) -> frozenset[str]:
    """The macros of a text that are 0 where HIP sees them defined, and are defined in such spans too."""
    bodies: dict[str, set[str]] = {}
    for macro in view.macros if spans else ():
        is_out = any(start < macro.at < end for start, end in spans)
        bodies.setdefault(macro.name, set()).add(_OUT if is_out else macro.body.strip())
    return frozenset(name for name, values in bodies.items() if values == {_OUT, "0"})


_OUT = "#"
"""Stands for the value of a macro in a branch that HIP leaves out."""


def absent_macros(view: View, spans: list[Span]) -> frozenset[str]:
    """The macros of a text that are defined in such spans alone, and those that are other names of CUDA's versions."""
    by_name: dict[str, list[bool]] = {}
    for macro in view.macros:
        is_foreign = any(start < macro.at < end for start, end in spans) or macro.bare in _FOREIGN_MACROS
        by_name.setdefault(macro.name, []).append(is_foreign)
    return frozenset(name for name, are_foreign in by_name.items() if all(are_foreign) and name not in _FOREIGN_MACROS)


def _spans(view: View, undefined_names: frozenset[str], zeros: frozenset[str]) -> list[Span]:
    is_undefined = partial(_is_undefined, view, undefined_names)
    spans: list[Span] = []
    stack: list[_Chain] = []
    for directive in conditionals(view.code):
        word, text = directive[1], directive[2]
        if word in ("if", "ifdef", "ifndef"):
            stack.append(_Chain(*_branch(view, is_undefined, zeros, (word, text), directive.end())))
            continue
        if not stack:
            continue
        chain = stack.pop()
        if chain.began >= 0:
            spans.append((chain.began, directive.start()))
        elif chain.cuda_began >= 0:
            chain.cuda_spans.append((chain.cuda_began, directive.start()))
        if word == "endif":
            if chain.has_branch:
                spans += chain.cuda_spans
            continue
        condition = (word.removeprefix("el"), text)
        yes, began, cuda_began = _branch(view, is_undefined, zeros, condition, directive.end())
        if chain.has_branch:
            began, cuda_began = directive.end(), -1
        stack.append(_Chain(chain.has_branch or yes, began, cuda_began, chain.cuda_spans))
    return spans


@dataclass
class _Chain:
    """An `#if` with what follows to its `#endif`: whether a branch is HIP's; where one that is left out began, or -1.

    `cuda_spans` are the branches for CUDA, and `cuda_began` is where one began: they are left out where a branch is HIP's.
    """

    has_branch: bool
    began: int
    cuda_began: int = -1
    cuda_spans: list[Span] = field(default_factory=list)


def _branch(
    view: View, is_undefined: Callable[[str], bool], zeros: frozenset[str], condition: tuple[str, str], end: int
) -> tuple[bool, int, int]:
    """Whether a branch is surely HIP's, and where it begins if HIP leaves it out, or if it is for CUDA; else -1.

    The condition is the directive's word, such as `ifdef`, and what stands after it.
    """
    word, text = condition
    yes, no = _for_hip(view, word, text)
    if not yes and not no:
        yes, no = _by_undefined(is_undefined, word, text, zeros)
    is_cuda = word in ("if", "ifdef") and "!" not in text and _CUDA_PARTS.search(text) is not None
    return yes, end if no else -1, end if is_cuda and not yes and not no else -1


def _conditional_at(code: str, at: int) -> re.Match[str] | None:
    """The conditional whose `#` is at an offset."""
    return CONDITIONAL.match(code, line_start(code, at)) if code.startswith("#", at) else None


def is_unconditional(view: View, at: int) -> bool:
    """Whether an offset stands in no branch of the preprocessor's but an include guard's."""
    depth = 0
    for directive in conditionals(view.code):
        if directive.start() > at:
            break
        word = directive[1]
        is_guard = word == "ifndef" and _GUARD.match(view.code, directive.end()) is not None
        if word in ("if", "ifdef", "ifndef") and (depth or not is_guard):
            depth += 1
        elif word == "endif" and depth:
            depth -= 1
    return not depth


_GUARD = re.compile(r"\s*#[ \t]*define\b")


def ease_excluded(view: View, findings: Iterable[Finding]) -> list[Finding]:
    """The findings, as notes where they stand in a branch that is not compiled for HIP."""
    same = list(findings)
    if all(one.severity is Severity.NOTE for one in same) or not (spans := left_out(view)):
        return same
    spans = spans + _calls_without_effect(view, spans)

    def is_outside(one: Finding) -> bool:
        at = view.lines.starts[one.place.line - 1] + one.place.column - 1 if one.place else -1
        return any(start <= at < end for start, end in spans)

    return [replace(one, severity=Severity.NOTE, fix=_LEFT_OUT) if is_outside(one) else one for one in same]


def _calls_without_effect(view: View, spans: list[Span]) -> list[Span]:
    """The calls of macros that are empty where HIP defines them, and something else in a branch that HIP leaves out."""
    bodies: dict[str, list[tuple[bool, str]]] = {}
    for macro in view.macros:
        if macro.parameters:
            is_out = any(start < macro.at < end for start, end in spans)
            bodies.setdefault(macro.name, []).append((is_out, macro.body.strip()))
    calls: list[Span] = []
    for name, definitions in bodies.items():
        in_hip = [body for is_out, body in definitions if not is_out]
        if in_hip and not any(in_hip) and len(in_hip) < len(definitions):
            ends = ((at, call_arguments(view.code, at + len(name))) for at in view.places(name))
            calls += [(at, arguments[1]) for at, arguments in ends if arguments]
    return calls


_LEFT_OUT = "nothing, where the build for HIP leaves this branch out"


def asks_for_hip(view: View) -> bool:
    """Whether a text has a branch for HIP, or one without it: somebody has built it for HIP."""
    return any(part in view.word_lines for part in _IN_TEXT) and any(
        names_hip(view, directive[2]) for directive in conditionals(view.code)
    )


def names_hip(view: View, text: str) -> bool:
    """Whether a conditional line names a macro that only a build for HIP defines."""
    return next(_hip_macros(view, text), None) is not None


def _hip_macros(view: View, text: str) -> Iterator[re.Match[str]]:
    for name in NAME.finditer(text):
        if name.group() in view.hip_macros or (_PARTS.search(name.group()) and not _HIP_ON_CUDA.search(name.group())):
            yield name


def _for_hip(view: View, word: str, text: str) -> tuple[bool, bool]:
    """Whether HIP surely takes a branch, and whether it surely does not."""
    macros = list(_hip_macros(view, text))
    if not macros or word not in ("if", "ifdef", "ifndef"):
        return False, False
    negations = [word == "ifndef" or _NEGATION.search(text, 0, m.start()) is not None for m in macros]
    alternatives, conjunction = "||" in text, "&&" in text
    return not all(negations) and not conjunction, any(negations) and not alternatives


def _by_undefined(
    is_undefined: Callable[[str], bool], word: str, text: str, zeros: frozenset[str] = frozenset()
) -> tuple[bool, bool]:
    """The same by macros that HIP does not define, so that they are 0: `#if CUDA_VERSION >= 12000` is not taken."""
    if word in ("ifdef", "ifndef"):
        is_known = is_undefined(text.strip())
        return is_known and word == "ifndef", is_known and word == "ifdef"
    value = conditions.truth(text, is_undefined, zeros) if word == "if" else None
    return value is True, value is False


def _is_undefined(view: View, undefined_names: frozenset[str], name: str) -> bool:
    if name in undefined_names:
        return True
    return (
        (name in _FOREIGN_MACROS or _OF_LIBRARY.fullmatch(name) is not None or _HIP_ON_CUDA.search(name) is not None)
        and name not in view.ruled_names
        and name not in view.renamed_names
        and all(macro.name != name for macro in view.macros)
    )


def beside_hip(view: View) -> frozenset[int]:
    """The conditional lines of which another branch of the same `#if` is HIP's, by where each begins."""
    if not any(part in view.word_lines for part in _IN_TEXT) and view.words.isdisjoint(view.hip_macros):
        return frozenset()
    chains: list[tuple[list[int], list[int]]] = []
    starts: set[int] = set()
    for directive in conditionals(view.code):
        word = directive[1]
        if word in ("if", "ifdef", "ifndef"):
            chains.append(([], []))
        if not chains:
            continue
        if word == "endif":
            lines, hip_lines = chains.pop()
            starts.update(lines if hip_lines else ())
        elif word != "else":
            chains[-1][names_hip(view, directive[2])].append(directive.start())
    return frozenset(starts)


def _is_as_newest(code: str, at: int, text: str) -> bool:
    """Whether a condition without the macro at an offset is what it is with the newest value."""
    newest = _AS_NEWEST.search(text)
    macro = newest[1] or newest[2] or newest[3] if newest else ""
    if macro and code.startswith(macro, at) and macro not in _AS_NEWEST.sub("", text):
        return True
    name = NAME.match(code, at)
    if name is None or "!" in text.replace("!=", "") or not re.search(rf"defined\s*\(?\s*{name.group()}\b", text):
        return False
    signs = re.findall(rf"\b{name.group()}\s*(<=?|>=?|[=!]=)", text)
    return bool(signs) and {"<", "<=", "=="}.issuperset(signs)


def is_decisive(view: View, at: int) -> bool:
    """Whether a test of a macro that HIP has not surely spoils something. It begins at an offset: a directive, or the name itself.

    As a value the name does not compile. Of a directive it is so where the branch that HIP takes has an `#error`, where
    HIP leaves out the whole body of a function, and where the branches define macros with `__device__` and its like.
    """
    directive = _conditional_at(view.code, at)
    if directive is None:
        return True
    word, end = directive[1].removeprefix("el"), directive.end()
    if (
        word == "if"
        and conditions.truth(directive[2], view.tree.absent_macros.__contains__, view.tree.zero_macros) is False
    ):
        return False  # a macro of the project's keeps the branch out of HIP anyway
    yes, no = _by_undefined(partial(_is_undefined, view, frozenset()), word, directive[2])
    branches = _branches(view.code, end)
    if not branches or not (yes or no):
        return False
    if any(_SPACE_DEFINE.search(view.code, start, stop) for start, stop in branches):
        return True
    hip_branch = branches[0] if yes else branches[-1] if len(branches) > 1 else None
    if hip_branch is not None:
        return _ERROR.match(view.code, hip_branch[0]) is not None
    inner = view.braces.innermost(at)
    if inner < 0:
        return False
    opens, closes = view.braces.span(inner)
    is_whole = not view.code[opens + 1 : at].strip() and _END.fullmatch(view.code, branches[0][1], closes) is not None
    return is_whole and view.braces.head(inner).rstrip().endswith(")")


def is_for_both_sides(view: View, at: int) -> bool:
    """Whether a directive at an offset asks if `__CUDA_ARCH__` is there, in a function for host and device.

    Both branches have code, or the only one is that for the host. A comparison with a version is another question:
    its other branch is for older devices too.
    """
    directive = _conditional_at(view.code, at)
    if directive is None or not _ASKS_FOR_DEVICE.fullmatch(f"{directive[1]} {directive[2].strip()}"):
        return False
    spans = _branches(view.code, directive.end())
    has_code = [bool(view.code[start:stop].strip()) for start, stop in spans]
    is_host_first = directive[1] == "ifndef" or "!" in directive[2]
    if not has_code or not (all(has_code) if len(has_code) > 1 else is_host_first and has_code[0]):
        return False
    both = {macro.name for macro in view.macros if "__host__" in macro.body and "__device__" in macro.body}
    for pair in view.braces.around(at):
        head = view.braces.head(pair)
        if ("__host__" in head and "__device__" in head) or not both.isdisjoint(NAME.findall(head)):
            return True
    return False


_ASKS_FOR_DEVICE = re.compile(
    r"ifn?def __CUDA_ARCH__|(?:el)?if !?\s*\(?\s*(?:defined\s*\(?\s*)?__CUDA_ARCH__\s*\)?(?:\s*>\s*0|\s*[!=]=\s*0)?\s*\)?"
)


def _branches(code: str, at: int) -> list[Span]:
    """The branches of the conditional whose first line ends at an offset, of those after it: up to its `#endif`."""
    spans: list[Span] = []
    depth, start = 0, at
    for directive in conditionals(code, at):
        if directive[1] in ("if", "ifdef", "ifndef"):
            depth += 1
        elif depth:
            depth -= directive[1] == "endif"
        else:
            spans.append((start, directive.start()))
            start = directive.end()
            if directive[1] == "endif":
                return spans
    return []


_ERROR = re.compile(r"\s*#[ \t]*error\b")
_END = re.compile(r"[ \t]*#[ \t]*endif[^\n]*\s*")
_SPACE_DEFINE = re.compile(r"#[ \t]*define[ \t]+\w+[^\n]*\b__(?:device|global|host|constant|shared)__")


def guard(view: View, at: int, others: Container[int] = ()) -> tuple[int | None, int]:
    """Where the guard begins in which a macro stands, and its end.

    The beginning is None where the guard names HIP, only defines the macro, or is a line of `others` (`beside_hip`).
    """
    code = view.code
    start = line_start(code, at)
    directive = _DIRECTIVE.match(code, start)
    if directive is None:
        return at, at
    end = line_end(code, at)
    defines = directive[1] == "define" and not code[directive.end() : at].strip()
    text = code[start:end]
    is_as_newest = _is_as_newest(code, at, text)
    is_told = start in others or names_hip(view, text) or is_as_newest or _PRAGMAS.match(code, end) is not None
    is_told = is_told or (directive[1] == "ifndef" and _INCLUDES.match(code, end) is not None)
    if directive[1] in ("undef", "error", "warning", "pragma") or defines or is_told:
        return None, end
    return skip_space(code, start), end
