"""The preprocessor's conditionals of a text: each `#if` with what follows to its `#endif`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

CONDITIONAL = re.compile(r"[ \t]*#[ \t]*(ifdef|ifndef|if|elifdef|elifndef|elif|else|endif)\b((?:\\\r?\n|[^\n])*)")
"""A conditional line: its word, and what follows it with the lines that a backslash joins."""


@dataclass(frozen=True)
class ChainBranch:
    """One branch: its word, such as `elif`, its condition, and where its line, the condition and its body are."""

    word: str
    condition: str
    line: int
    condition_at: int
    start: int
    end: int


def conditionals(code: str, start: int = 0) -> Iterator[re.Match[str]]:
    """The conditional lines of a text, from an offset on. Each line with a `#` is looked at once."""
    at = code.find("#", start)
    while at >= 0:
        if directive := CONDITIONAL.match(code, code.rfind("\n", 0, at) + 1):
            yield directive
            at = directive.end()
        end = code.find("\n", at)
        at = code.find("#", end) if end >= 0 else -1


def chains(code: str) -> Iterator[list[ChainBranch]]:
    """The conditionals of a text, inner ones first. One that has no `#endif` is left out."""
    stack: list[list[ChainBranch]] = []
    for directive in conditionals(code):
        word, at = directive[1], directive.end()
        branch = ChainBranch(word, directive[2], directive.start(), directive.start(2), at, at)
        if word in ("if", "ifdef", "ifndef"):
            stack.append([branch])
        elif stack:
            stack[-1][-1] = replace(stack[-1][-1], end=branch.line)
            if word == "endif":
                yield stack.pop()
            else:
                stack[-1].append(branch)
