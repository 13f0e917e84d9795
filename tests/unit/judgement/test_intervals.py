"""The closed forms against what they stand for: resampling, known quantiles, textbook tests."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stackbuild.judgement.intervals import (
    geometric_mean,
    holm,
    median_interval,
    ratio_interval,
    relative_spread,
    sign_test,
    unpaired_interval,
)


@pytest.mark.parametrize("n", [3, 5, 6, 12, 19, 20, 40])
def test_interval_is_what_resampling_tends_to(n: int) -> None:
    rng = np.random.default_rng(n)
    values = rng.lognormal(size=n)
    resampled = np.median(rng.choice(values, size=(40_000, n)), axis=1)
    found = median_interval(values.tolist(), 0.9)
    # The share of resampled medians at or below each end is the tail asked for, to within the sampling error.
    assert np.mean(resampled <= found.low + 1e-12) >= 0.05 - 0.006
    assert np.mean(resampled < found.low - 1e-12) <= 0.05 + 0.006
    assert np.mean(resampled <= found.high + 1e-12) >= 0.95 - 0.006
    assert np.mean(resampled < found.high - 1e-12) <= 0.95 + 0.006


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=70), st.floats(0.5, 0.999))
def test_interval_holds_the_median_and_lies_in_the_sample(values: list[float], confidence: float) -> None:
    found = median_interval(values, confidence)
    assert min(values) <= found.low <= found.median <= found.high <= max(values)


def test_interval_covers_the_true_median_as_often_as_it_says() -> None:
    rng = random.Random(7)
    inside = 0
    for _ in range(1000):
        found = median_interval([rng.gauss(0, 1) for _ in range(20)], 0.99)
        inside += found.low <= 0 <= found.high
    assert inside >= 975


@pytest.mark.slow
def test_coverage_by_samples() -> None:
    """The figures of docs/benchmarks.md: run with `pytest -m slow -s`."""
    rng = random.Random(11)
    for confidence in (0.99, 0.95):
        for n, runs in ((8, 4000), (12, 4000), (20, 4000), (40, 1500), (60, 1500)):
            found = [median_interval([rng.gauss(0, 1) for _ in range(n)], confidence) for _ in range(runs)]
            held = sum(i.low <= 0 <= i.high for i in found) / runs
            print(f"{confidence:.0%} of {n} samples: {held:.1%}")
            assert held >= confidence - 0.03


def test_ratio_is_symmetric_and_drift_cancels() -> None:
    drift = [1 + 0.1 * i for i in range(21)]
    above, below = [1.05 * d for d in drift], drift
    forth, back = ratio_interval(above, below, 0.99), ratio_interval(below, above, 0.99)
    assert forth.median == pytest.approx(1.05) and forth.low == pytest.approx(1.05)
    assert back.median == pytest.approx(1 / forth.median) and back.high == pytest.approx(1 / forth.low)
    # Taken apart, the drift stays in and the interval is wide: why a stored baseline is weaker evidence.
    apart = unpaired_interval(above, below, 0.99)
    assert apart.low < 1 < apart.high


def test_sign_test_and_holm_are_the_textbook_ones() -> None:
    assert sign_test([1.0] * 10) == pytest.approx(2**-10)
    assert sign_test([1.0] * 5 + [-1.0] * 5) == pytest.approx(638 / 1024)
    assert sign_test([0.0, 0.0]) == 1.0
    # Holm's own order: 0.01 against 0.05/4, 0.013 against 0.05/3, 0.03 against 0.05/2 stops the rest.
    assert holm([0.03, 0.01, 0.04, 0.013], 0.05) == [False, True, False, True]
    assert holm([], 0.05) == []


def test_spread_and_geometric_mean() -> None:
    assert relative_spread([1.0]) == 0.0
    assert relative_spread([1, 2, 3, 4, 5]) == pytest.approx(2 / 3)
    assert math.isclose(geometric_mean([0.5, 2.0]), 1.0)
