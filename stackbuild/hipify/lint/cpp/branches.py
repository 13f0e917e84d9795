"""The conditional branches of a text that HIP's compiler leaves out, by the macros that only HIP defines."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field, replace

from stackbuild.hipify.cpp.scan import NAME, line_end, line_start, skip_space
from stackbuild.hipify.cpp.source_text import View
from stackbuild.model.findings import Finding, Severity

# Parts of macros' names, between underscores, that say HIP: USE_AMD_ROCM, GGML_USE_HIP, __HIP_DEVICE_COMPILE__, __AMDGCN__.
_PARTS = re.compile(r"(?<![A-Z0-9])(?:HIP(?:CC|BLAS|CL|RTC)?|ROC(?:M|TX|BLAS|PRIM|THRUST|SPARSE|FFT|RAND|SOLVER)|RCCL|MIOPEN|AMD(?:GPU|GCN)?|[RC]DNA\d?|GFX\w+)(?![A-Z0-9])", re.I)
# The same for CUDA: SPFFT_CUDA, USE_CUDNN, __NVCC__. Beside a branch for HIP, such a branch is the other one.
_CUDA_PARTS = re.compile(r"(?<![A-Z0-9])(?:CUDA(?:CC|RT)?|NV(?:CC|IDIA|COMPILER)?|CU(?:BLAS|DNN))(?![A-Z0-9])", re.I)
_IN_TEXT = ("HIP", "ROC", "RCCL", "MIOPEN", "AMD", "DNA", "GFX", "hip", "roc", "rccl", "miopen", "amd", "gfx")
# What HIP's headers and compiler never define: CUDA's architecture and versions, macros of NVIDIA's headers that nothing
# stands for, those of other compilers, and those of editors that only read the text.
_FOREIGN_MACROS = frozenset(
    ("__CUDA_ARCH__", "CUDART_VERSION", "CUDA_VERSION", "__CUDACC_VER_MAJOR__", "__CUDACC_VER_MINOR__", "CUB_VERSION", "CCCL_VERSION", "CCCL_MAJOR_VERSION",
     "NV_NPPIDEFS_H", "NVJPEGAPI", "NVML_API_VERSION", "NVML_DEVICE_SERIAL_BUFFER_SIZE", "NVML_DEVICE_NAME_BUFFER_SIZE",
     "__JETBRAINS_IDE__", "__CLION_IDE__", "__INTELLISENSE__", "__CDT_PARSER__", "__RESHARPER__", "Q_CREATOR_RUN",
     "__xlC__", "__xlc__", "__INTEL_COMPILER", "__PGI", "__PGIC__", "__NVCOMPILER", "_CRAYC", "__SUNPRO_CC")
)  # fmt: skip
_LIBRARY_VERSION = re.compile(r"CU(?:BLAS|SPARSE|FFT|RAND|SOLVER|TENSOR|DSS)_VER_\w+")
_UNLESS = re.compile(r"\s*!\s*defined\s*\(?\s*(\w+)\s*\)?\s*")
# `!defined(X) || X >= 200`, the reverse, `defined(X) && X < 200`: without X the branch of the newest is taken.
_AS_NEWEST = re.compile(
    r"!\s*defined\s*\(?\s*(\w+)\s*\)?\s*\|\|\s*\(?\s*\1\s*>=?"
    r"|\b(\w+)\s*>=?\s*\w+\s*\)?\s*\|\|\s*!\s*defined\s*\(?\s*\2\b"
    r"|(?<!!)(?<!! )defined\s*\(?\s*(__CUDA_ARCH\w*)\s*\)?\s*&&\s*\(?\s*\3\s*<=?\s*\w+"
)
_MESSAGES = re.compile(r"(?:\s*#[ \t]*pragma[ \t]+(?:message|diagnostic|diag_\w+|nv_\w+)\b[^\n]*\n)+\s*#[ \t]*endif\b")
"""A branch that only prints, or tells a compiler what it may print."""
_TERM = re.compile(r"[\s(]*(?:defined\s*\(?\s*(\w+)|(\w+)\s*(>=|>|==|<=|<)\s*\(?\s*[1-9]\w*)[\s)]*")
_CONDITIONAL = re.compile(r"[ \t]*#[ \t]*(ifdef|ifndef|if|elifdef|elifndef|elif|else|endif)\b((?:\\\r?\n|[^\n])*)")
_NEGATION = re.compile(r"!\s*(?:defined\s*)?\(?\s*\Z")

_DIRECTIVE = re.compile(r"[ \t]*#[ \t]*(if|elif|ifdef|ifndef|elifdef|elifndef|define|undef|error|warning|pragma)\b")

Span = tuple[int, int]


def left_out(view: View) -> list[Span]:
    """The spans that are not compiled for HIP: `#ifndef USE_ROCM …`, and what stands beside a branch for HIP."""
    names = (part for part in _IN_TEXT if part in view.word_lines)
    has_library_version = "_VER_" in view.word_lines
    if (
        next(names, None) is None
        and view.words.isdisjoint(view.hip_macros)
        and view.words.isdisjoint(_FOREIGN_MACROS)
        and not has_library_version
    ):
        return []
    spans: list[Span] = []
    stack: list[_Chain] = []
    for directive in _conditionals(view.code):
        word, text = directive[1], directive[2]
        if word in ("if", "ifdef", "ifndef"):
            stack.append(_Chain(*_branch(view, word, text, directive.end())))
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
        yes, began, cuda_began = _branch(view, word.removeprefix("el"), text, directive.end())
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


def _branch(view: View, word: str, text: str, end: int) -> tuple[bool, int, int]:
    """Whether a branch is surely HIP's, and where it begins if HIP leaves it out, or if it is for CUDA; else -1."""
    yes, no = _for_hip(view, word, text)
    if not yes and not no:
        yes, no = _by_undefined(view, word, text)
    is_cuda = word in ("if", "ifdef") and "!" not in text and _CUDA_PARTS.search(text) is not None
    return yes, end if no else -1, end if is_cuda and not yes and not no else -1


