"""The gate on trial for real, a few times; the large counts are simulated in tests/unit/judge."""

from __future__ import annotations

import pytest
from bench_meta import trial


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_a_known_effect_is_judged_right_or_not_at_all() -> None:
    """On any machine: no false FAIL of equal wheels, no PASS of a quarter slower; UNSTABLE is allowed, it is honest."""
    found = trial(runs=2, effects=[0.0, 0.25], jobs=1, seconds=600)
    assert "FAIL" not in [row["outcome"] for row in found[0.0]]
    assert "PASS" not in [row["outcome"] for row in found[0.25]]
