"""Gates on the ratio of two sides: against a baseline with an effect floor, and against a wanted speed-up."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from stackbuild.judgement.intervals import (
    Interval,
    holm,
    ratio_interval,
    relative_spread,
    sign_test,
    unpaired_interval,
)
from stackbuild.model.gates import BaselineGate, PairedGate, SelfCheck, SpeedupGate, least_samples
from stackbuild.model.results import CONTROL, Benchmarks, Case, Evidence, GateOutcome, GateVerdict, side_label

#: Slower by less than this does not fail, by kind of suite. TorchBench bisects from 10 % on, because its single tests move
#: by 5 to 9 % between runs of one build (github.com/pytorch/benchmark).
DELTA = {"kernels": 0.03, "models": 0.05}


@dataclass(frozen=True)
class Trial:
    """What is judged: the measurement, and how its sides were sampled."""

    benchmarks: Benchmarks
    evidence: Evidence

    @property
    def interleaved(self) -> bool:
        return self.evidence is Evidence.INTERLEAVED


@dataclass(frozen=True)
class _TooFewPairs:
    """Why two sides cannot be compared, and the pairs there are: more of them may decide where there is one."""

    why: str
    pairs: int = 0


@dataclass(frozen=True)
class _Pairs:
    """The two sides' samples of one case, candidate over baseline, and the interval of their ratio."""

    ours: tuple[float, ...]
    theirs: tuple[float, ...]
    ratio: Interval

    @property
    def count(self) -> int:
        """Pairs, or samples of the side that has fewer where they were taken apart."""
        return min(len(self.ours), len(self.theirs))

    @property
    def logs(self) -> list[float]:
        return [math.log(a / b) for a, b in zip(self.ours, self.theirs, strict=False)]


def baseline_verdicts(gate: BaselineGate, trial: Trial, cases: Sequence[Case]) -> list[GateVerdict]:
    """PASS below 1 + delta with the whole interval; FAIL with the interval over 1 and the median over 1 + delta.

    All the cases of one gate share one error: FAIL needs its sign test to stand in Holm's order as well.
    """
    delta = gate.delta or DELTA.get(trial.benchmarks.kind, DELTA["models"])
    pairs_by_case = [(case, _pairs(gate, trial, case)) for case in cases]
    chances = [sign_test(p.logs) if isinstance(p, _Pairs) and trial.interleaved else 0.0
               for _, p in pairs_by_case]  # fmt: skip
    stands = holm(chances, (1 - gate.confidence) / 2)
    return [
        _undecidable(gate, trial, case, pairs)
        if isinstance(pairs, _TooFewPairs)
        else _against_baseline(gate, trial, case, pairs, delta, significant)
        for (case, pairs), significant in zip(pairs_by_case, stands, strict=True)
    ]


def speedup_verdict(gate: SpeedupGate, trial: Trial, case: Case) -> GateVerdict:
    """PASS when the whole interval reaches the wanted speed-up, FAIL when none of it does."""
    pairs = _pairs(gate, trial, case)
    if isinstance(pairs, _TooFewPairs):
        return _undecidable(gate, trial, case, pairs)
    fast = Interval(1 / pairs.ratio.median, 1 / pairs.ratio.high, 1 / pairs.ratio.low)
    outcome = GateOutcome.INCONCLUSIVE
    if fast.low >= gate.at_least:
        outcome = GateOutcome.PASS
    elif fast.high < gate.at_least:
        outcome = GateOutcome.FAIL
    says = f"{_name(gate)}: {case.name} {_speed(gate, pairs.ratio, fast)}"
    return GateVerdict(
        _name(gate), case.name, outcome, says, fast.median, fast.low, fast.high, gate.at_least, "×",
        pairs.count, trial.evidence,
    )  # fmt: skip


def self_check(case: Case, baseline: str, limits: SelfCheck, least: int) -> str:
    """Why the machine is too restless to compare on, from the baseline's pairs with itself; empty when it is quiet.

    It takes `least` pairs, as many as a comparison: one pair says nothing of a spread.
    """
    control, theirs = case.of(CONTROL), case.of(baseline)
    pairs = min(len(control.seconds), len(theirs.seconds)) if control and theirs else 0
    if control is None or theirs is None or not pairs:
        return "there is no self-check: the baseline was not measured against itself"
    if pairs < least:
        return f"the baseline was measured against itself {pairs} times, {least} are wanted"
    ratios = [a / b for a, b in zip(control.seconds[:pairs], theirs.seconds[:pairs], strict=True)]
    off, spread = abs(median(ratios) - 1), relative_spread(ratios)
    if off > limits.median:
        return f"the baseline differs from itself by {off:.1%} (allowed {limits.median:.1%})"
    if spread > limits.spread:
        return f"the baseline's ratios to itself spread over {spread:.1%} (allowed {limits.spread:.1%})"
    return ""


