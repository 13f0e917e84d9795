"""The braces and statements of a blanked text, found in time that grows with the text alone, whatever stands in it."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from functools import cached_property

from stackbuild.hipify.cpp.scan import whole_names

_MARK = re.compile(r"[;{}]")
_BRACE_OR_BRANCH = re.compile(r"[{}]|^[ \t]*#[ \t]*(if|el|endif)", re.M)
_DIRECTIVE = re.compile(r"\s*#[^\n]*\n")
_NEAR = 2048
"""So far back is looked by hand; a statement that is longer is looked up among all of the text."""
_HEAD = 1 << 13
"""So much of what stands before a brace says what its braces are: more than any function's parameters."""

Span = tuple[int, int]


class Braces:
    """Pairs of braces, numbered by where they open, and what stands before an offset since the statement before it."""

    def __init__(self, code: str) -> None:
        self._code = code
        self._positions: dict[str, list[int]] = {}
        self._directives: dict[int, list[int]] = {}

    def statement(self, at: int) -> int:
        """The offset after the `;`, brace or preprocessor line before an offset."""
        low = max(0, at - _NEAR)
        start = max(self._code.rfind(mark, low, at) for mark in ";{}") + 1
        if not start and low:
            number = bisect_left(self._marks, at) - 1
            start = self._marks[number] + 1 if number >= 0 else 0
        if start not in self._directives:
            self._directives[start] = self._lines(start)
        ends = self._directives[start]
        return ends[bisect_left(ends, at + 1) - 1]

    def _lines(self, start: int) -> list[int]:
        """An offset, and the ends of the preprocessor lines that follow it, up to the next `;` or brace."""
        ends = [start]
        line = _DIRECTIVE.match(self._code, start)
        if line is not None:
            mark = _MARK.search(self._code, start)
            stop = mark.start() if mark else len(self._code)
            while line is not None and line.end() <= stop:
                ends.append(line.end())
                line = _DIRECTIVE.match(self._code, line.end())
        return ends

    @cached_property
    def _marks(self) -> list[int]:
        return [match.start() for match in _MARK.finditer(self._code)]

    def head(self, number: int) -> str:
        """What stands before the opening brace of a pair since the statement before it."""
        open_at = self.opens[number]
        return self._code[max(self.statement(open_at), open_at - _HEAD) : open_at]

    def count(self, sign: str, start: int, end: int) -> int:
        """How often a sign, or a whole word, stands in a span."""
        if end - start < _NEAR and not sign.isalpha():
            return self._code.count(sign, start, end)
        if sign not in self._positions:
            every = re.finditer(re.escape(sign), self._code)
            self._positions[sign] = (
                whole_names(self._code, sign) if sign.isalpha() else [match.start() for match in every]
            )
        positions = self._positions[sign]
        return bisect_left(positions, end) - bisect_left(positions, start)

    @cached_property
    def _pairs(self) -> tuple[list[int], list[int], list[int], list[int], list[int]]:
        """Where pairs open and close, the pair around each; where braces stand, and the innermost pair after each."""
        opens: list[int] = []
        closes: list[int] = []
        parents: list[int] = []
        places: list[int] = []
        inner: list[int] = []
        stack = [-1]
        is_even, end = True, len(self._code)
        for at, is_open in _each_brace(self._code):
            if is_open:
                parents.append(stack[-1])
                stack.append(len(opens))
                opens.append(at)
                closes.append(end)
            elif len(stack) > 1:
                closes[stack.pop()] = at
            else:
                is_even = False
            places.append(at)
            inner.append(stack[-1])
        if (not is_even or len(stack) > 1) and "#" in self._code:
            return self._pairs_by_branch()
        return opens, closes, parents, places, inner

    def _pairs_by_branch(self) -> tuple[list[int], list[int], list[int], list[int], list[int]]:
        """The pairs of a text whose braces are not even: each branch of an `#if` begins with the braces that its first does.

        So `#if A … {`, `#else … {`, `#endif` opens one pair and not two. One that a branch alone opens ends with it.
        """
        opens: list[int] = []
        closes: list[int] = []
        parents: list[int] = []
        places: list[int] = []
        inner: list[int] = []
        stack = [-1]
        chains: list[list[int]] = []
        for mark in _BRACE_OR_BRANCH.finditer(self._code):
            at, word = mark.start(), mark[1]
            if word == "if":
                chains.append(list(stack))
                continue
            if word == "endif":
                if chains:
                    chains.pop()
                continue
            if word:
                if not chains:
                    continue
                for pair in stack[len(chains[-1]) :]:
                    closes[pair] = at
                stack = list(chains[-1])
            elif mark.group() == "{":
                parents.append(stack[-1])
                stack.append(len(opens))
                opens.append(at)
                closes.append(len(self._code))
            elif len(stack) > 1:
                closes[stack.pop()] = at
            places.append(at)
            inner.append(stack[-1])
        return opens, closes, parents, places, inner

    @property
    def opens(self) -> list[int]:
        """Where each pair opens, in order."""
        return self._pairs[0]

    def span(self, number: int) -> Span:
        """Where a pair opens and closes; the end of the text where it is never closed."""
        return self._pairs[0][number], self._pairs[1][number]

    def innermost(self, at: int) -> int:
        """The innermost pair around an offset, -1 for none."""
        _, _, _, places, inner = self._pairs
        number = bisect_left(places, at) - 1
        return inner[number] if number >= 0 else -1

    def around(self, at: int) -> Iterator[int]:
        """The pairs around an offset, the innermost first."""
        parents, number = self._pairs[2], self.innermost(at)
        while number >= 0:
            yield number
            number = parents[number]

    def opening_at(self, at: int) -> int | None:
        """The pair that opens at an offset."""
        number = bisect_left(self.opens, at)
        return number if number < len(self.opens) and self.opens[number] == at else None


def _each_brace(code: str) -> Iterator[tuple[int, bool]]:
    """Where each brace of a text is, and whether it opens. To look for one sign is many times as quick as for two."""
    start = 0
    for part in code.split("{"):
        end = start + len(part)
        close_at = code.find("}", start, end)
        while close_at >= 0:
            yield close_at, False
            close_at = code.find("}", close_at + 1, end)
        if end < len(code):
            yield end, True
        start = end + 1
