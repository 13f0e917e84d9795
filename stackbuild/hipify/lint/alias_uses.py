"""Uses of a type alias that names what HIP lacks: the compiler refuses the alias, and then each line that uses it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stackbuild.hipify.cpp.scan import NAME
from stackbuild.hipify.cpp.source_text import View
from stackbuild.hipify.lint.macro_uses import COMPILE_ERRORS
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
    lines = {f.place.line: f for f in findings if f.rule in COMPILE_ERRORS and f.place}
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


def _aliases(code: str) -> Iterator[_Alias]:
    """The aliases of a text in order."""
    aliases = [
        *(_Alias(m[1], m.start(), m.end(), frozenset(NAME.findall(m[2]))) for m in _USING.finditer(code)),
        *(_Alias(m[2], m.start(), m.end(), frozenset(NAME.findall(m[1]))) for m in _TYPEDEF.finditer(code)),
    ]
    return iter(sorted(aliases, key=lambda alias: alias.start))
