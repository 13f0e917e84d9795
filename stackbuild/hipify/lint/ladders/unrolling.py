"""Shuffle ladders written out by hand, a line for each step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from stackbuild.hipify.cpp.source_text import View
from stackbuild.hipify.lint.cpp import arithmetic
from stackbuild.hipify.lint.cpp.scope import Scope, means_warp, scope_of
from stackbuild.hipify.lint.ladders.loops import Ladder, is_tiled
from stackbuild.hipify.lint.ladders.shuffles import Mode, Shuffle

_NEAR = 600
"""So far apart are two steps of one ladder at most."""
_LEAST = 3
"""Steps of a ladder by hand: two shuffles are a pair of lanes more often than a ladder."""
_WITHOUT_ONE = 4
"""Steps of a ladder by hand that does not go down to 1: 16, 8, 4 are the rows of a fragment more often than a ladder."""


@dataclass(frozen=True)
class _UnrolledShuffle:
    """One shuffle by a number: where, by how much, with what width, and what it has in common with others of a ladder.

    `open_width` is the width where it has no value in the text: one that was chosen on purpose.
    """

    at: int
    offset: int
    width: int
    open_width: frozenset[str]
    alike: tuple[str, ...]
    mode: Mode
    member: bool


def ladders(view: View, calls: Iterable[Shuffle]) -> Iterator[Ladder]:
    """Shuffles by numbers that halve or double, one after the other, down to or up from 1.

    Those of one value come first; then, of what is left, those whose value has another name at each step.
    """
    rungs = list(_rungs(view, calls))
    runs: list[list[_UnrolledShuffle]] = []
    for alike in (None, 1):
        rows: dict[tuple[str, ...], list[_UnrolledShuffle]] = {}
        for rung in rungs:
            rows.setdefault(rung.alike[:alike], []).append(rung)
        of_width = [run for row in rows.values() for run in _runs(view.code, row) if _is_ladder(run)]
        runs += of_width
        places = {rung.at for run in of_width for rung in run}
        rungs = [rung for rung in rungs if rung.at not in places]
    for run in sorted(runs, key=lambda run: run[0].at):
        offsets = tuple(rung.offset for rung in run)
        is_tile = run[0].member and is_tiled(view)
        first = run[0]
        yield Ladder(first.at, (offsets, offsets), first.open_width, first.width, first.mode, True, is_tile, True)


def _is_ladder(run: list[_UnrolledShuffle]) -> bool:
    """Whether a row of steps is meant to reach all lanes: down to 1, or four that halve from 16 or more on."""
    offsets = [rung.offset for rung in run]
    if min(offsets) == 1:
        return len(run) >= _LEAST
    return len(run) >= _WITHOUT_ONE and min(offsets) == 2 and max(offsets) >= 16


def _rungs(view: View, calls: Iterable[Shuffle]) -> Iterator[_UnrolledShuffle]:
    scope = scope_of(view)
    for call in calls:
        if call.mode == "index" and not call.name.startswith("__shfl"):
            continue
        for place in (call.place,) if call.place else range(len(call.arguments) - 1, 0, -1):
            if place >= len(call.arguments):
                continue
            offset = _value(scope, call.arguments[place])
            if offset is None or not _is_power(offset):
                continue
            rest = call.arguments[place + 1 : place + 2]
            width = _value(scope, rest[0]) if rest else 0
            open_width = frozenset(rest) if width is None and not means_warp(rest[0]) else frozenset()
            others = (call.name, *call.arguments[:place], *call.arguments[place + 1 :])
            yield _UnrolledShuffle(call.at, offset, width or 0, open_width, others, call.mode, call.member)
            break


def _value(scope: Scope, text: str) -> int | None:
    if text.isdigit():
        return int(text)
    names = arithmetic.names(text)
    if names is None or len(names) > 1:
        return None
    env = {name: scope.constant(name) for name in names}
    return arithmetic.value(text, {n: v for n, v in env.items() if v is not None})


def _is_power(number: int) -> bool:
    return 0 < number <= 64 and number & (number - 1) == 0


def _runs(code: str, row: list[_UnrolledShuffle]) -> Iterator[list[_UnrolledShuffle]]:
    """The parts of a row of shuffles that go one way without a brace between. The same step twice is one.

    After a part that ends with such a step, the second one may begin the next part.
    """
    run = row[:1]
    is_twice = False
    for before, after in pairwise(row):
        between = code[before.at : after.at]
        near = len(between) < _NEAR and "{" not in between and "}" not in between
        down = len(run) < 2 or run[0].offset > run[1].offset
        onward = after.offset < before.offset if len(run) > 1 and down else after.offset > before.offset
        onward = after.offset != before.offset if len(run) == 1 else onward
        if near and after.offset == before.offset:
            is_twice = True
            continue
        if near and onward:
            run.append(after)
        else:
            yield run
            run = [before, after] if near and is_twice else [after]
        is_twice = False
    yield run
