"""The error measures against hand-worked values and the laws they must keep."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from stackbuild.bench import error_metrics


def test_hand_worked_values():
    got = error_metrics.errors([3.0, 4.0], [3.0, 5.0])
    assert got.count == 2 and got.mismatched == 0
    assert got.max_abs == 1.0
    assert got.max_rel == pytest.approx(1 / 5)
    assert got.rms == pytest.approx(math.sqrt(1 / 2))
    assert got.rel_rms == pytest.approx(1 / math.sqrt(34))
    assert got.cosine == pytest.approx(29 / (5 * math.sqrt(34)))
    assert got.snr_db == pytest.approx(10 * math.log10(34))


def test_equal_is_perfect_even_when_zero():
    for value in ([0.0, 0.0], [1.0, -2.0], []):
        got = error_metrics.errors(value, value)
        assert (got.max_abs, got.max_rel, got.rms, got.rel_rms, got.cosine) == (0, 0, 0, 0, pytest.approx(1))
        assert got.snr_db == math.inf


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_one_sided_nonfinite_is_infinitely_wrong(bad):
    got = error_metrics.errors([1.0, bad], [1.0, 2.0])
    assert got.mismatched == 1
    assert got.max_abs == got.max_rel == got.rms == got.rel_rms == math.inf
    assert got.cosine == 0 and got.snr_db == -math.inf
    assert error_metrics.max_abs([bad], [0.0]) == math.inf and error_metrics.cosine([bad], [1.0]) == 0.0


def test_agreeing_nonfinite_counts_as_equal():
    assert error_metrics.errors([math.nan, math.inf, 1.0], [math.nan, math.inf, 1.0]).max_abs == 0
    assert error_metrics.errors([math.inf], [-math.inf]).mismatched == 1


def test_noise_against_silence():
    got = error_metrics.errors([1.0], [0.0])
    assert got.rel_rms == math.inf and got.snr_db == -math.inf and got.cosine == 0.0
    assert got.max_rel == pytest.approx(1 / error_metrics.REL_FLOOR)


def test_half_precision_is_widened_before_subtraction():
    y, r = np.float16([60000.0]), np.float16([-60000.0])
    assert error_metrics.max_abs(y, r) == pytest.approx(119_936, rel=1e-3)


def test_shapes_must_agree():
    with pytest.raises(ValueError, match="shape"):
        error_metrics.errors([1.0], [[1.0]])


finite = hnp.arrays(np.float64, st.integers(1, 20), elements=st.floats(-1e6, 1e6, width=64))


@settings(max_examples=60, deadline=None)
@given(finite, st.floats(0.001, 1000))
def test_cosine_and_relative_measures_ignore_scale(r, scale):
    if np.linalg.norm(r) < 1e-3:
        return
    y = r + 0.01
    assert error_metrics.cosine(y * scale, r * scale) == pytest.approx(error_metrics.cosine(y, r), abs=1e-9)
    assert error_metrics.rel_rms(y * scale, r * scale) == pytest.approx(error_metrics.rel_rms(y, r), rel=1e-6)
    assert error_metrics.rms(y, r) <= error_metrics.max_abs(y, r) * (1 + 1e-12)


def test_nan_beside_nan_proves_nothing() -> None:
    """Perfect by every measure, and no evidence: nothing finite was compared."""
    assert not error_metrics.errors([math.nan, math.inf], [math.nan, math.inf]).is_conclusive
    assert not error_metrics.errors([], []).is_conclusive
    assert error_metrics.errors([math.nan, 1.0], [math.nan, 1.0]).is_conclusive
    assert error_metrics.errors([math.nan], [1.0]).is_conclusive and error_metrics.errors([math.nan], [1.0]).snr_db == -math.inf
