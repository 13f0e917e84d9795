"""Each verdict of each gate, and what the one line of it says."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import date

import pytest

from stackbuild.core.model import ValidationError
from stackbuild.judgement import judge, missing_sides, next_pair_count, waivers_that_hold
from stackbuild.model.gates import Gates
from stackbuild.model.results import Evidence, GateOutcome, GateVerdict, Series, Share, Verdict
from support.gate_samples import benchmarks, exact, timings

TODAY = date(2026, 11, 20)


def verdict(gate: dict[str, object], *cases: tuple[Series, ...], **others: object) -> Verdict:
    gates = Gates.model_validate({"gates": [gate, *others.get("gates", [])]}).gates  # type: ignore[misc]
    return judge(benchmarks(*cases, kind=str(others.get("kind", "models"))), gates, TODAY)


def one(gate: dict[str, object], case: tuple[Series, ...], **others: object) -> GateVerdict:
    return verdict(gate, case, **others).gates[-1]


def quiet(effect: float, seed: int = 1, pairs: int = 20) -> tuple[Series, Series, Series]:
    return timings(effect, "quiet", pairs, random.Random(seed))


@pytest.mark.parametrize(
    ("effect", "kind", "outcome"),
    [(0.0, "models", "PASS"), (-0.2, "models", "PASS"), (0.10, "models", "FAIL"), (0.03, "models", "PASS"),
     (0.04, "kernels", "FAIL"), (0.043, "models", "INCONCLUSIVE")],
)  # fmt: skip
def test_baseline(effect: float, kind: str, outcome: str) -> None:
    found = one({"kind": "baseline"}, quiet(effect), kind=kind)
    assert found.outcome == outcome
    assert found.evidence is Evidence.INTERLEAVED and found.pairs == 20


def test_the_line_says_which_and_by_how_much() -> None:
    found = one({"kind": "baseline", "name": "no slower than 1.0"}, quiet(0.10))
    assert found.says.startswith("no slower than 1.0: case0 is 10.")
    assert "% slower than baseline (99 % interval +" in found.says and "allowed +5.0%, 20 pairs" in found.says


def test_a_restless_machine_gets_no_verdict() -> None:
    found = one({"kind": "baseline"}, timings(0.10, "awful", 20, random.Random(3)))
    assert found.outcome is GateOutcome.UNSTABLE and "no verdict" in found.says


def test_without_a_self_check_there_is_no_verdict() -> None:
    ours, theirs, _ = quiet(0.0)
    found = one({"kind": "baseline"}, (ours, theirs))
    assert found.outcome is GateOutcome.UNSTABLE and "not measured against itself" in found.says


def test_a_self_check_takes_as_many_pairs_as_a_comparison() -> None:
    ours, theirs, control = quiet(0.0)
    for taken, outcome in ((1, GateOutcome.UNSTABLE), (19, GateOutcome.UNSTABLE), (20, GateOutcome.PASS)):
        found = one({"kind": "baseline"}, (ours, theirs, replace(control, seconds=control.seconds[:taken])))
        assert found.outcome is outcome and (f"itself {taken} times, 20 are wanted" in found.says) == (taken < 20)


def test_holm_asks_more_of_one_slow_case_among_many() -> None:
    """Seventeen of twenty pairs slower: enough for one kernel alone, not for one of sixty."""
    theirs = tuple(0.01 * (1 + 0.001 * (i % 3)) for i in range(20))
    slow = (Series("candidate", tuple(t * (1.06 if i % 7 else 0.99) for i, t in enumerate(theirs)), accuracy=exact()),
            Series("baseline", theirs), Series("control", theirs))  # fmt: skip
    alike = tuple(t * (1 + 1e-6 * (-1) ** i) for i, t in enumerate(theirs))
    same = (Series("candidate", alike, accuracy=exact()), Series("baseline", theirs), Series("control", theirs))
    assert verdict({"kind": "baseline"}, slow, kind="kernels").gates[-1].outcome is GateOutcome.FAIL
    among = verdict({"kind": "baseline"}, slow, *[same] * 59, kind="kernels")
    assert among.gates[60].outcome is GateOutcome.INCONCLUSIVE and among.undecided_cases() == {"case0"}


@pytest.mark.parametrize(("wanted", "outcome"), [(0.5, "PASS"), (1.0, "INCONCLUSIVE"), (2.0, "FAIL")])
def test_speedup(wanted: float, outcome: str) -> None:
    found = one({"kind": "speedup", "versus": "baseline", "at_least": wanted}, quiet(0.0))
    said = f"at most {1 / wanted:g}×" if wanted < 1 else f"at least {wanted:g}×"
    assert found.outcome == outcome and said in found.says


@pytest.mark.parametrize(
    ("limit", "outcome"),
    [({"metric": "latency", "at_most": "12 ms"}, "PASS"), ({"metric": "latency", "at_most": "9 ms"}, "FAIL"),
     ({"metric": "throughput", "at_least": 90}, "PASS"), ({"metric": "throughput", "at_least": 200}, "FAIL"),
     ({"metric": "latency", "at_most": "10 ms"}, "INCONCLUSIVE"),
     ({"metric": "host_memory", "at_most": "50 MiB"}, "FAIL"),
     ({"metric": "device_memory", "at_most": "1 GiB"}, "INCONCLUSIVE")],
)  # fmt: skip
def test_limits(limit: dict[str, object], outcome: str) -> None:
    assert one({"kind": "limit", **limit}, quiet(0.0)).outcome == outcome


def test_memory_growth() -> None:
    ours, theirs, control = quiet(0.0)
    bigger = (replace(ours, host_bytes=120 << 20), theirs, control)
    assert one({"kind": "memory", "grows_at_most": "10%"}, bigger).outcome is GateOutcome.FAIL
    assert one({"kind": "memory", "grows_at_most": "25%"}, bigger).outcome is GateOutcome.PASS
    assert one({"kind": "memory", "at_most": "110 MiB"}, bigger).outcome is GateOutcome.FAIL
    assert one({"kind": "memory", "where": "device", "at_most": "1 GiB"}, bigger).outcome is GateOutcome.INCONCLUSIVE


def test_a_fast_wrong_kernel_fails_every_gate() -> None:
    ours, theirs, control = quiet(-0.5)
    wrong = (replace(ours, accuracy=exact(snr_db=3.0, max_abs=0.7)), theirs, control)
    found = verdict({"kind": "baseline"}, wrong, gates=[{"kind": "accuracy", "snr_db": 60}]).gates
    assert [g.outcome for g in found] == [GateOutcome.FAIL, GateOutcome.FAIL]
    assert "snr_db 3 (at least 60)" in found[0].says and "its output is wrong" in found[1].says


@pytest.mark.parametrize(
    ("kind", "dtype", "least"),
    [("kernels", "float32", 100), ("kernels", "float16", 60), ("models", "float32", 60), ("models", "float16", 40),
     ("models", "int8", 20), ("models", "int64", 20)],
)  # fmt: skip
def test_without_bounds_accuracy_is_held_to_what_the_element_type_allows(kind: str, dtype: str, least: float) -> None:
    """25 dB is a good int8 model, and a float32 kernel that is off by 6 %."""
    gates = Gates.model_validate({"gates": [{"kind": "accuracy"}]}).gates
    for snr, outcome in ((least, GateOutcome.PASS), (least - 0.5, GateOutcome.FAIL)):
        measured = benchmarks((replace(quiet(0.0)[0], accuracy=exact(snr_db=snr)),), kind=kind)
        found = judge(replace(measured, cases=(replace(measured.cases[0], dtype=dtype),)), gates, TODAY).gates[0]
        assert found.outcome is outcome and found.limit == least
    own = one({"kind": "accuracy", "cosine": 0.9}, (replace(quiet(0.0)[0], accuracy=exact(snr_db=1)),))
    assert own.outcome is GateOutcome.PASS and own.limit is None


def test_nan_and_infinite_measures_keep_no_bound() -> None:
    ours, theirs, control = quiet(0.0)
    lost = (replace(ours, accuracy=exact(snr_db=float("nan"), max_abs=float("inf"))), theirs, control)
    assert one({"kind": "accuracy", "snr_db": 0.1}, lost).outcome is GateOutcome.FAIL
    assert one({"kind": "accuracy", "max_abs": 1e300}, lost).outcome is GateOutcome.FAIL
    perfect = (replace(ours, accuracy=exact(snr_db=float("inf"))), theirs, control)
    assert one({"kind": "accuracy", "snr_db": 200}, perfect).outcome is GateOutcome.PASS


@pytest.mark.parametrize(
    "bound", [{"snr_db": -999}, {"snr_db": 0}, {"cosine": -1}, {"cosine": 0}, {"max_abs": float("inf")}, {"rms": float("nan")}]
)
def test_bounds_that_any_output_keeps_are_refused(bound: dict[str, float]) -> None:
    with pytest.raises(ValidationError):
        Gates.model_validate({"gates": [{"kind": "accuracy", **bound}]})


def test_bounds_wider_than_the_element_type_allows_are_said() -> None:
    wrong = (replace(quiet(0.0)[0], accuracy=exact(snr_db=3)),)
    loose = one({"kind": "accuracy", "max_abs": 1e9}, wrong)
    assert loose.outcome is GateOutcome.PASS and "below the 60 dB that float32 allows" in loose.says
    assert "below" not in one({"kind": "accuracy", "max_abs": 1e9}, (quiet(0.0)[0],)).says


@pytest.mark.parametrize(
    "gate", [{"kind": "baseline"}, {"kind": "limit", "metric": "latency", "at_most": 1, "side": "baseline"}]
)
def test_a_wrong_output_fails_without_an_accuracy_gate(gate: dict[str, object]) -> None:
    """The gates speak of speed, or of the other side: what the candidate computes is judged all the same."""
    ours, theirs, control = quiet(0.0)
    wrong = (replace(ours, accuracy=exact(snr_db=3)), replace(theirs, accuracy=exact()), control)
    found = verdict(gate, wrong)
    assert found.outcome is GateOutcome.FAIL and found.closed_gates[0].gate == "accuracy"
    assert "snr_db 3 (at least 60)" in found.closed_gates[0].says
    unknown = verdict(gate, (replace(ours, accuracy=None), replace(theirs, accuracy=exact()), control))
    assert unknown.outcome is GateOutcome.INCONCLUSIVE and "not compared with a reference" in unknown.closed_gates[0].says


def test_an_accuracy_gate_for_some_cases_leaves_the_rest_to_the_implied_one() -> None:
    ours, theirs, control = quiet(0.0)
    wrong = (replace(ours, accuracy=exact(snr_db=3)), theirs, control)
    found = verdict({"kind": "accuracy", "snr_db": 2, "cases": ["case0"]}, wrong, wrong)
    assert [(v.case, v.outcome) for v in found.gates] == [("case0", GateOutcome.PASS), ("case1", GateOutcome.FAIL)]


def test_copied_samples_are_no_measurement() -> None:
    ours, theirs, control = quiet(0.0)
    copied = (replace(ours, seconds=theirs.seconds), theirs, control)
    found = one({"kind": "baseline"}, copied)
    assert found.outcome is GateOutcome.INCONCLUSIVE and "the same samples to the last digit" in found.says


def test_the_same_artifact_on_both_sides_is_said() -> None:
    measured = benchmarks(quiet(0.0))
    sides = tuple(replace(side, sha256="ab" * 32) for side in measured.sides)
    gates = Gates.model_validate({"gates": [{"kind": "baseline"}]}).gates
    found = judge(replace(measured, sides=sides), gates, TODAY)
    assert "candidate and baseline are the same artifact" in found.notes[0]
    assert not judge(measured, gates, TODAY).notes


def test_a_wider_self_check_is_said() -> None:
    gates = Gates.model_validate({"gates": [{"kind": "baseline", "self_check": {"median": "50%"}}]}).gates
    found = judge(benchmarks(quiet(0.0)), gates, TODAY)
    assert found.notes == (
        "baseline: the machine may differ from itself by 50.0% and spread over 5.0%, usual are 1.0% and 5.0%",
    )


def test_share_of_the_provider() -> None:
    ours, theirs, control = quiet(0.0)
    gate = {"kind": "share", "provider": "MIGraphXExecutionProvider", "nodes": "90%"}
    assert one(gate, (ours, theirs, control)).outcome is GateOutcome.FAIL
    shares = (Share("MIGraphXExecutionProvider", 0.95, 0.99), Share("CPU", 0.05, 0.01))
    partly = (replace(ours, shares=shares), theirs, control)
    assert one(gate, partly).outcome is GateOutcome.PASS


def test_a_side_whose_provider_ran_nothing_did_not_run() -> None:
    """A session that fell back node by node still lists its provider first: only the profile shows it."""
    ours, theirs, control = quiet(0.0)
    fallen = (replace(ours, shares=(Share("CPUExecutionProvider", 1.0, 1.0),)), theirs, control)
    found = verdict({"kind": "baseline"}, fallen)
    assert {v.outcome for v in found.gates} == {GateOutcome.FAIL}
    assert "did not run on CPU: all of its nodes ran on CPUExecutionProvider" in found.gates[0].says


def test_a_crash_is_a_failure_and_names_it() -> None:
    broken = (Series("candidate", (), problem="died by SIGSEGV"), *quiet(0.0)[1:])
    found = one({"kind": "limit", "metric": "latency", "at_most": 1}, broken)
    assert found.outcome is GateOutcome.FAIL and "SIGSEGV" in found.says


def test_a_gate_that_matches_no_case_is_closed() -> None:
    found = one({"kind": "baseline", "cases": ["resnet*"]}, quiet(0.0))
    assert found.outcome is GateOutcome.FAIL and "there are case0" in found.says


def test_a_baseline_nobody_measured_is_not_a_pass() -> None:
    found = one({"kind": "baseline", "versus": "rocm-6.4"}, quiet(0.0))
    assert found.outcome is GateOutcome.INCONCLUSIVE and "nobody measured" in found.says
    gates = Gates.model_validate({"gates": [{"kind": "baseline", "versus": "rocm-6.4"}]}).gates
    assert missing_sides(benchmarks(quiet(0.0)), gates) == ("rocm-6.4",)


def test_waivers_have_an_end() -> None:
    waiver = {"case": "case*", "reason": "known, fixed in the next driver", "by": "ada", "until": "2026-11-20"}
    gate = {"kind": "baseline", "waivers": [waiver]}
    gates = Gates.model_validate({"gates": [gate]}).gates
    on_time = judge(benchmarks(quiet(0.2)), gates, TODAY)
    assert on_time.outcome is GateOutcome.PASS and "ada, until 2026-11-20" in on_time.gates[-1].waived
    late = judge(benchmarks(quiet(0.2)), gates, date(2026, 11, 21))
    assert late.outcome is GateOutcome.FAIL and "ended on 2026-11-20" in late.notes[0]


@pytest.mark.parametrize(("until", "holds"), [("2027-11-20", True), ("2027-11-22", False), ("9999-12-31", False)])
def test_a_waiver_holds_for_a_year_at_most(until: str, holds: bool) -> None:
    waiver = {"case": "case*", "reason": "known, fixed in the next driver", "by": "ada", "until": until}
    gates = Gates.model_validate({"gates": [{"kind": "baseline", "waivers": [waiver]}]}).gates
    found = judge(benchmarks(quiet(0.2)), gates, TODAY)
    assert (found.outcome is GateOutcome.PASS) is holds and bool(waivers_that_hold(gates, TODAY)) is holds
    assert any("is not applied: a waiver holds for a year at most" in note for note in found.notes) is not holds


def test_more_pairs_while_undecided() -> None:
    written = [{"kind": "baseline"}, {"kind": "limit", "metric": "first", "at_most": 1}]
    gates = Gates.model_validate({"gates": written}).gates
    assert [next_pair_count(gates, n) for n in (0, 20, 40, 60)] == [20, 40, 60, None]
    assert next_pair_count(gates[1:], 0) is None


def test_a_stored_baseline_is_weaker_evidence_and_says_so() -> None:
    ours, theirs, _ = timings(0.04, "noisy", 20, random.Random(5))
    found = judge(benchmarks((ours, theirs)), Gates.model_validate({"gates": [{"kind": "baseline"}]}).gates, TODAY,
                  Evidence.STORED).gates[-1]  # fmt: skip
    assert found.evidence is Evidence.STORED and found.outcome is GateOutcome.INCONCLUSIVE


@pytest.mark.parametrize(("samples", "outcome"), [(1, "INCONCLUSIVE"), (8, "INCONCLUSIVE"), (9, "PASS")])
def test_few_stored_samples_decide_nothing(samples: int, outcome: str) -> None:
    """One sample a side is no 99 % interval; two samples of different days are no pair."""
    ours = Series("candidate", (0.01,) * samples, accuracy=exact())
    theirs = Series("baseline", (0.010001,) * samples)
    for gate in ({"kind": "baseline"}, {"kind": "speedup", "versus": "baseline", "at_least": 0.5}):
        gates = Gates.model_validate({"gates": [gate]}).gates
        found = judge(benchmarks((ours, theirs)), gates, TODAY, Evidence.STORED).gates[-1]
        assert found.outcome == outcome and "pairs" not in found.says
        assert ("are too few for a 99 % interval: it takes 9" in found.says) == (outcome == "INCONCLUSIVE")


@pytest.mark.parametrize(
    "gate",
    [{"kind": "speedup", "at_least": 0.5}, {"kind": "baseline"}, {"kind": "memory", "grows_at_most": "10%"}],
)
def test_a_side_is_never_compared_with_itself(gate: dict[str, object]) -> None:
    """By its label when the gate is read, by its provider when the first side that has it is the judged one."""
    found = one({**gate, "versus": "CPU"}, quiet(0.0))
    assert found.outcome is GateOutcome.INCONCLUSIVE and "is the side 'candidate' itself" in found.says
    with pytest.raises(ValidationError, match="compared with itself"):
        Gates.model_validate({"gates": [{**gate, "versus": "candidate"}]})


def test_a_gate_that_wants_more_pairs_than_another_gets_them() -> None:
    written = [
        {"kind": "baseline", "pairs": [20]},
        {"kind": "speedup", "versus": "baseline", "at_least": 0.5, "pairs": [40]},
    ]
    gates = Gates.model_validate({"gates": written}).gates
    first = judge(benchmarks(quiet(0.0)), gates, TODAY)
    assert first.undecided_cases() == {"case0"} and next_pair_count(gates, 20) == 40
    assert judge(benchmarks(quiet(0.0, pairs=40)), gates, TODAY).outcome is GateOutcome.PASS


def test_the_worst_closed_gate_comes_first_and_the_geomean_is_only_told() -> None:
    found = verdict({"kind": "baseline"}, quiet(0.043), quiet(0.2), quiet(0.0))
    assert [g.outcome for g in found.closed_gates] == [GateOutcome.FAIL, GateOutcome.INCONCLUSIVE]
    assert found.outcome is GateOutcome.FAIL and found.geomean == pytest.approx(1.08, abs=0.02)


@pytest.mark.parametrize(
    ("pairs", "confidence", "says"),
    [
        ([7], "99%", "start at 8 or more"),
        ([5], "95%", "start at 6 or more"),
        ([20, 20], "99%", "must rise"),
        ([40, 20], "99%", "must rise"),
    ],
)
def test_too_few_pairs_for_the_confidence_asked_for(pairs: list[int], confidence: str, says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        Gates.model_validate({"gates": [{"kind": "baseline", "pairs": pairs, "confidence": confidence}]})
    Gates.model_validate({"gates": [{"kind": "baseline", "pairs": [8], "confidence": "99%"}]})


def test_a_limit_wants_enough_samples_too() -> None:
    ours = replace(quiet(0.0)[0], seconds=(0.01,) * 7)
    gate = {"kind": "limit", "metric": "latency", "at_most": "1 s"}
    assert "7 samples are too few for a 99% interval: it takes 8" in one(gate, (ours,)).says
    assert one({**gate, "confidence": "95%"}, (ours,)).outcome is GateOutcome.PASS


@pytest.mark.parametrize(
    "gate, told",
    [
        ({"kind": "speedup", "versus": "baseline", "at_least": "20%"}, "the same speed is 1"),
        ({"kind": "speedup", "versus": "baseline", "at_least": "5 ms"}, "1.5, or 1.5x; a time is a gate `kind: limit`"),
        ({"kind": "accuracy", "snr_db": "100%"}, "write `100 dB`"),
        ({"kind": "limit", "metric": "latency", "at_most": "20%"}, "12 ms"),
        ({"kind": "limit", "metric": "host_memory", "at_most": "20 ms"}, "20 MiB"),
        ({"kind": "memory", "grows_at_most": "1 GiB"}, "such as 10%"),
        ({"kind": "baseline", "delta": "5 ms"}, "such as 10%"),
    ],
)
def test_a_unit_of_another_kind_is_refused_with_what_to_write(gate: dict[str, object], told: str) -> None:
    with pytest.raises(ValueError, match="is not a ") as stopped:
        Gates.model_validate({"gates": [gate]})
    assert told in str(stopped.value)


def test_a_units_own_kind_is_read() -> None:
    gate = Gates.model_validate({"gates": [{"kind": "speedup", "versus": "baseline", "at_least": "1.5x"}]}).gates[0]
    assert gate.at_least == 1.5  # type: ignore[union-attr]
    assert Gates.model_validate({"gates": [{"kind": "accuracy", "snr_db": "60 dB"}]}).gates[0].snr_db == 60  # type: ignore[union-attr]
