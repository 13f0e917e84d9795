"""Which batch to use: the smallest that gives nearly all the throughput, and which sizes to compile for real traffic.

Graph compilers such as MIGraphX compile fixed shapes, so a real batch is padded up to a compiled one. A single large
size can waste most of its work (half in KataGo's pull request 1235). The figure that counts is time per real item.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from stackbuild.core.errors import UsageError

LARGEST = 10**9
"""The largest real batch of a mix: beyond it floats lose items."""


@dataclass(frozen=True)
class Point:
    """One batch on the curve: seconds per inference and items per second."""

    batch: int
    seconds: float
    throughput: float


@dataclass(frozen=True)
class BatchLadder:
    """Compiled sizes and what serving a mix with them costs: seconds per real item, and the share of work on padding."""

    sizes: tuple[int, ...]
    seconds_per_item: float
    padding: float


@dataclass(frozen=True)
class Advice:
    """The curve by rising batch, the advised point, the best one, and the ladders for the mix that was given."""

    curve: tuple[Point, ...]
    advised: Point
    best: Point
    within: float
    ladders: tuple[BatchLadder, ...] = ()


def advise(
    seconds: Mapping[int, float], within: float, mix: Mapping[int, float] | None = None, sizes: int = 3
) -> Advice:
    """The smallest batch whose throughput is within `within` (a share) of the best measured one.

    With a `mix` (real batch size → weight), also the best ladder of at most one, two … `sizes` compiled sizes for it.
    """
    if not seconds:
        raise UsageError("no batch was measured", next="give --sizes 1,2,4,8,16")
    curve = tuple(Point(b, s, b / s) for b, s in sorted(seconds.items()))
    best = max(curve, key=lambda p: p.throughput)
    advised_point = next(p for p in curve if p.throughput >= (1 - within) * best.throughput)
    ladders = [best_ladder(seconds, mix, count) for count in range(1, min(sizes, len(curve)) + 1)] if mix else []
    return Advice(curve, advised_point, best, within, tuple(dict.fromkeys(ladders)))


def best_ladder(seconds: Mapping[int, float], mix: Mapping[int, float], count: int) -> BatchLadder:
    """Of all ladders of at most so many measured sizes, the one that serves the mix fastest (the shortest of equals)."""
    size_sets = (sizes for length in range(1, count + 1) for sizes in combinations(sorted(seconds), length))
    ladders = (ladder_cost(seconds, mix, sizes) for sizes in size_sets)
    return min(ladders, key=lambda ladder: (ladder.seconds_per_item, len(ladder.sizes), ladder.sizes))


def ladder_cost(seconds: Mapping[int, float], mix: Mapping[int, float], sizes: Sequence[int]) -> BatchLadder:
    """What these compiled sizes cost for that mix: each real batch runs in the smallest size that holds it."""
    time = items = slots = 0.0
    largest = max(sizes)
    for batch, weight in mix.items():
        full, rest = divmod(batch, largest)  # full largest ones, then the smallest that holds the rest
        last = min((s for s in sizes if s >= rest), default=largest) if rest else 0
        time += weight * (full * seconds[largest] + (seconds[last] if rest else 0.0))
        slots += weight * (full * largest + last)
        items += weight * batch
    return BatchLadder(tuple(sizes), time / items, max(0.0, 1 - items / slots))


def parse_mix(text: str) -> dict[int, float]:
    """`1:10,8:40,16:50` as real batch size → weight; or a file of them, `8:40` or just `8` a line: a log of real batches."""
    log = _log(text)
    parts = text.split(",") if log is None else log.split()
    mix: dict[int, float] = {}
    try:
        for batch, colon, weight in (part.partition(":") for part in parts):
            mix[int(batch)] = mix.get(int(batch), 0.0) + (1.0 if log is not None and not colon else float(weight))
    except ValueError:
        mix = {}
    if not mix or min(mix) < 1 or max(mix) > LARGEST or min(mix.values()) < 0 or not 0 < sum(mix.values()) < math.inf:
        raise UsageError(
            f"--mix {text if len(text) < 200 else text[:199] + '…'!r} is not BATCH:WEIGHT,…, of batches up to {LARGEST:,}",
            next="write for example --mix 1:10,8:40,16:50, or name a file with a batch a line",
        )
    return mix


def _log(text: str) -> str | None:
    """What is in the file of that name; None where it names none (a mix may be longer than a name can be)."""
    try:
        return Path(text).read_text("utf-8", "replace") if Path(text).is_file() else None
    except (OSError, ValueError):
        return None
