"""The conditional branches of a text that HIP's compiler leaves out, by the macros that only HIP defines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from stackbuild.hipify.cpp.scan import NAME, line_end, line_start, skip_space
from stackbuild.hipify.cpp.source_text import View
from stackbuild.model.findings import Finding, Severity

# Parts of macros' names, between underscores, that say HIP: USE_AMD_ROCM, GGML_USE_HIP, __HIP_DEVICE_COMPILE__, __AMDGCN__.
_PARTS = re.compile(r"(?<![A-Z0-9])(?:HIP(?:CC|BLAS|CL|RTC)?|ROCM|AMD(?:GPU|GCN)?|[RC]DNA\d?|GFX\w+)(?![A-Z0-9])", re.I)
_IN_TEXT = ("HIP", "ROCM", "AMD", "DNA", "GFX", "hip", "rocm", "amd", "gfx")
_CONDITIONAL = re.compile(r"[ \t]*#[ \t]*(ifdef|ifndef|if|elifdef|elifndef|elif|else|endif)\b((?:\\\r?\n|[^\n])*)")
_NEGATION = re.compile(r"!\s*(?:defined\s*)?\(?\s*\Z")

_DIRECTIVE = re.compile(r"[ \t]*#[ \t]*(if|elif|ifdef|ifndef|elifdef|elifndef|define|undef|error|warning|pragma)\b")

Span = tuple[int, int]


def left_out(view: View) -> list[Span]:
    """The spans that are not compiled for HIP: `#ifndef USE_ROCM …`, and what stands beside a branch for HIP."""
    if not any(part in view.word_lines for part in _IN_TEXT) and view.words.isdisjoint(view.hip_macros):
        return []
    spans: list[Span] = []
    stack: list[tuple[bool, int]] = []  # whether a branch before was HIP's; where one left out began, or -1
    for directive in _conditionals(view.code):
        word, text = directive[1], directive[2]
        if word in ("if", "ifdef", "ifndef"):
            yes, no = _for_hip(view, word, text)
            stack.append((yes, directive.end() if no else -1))
            continue
        if not stack:
            continue
        has_branch, began = stack.pop()
        if began >= 0:
            spans.append((began, directive.start()))
        if word != "endif":
            yes, no = _for_hip(view, word.removeprefix("el"), text)
            stack.append((has_branch or yes, directive.end() if has_branch or no else -1))
    return spans


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


def guard(view: View, at: int) -> tuple[int | None, int]:
    """Where the guard begins in which a macro stands, None where it names HIP or only defines the macro; its end."""
    code = view.code
    start = line_start(code, at)
    directive = _DIRECTIVE.match(code, start)
    if directive is None:
        return at, at
    end = line_end(code, at)
    defines = directive[1] == "define" and not code[directive.end() : at].strip()
    if directive[1] in ("undef", "error", "warning", "pragma") or defines or names_hip(view, code[start:end]):
        return None, end
    return skip_space(code, start), end
