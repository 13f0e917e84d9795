"""The gate itself on trial, simulated: how often it cries wolf, how often it sees a slow-down, on three machines."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from datetime import date

import pytest

from stackbuild.judgement import judge, next_pair_count
from stackbuild.model.gates import Gates
from stackbuild.model.results import GateOutcome
from support.gate_samples import benchmarks, timings

GATES = Gates.model_validate({"gates": [{"kind": "baseline", "delta": "3%"}]}).gates


def outcomes(effect: float, machine: str, runs: int) -> Counter[GateOutcome]:
    """What `runs` whole measurements end with, pairs added while undecided as the command does."""
    return Counter(_one_run(effect, machine, random.Random(f"{effect}{machine}{seed}")) for seed in range(runs))


def _one_run(effect: float, machine: str, rng: random.Random) -> GateOutcome:
    longest = timings(effect, machine, 60, rng)
    pairs = 20
    while True:
        series = tuple(replace(s, seconds=s.seconds[:pairs]) for s in longest)
        verdict = judge(benchmarks(series), GATES, date(2026, 11, 20))
        more = next_pair_count(GATES, pairs)
        if not verdict.undecided_cases() or more is None:
            return verdict.outcome
        pairs = more


@pytest.mark.parametrize(
    ("effect", "machine", "runs", "least"),
    [
        (0.0, "quiet", 200, {GateOutcome.PASS: 0.97}),
        (0.05, "quiet", 100, {GateOutcome.FAIL: 0.95}),
        (0.10, "quiet", 100, {GateOutcome.FAIL: 0.99}),
    ],
)
def test_on_a_quiet_machine(effect: float, machine: str, runs: int, least: dict[GateOutcome, float]) -> None:
    found = outcomes(effect, machine, runs)
    for outcome, share in least.items():
        assert found[outcome] >= share * runs, found


def test_no_false_alarm_on_any_machine() -> None:
    for machine in ("quiet", "noisy", "awful"):
        assert outcomes(0.0, machine, 100)[GateOutcome.FAIL] <= 1


def test_an_awful_machine_is_called_restless() -> None:
    found = outcomes(0.05, "awful", 60)
    assert found[GateOutcome.PASS] == 0 and found[GateOutcome.UNSTABLE] >= 55, found


@pytest.mark.slow
def test_large_counts() -> None:
    """The table of docs/benchmarks.md: run with `pytest -m slow -s`."""
    for machine in ("quiet", "noisy", "awful"):
        for effect in (0.0, 0.02, 0.05, 0.10):
            found = outcomes(effect, machine, 1000)
            print(f"{machine:6} {effect:4.0%}  " + "  ".join(f"{o.value} {found[o] / 10:.1f} %" for o in GateOutcome))
            assert effect > 0 or found[GateOutcome.FAIL] <= 10
