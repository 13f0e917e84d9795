"""The conditional branches of a text that HIP's compiler leaves out, by the macros that only HIP defines."""

from __future__ import annotations

import re
from collections.abc import Iterator

from stackbuild.hipify.cpp.scan import line_end, line_start, skip_space
from stackbuild.hipify.cpp.source_text import View

HIP = re.compile(r"\w*(?:__HIP|USE_ROCM|USE_HIP|AMDGPU|HIP_PLATFORM_AMD|__AMD|WITH_HIP|WITH_ROCM|HIPCC)\w*", re.I)
_CONDITIONAL = re.compile(r"[ \t]*#[ \t]*(ifdef|ifndef|if|elifdef|elifndef|elif|else|endif)\b((?:\\\r?\n|[^\n])*)")
_NEGATED = re.compile(r"!\s*(?:defined\s*)?\(?\s*\Z")

_DIRECTIVE = re.compile(r"[ \t]*#[ \t]*(if|elif|ifdef|ifndef|elifdef|elifndef|define|undef|error|warning|pragma)\b")

Span = tuple[int, int]


def left_out(view: View) -> list[Span]:
    """The spans that are not compiled for HIP: `#ifndef USE_ROCM …`, and what stands beside a branch for HIP."""
    if "HIP" not in view.listed and "ROCM" not in view.listed and "AMD" not in view.listed:
        return []
    spans: list[Span] = []
    stack: list[tuple[bool, int]] = []  # whether a branch before was HIP's; where one left out began, or -1
    for found in _conditionals(view.code):
        word, text = found[1], found[2]
        if word in ("if", "ifdef", "ifndef"):
            yes, no = _for_hip(word, text)
            stack.append((yes, found.end() if no else -1))
            continue
        if not stack:
            continue
        taken, began = stack.pop()
        if began >= 0:
            spans.append((began, found.start()))
        if word != "endif":
            yes, no = _for_hip(word.removeprefix("el"), text)
            stack.append((taken or yes, found.end() if taken or no else -1))
    return spans


def _conditionals(code: str) -> Iterator[re.Match[str]]:
    """The conditional lines of a text. Each line with a `#` is looked at once."""
    at = code.find("#")
    while at >= 0:
        if found := _CONDITIONAL.match(code, code.rfind("\n", 0, at) + 1):
            yield found
            at = found.end()
        end = code.find("\n", at)
        at = code.find("#", end) if end >= 0 else -1


def _for_hip(word: str, text: str) -> tuple[bool, bool]:
    """Whether HIP surely takes a branch, and whether it surely does not."""
    found = list(HIP.finditer(text))
    if not found or word not in ("if", "ifdef", "ifndef"):
        return False, False
    negated = [word == "ifndef" or _NEGATED.search(text, 0, m.start()) is not None for m in found]
    alternatives, conjunction = "||" in text, "&&" in text
    return not all(negated) and not conjunction, any(negated) and not alternatives


def guard(code: str, at: int) -> tuple[int | None, int]:
    """Where the guard begins in which a macro stands, None where it names HIP or only defines the macro; its end."""
    start = line_start(code, at)
    directive = _DIRECTIVE.match(code, start)
    if directive is None:
        return at, at
    end = line_end(code, at)
    defines = directive[1] == "define" and not code[directive.end() : at].strip()
    if directive[1] in ("undef", "error", "warning", "pragma") or defines or HIP.search(code, start, end):
        return None, end
    return skip_space(code, start), end
