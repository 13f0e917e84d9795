"""Shuffle ladders: loops that move values between lanes by a step that the loop changes.

A ladder is run, not matched. Its loop is interpreted for wavefronts of 32 and of 64 lanes, with its counters, casts and
constants, and the steps at the shuffle are recorded. What the interpreter cannot follow gives no verdict.
Ladders without a loop are in `unrolled`.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

from stackbuild.hipify.cpp.scan import is_name_char, line_end, line_start
from stackbuild.hipify.cpp.source_text import View
from stackbuild.hipify.lint.cpp import arithmetic
from stackbuild.hipify.lint.cpp.interpret import Interpreter, UntraceableLoop, names_set
from stackbuild.hipify.lint.cpp.scope import Scope, means_lane, means_warp, scope_of
from stackbuild.hipify.lint.cpp.statements import Loop, NotStatement, Statements
from stackbuild.hipify.lint.ladders.shuffles import Mode, Shuffle, complete, shuffles

# Each begins with its word: the search then skips to that.
_KEYWORDS = tuple(re.compile(rf"{word}(?=[\s({{\\])") for word in ("for", "while", "do"))
_BEFORE = 6000
"""So many characters before a shuffle its loop may begin."""
_REACH = 1 << 14
LANES = (32, 64)
EXPONENTS = (5, 6)


@dataclass(frozen=True)
class Ladder:
    """One ladder: its offset in the text, and the steps it visits where names stand for 32 and for 64 lanes.

    `names` are those names; without any both are the same. `width` is the shuffle's width where it is a number, 0 for
    none. `scales` says that the step is multiplied or divided; `tile` that the shuffle is a group's own and stays in it;
    `is_written_out` that there is no loop, but a line for each step.
    """

    at: int
    visits: tuple[tuple[int, ...], tuple[int, ...]]
    names: frozenset[str]
    width: int
    mode: Mode = "down"
    scales: bool = True
    tile: bool = False
    is_written_out: bool = False

    @property
    def complete(self) -> bool:
        """Whether the steps reach every lane of the group that they span."""
        return all(complete(offsets, self.mode) for offsets in self.visits)


@dataclass(frozen=True)
class UntracedLoop:
    """A loop that looks like a ladder and could not be followed, with the text of its step."""

    at: int
    step: str


@dataclass(eq=False)
class _Loops:
    """The loops of one text, each read once and only where a shuffle is inside."""

    view: View
    ends: dict[int, int] = field(default_factory=dict)
    trees: dict[int, Loop | None] = field(default_factory=dict)
    traces: dict[tuple[int, str, str, str], Ladder | UntracedLoop | None] = field(default_factory=dict)

    @cached_property
    def keywords(self) -> list[tuple[int, str]]:
        code = self.view.code
        matches = (m for keyword in _KEYWORDS for m in keyword.finditer(code))
        return sorted((m.start(), m.group()) for m in matches if not is_name_char(code[m.start() - 1 : m.start()]))

    def around(self, at: int) -> Iterator[Loop]:
        """The loops that an offset is in, the innermost first."""
        start = max(0, at - _BEFORE)
        near = self.keywords[bisect_left(self.keywords, (start, "")) : bisect_left(self.keywords, (at, ""))]
        for place, word in reversed(near):
            if self._end(place, word) <= at:
                continue
            if place not in self.trees:
                self.trees[place] = self._read(place, word)
            tree = self.trees[place]
            if tree is not None:
                yield tree

    def _end(self, at: int, word: str) -> int:
        if at not in self.ends:
            self.ends[at] = body_end(self.view.code, at + len(word))
        return self.ends[at]

    def _read(self, at: int, word: str) -> Loop | None:
        try:
            return Statements(self.view.code, _limit(self.view.code, at)).loop(at, word)[0]
        except NotStatement:
            return None


_DELIMITER = re.compile(r"[(){};]")


def body_end(code: str, at: int) -> int:
    """RuleDescription where the statement ends whose head begins at `at`: after a `}` or `;` outside of its brackets."""
    depth = 0
    for delimiter in _DELIMITER.finditer(code, at, at + _REACH):
        sign = delimiter.group()
        depth += 1 if sign in "{(" else -1 if sign in "})" else 0
        if depth <= 0 and sign in ";}":
            return delimiter.end()
    return min(len(code), at + _REACH)


def _limit(code: str, at: int) -> int:
    """Where a statement has to end: with its macro's last line, or with the text."""
    start = line_start(code, at)
    return line_end(code, at) if code[start:at].lstrip().startswith("#") else len(code)


