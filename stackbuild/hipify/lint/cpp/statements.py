"""Reads the statements of a function's blanked text as a tree: loops, branches, blocks and plain statements.

Preprocessor lines are passed over, so that both branches of an `#if` are read one after the other.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from stackbuild.hipify.cpp.scan import skip_space

_DIRECTIVE = re.compile(r"#(?:\\\r?\n|[^\n])*")
_WORD = re.compile(r"(?:for|while|do|if|else|switch)\b")
_ELSE = re.compile(r"else\b")
_BRACKET = re.compile(r"[()]")
_STOP = re.compile(r"[;{}()\[\]]")
_MOST = 400
"""Statements of one loop's body: a longer body is not a ladder."""


@dataclass(frozen=True)
class Plain:
    """A statement up to its `;`, by offsets. `break;` and the like are plain, too."""

    start: int
    end: int


@dataclass(frozen=True)
class Conditional:
    """An `if` with the span of its condition, or a `switch`, whose parts may or may not run."""

    condition: tuple[int, int]
    then: Statement
    other: Statement | None


@dataclass(frozen=True)
class Block:
    parts: tuple[Statement, ...]


@dataclass(frozen=True)
class Loop:
    """A loop with the spans of its parts; an absent part is an empty span. A `do` asks after its body."""

    kind: Literal["for", "while", "do"]
    at: int
    first: tuple[int, int]
    condition: tuple[int, int]
    step: tuple[int, int]
    body: Statement
    end: int


Statement = Plain | Conditional | Block | Loop


class NotStatement(Exception):
    """The text is not a statement that this can read."""


class Statements:
    """Reads the statements of one blanked text."""

    def __init__(self, code: str, limit: int) -> None:
        self.code = code
        self.limit = limit
        self.read = 0

    def space(self, at: int) -> int:
        """The offset of the next sign that is neither white space nor of a preprocessor line."""
        while True:
            at = skip_space(self.code, at)
            directive = _DIRECTIVE.match(self.code, at)
            if directive is None:
                return at
            at = max(directive.end(), at + 1)

    def statement(self, at: int, depth: int = 0) -> tuple[Statement, int]:
        """The statement at an offset, and the offset after it. Raises NotStatement."""
        at = self.space(at)
        self.read += 1
        if self.read > _MOST or depth > 20 or at >= self.limit:
            raise NotStatement
        if self.code[at] == "{":
            return self.block(at, depth)
        match = _WORD.match(self.code, at)
        word = match.group() if match else ""
        if word in ("for", "while", "do"):
            return self.loop(at, word, depth)
        if word in ("if", "switch"):
            return self.branch(at + len(word), depth)
        if word == "else":
            raise NotStatement
        end = self.plain_end(at)
        return Plain(at, end), end + 1

    def block(self, at: int, depth: int) -> tuple[Statement, int]:
        parts: list[Statement] = []
        at = self.space(at + 1)
        while not self.code.startswith("}", at):
            part, at = self.statement(at, depth + 1)
            parts.append(part)
            at = self.space(at)
        return Block(tuple(parts)), at + 1

    def branch(self, at: int, depth: int) -> tuple[Statement, int]:
        at = self.space(at)
        if self.code.startswith("constexpr", at):
            at = self.space(at + len("constexpr"))
        condition, at = self.brackets(at)
        then, at = self.statement(at, depth + 1)
        after = self.space(at)
        if not _ELSE.match(self.code, after):
            return Conditional(condition, then, None), at
        other, at = self.statement(after + 4, depth + 1)
        return Conditional(condition, then, other), at

    def brackets(self, at: int) -> tuple[tuple[int, int], int]:
        """The span between the brackets that open at an offset, and the offset after them."""
        if not self.code.startswith("(", at):
            raise NotStatement
        depth = 0
        for bracket in _BRACKET.finditer(self.code, at, self.limit):
            depth += 1 if bracket.group() == "(" else -1
            if depth == 0:
                return (at + 1, bracket.start()), bracket.end()
        raise NotStatement

    def plain_end(self, at: int) -> int:
        """The offset of the `;` of a plain statement; a lambda's body and a list's braces belong to it."""
        depth = 0
        for stop in _STOP.finditer(self.code, at, self.limit):
            sign = stop.group()
            if sign == ";" and depth == 0:
                return stop.start()
            depth += 1 if sign in "{([" else -1 if sign in "})]" else 0
            if depth < 0:
                break
        if depth or self.limit == len(self.code):
            raise NotStatement
        return self.limit  # a macro's body ends without `;`

    def loop(self, at: int, word: str, depth: int = 0) -> tuple[Loop, int]:
        """The loop whose keyword stands at an offset, and the offset after it. Raises NotStatement."""
        here = self.space(at + len(word))
        none = (here, here)
        if word == "do":
            body, after = self.statement(here, depth + 1)
            after = self.space(after)
            if not self.code.startswith("while", after):
                raise NotStatement
            condition, end = self.brackets(self.space(after + 5))
            return Loop("do", at, none, condition, none, body, end), min(self.space(end) + 1, self.limit)
        head, after = self.brackets(here)
        if word == "while":
            body, end = self.statement(after, depth + 1)
            return Loop("while", at, none, head, none, body, end), end
        first, condition, step = self.head(*head)
        body, end = self.statement(after, depth + 1)
        return Loop("for", at, first, condition, step, body, end), end

    def head(self, start: int, end: int) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int]]:
        """The three parts of a `for` head. Raises NotStatement for one over a range."""
        cuts, depth = [], 0
        for stop in _STOP.finditer(self.code, start, end):
            sign = stop.group()
            depth += 1 if sign in "{([" else -1 if sign in "})]" else 0
            if sign == ";" and depth == 0:
                cuts.append(stop.start())
        if len(cuts) != 2:
            raise NotStatement
        return (start, cuts[0]), (cuts[0] + 1, cuts[1]), (cuts[1] + 1, end)
