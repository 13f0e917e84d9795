"""Uses of what is declared with a type that HIP lacks: the compiler refuses the declaration, and then each line that uses it.

That is a type alias, a variable, a member or a parameter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stackbuild.hipify.cpp.scan import NAME
from stackbuild.hipify.cpp.source_text import View
from stackbuild.hipify.lint.macro_uses import error_lines
from stackbuild.model.findings import Finding, Severity

_USING = re.compile(r"using(?<!\wusing)\s+(\w+)\s*=([^;{}]*);")
_TYPEDEF = re.compile(r"typedef(?<!\wtypedef)\b([^;{}()]*?)(\w+)\s*;")


@dataclass(frozen=True)
class _Alias:
    """A type's other name, the offsets between which it is declared, and the names of its type."""

    name: str
    start: int
    end: int
    words: frozenset[str]


def notes(view: View, findings: Sequence[Finding]) -> Iterator[Finding]:
    """A note at each line that uses an alias whose type has a finding, or is such an alias itself."""
    lines = error_lines(findings)
    if not lines or view.words.isdisjoint(("using", "typedef")):
        return
    aliases = list(_aliases(view.code))
    causes: dict[str, Finding] = {}
    for alias in aliases:  # an alias is declared before it is used
        first, last = view.lines.at(alias.start)[0], view.lines.at(alias.end)[0]
        cause = next((lines[line] for line in range(first, last + 1) if line in lines), None)
        cause = cause or next((causes[word] for word in sorted(alias.words) if word in causes), None)
        if cause:
            causes.setdefault(alias.name, cause)
    for name, cause in causes.items():
        known_lines = {view.lines.at(alias.start)[0] for alias in aliases if alias.name == name}
        for at in view.own(name):
            line = view.lines.at(at)[0]
            if line not in known_lines:
                known_lines.add(line)
                text = f"{name} is another name of what has a finding: {cause.found}"
                yield view.finding(at, cause.rule, Severity.NOTE, text, cause.why, cause.fix)


_DECLARATION = re.compile(
    r"[A-Za-z_][\w:]*(?:<[^<>;{}()]*>)?(?:\s*[*&]+\s*|\s+)(?:const\s+)?([A-Za-z_]\w*)\s*[;=,)({\[]"
)
_NO_NAME = frozenset(("const", "operator", "return", "if", "while", "for", "else", "in", "and", "or", "not", "volatile", "goto", "inline"))


def variable_notes(view: View, findings: Sequence[Finding]) -> Iterator[Finding]:
    """A note at each line of a scope that uses a name declared there with a type that has a finding."""
    known_lines = set(error_lines(findings))
    causes = [f for f in findings if f.severity is Severity.ERROR or f.rule == "LINT-FP8-OCP"]
    for cause in error_lines(causes).values():
        if cause.place is None:
            continue
        at = view.lines.starts[cause.place.line - 1] + cause.place.column - 1
        declaration = _DECLARATION.match(view.code, at)
        if declaration is None or declaration[1] in _NO_NAME or view.code[at : at + 1] == "#":
            continue
        end = _scope_end(view, at, declaration.group()[-1] in ",)")
        for use in view.places(declaration[1]):
            if declaration.end(1) < use < end and (line := view.lines.at(use)[0]) not in known_lines:
                known_lines.add(line)
                text = f"{declaration[1]} is declared with what has a finding: {cause.found}"
                yield view.finding(use, cause.rule, Severity.NOTE, text, cause.why, cause.fix)


def _scope_end(view: View, at: int, is_parameter: bool) -> int:
    """The end of the braces around an offset, or of those that follow a parameter; else of the text."""
    body_at = view.code.find("{", at, at + _HEAD) if is_parameter else -1
    number = view.braces.innermost(body_at + 1 if body_at >= 0 else at)
    return view.braces.span(number)[1] if number >= 0 else len(view.code)


_HEAD = 600
"""So many characters after a parameter its function's body may begin."""


def _aliases(code: str) -> Iterator[_Alias]:
    """The aliases of a text in order."""
    aliases = [
        *(_Alias(m[1], m.start(), m.end(), frozenset(NAME.findall(m[2]))) for m in _USING.finditer(code)),
        *(_Alias(m[2], m.start(), m.end(), frozenset(NAME.findall(m[1]))) for m in _TYPEDEF.finditer(code)),
    ]
    return iter(sorted(aliases, key=lambda alias: alias.start))
