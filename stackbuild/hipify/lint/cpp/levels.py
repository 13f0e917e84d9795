"""The level of brackets that an offset stands in: what begins it, divides it and ends it."""

from __future__ import annotations

import re
from collections.abc import Iterator

REACH = 2000
"""So far an expression goes: what is longer is not followed."""
_SIGN = re.compile(r"[()\[\]{};,\n]")
_NOT_LINE = re.compile(r"[()\[\]{};,]")
_FIRST = 128


def before(code: str, at: int, reach: int = REACH) -> Iterator[tuple[int, str]]:
    """The signs of the levels around an offset, the nearest first: commas, and what opens or ends a level or a statement.

    The end of a preprocessor line counts as a `;`. What closed brackets hold is passed over; a `}`, after which a new
    statement may begin, is given, and what it closes passed over.
    """
    depth, low, size = 0, max(0, at - reach), _FIRST
    while at > low:
        start = max(low, at - size)
        for match in reversed(list(_SIGN.finditer(code, start, at))):
            sign, place = match.group(), match.start()
            if sign in ")]}":
                if sign == "}" and not depth:
                    yield place, sign
                depth += 1
            elif depth:
                depth -= sign in "([{"
            elif sign != "\n":
                yield place, sign
            elif code[code.rfind("\n", 0, place) + 1 : place].lstrip().startswith("#"):
                yield place, ";"
        at, size = start, 2 * size


def begin(code: str, at: int, reach: int = REACH, signs: str = "([{};,") -> tuple[int, str]:
    """The offset after the first of some signs of the levels before an offset, and that sign; `;` where none is in reach."""
    for place, sign in before(code, at, reach):
        if sign in signs:
            return place + 1, sign
    return max(0, at - reach), ";"


def end(code: str, at: int) -> int:
    """Where the own level of an offset ends after it: at a comma or `;`, or at what closes it."""
    depth, limit = 0, min(len(code), at + REACH)
    for match in _NOT_LINE.finditer(code, at, limit):
        sign = match.group()
        if not depth and sign in ")]};,":
            return match.start()
        depth += 1 if sign in "([{" else -1 if sign in ")]}" else 0
    return limit
