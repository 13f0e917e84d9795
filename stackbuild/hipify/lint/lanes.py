"""Lint of what takes a wavefront to have 32 lanes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from stackbuild.hipify.cpp.source_text import View
from stackbuild.hipify.lint.catalogue import LintMatch
from stackbuild.hipify.lint.cpp.scope import means_lane, means_warp
from stackbuild.hipify.lint.ladders import loops, recursion, unrolling
from stackbuild.hipify.lint.ladders.loops import LANES, Ladder, UntracedLoop
from stackbuild.hipify.lint.ladders.shuffles import reach, shuffles

_BY_32 = re.compile(r"(?:&\s*(?:31|0x1[fF]|\(\s*32[uU]?\s*-\s*1)|%\s*32|>>\s*5|/\s*32)[uU]?\b(?!\s*[\w.])")
_LANE = re.compile(
    r"\b(?:threadIdx\s*\.\s*\w|\w*(?:lane|Lane)\w*(?:\s*\(\s*\))?|tid\w*|tx|thread\w*|\w*[iI]dx"
    r"|blockDim\s*\.\s*\w|[bB]lock_?[sS]ize|BLOCK_SIZE|\w*[tT]hreads|\w*THREADS)(?:\s*\+\s*31[uU]?)?\s*\)?\s*\Z"
    r"|\b(?:threadIdx\s*\.\s*x|lane\w*)\s*[-+]\s*\d+[uU]?\s*\)\s*\Z"
)
LAST = frozenset(digits + suffix for digits in ("31", "0x1f", "0x1F") for suffix in ("", "u", "U"))
_32 = frozenset(("32", "32u", "32U"))
_OPERATORS = {"&": LAST, "%": _32, "/": _32, ">>": frozenset(("5", "5u", "5U"))}
_LAST_LANE = re.compile(r"[!=]=\s*(?:31|0x1[fF])[uU]?\b")
_WORD_BEFORE = re.compile(r"(\w+)\s*(?:\(\s*\)\s*)?\Z")
_TILE = re.compile(r"\b(thread_block_tile|tiled_partition)\s*<\s*(32|\w*(?:WARP|[wW]arp)\w*)\s*[,>]")


def ladders(view: View) -> Iterator[Ladder | UntracedLoop]:
    """The shuffle ladders of a text in every form, and the loops that look like one and could not be followed."""
    if calls := shuffles(view):
        yield from loops.ladders(view, calls)
        yield from unrolling.ladders(view, calls)
        yield from recursion.ladders(view, calls)


def shuffle_ladders(view: View) -> Iterator[LintMatch]:
    """Ladders that leave lanes out, and those made for one wavefront size."""
    for ladder in ladders(view):
        if isinstance(ladder, UntracedLoop):
            yield ladder.at, "LINT-LADDER-UNREAD", (ladder.step,)
        elif (verdict := _verdict(ladder)) is not None:
            yield ladder.at, *verdict


def _is_strided(offsets: tuple[int, ...]) -> bool:
    """Whether steps grow by two from 4 or more: each group of so many lanes is reduced to one value apart, or was before."""
    return offsets[0] >= 4 and all(later == 2 * step for step, later in pairwise(offsets)) and len(offsets) > 1


def _verdict(ladder: Ladder) -> tuple[str, tuple[str, ...]] | None:
    """The rule that a ladder breaks, and its words."""
    if not ladder.scales and ladder.mode != "index":
        return None
    offsets = ladder.visits[0]
    steps = ", ".join(map(str, offsets[:8])) + (", …" if len(offsets) > 8 else "")
    group = 1 << max(offsets).bit_length()
    if ladder.scales and ladder.mode != "index" and not ladder.complete and not _is_strided(offsets):
        return "LINT-LADDER-STEPS" if ladder.is_written_out else "LINT-LADDER-INCOMPLETE", (steps, str(group))
    if ladder.mode != "index" and ladder.width and max(offsets) >= ladder.width:
        return "LINT-LADDER-WIDTH", (steps, f"a width of {ladder.width}")
    if ladder.mode != "index" and ladder.names and all(map(means_warp, ladder.names)) and max(offsets) >= LANES[0]:
        return "LINT-LADDER-WIDTH", (steps, f"a wavefront of {LANES[0]}")
    if ladder.mode != "index" and not (ladder.names or ladder.tile or ladder.width) and max(offsets) >= LANES[1]:
        return "LINT-LADDER-WIDTH", (steps, f"a wavefront of at most {LANES[1]}")
    reached_lanes = reach(offsets, ladder.mode)
    if ladder.names or ladder.tile or 0 < ladder.width <= reached_lanes:
        return None
    return {32: ("LINT-LADDER-32", (steps, ladder.mode)), 64: ("LINT-LADDER-64", (steps,))}.get(reached_lanes)


def lane_arithmetic(view: View) -> Iterator[LintMatch]:
    """Lane and warp numbers that are computed with 32, and lane 31 as the last."""
    code = view.code
    signs = [sign for sign, numbers in _OPERATORS.items() if not view.numbers.isdisjoint(numbers)]
    if "&" not in signs and "32" in view.numbers and ("32 - 1" in code or "32-1" in code):
        signs.append("&")
    for match in sorted((m for sign in signs for m in _by_32(code, sign)), key=re.Match.start):
        if before := _LANE.search(code, max(0, match.start() - 40), match.start()):
            yield before.start(), "LINT-LANE-ARITHMETIC", (" ".join(code[before.start() : match.end()].split()),)
    if not view.numbers.isdisjoint(LAST) and ("lane" in view.word_lines or "Lane" in view.word_lines):
        for match in _LAST_LANE.finditer(code):
            word = _WORD_BEFORE.search(code, max(0, match.start() - 40), match.start())
            if word and means_lane(word[1][:1].lower() + word[1][1:]):
                yield word.start(), "LINT-LANE-ARITHMETIC", (" ".join(code[word.start() : match.end()].split()),)


def _by_32(code: str, sign: str) -> Iterator[re.Match[str]]:
    """Where one operator has a warp's number of lanes on its right."""
    at = code.find(sign)
    while at >= 0:
        if match := _BY_32.match(code, at):
            yield match
        at = code.find(sign, at + 1)


def tiles(view: View) -> Iterator[LintMatch]:
    for name in ("thread_block_tile", "tiled_partition"):
        for at in view.places(name) if name in view.words else ():
            if match := _TILE.match(view.code, at):
                yield at, "LINT-TILE-32", (match.group(1),)