def _against_baseline(
    gate: BaselineGate, trial: Trial, case: Case, pairs: _Pairs, delta: float, significant: bool
) -> GateVerdict:
    ratio, outcome = pairs.ratio, GateOutcome.INCONCLUSIVE
    count_text = f"{pairs.count} pairs" if trial.interleaved else f"{len(pairs.ours)} and {len(pairs.theirs)} samples"
    interval = f"{_percent(gate.confidence)} interval {ratio.low - 1:+.1%} to {ratio.high - 1:+.1%}"
    says = (
        f"{_name(gate)}: {case.name} is {_slower(ratio.median)} than {gate.versus} "
        f"({interval}, allowed {delta:+.1%}, {count_text})"
    )
    baseline = side_label(trial.benchmarks, gate.versus)
    restless = self_check(case, baseline, gate.self_check, gate.pairs[0]) if trial.interleaved else ""
    if restless:
        outcome, says = GateOutcome.UNSTABLE, f"{says}: no verdict, {restless}"
    elif ratio.high < 1 + delta:
        outcome = GateOutcome.PASS
    elif ratio.low > 1 and ratio.median > 1 + delta and significant:
        outcome = GateOutcome.FAIL
    return GateVerdict(
        _name(gate), case.name, outcome, says, ratio.median, ratio.low, ratio.high, 1 + delta, "× time",
        pairs.count, trial.evidence,
    )  # fmt: skip


def _pairs(gate: PairedGate, trial: Trial, case: Case) -> _Pairs | _TooFewPairs:
    """The samples to compare, or what is missing."""
    judged_side, against = side_label(trial.benchmarks, gate.side), side_label(trial.benchmarks, gate.versus)
    if judged_side == against:
        return _TooFewPairs(f"{gate.versus!r} is the side {judged_side!r} itself: nothing is compared")
    ours, theirs = case.of(judged_side), case.of(against)
    for name, series in ((gate.side, ours), (gate.versus, theirs)):
        if series is None:
            return _TooFewPairs(
                f"nobody measured the side {name!r} (there are {', '.join(s.label for s in trial.benchmarks.sides)})"
            )
        if series.problem or not series.seconds:
            return _TooFewPairs(f"the side {name!r} did not run: {series.problem or 'no samples'}")
    assert ours is not None and theirs is not None
    pairs = min(len(ours.seconds), len(theirs.seconds))
    if pairs > 1 and ours.seconds == theirs.seconds:
        return _TooFewPairs("both sides have the same samples to the last digit, which no two measurements have")
    if not trial.interleaved:
        least = least_samples(1 - (1 - gate.confidence) / 2)  # each side's own interval is taken at half the error
        if pairs < least:
            return _TooFewPairs(
                f"{pairs} stored samples of a side are too few for a {_percent(gate.confidence)} interval: it takes {least}"
            )
        return _Pairs(ours.seconds, theirs.seconds, unpaired_interval(ours.seconds, theirs.seconds, gate.confidence))
    if pairs < gate.pairs[0]:
        return _TooFewPairs(f"only {pairs} pairs were measured; the gate wants {gate.pairs[0]}", pairs)
    above, below = ours.seconds[:pairs], theirs.seconds[:pairs]
    return _Pairs(above, below, ratio_interval(above, below, gate.confidence))


def _speed(gate: SpeedupGate, time: Interval, fast: Interval) -> str:
    """The speed-up, or, where the gate allows a slower side, the time: `takes 108× the time of …`."""
    confidence = f"{_percent(gate.confidence)} interval"
    if gate.at_least >= 1:
        interval = f"{confidence} {fast.low:.3g} to {fast.high:.3g}"
        return f"is {fast.median:.3g}× as fast as {gate.versus} ({interval}, at least {gate.at_least:g}×)"
    interval = f"{confidence} {time.low:.3g} to {time.high:.3g}"
    return f"takes {time.median:.3g}× the time of {gate.versus} ({interval}, at most {1 / gate.at_least:.4g}×)"


def _undecidable(gate: PairedGate, trial: Trial, case: Case, few: _TooFewPairs) -> GateVerdict:
    says = f"{_name(gate)}: {case.name} cannot be judged: {few.why}"
    return GateVerdict(_name(gate), case.name, GateOutcome.INCONCLUSIVE, says, pairs=few.pairs, evidence=trial.evidence)


def _name(gate: PairedGate) -> str:
    return gate.name or gate.kind


def _percent(share: float) -> str:
    return f"{100 * share:g} %"


def _slower(ratio: float) -> str:
    return f"{ratio - 1:.1%} slower" if ratio >= 1 else f"{1 - ratio:.1%} faster"
