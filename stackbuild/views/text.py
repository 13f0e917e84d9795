"""Texts that several views share: a duration, and the headline of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stackbuild.model.findings import NO_GPU
from stackbuild.model.results import GateOutcome

if TYPE_CHECKING:
    from stackbuild.pipeline.run_record import RunRecord


def format_duration(seconds: float) -> str:
    """A duration as people read it: 0.42 s, 12 s, 3 min 05 s, 2 h 10 min."""
    if seconds < 10:
        return f"{seconds:.2g} s" if seconds < 1 else f"{seconds:.1f} s"
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"


def headline(run: RunRecord) -> tuple[str, str]:
    """The one line a reader came for, and its kind: good, bad or unsure."""
    if run.failed:
        return f"{run.failed[0].name} {run.failed[0].how}", "bad"
    wrong = [v for v in run.verifications if v.failed]
    if wrong:
        return wrong[0].claim, "bad"
    if run.verdict and run.verdict.outcome is GateOutcome.FAIL:
        return f"Gate closed: {run.verdict.closed[0].says}", "bad"
    if run.holes:
        case, side, why = run.holes[0]
        more = f" (and {len(run.holes) - 1} more)" if len(run.holes) > 1 else ""
        return f"Not measured: {case} did not run on the side {side}: {why}{more}", "bad"
    if run.benchmarks and not run.benchmarks.cases:
        return "Nothing was measured", "bad"
    if run.verdict and run.verdict.closed:
        return f"Gate closed: {run.verdict.closed[0].says}", "unsure"
    if run.verdict and run.verdict.gates:
        waived = sum(bool(g.waived) for g in run.verdict.gates)
        number = len(run.verdict.gates)
        said = "The gate is open" if number == 1 else f"All {number} gates are open"
        return said + (f", {waived} by a waiver" if waived else "") + _no_gpu(run), "good"
    if run.verifications:
        return run.verifications[0].claim, "good"
    return f"Measured; no gate was asked for{_no_gpu(run)}" if run.benchmarks else "Built; not verified", "good"


def qualifications(run: RunRecord) -> tuple[str, ...]:
    """What stands beside the headline: the claim of each verification, where the headline is not one, and what no GPU ran."""
    line, _ = headline(run)
    return tuple(f"{one.subject}: {one.claim}" for one in run.verifications if one.claim != line)


def _no_gpu(run: RunRecord) -> str:
    """That the gates were judged on figures of the CPU alone, where they were."""
    return f"; {NO_GPU}" if run.benchmarks and not run.benchmarks.gpu_ran else ""
