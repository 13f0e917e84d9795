"""Change points of a series: where its level changed, by repeated splitting. Pure and deterministic.

A split counts where the medians of its two parts differ by at least `least` and a rank test is significant (Mann and
Whitney, 1947; exact where a part is short, ties included). The strongest split is taken first, then each part is split
again. This is for nightly history, which has no pairs as a release gate has. It marks changes and fails nothing.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist, median

SHORTEST = 5
EXACT = 10
CHANCE = 0.01


@dataclass(frozen=True)
class ChangePoint:
    """The level changes at index `at`: medians `before` and `after` of the parts beside it."""

    at: int
    before: float
    after: float

    @property
    def change(self) -> float:
        return _change(self.before, self.after)


def change_points(values: Sequence[float], least: float = 0.03) -> tuple[ChangePoint, ...]:
    """Every change point, in order; none in a series shorter than ten."""
    cuts = sorted(_cuts(values, 0, least))
    edges = [0, *cuts, len(values)]
    return tuple(
        ChangePoint(cut, median(values[edges[n] : cut]), median(values[cut : edges[n + 2]]))
        for n, cut in enumerate(cuts)
    )


def _cuts(values: Sequence[float], offset: int, least: float) -> list[int]:
    candidates = [
        (rank_test(values[:cut], values[cut:]), cut)
        for cut in range(SHORTEST, len(values) - SHORTEST + 1)
        if abs(_change(median(values[:cut]), median(values[cut:]))) >= least
    ]
    chance, cut = min(candidates, default=(1.0, 0))
    if chance > CHANCE / max(1, len(candidates)):
        return []
    return [*_cuts(values[:cut], offset, least), offset + cut, *_cuts(values[cut:], offset + cut, least)]


def _change(before: float, after: float) -> float:
    """From one level to another, as a share of the first; infinite from none to some (a peak of 0 bytes)."""
    if before == 0:
        return 0.0 if after == 0 else math.copysign(math.inf, after)
    return after / before - 1


def rank_test(a: Sequence[float], b: Sequence[float]) -> float:
    """Two-sided Mann-Whitney: exact where a part has at most `EXACT` values, else by the normal approximation."""
    few, many = sorted((a, b), key=len)
    doubled_ranks = _doubled_ranks([*few, *many])
    if len(few) <= EXACT:
        return _exact_chance(doubled_ranks, len(few))
    total = len(doubled_ranks)
    off = abs(sum(doubled_ranks[: len(few)]) - len(few) * (total + 1)) / 2
    ties = sum(c**3 - c for c in Counter(doubled_ranks).values()) / (total * (total - 1))
    spread = math.sqrt(len(few) * len(many) / 12 * (total + 1 - ties))
    if spread == 0:
        return 1.0
    return 2 * (1 - NormalDist().cdf(max(0.0, off - 0.5) / spread))


def _doubled_ranks(values: Sequence[float]) -> list[int]:
    """Twice each value's rank, whole numbers: equal values share the mean of their ranks."""
    ordered_values = sorted(values)
    return [bisect_left(ordered_values, value) + bisect_right(ordered_values, value) + 1 for value in values]


def _exact_chance(doubled_ranks: Sequence[int], size: int) -> float:
    """How many of all choices of `size` ranks lie as far from the mean as the first `size` do, ties as they are.

    `ways[k]` holds, as one long number with a slot of `width` bytes a sum, how many choices of k ranks have each sum.
    """
    width = len(doubled_ranks) // 8 + 1
    ways = [1] + [0] * size
    for rank in doubled_ranks:
        for k in range(size, 0, -1):
            ways[k] += ways[k - 1] << (8 * width * rank)
    mean, off = size * (len(doubled_ranks) + 1), abs(sum(doubled_ranks[:size]) - size * (len(doubled_ranks) + 1))
    slots = ways[size].to_bytes(width * (2 * mean + 1), "little")
    counts = (int.from_bytes(slots[n * width : (n + 1) * width], "little") for n in range(2 * mean + 1))
    return sum(count for n, count in enumerate(counts) if abs(n - mean) >= off) / math.comb(len(doubled_ranks), size)
