"""The statistics of a gate: exact, deterministic, without resampling at random and without a library.

The bootstrap distribution of a median has a closed form. The resampled median is an order statistic of the sample, and
the probability of each is binomial (B. Efron, "Bootstrap methods: another look at the jackknife", 1979,
section 3; J. S. Maritz and R. G. Jarrett, 1978). So the interval needs no seed and two readers get the same digits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median, quantiles


@dataclass(frozen=True)
class Interval:
    """A median and the interval it lies in at the wanted confidence."""

    median: float
    low: float
    high: float


def median_interval(values: Sequence[float], confidence: float) -> Interval:
    """The bootstrap percentile interval of the median of `values` (any order, at least one)."""
    tail = (1 - confidence) / 2
    atoms = sorted(_resampled_medians(sorted(values)))
    return Interval(median(values), _quantile(atoms, tail), _quantile(atoms, 1 - tail))


def ratio_interval(above: Sequence[float], below: Sequence[float], confidence: float) -> Interval:
    """The median of the ratios of pairs above[i] / below[i] with its interval, taken on logarithms."""
    logs = [math.log(a / b) for a, b in zip(above, below, strict=True)]
    interval = median_interval(logs, confidence)
    return Interval(math.exp(interval.median), math.exp(interval.low), math.exp(interval.high))


def unpaired_interval(above: Sequence[float], below: Sequence[float], confidence: float) -> Interval:
    """The ratio of two medians of samples taken apart: each side's interval at half the error, combined.

    Wider than it need be (Bonferroni), on purpose: samples of different days share no noise that cancels.
    """
    each = 1 - (1 - confidence) / 2
    a, b = median_interval(above, each), median_interval(below, each)
    return Interval(a.median / b.median, a.low / b.high, a.high / b.low)


def relative_spread(values: Sequence[float]) -> float:
    """Interquartile range over the median; 0.0 for fewer than two values."""
    if len(values) < 2:
        return 0.0
    low, middle, high = quantiles(values, n=4, method="inclusive")
    return (high - low) / middle if middle else math.inf


def sign_test(logs: Sequence[float]) -> float:
    """One-sided sign test: how likely so many positive values are if the median were 0. Zeros are left out."""
    signs = [value > 0 for value in logs if value != 0]
    positive = sum(signs)
    return sum(math.comb(len(signs), k) for k in range(positive, len(signs) + 1)) / float(2 ** len(signs))


def holm(chances: Sequence[float], error: float) -> list[bool]:
    """Which of several tests stand at a family-wise error (S. Holm, 1979)."""
    order = sorted(range(len(chances)), key=lambda i: chances[i])
    stands = [False] * len(chances)
    for rank, index in enumerate(order):
        if chances[index] > error / (len(chances) - rank):
            break
        stands[index] = True
    return stands


def geometric_mean(values: Sequence[float]) -> float:
    """The geometric mean of positive values (at least one)."""
    return math.exp(math.fsum(math.log(v) for v in values) / len(values))


def _resampled_medians(ordered_values: Sequence[float]) -> list[tuple[float, float]]:
    """Each value the median of a resample can take, with its probability."""
    n = len(ordered_values)
    return _odd(ordered_values, n) if n % 2 else _even(ordered_values, n)


def _odd(ordered_values: Sequence[float], n: int) -> list[tuple[float, float]]:
    """P(median is x_i) = P(at least (n+1)/2 draws are among the i smallest) - the same for i-1."""
    below = [_at_least(n, (n + 1) // 2, i / n) for i in range(n + 1)]
    return [(ordered_values[i], below[i + 1] - below[i]) for i in range(n)]


def _at_least(n: int, k: int, p: float) -> float:
    """P(Binomial(n, p) >= k)."""
    if p in (0.0, 1.0):
        return p
    log_comb = [math.lgamma(n + 1) - math.lgamma(j + 1) - math.lgamma(n - j + 1) for j in range(k, n + 1)]
    logs = (c + j * math.log(p) + (n - j) * math.log1p(-p) for c, j in zip(log_comb, range(k, n + 1), strict=True))
    return math.fsum(math.exp(x) for x in logs)


def _even(ordered_values: Sequence[float], n: int) -> list[tuple[float, float]]:
    """The two middle draws are x_i and x_j: half of the draws lie in the first i and touch it, half in the rest."""
    m = n // 2
    ways = math.lgamma(n + 1) - 2 * math.lgamma(m + 1)
    low = [((i + 1) / n) ** m - (i / n) ** m for i in range(n)]
    atoms = []
    for i in range(n):
        for j in range(i + 1, n):
            if low[i] > 0 and low[n - 1 - j] > 0:
                chance = math.exp(ways + math.log(low[i]) + math.log(low[n - 1 - j]))
                atoms.append(((ordered_values[i] + ordered_values[j]) / 2, chance))
    return atoms + _both(ordered_values, n, m)


def _both(ordered_values: Sequence[float], n: int, m: int) -> list[tuple[float, float]]:
    """Both middle draws are x_i: what is left of P(the m-th draw is x_i) once the pairs i < j are taken out."""
    below = [_at_least(n, m, i / n) for i in range(n + 1)]
    ways = math.lgamma(n + 1) - 2 * math.lgamma(m + 1)
    atoms = []
    for i in range(n):
        lower = ((i + 1) / n) ** m - (i / n) ** m
        upper = ((n - 1 - i) / n) ** m
        middle = math.exp(ways + math.log(lower) + math.log(upper)) if lower > 0 and upper > 0 else 0.0
        atoms.append((ordered_values[i], max(0.0, below[i + 1] - below[i] - middle)))
    return atoms


def _quantile(atoms: Sequence[tuple[float, float]], share: float) -> float:
    """The smallest value whose cumulated probability reaches `share`."""
    total = 0.0
    for value, chance in atoms:
        total += chance
        if total >= share - 1e-12:
            return value
    return atoms[-1][0]
