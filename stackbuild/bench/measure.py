"""One whole measurement: check the outputs, run the rounds, then more rounds of undecided cases."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from stackbuild.bench.correctness import OutputCheck, add_correctness
from stackbuild.bench.experiment import Experiment, ProgressCallback, measure, no_progress
from stackbuild.core.errors import StepFailed, UsageError
from stackbuild.judgement import judge, next_pair_count
from stackbuild.model.gates import BaselineGate, Gate
from stackbuild.model.results import Benchmarks, Verdict, append_rounds, first_duplicate


@dataclass(frozen=True)
class Measurement:
    """The results, and what the gates say of them."""

    benchmarks: Benchmarks
    verdict: Verdict


def baseline_of(explicit: Path | None, gates: Sequence[Gate]) -> Path | None:
    """The baseline wheel: as given, else as the baseline gates name it.

    Raises UsageError where they name two: one is measured, and the other's gate would be judged by its numbers.
    """
    named_wheels = sorted({gate.wheel for gate in gates if isinstance(gate, BaselineGate) and gate.wheel})
    if len(named_wheels) > 1:
        raise UsageError(
            f"the gates name {len(named_wheels)} baselines: {' and '.join(named_wheels[:2])}",
            next="judge against one at a time: stackbuild gate --gates FILE, a file for each",
        )
    return explicit or next((Path(name) for name in named_wheels), None)


def require_complete(benchmarks: Benchmarks) -> None:
    """Raise StepFailed where a case did not run on some side: a measurement with holes is not a success."""
    broken_series = [(case, one) for case in benchmarks.cases for one in case.series if one.problem]
    if broken_series:
        case, one = broken_series[0]
        more = f" (and {len(broken_series) - 1} more)" if len(broken_series) > 1 else ""
        raise StepFailed(
            f"{case.name} did not run on the side {one.side}: {one.problem}{more}",
            next="leave that case, side or dtype out, or fix what it says",
        )


def require_distinct_names(experiment: Experiment) -> None:
    """Raise UsageError where two cases have one name: results go by it, so each would get the other's numbers."""
    if double := first_duplicate(task.case.name for task in experiment.tasks):
        files = [w.get("model") for t in experiment.tasks if t.case.name == double for w in list(t.work.values())[:1]]
        raise UsageError(
            f"two cases are called {double}: {' and '.join(map(str, files[:2]))}",
            next="rename one of the files, or leave one out",
        )


def run(
    experiment: Experiment,
    rounds: int,
    gates: Sequence[Gate],
    outputs: OutputCheck,
    tick: ProgressCallback = no_progress,
) -> Measurement:
    """Correctness first, then `rounds` of every case, then as many more as the gates allow while one is undecided.

    Raises UsageError where two cases have one name.
    """
    require_distinct_names(experiment)
    today = datetime.now(UTC).date()
    benchmarks = add_correctness(measure(experiment, 0), experiment, outputs, tick)
    target_pairs: int | None = next_pair_count(gates, 0) or rounds
    pairs, remaining_cases = 0, experiment
    while True:
        assert target_pairs is not None
        benchmarks = append_rounds(
            benchmarks,
            measure(remaining_cases, target_pairs - pairs, first_round=pairs, machine=benchmarks.machine, tick=tick),
        )
        verdict = judge(benchmarks, gates, today)
        pairs, target_pairs = target_pairs, next_pair_count(gates, target_pairs)
        remaining_cases = experiment.with_cases(verdict.undecided_cases())
        if target_pairs is None or not remaining_cases.tasks:
            return Measurement(benchmarks, verdict)
