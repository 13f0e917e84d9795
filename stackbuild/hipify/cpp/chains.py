"""The preprocessor's conditionals of a text: each `#if` with what follows to its `#endif`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_CONDITIONAL = re.compile(r"[ \t]*#[ \t]*(ifdef|ifndef|if|elifdef|elifndef|elif|else|endif)\b((?:\\\r?\n|[^\n])*)")


@dataclass(frozen=True)
class ChainBranch:
    """One branch: its word, such as `elif`, its condition, and where its line, the condition and its body are."""

    word: str
    condition: str
    line: int
    condition_at: int
    start: int
    end: int


def chains(code: str) -> Iterator[list[ChainBranch]]:
    """The conditionals of a text, inner ones first. One that has no `#endif` is left out."""
    stack: list[list[ChainBranch]] = []
    at = code.find("#")
    while at >= 0:
        start = code.rfind("\n", 0, at) + 1
        if directive := _CONDITIONAL.match(code, start):
            word, at = directive[1], directive.end()
            branch = ChainBranch(word, directive[2], start, directive.start(2), at, at)
            if word in ("if", "ifdef", "ifndef"):
                stack.append([branch])
            elif stack:
                before = stack[-1].pop()
                stack[-1].append(ChainBranch(*_fields(before), end=start))
                if word == "endif":
                    yield stack.pop()
                else:
                    stack[-1].append(branch)
        end = code.find("\n", at)
        at = code.find("#", end) if end >= 0 else -1


def _fields(branch: ChainBranch) -> tuple[str, str, int, int, int]:
    return branch.word, branch.condition, branch.line, branch.condition_at, branch.start
