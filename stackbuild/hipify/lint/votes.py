"""Lint of what asks all lanes of a warp at once: votes, reductions in one instruction, matches; and of the last lane."""

from __future__ import annotations

import re
from collections.abc import Iterator

from stackbuild.hipify.cpp.keywords import BEFORE_EXPRESSIONS
from stackbuild.hipify.cpp.scan import call_arguments
from stackbuild.hipify.cpp.source_text import View
from stackbuild.hipify.lint.ballots import FULL_32, mask_value
from stackbuild.hipify.lint.catalogue import LintMatch
from stackbuild.hipify.lint.cpp.scope import scope_of
from stackbuild.hipify.lint.ladders.loops import LANES
from stackbuild.hipify.lint.lanes import LAST, lane_arithmetic
from stackbuild.hipify.passes.lane_masks import FUNCTIONS

_SYNC = frozenset(name for name in FUNCTIONS if name.startswith(("__any_", "__all_", "__match_", "__reduce_")))
_OLD = frozenset(("__any", "__all"))
_VOTES = _SYNC | _OLD
_SHUFFLES = {"__shfl_sync": 2, "__shfl": 1}
# What makes rows of 32 threads likely: a second dimension of the block, or one that is 32 wide.
_ROWS = re.compile(r"threadIdx\s*\.\s*y\b|blockDim\s*\.\s*y\b|dim3\s*(?:\w+\s*)?[({]\s*32\s*,\s*[^\s1]")


def votes(view: View) -> Iterator[LintMatch]:
    """Votes over all lanes: each name once where rows of 32 threads are likely, else one note for the text."""
    names = view.words & _VOTES
    if not names:
        return
    first = sorted(place for name in names if (place := _first(view, name)) is not None)
    if not first:
        return
    rows = _ROWS.search(view.code) is not None or next(lane_arithmetic(view), None) is not None
    for at, name in first if rows else first[:1]:
        yield at, "LINT-VOTE-32" if rows else "LINT-VOTE", (name,)


def _first(view: View, name: str) -> tuple[int, str] | None:
    """Where a name first asks all lanes."""
    for at in view.own(name):
        arguments = _arguments(view.code, at + len(name))
        if arguments is None or (name in _OLD and len(arguments) != 1) or _declares(view.code, at):
            continue
        if name in _OLD or mask_value(scope_of(view), arguments[0], at) in (FULL_32, -1):
            return at, name
    return None


def _declares(code: str, at: int) -> bool:
    """Whether a name at an offset is being defined: by a macro, or after a type."""
    before = code[max(0, at - 40) : at].rstrip()
    word = re.search(r"\w+\Z", before)
    return word is not None and word[0] not in BEFORE_EXPRESSIONS


def _arguments(code: str, at: int) -> list[str] | None:
    argument_list = call_arguments(code, at)
    return [" ".join(code[start:end].split()) for start, end in argument_list[0]] if argument_list else None


_LOW_LANES = re.compile(r"\s*(?:threadIdx\s*\.\s*x|\w*[lL]ane\w*(?:\(\s*\))?)\s*&\s*(\d+)[uU]?\s*")


def low_lanes(view: View) -> Iterator[LintMatch]:
    """Shuffles from a lane of the lower 32 that bits of the own lane make, without a width: `lane & 24`."""
    for name, place in _SHUFFLES.items():
        for at in view.own(name) if name in view.words else ():
            arguments = _arguments(view.code, at + len(name))
            if arguments is None or len(arguments) != place + 1:
                continue
            low = _LOW_LANES.fullmatch(arguments[place])
            if low and 0 < int(low[1]) < LANES[0] - 1:  # 31 itself is lane arithmetic
                yield at, "LINT-LANE-ARITHMETIC", (arguments[place],)


def last_lanes(view: View) -> Iterator[LintMatch]:
    """Shuffles from lane 31, the last of a warp of 32, without a width."""
    if view.numbers.isdisjoint(LAST):
        return
    for name, place in _SHUFFLES.items():
        for at in view.own(name) if name in view.words else ():
            arguments = _arguments(view.code, at + len(name))
            if arguments is not None and len(arguments) == place + 1 and arguments[place].strip("() ") in LAST:
                yield at, "LINT-LAST-LANE", (name,)
