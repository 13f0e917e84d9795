"""The judge: Benchmarks and gates in, Verdict out. Pure: it reads no file, no clock and no machine.

Correctness comes before speed: the timings of a case are ignored if it did not run or failed an accuracy gate. Only
paired, interleaved samples are strong evidence. A stored baseline is judged by a wider interval, and the verdict says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date, timedelta
from fnmatch import fnmatchcase
from glob import escape

from stackbuild.core.errors import GateClosed
from stackbuild.judgement.intervals import geometric_mean, ratio_interval
from stackbuild.judgement.ratios import Trial, baseline_verdicts, speedup_verdict
from stackbuild.judgement.single import accuracy_verdict, limit_verdict, memory_verdict, share_verdict
from stackbuild.model.gates import (
    AccuracyGate,
    BaselineGate,
    Gate,
    LimitGate,
    MemoryGate,
    SelfCheck,
    ShareGate,
    SpeedupGate,
    Waiver,
)
from stackbuild.model.results import Benchmarks, Case, Evidence, GateOutcome, GateVerdict, Verdict, side_label

__all__ = ["implied_accuracy", "judge", "missing_sides", "next_pair_count", "require_open", "waivers_that_hold"]

NEXT = {
    GateOutcome.FAIL: "find what made it slower or wrong, or waive it in the gates with a reason and an end",
    GateOutcome.INCONCLUSIVE: "measure on a quieter machine or with more pairs, or waive it with a reason and an end",
    GateOutcome.UNSTABLE: "stop what else runs on this machine and fix its clocks, then judge again",
}


def judge(
    benchmarks: Benchmarks,
    gates: Sequence[Gate],
    today: date,
    evidence: Evidence = Evidence.INTERLEAVED,
) -> Verdict:
    """Decide every gate on every case it names. `evidence` says how the sides of `benchmarks` were sampled.

    A case of the candidate that no accuracy gate judges is judged by one without bounds.
    """
    gates = (*gates, *implied_accuracy(benchmarks, gates))
    ordered_gates = sorted(gates, key=lambda gate: not isinstance(gate, AccuracyGate))
    trial, wrong = Trial(benchmarks, evidence), dict[str, str]()
    verdicts: list[GateVerdict] = []
    for gate in ordered_gates:
        cases = [case for case in benchmarks.cases if _matches(case.name, gate.cases)]
        gate_verdicts = _decide(gate, trial, cases, wrong) if cases else [_no_case_verdict(gate, benchmarks)]
        if isinstance(gate, AccuracyGate):
            wrong |= {v.case: v.says for v in gate_verdicts if v.outcome is GateOutcome.FAIL}
        verdicts += [_apply_waivers(verdict, gate, today) for verdict in gate_verdicts]
    notes = (benchmarks.inputs.says,) if benchmarks.inputs else ()
    all_notes = (*_waiver_notes(gates, today), *_same_notes(benchmarks, gates), *_self_check_notes(gates), *notes)
    return Verdict(tuple(verdicts), geomean=_geomean(benchmarks), notes=all_notes)


def implied_accuracy(benchmarks: Benchmarks, gates: Sequence[Gate]) -> tuple[AccuracyGate, ...]:
    """The accuracy gates that `gates` leave out, for every side that they judge and for the candidate; none without gates.

    A verdict on speed alone would pass a wrong output.
    """
    sides = {side_label(benchmarks, gate.side) for gate in gates}
    sides |= {side.label for side in benchmarks.sides if gates and side.label == "candidate"}
    accuracy_gates = []
    for side in sorted(sides & {side.label for side in benchmarks.sides}):
        judged_gates = [g for g in gates if isinstance(g, AccuracyGate) and side_label(benchmarks, g.side) == side]
        unjudged_cases = [
            c.name for c in benchmarks.cases if c.of(side) and not any(_matches(c.name, g.cases) for g in judged_gates)
        ]
        if unjudged_cases:
            accuracy_gates.append(
                AccuracyGate(kind="accuracy", name="accuracy", side=side, cases=tuple(map(escape, unjudged_cases)))
            )
    return tuple(accuracy_gates)


def require_open(verdict: Verdict) -> None:
    """Raise GateClosed with the first failed gate and by how much it failed."""
    closed_gates = verdict.closed_gates
    if closed_gates:
        more = f" (and {len(closed_gates) - 1} more)" if len(closed_gates) > 1 else ""
        raise GateClosed(
            f"{closed_gates[0].outcome.value} {closed_gates[0].says}{more}", next=NEXT[closed_gates[0].outcome]
        )


def next_pair_count(gates: Sequence[Gate], pairs: int) -> int | None:
    """How many pairs to have next, when `pairs` were measured and some gate is undecided; None when none wants more."""
    steps = {n for gate in gates if isinstance(gate, BaselineGate | SpeedupGate) for n in gate.pairs}
    return min((n for n in steps if n > pairs), default=None)


def missing_sides(benchmarks: Benchmarks, gates: Sequence[Gate]) -> tuple[str, ...]:
    """The sides that gates compare with and nobody measured: what a caller must add, or give as --baseline."""
    names = {name for side in benchmarks.sides for name in (side.label, side.provider)}
    references = {gate.versus for gate in gates if isinstance(gate, BaselineGate | SpeedupGate)}
    return tuple(sorted(references - names))


def _decide(gate: Gate, trial: Trial, cases: list[Case], wrong: dict[str, str]) -> list[GateVerdict]:
    failed_verdicts = [verdict for case in cases if (verdict := _failed_before(gate, trial.benchmarks, case, wrong))]
    unsound = {verdict.case for verdict in failed_verdicts}
    sound = [case for case in cases if case.name not in unsound]
    if isinstance(gate, BaselineGate):
        return failed_verdicts + baseline_verdicts(gate, trial, sound)
    return failed_verdicts + [_decide_one(gate, trial, case) for case in sound]


def _decide_one(
    gate: SpeedupGate | LimitGate | MemoryGate | AccuracyGate | ShareGate, trial: Trial, case: Case
) -> GateVerdict:
    if isinstance(gate, SpeedupGate):
        return speedup_verdict(gate, trial, case)
    if isinstance(gate, LimitGate):
        return limit_verdict(gate, trial.benchmarks, case)
    if isinstance(gate, MemoryGate):
        return memory_verdict(gate, trial.benchmarks, case)
    if isinstance(gate, AccuracyGate):
        return accuracy_verdict(gate, trial.benchmarks, case)
    return share_verdict(gate, trial.benchmarks, case)


def _failed_before(gate: Gate, benchmarks: Benchmarks, case: Case, wrong: dict[str, str]) -> GateVerdict | None:
    """FAIL for a case that did not run on the judged side or its provider, or (speed gates) whose output is wrong."""
    name = gate.name or gate.kind
    series = case.of(side_label(benchmarks, gate.side))
    if series is not None and series.problem:
        return GateVerdict(name, case.name, GateOutcome.FAIL, f"{name}: {case.name} did not run: {series.problem}")
    side = benchmarks.side(series.side) if series else None
    if side and series and series.shares and all(share.provider != side.provider for share in series.shares):
        who = ", ".join(share.provider for share in series.shares)
        says = f"{name}: {case.name} did not run on {side.provider}: all of its nodes ran on {who}"
        return GateVerdict(name, case.name, GateOutcome.FAIL, says)
    if case.name in wrong and not isinstance(gate, AccuracyGate):
        return GateVerdict(name, case.name, GateOutcome.FAIL, f"{name}: {case.name} not judged: its output is wrong")
    return None


def _matches(case: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(case, pattern) for pattern in patterns)


def _no_case_verdict(gate: Gate, benchmarks: Benchmarks) -> GateVerdict:
    name, patterns = gate.name or gate.kind, ", ".join(gate.cases)
    names = ", ".join(case.name for case in benchmarks.cases[:5]) or "none"
    return GateVerdict(name, patterns, GateOutcome.FAIL, f"{name}: no case is called {patterns}; there are {names}")


def _apply_waivers(verdict: GateVerdict, gate: Gate, today: date) -> GateVerdict:
    for waiver in gate.waivers:
        if verdict.outcome is not GateOutcome.PASS and fnmatchcase(verdict.case, waiver.case) and _holds(waiver, today):
            return replace(verdict, waived=f"{waiver.reason} ({waiver.by}, until {waiver.until})")
    return verdict


def waivers_that_hold(gates: Sequence[Gate], today: date) -> tuple[Waiver, ...]:
    """The waivers that are applied on a day."""
    return tuple(waiver for gate in gates for waiver in gate.waivers if _holds(waiver, today))


def _holds(waiver: Waiver, today: date) -> bool:
    return today <= waiver.until <= today + _LONGEST_WAIVER


_LONGEST_WAIVER = timedelta(days=366)


def _waiver_notes(gates: Sequence[Gate], today: date) -> tuple[str, ...]:
    """What is said of waivers that are not applied."""
    every = [waiver for gate in gates for waiver in gate.waivers]
    ended_waivers = [w for w in every if w.until < today]
    endless = [w for w in every if w.until > today + _LONGEST_WAIVER]
    return (
        *(f"the waiver of {w.case} by {w.by} ended on {w.until}: {w.reason}" for w in ended_waivers),
        *(
            f"the waiver of {w.case} by {w.by} until {w.until} is not applied: a waiver holds for a year at most"
            for w in endless
        ),
    )


def _same_notes(benchmarks: Benchmarks, gates: Sequence[Gate]) -> tuple[str, ...]:
    """What is said where a gate compares an artifact with itself on the same provider."""
    pairs = {
        (side_label(benchmarks, gate.side), side_label(benchmarks, gate.versus))
        for gate in gates
        if isinstance(gate, BaselineGate | SpeedupGate)
    }
    sides = [(benchmarks.side(one), benchmarks.side(two)) for one, two in sorted(pairs)]
    return tuple(
        f"{a.label} and {b.label} are the same artifact (sha256 {a.sha256[:12]}): the comparison shows noise alone"
        for a, b in sides
        if a and b and a.sha256 and (a.sha256, a.provider, a.options) == (b.sha256, b.provider, b.options)
    )


def _self_check_notes(gates: Sequence[Gate]) -> tuple[str, ...]:
    """What is said of gates that judge on a machine which is not quiet."""
    usual = SelfCheck()
    checks = [(gate.name or gate.kind, gate.self_check) for gate in gates if isinstance(gate, BaselineGate)]
    return tuple(
        f"{name}: the machine may differ from itself by {check.median:.1%} and spread over {check.spread:.1%},"
        f" usual are {usual.median:.1%} and {usual.spread:.1%}"
        for name, check in checks
        if check.median > usual.median or check.spread > usual.spread
    )


def _geomean(benchmarks: Benchmarks) -> float | None:
    """Candidate over baseline, over all cases both ran."""
    ratios = []
    for case in benchmarks.cases:
        ours, theirs = case.of("candidate"), case.of("baseline")
        pairs = min(len(ours.seconds), len(theirs.seconds)) if ours and theirs else 0
        if ours and theirs and pairs:
            ratios.append(ratio_interval(ours.seconds[:pairs], theirs.seconds[:pairs], 0.99).median)
    return geometric_mean(ratios) if ratios else None
