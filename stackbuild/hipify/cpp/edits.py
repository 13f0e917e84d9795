"""Edits of one text by offset, and what applying them gives: the new text and which line came from where."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace `[start, end)` of the original by `text`. `by` names the rule, `group` the API group of a table's name.

    An edit with start == end inserts. `closes` marks the closing half of a wrap: it goes before what opens there.
    """

    start: int
    end: int
    text: str
    by: str
    group: str = ""
    closes: bool = False


@dataclass(frozen=True)
class LineMap:
    """Which line of the original each line of the output came from, as (output line, original line) where it changes."""

    breaks: tuple[tuple[int, int], ...] = ((1, 1),)

    def original(self, line: int) -> int:
        """The original line of an output line, both from 1."""
        at, base = self.breaks[bisect_right(self.breaks, (line, 1 << 60)) - 1]
        return base + line - at if line >= at else base


def wrap(start: int, end: int, before: str, after: str, by: str) -> list[Edit]:
    """The two insertions that put `before` and `after` around a span."""
    return [Edit(start, start, before, by), Edit(end, end, after, by, closes=True)]


def settle(edits: Iterable[Edit]) -> list[Edit]:
    """The edits in the order of the text, without those inside another's replaced span.

    Of two that overlap the one that begins first wins; at one place the wider, then the earlier given. Closing halves
    come before opening ones at one place, the inner of them first.
    """
    chain: list[Edit] = []
    reach = 0
    for _, edit in sorted(enumerate(edits), key=_order):
        if edit.start >= reach:
            chain.append(edit)
            reach = edit.end
    return chain


def _order(numbered_edit: tuple[int, Edit]) -> tuple[int, int, int, int]:
    number, edit = numbered_edit
    if edit.start == edit.end:
        return (edit.start, 0, 0, -number) if edit.closes else (edit.start, 1, 0, number)
    return (edit.start, 2, -edit.end, number)


def apply(text: str, edits: list[Edit]) -> str:
    """The text with settled edits made."""
    pieces: list[str] = []
    at = 0
    for edit in edits:
        pieces.append(text[at : edit.start])
        pieces.append(edit.text)
        at = edit.end
    pieces.append(text[at:])
    return "".join(pieces)


def line_map(text: str, edits: list[Edit]) -> LineMap:
    """Where the lines of the text with settled edits made came from."""
    breaks = [(1, 1)]
    at, line, shift = 0, 1, 0
    for edit in edits:
        removed_lines = text.count("\n", edit.start, edit.end) if edit.end > edit.start else 0
        added_lines = edit.text.count("\n")
        if added_lines == removed_lines:
            continue
        line += text.count("\n", at, edit.start)
        at = edit.start
        out = line + shift
        breaks += [(out + k, line + min(k, removed_lines)) for k in range(1, added_lines + 1)]
        if removed_lines > added_lines:
            whole = edit.start == 0 or text[edit.start - 1] == "\n"
            breaks.append(
                (out + added_lines, line + removed_lines)
                if whole
                else (out + added_lines + 1, line + removed_lines + 1)
            )
        shift += added_lines - removed_lines
    return LineMap(tuple(breaks))