def ladders(view: View, calls: list[Shuffle] | None = None) -> Iterator[Ladder | UntracedLoop]:
    """The loops of a text that shuffle by what they count, each once; and those that could not be followed."""
    by_place: dict[int, Ladder | UntracedLoop] = {}
    loops, scope = _Loops(view), scope_of(view)
    unread: dict[int, tuple[int, UntracedLoop]] = {}
    for call in shuffles(view) if calls is None else calls:
        loop_of_call = _ladder(view, loops, scope, call)
        if isinstance(loop_of_call, Ladder):
            by_place[loop_of_call.at] = loop_of_call
        elif loop_of_call is not None:
            unread[loop_of_call.at] = (call.at, loop_of_call)
    for at, (shuffle, loop) in unread.items():
        if not any(at <= ladder <= shuffle for ladder in by_place):  # a loop inside it is the ladder
            by_place[at] = loop
    yield from (by_place[at] for at in sorted(by_place))


def _ladder(view: View, loops: _Loops, scope: Scope, call: Shuffle) -> Ladder | UntracedLoop | None:
    """The innermost loop around a shuffle that is its ladder; else one that looks so."""
    unread: UntracedLoop | None = None
    for loop in loops.around(call.at):
        changed_names = names_set(view.code, loop)
        for step, width in call.steps():
            if not (names := arithmetic.names(step)) or names.isdisjoint(changed_names):
                continue
            key = (loop.at, step, width, call.name)
            if key not in loops.traces:  # several shuffles of one loop by one step are one ladder
                loops.traces[key] = _follow(view, scope, call, loop, step, width)
            ladder = loops.traces[key]
            if isinstance(ladder, Ladder):
                return ladder
            if ladder is _ON_PURPOSE:
                return unread
            unread = unread or (ladder if call.place else None)
    return unread


_ON_PURPOSE = UntracedLoop(-1, "")
"""A loop between two names: some other width than a warp's, chosen by whoever wrote it."""


def _follow(view: View, scope: Scope, call: Shuffle, loop: Loop, step: str, width: str) -> Ladder | UntracedLoop | None:
    """The ladder that a loop is for a shuffle by `step`, which the loop changes; None where it is not one."""
    runner = Interpreter(view.code, loop, call.at, call.end, step, width)
    scales = runner.scales()
    names = runner.free()
    env: arithmetic.Env = {name: scope.value(name, loop.at) for name in names}
    lanes = {name for name in names if call.mode == "index" and means_lane(name)}
    mode: Mode = "xor" if lanes and scales else call.mode  # `lane ^ o`: the step is what the first lane asks for
    env.update(dict.fromkeys(lanes, 0))
    open_names = frozenset(name for name in names if env[name] is None)
    if open_names and not _one_unknown(runner, open_names):
        return _ON_PURPOSE if scales else None
    if open_names and mode == "index" and not scales:
        return _ON_PURPOSE  # each lane is asked, up to a number with a name
    try:
        visits = _visits(runner, env, open_names)
    except UntraceableLoop:
        return UntracedLoop(loop.at, " ".join(step.split())) if scales else None
    if visits is None:
        return None
    if not scales and call.mode != "index" and not (scales := _halves(visits[0])):
        return None
    if lanes and any(number & (number - 1) for number in visits[0] + visits[1]):
        return None
    if min(visits[0] + visits[1]) <= 0 and mode != "index":
        return UntracedLoop(loop.at, " ".join(step.split()))
    wide = 0 if means_warp(width) else runner.width
    return Ladder(loop.at, visits, open_names, wide, mode, scales, call.member and is_tiled(view))


def _halves(offsets: tuple[int, ...]) -> bool:
    """Whether steps that are counted otherwise halve or double all the same, from half a warp: 16, 8 by `o -= 8`."""
    pairs = list(pairwise(offsets))
    return max(offsets) >= LANES[0] // 2 and bool(pairs) and all(a == 2 * b or b == 2 * a for a, b in pairs)


def is_tiled(view: View) -> bool:
    """Whether a text has cooperative groups of a fixed size, within which their own shuffles stay."""
    return not view.words.isdisjoint(("thread_block_tile", "tiled_partition"))


def _visits(
    runner: Interpreter, values: arithmetic.Env, open_names: frozenset[str]
) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """The steps for 32 and 64 lanes, where open names are those numbers or, if that is beyond them, their exponents."""
    for stands_for in (LANES, EXPONENTS):
        visits = [
            runner.run({**values, **dict.fromkeys(open_names, number)}) for number in stands_for[: len(open_names) + 1]
        ]
        visits.append(visits[0])  # without an open name both are the same
        if not visits[0] or not visits[1]:
            return None
        if not open_names or max(visits[0]) <= LANES[1]:
            break
    return visits[0], visits[1]


def _one_unknown(runner: Interpreter, open_names: frozenset[str]) -> bool:
    """Whether the names can stand for one number: a bound with names of its own is some other width on purpose."""
    bound = open_names & runner.condition_names()
    return not bound or len(open_names) == 1 or all(means_warp(name) for name in open_names)
