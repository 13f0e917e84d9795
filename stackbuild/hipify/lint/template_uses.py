"""Calls of a function template whose body has what does not compile: clang refuses such calls after the first one too."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from stackbuild.hipify.cpp.source_text import View
from stackbuild.hipify.lint.macro_uses import error_lines
from stackbuild.model.findings import Finding, Severity

_HEAD = re.compile(r"\btemplate\s*<.*?\b([A-Za-z_]\w*)\s*\([^{};]*\)[\s\w]*\Z", re.S)
_CALL = re.compile(r"\s*(?:<[^;{}()]*>)?\s*\(")


def notes(view: View, findings: Sequence[Finding]) -> Iterator[Finding]:
    """A note at each line that calls such a template, for the first finding in its body."""
    if "template" not in view.words:
        return
    lines = error_lines([f for f in findings if f.severity is not Severity.NOTE])
    known_lines = set(error_lines(findings))
    causes: dict[str, tuple[Finding, range]] = {}
    for line in sorted(lines):
        place = lines[line].place
        at = view.lines.starts[line - 1] + (place.column - 1 if place else 0)
        for number in view.braces.around(at):
            head = _HEAD.search(view.braces.head(number))
            if head and head[1] not in causes:
                first, last = (view.lines.at(offset)[0] for offset in view.braces.span(number))
                causes[head[1]] = lines[line], range(first, last + 1)
    for name, (cause, body) in causes.items():
        for at in view.places(name):
            line = view.lines.at(at)[0]
            if line in known_lines or line in body or not _CALL.match(view.code, at + len(name)):
                continue
            if _DECLARATION.search(view.code, max(0, at - 80), at):
                continue
            known_lines.add(line)
            text = f"the body of {name} has what does not compile: {cause.found}"
            yield view.finding(at, cause.rule, Severity.NOTE, text, cause.why, cause.fix)


_DECLARATION = re.compile(r"(?:[\w>*&]\s*[\s*&])(?<!\breturn\s)(?<!\belse\s)(?<!\btemplate\s)\Z")
"""What stands before a name that is declared: a type."""