def _conditionals(code: str) -> Iterator[re.Match[str]]:
    """The conditional lines of a text. Each line with a `#` is looked at once."""
    at = code.find("#")
    while at >= 0:
        if directive := _CONDITIONAL.match(code, code.rfind("\n", 0, at) + 1):
            yield directive
            at = directive.end()
        end = code.find("\n", at)
        at = code.find("#", end) if end >= 0 else -1


def ease_excluded(view: View, findings: Iterable[Finding]) -> list[Finding]:
    """The findings, as notes where they stand in a branch that is not compiled for HIP."""
    same = list(findings)
    if all(one.severity is Severity.NOTE for one in same) or not (spans := left_out(view)):
        return same
    lines = [(view.lines.at(start)[0], view.lines.at(end)[0]) for start, end in spans]

    def is_outside(one: Finding) -> bool:
        return one.place is not None and any(first < one.place.line < last for first, last in lines)

    return [replace(one, severity=Severity.NOTE, fix=_LEFT_OUT) if is_outside(one) else one for one in same]


_LEFT_OUT = "nothing, where the build for HIP leaves this branch out"


def names_hip(view: View, text: str) -> bool:
    """Whether a conditional line names a macro that only a build for HIP defines."""
    return next(_hip_macros(view, text), None) is not None


def _hip_macros(view: View, text: str) -> Iterator[re.Match[str]]:
    for name in NAME.finditer(text):
        if name.group() in view.hip_macros or _PARTS.search(name.group()):
            yield name


def _for_hip(view: View, word: str, text: str) -> tuple[bool, bool]:
    """Whether HIP surely takes a branch, and whether it surely does not."""
    macros = list(_hip_macros(view, text))
    if not macros or word not in ("if", "ifdef", "ifndef"):
        return False, False
    negations = [word == "ifndef" or _NEGATION.search(text, 0, m.start()) is not None for m in macros]
    alternatives, conjunction = "||" in text, "&&" in text
    return not all(negations) and not conjunction, any(negations) and not alternatives


def _by_undefined(view: View, word: str, text: str) -> tuple[bool, bool]:
    """The same by macros that HIP does not define, so that they are 0: `#if CUDA_VERSION >= 12000` is not taken."""
    if word == "ifndef" or (word == "if" and _UNLESS.fullmatch(text)):
        name = text.split("//")[0].strip() if word == "ifndef" else _UNLESS.sub(r"\1", text)
        return _is_undefined(view, name), False
    if word == "if" and "||" in text and "&&" not in text:
        names = [match[1] for part in text.split("||") if (match := _UNLESS.fullmatch(part))]
        return any(_is_undefined(view, name) for name in names), False
    if word not in ("if", "ifdef") or "||" in text or "!" in text:
        return False, False
    if word == "ifdef":
        return False, _is_undefined(view, text.strip())
    terms = [_TERM.fullmatch(term) for term in text.split("&&")]
    signs = [(m[3] or "defined") if m and _is_undefined(view, m[1] or m[2]) else "" for m in terms]
    return all(sign in ("<", "<=") for sign in signs), any(sign in ("defined", ">=", ">", "==") for sign in signs)


def _is_undefined(view: View, name: str) -> bool:
    return (
        (name in _FOREIGN_MACROS or _LIBRARY_VERSION.fullmatch(name) is not None)
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
    for directive in _conditionals(view.code):
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
    newest = _AS_NEWEST.search(text)
    macro = newest[1] or newest[2] or newest[3] if newest else ""
    is_as_newest = code.startswith(macro, at) and macro not in _AS_NEWEST.sub("", text) if macro else False
    is_told = start in others or names_hip(view, text) or is_as_newest or _MESSAGES.match(code, end) is not None
    if directive[1] in ("undef", "error", "warning", "pragma") or defines or is_told:
        return None, end
    return skip_space(code, start), end
