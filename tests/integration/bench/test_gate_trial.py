"""The gate on trial for real, a few times; the large counts are simulated in tests/unit/judgement/whole/test_error_rates.py."""

from __future__ import annotations

import pytest

from support.gate_trial import at_most, trial, turns


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_known_effect_is_judged_right_or_not_at_all() -> None:
    """On any machine: no false FAIL of equal wheels, no PASS of a quarter slower; UNSTABLE is allowed, it is honest."""
    found = trial({0.0: 2, 0.25: 2}, jobs=1, seconds=300)
    assert found[0.0] and found[0.25]
    assert "FAIL" not in [row["outcome"] for row in found[0.0]], found[0.0]
    assert "PASS" not in [row["outcome"] for row in found[0.25]], found[0.25]


def test_the_trial_counts_as_it_says() -> None:
    """Any beginning holds the effects in proportion; no wrong one of 200 bounds the rate at 1.5 %, one of 200 at 2.3 %."""
    order = turns({0.0: 4, 0.05: 2})
    assert [effect for effect, _ in order] == [0.0, 0.05, 0.0, 0.0, 0.05, 0.0]
    assert len(set(order)) == 6
    assert at_most(0, 200) == pytest.approx(1 - 0.05 ** (1 / 200), abs=1e-6)
    assert at_most(1, 200) == pytest.approx(0.0235, abs=1e-3) and at_most(200, 200) == 1.0
