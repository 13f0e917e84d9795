"""Shuffle ladders: loops that move values between lanes by a step that halves or doubles.

Each ladder is evaluated, not matched: from the loop's start, condition and step come the offsets it visits, and from
those how many lanes one lane's result depends on. Names in the start stand for 32 lanes and then for 64.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import stackbuild.hipify.lint.arithmetic as arithmetic
from stackbuild.hipify.scan import REACH, arguments, skip_space
from stackbuild.hipify.view import View

_FOR = re.compile(r"\bfor\s*\(")
_START = re.compile(r"(?:[\w:]+\s+)*?(\w+)\s*=\s*(.+)", re.S)
_CONDITION = re.compile(r"(\w+)\s*(?:(>=|<=|!=|>|<)\s*(.+))?", re.S)
_STEP = re.compile(r"(\w+)\s*(>>=|<<=|/=|\*=|=)\s*(.+)", re.S)
_CALL = re.compile(r"\b(?:\w*[sS]hfl\w*|\w*SHFL\w*|\w*[sS]huffle\w*)\s*(?:<[\w:, ]*>)?\s*\(")
_NUMBER = re.compile(r"(\d+)[uUlL]*")
_MAX_STEPS = 70


@dataclass(frozen=True)
class Ladder:
    """One loop: its offset in the text, and the offsets it visits where names stand for 32 and for 64 lanes.

    `names` are those names; without any both are the same. `width` is the literal width of the shuffle, 0 for none.
    """

    at: int
    visits: tuple[tuple[int, ...], tuple[int, ...]]
    names: frozenset[str]
    width: int

    @property
    def complete(self) -> bool:
        """Whether the offsets reach every lane of the group that twice the largest of them spans."""
        return all(reach(offsets) == 2 * max(offsets) for offsets in self.visits)


def reach(offsets: tuple[int, ...]) -> int:
    """How many lanes one lane's value comes from after steps at these offsets: the distinct sums of subsets."""
    sums = {0}
    for offset in offsets:
        sums |= {s + offset for s in sums}
    return len(sums)


def ladders(view: View) -> Iterator[Ladder]:
    """The ladders of a text: `for` loops that shuffle by the loop's variable."""
    if not any("shfl" in word or "SHFL" in word or "huffle" in word for word in view.words):
        return
    for found in _FOR.finditer(view.code):
        head = _head(view.code, found.end() - 1)
        if head is not None and (ladder := _ladder(view.code, found.start(), *head)) is not None:
            yield ladder


def _head(code: str, open_at: int) -> tuple[list[str], int] | None:
    """The three parts of a `for` head and the offset after its bracket."""
    depth, parts, start = 0, [], open_at + 1
    for at in range(open_at, min(len(code), open_at + 600)):
        char = code[at]
        depth += {"(": 1, ")": -1}.get(char, 0)
        if (char == ";" and depth == 1) or depth == 0:
            parts.append(code[start:at].strip())
            start = at + 1
        if depth == 0:
            return (parts, at + 1) if len(parts) == 3 else None
    return None


def _ladder(code: str, at: int, head: list[str], body_at: int) -> Ladder | None:
    start, condition, step = _START.fullmatch(head[0]), _CONDITION.fullmatch(head[1]), _STEP.fullmatch(head[2])
    if start is None or condition is None or step is None:
        return None
    name = start.group(1)
    if condition.group(1) != name or step.group(1) != name:
        return None
    width = _shuffles_by(code[body_at : _body_end(code, body_at)], name)
    if width is None:
        return None
    first, bound = start.group(2), condition.group(3) or "0"
    known, more = arithmetic.names(first), arithmetic.names(bound)
    if known is None or more is None or not _one_unknown(known, more):
        return None
    visits = tuple(
        _visit(dict.fromkeys(known | more, lanes), first, (condition.group(2) or "!=", bound), step)
        for lanes in (32, 64)
    )
    if visits[0] is None or visits[1] is None:
        return None
    return Ladder(at, (visits[0], visits[1]), frozenset(known | more), width)


def _one_unknown(start: set[str], bound: set[str]) -> bool:
    """Whether names can stand for one number: a bound with names of its own is some other width on purpose."""
    return not bound or (len(start | bound) == 1)


def _body_end(code: str, at: int) -> int:
    """Where the statement ends that begins at `at`: after its `}` or `;`."""
    at = skip_space(code, at)
    depth = 0
    for end in range(at, min(len(code), at + REACH)):
        char = code[end]
        depth += {"{": 1, "(": 1, "}": -1, ")": -1}.get(char, 0)
        if depth <= 0 and char in ";}":
            return end + 1
    return min(len(code), at + REACH)


def _shuffles_by(body: str, name: str) -> int | None:
    """The literal width of the shuffle by `name` in a loop's body, 0 for none written, None for no such shuffle."""
    for found in _CALL.finditer(body):
        parsed = arguments(body, found.end() - 1)
        if parsed is None:
            continue
        texts = [body[start:end] for start, end in parsed[0]]
        if name in texts:
            rest = texts[texts.index(name) + 1 :]
            width = _NUMBER.fullmatch(rest[0]) if rest else None
            return int(width.group(1)) if width else 0
    return None


def _visit(
    stands_for: dict[str, int], start: str, condition: tuple[str, str], step: re.Match[str]
) -> tuple[int, ...] | None:
    """The offsets that a loop visits, in order. None where that cannot be told, or it does not end, or shuffles by 0."""
    at, bound = arithmetic.value(start, stands_for), arithmetic.value(condition[1], stands_for)
    name, sign, by = step.group(1, 2, 3)
    visited: list[int] = []
    while at is not None and bound is not None and _holds(at, condition[0], bound):
        visited.append(at)
        if len(visited) > _MAX_STEPS or at <= 0:
            return None
        at = arithmetic.value(by if sign == "=" else f"{name} {sign[:-1]} ({by})", {**stands_for, name: at})
    return tuple(visited) if visited and at is not None and bound is not None else None


def _holds(value: int, sign: str, bound: int) -> bool:
    return {">=": value >= bound, ">": value > bound, "<=": value <= bound, "<": value < bound}.get(
        sign, value != bound
    )
