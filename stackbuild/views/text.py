"""Texts that several views share: a duration, and the headline of a run."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from stackbuild.model.findings import NO_GPU
from stackbuild.model.results import GateOutcome, Verdict

if TYPE_CHECKING:
    from stackbuild.pipeline.run_record import RunRecord


_OTHER_OUTCOMES = ("fail", "unstable", "inconclusive", "waived")


SHOWN_MEMORY = 100_000_000
"""Bytes from which a step's memory is worth a word."""


def format_duration(seconds: float) -> str:
    """A duration as people read it: 0.42 s, 12 s, 3 min 05 s, 2 h 10 min."""
    if seconds < 10:
        return f"{seconds:.2g} s" if seconds < 1 else f"{seconds:.1f} s"
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"


def format_size(size: int) -> str:
    """Bytes as people read them, in powers of 1000 as pip shows them: 812 B, 4.1 MB, 1.07 GB."""
    for unit, power in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= power:
            return f"{size / power:.3g} {unit}"
    return f"{size} B"


def headline(run: RunRecord) -> tuple[str, str]:
    """The one line a reader came for, and its kind: good, bad or unsure."""
    if run.failures:
        return f"{run.failures[0].name} {run.failures[0].how}", "bad"
    wrong = [v for v in run.verifications if v.failed]
    if wrong:
        return wrong[0].claim, "bad"
    if run.verdict and run.verdict.outcome is GateOutcome.FAIL:
        return f"{_gate_counts(run.verdict)}: {run.verdict.closed_gates[0].says}", "bad"
    if run.holes:
        case, side, why = run.holes[0]
        more = f" (and {len(run.holes) - 1} more)" if len(run.holes) > 1 else ""
        return f"Not measured: {case} did not run on the side {side}: {why}{more}", "bad"
    if run.benchmarks and not run.benchmarks.cases:
        return "Nothing was measured", "bad"
    if run.verdict and run.verdict.closed_gates:
        return f"{_gate_counts(run.verdict)}: {run.verdict.closed_gates[0].says}", "unsure"
    if run.verdict and run.verdict.gates:
        return _gate_counts(run.verdict) + _no_gpu(run), "good"
    if run.verifications:
        return run.verifications[0].claim, "good"
    return f"Measured; no gates were given{_no_gpu(run)}" if run.benchmarks else "Built; not verified", "good"


def _gate_counts(verdict: Verdict) -> str:
    """How many gates passed, failed, were not decided and were waived: `9 of 10 gates passed, 1 failed`."""
    counts = Counter("waived" if g.waived else g.outcome.value.lower() for g in verdict.gates)
    passed_count = counts.pop("pass", 0)
    number = f"{len(verdict.gates)} gate" + ("s" if len(verdict.gates) > 1 else "")
    words = {"fail": "failed"}
    rest = [f"{counts[kind]} {words.get(kind, kind)}" for kind in _OTHER_OUTCOMES if counts[kind]]
    return ", ".join([f"{passed_count} of {number} passed", *rest])


def qualifications(run: RunRecord) -> tuple[tuple[str, str], ...]:
    """The claim of each verification with the name of its wheel, without one that is the headline already."""
    line, _ = headline(run)
    return tuple((one.subject, one.claim) for one in run.verifications if one.claim != line)


def _no_gpu(run: RunRecord) -> str:
    """That the gates were judged on figures of the CPU alone, where they were."""
    return f"; {NO_GPU}" if run.benchmarks and not run.benchmarks.gpu_ran else ""
