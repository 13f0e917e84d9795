"""Why a hunk does not apply: where in the file it belongs now, and which of its lines are otherwise there.

Upstream drifts, so the line that a hunk names is not where its text is: the place is found by the lines themselves.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

_HUNK = re.compile(r"^@@ -(\d{1,9})(?:,(\d{1,9}))? \+\d{1,9}(?:,\d{1,9})? @@")
_TOKEN = re.compile(r"\w+|\s+|.", re.S)
_SLACK = 12
"""Lines that may have come in between those of a hunk."""

RowRange = tuple[int, int, str]
"""From a column to a column of a line of the file, counted from 0, and what the hunk has there."""


@dataclass(frozen=True)
class Hunk:
    """The lines that a hunk looks at, and the number that it has for the first of them."""

    file: str
    line: int
    before: tuple[str, ...]


@dataclass(frozen=True)
class HunkChange:
    """How the file differs from what a hunk expects.

    At `line`, from 1, whose text is `text`: a line that is otherwise at `spans`, one that the hunk does not have (`added`), or the one
    before which the hunk has a line that the file has not (`missing`).
    """

    kind: Literal["changed", "added", "missing"]
    line: int
    text: str
    spans: tuple[RowRange, ...] = ()


def hunks(text: str) -> Iterator[Hunk]:
    """The hunks of a patch."""
    file, line, before, remaining_lines = "", 0, list[str](), 0
    for row in text.split("\n"):
        if remaining_lines > 0 and row[:1] in (" ", "-", ""):
            before.append(row[1:])
            remaining_lines -= 1
            if remaining_lines == 0:
                yield Hunk(file, line, tuple(before))
        elif remaining_lines > 0 and row[:1] == "+":
            continue
        elif match := _HUNK.match(row):
            line, remaining_lines, before = int(match[1]), int(match[2] or 1), []
        elif row.startswith("--- "):
            file = re.sub(r"^a/", "", row[4:].split("\t")[0])


def changes(before: Sequence[str], now: Sequence[str], line: int) -> tuple[HunkChange, ...]:
    """Where a file's lines differ from a hunk's, around the place that the hunk fits best; `line` is what it says."""
    first, last = _window(before, now, line)
    there = now[first:last]
    hunk_changes: list[HunkChange] = []
    rows = SequenceMatcher(None, there, before, autojunk=False).get_opcodes()
    for tag, a, b, c, d in rows:
        start, end = _trim(a, b, d - c, len(there), is_first=c == 0, is_last=d == len(before))
        if tag == "equal" or (tag == "delete" and (c == 0 or d == len(before))):
            continue
        pair_count = min(end - start, d - c)
        for i in range(pair_count):
            text = there[start + i]
            hunk_changes.append(HunkChange("changed", first + start + i + 1, text, tuple(_spans(text, before[c + i]))))
        hunk_changes += [HunkChange("added", first + i + 1, there[i]) for i in range(start + pair_count, end)]
        if d - c > pair_count:
            at = first + start + pair_count
            hunk_changes.append(HunkChange("missing", at + 1, now[at] if at < len(now) else ""))
    return tuple(hunk_changes)


def _window(before: Sequence[str], now: Sequence[str], line: int) -> tuple[int, int]:
    """The lines of the file that a hunk is about: around the longest run of its lines, the nearest to its number."""
    best, offset, score = max(0, line - 1), 0, 0
    index: dict[str, list[int]] = {}
    for i, text in enumerate(now):
        index.setdefault(text, []).append(i)
    for j, text in enumerate(before):
        for i in index.get(text, ()):
            size = weight = 0
            while j + size < len(before) and i + size < len(now) and before[j + size] == now[i + size]:
                weight += 1 + 4 * len(re.findall(r"\w", before[j + size]))
                size += 1
            if (weight, -abs(i - j - line)) > (score, -abs(best - offset - line)):
                best, offset, score = i, j, weight
    start = best - offset
    return max(0, start - _SLACK), min(len(now), start + len(before) + _SLACK)


def _trim(a: int, b: int, line: int, size: int, is_first: bool, is_last: bool) -> tuple[int, int]:
    """Lines `a` to `b` of the window, without those before the first and after the last that can be the hunk's."""
    if is_first and a == 0:
        a = max(a, b - line)
    elif is_last and b == size:
        b = min(b, a + line)
    return a, b


def _spans(now: str, before: str) -> Iterator[RowRange]:
    """The columns of a line at which it differs."""
    ours, theirs = _TOKEN.findall(now), _TOKEN.findall(before)
    for tag, a, b, c, d in SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes():
        if tag != "equal":
            start = len("".join(ours[:a]))
            yield start, start + len("".join(ours[a:b])), "".join(theirs[c:d])
