"""Results side by side: two files as one for the judge, and the release-to-release table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import median

from stackbuild.errors import UsageError
from stackbuild.results import Benchmarks, Case, Series


@dataclass(frozen=True)
class Change:
    """One figure of one case in two results: `better` is how much better the newer is, as a share (-0.05 is worse)."""

    case: str
    metric: str
    unit: str
    before: float
    after: float
    better: float


def stored_pair(baseline: Benchmarks, candidate: Benchmarks) -> Benchmarks:
    """Two measurements taken apart as one with the sides `baseline` and `candidate`, for the judge.

    Raises UsageError where they are not of one machine and provider, or share no case: such are never compared.
    """
    refuse_unlike(baseline, candidate)
    theirs = {case.name: case for case in baseline.cases}
    cases = tuple(_paired(theirs[case.name], case) for case in candidate.cases if case.name in theirs)
    if not cases:
        raise UsageError(
            "the baseline and the candidate have no case in common",
            next=f"measure both with one suite; the baseline has {_names(baseline)}, the candidate {_names(candidate)}",
        )
    ours = tuple(replace(s, label="candidate") for s in candidate.sides[:1])
    base = tuple(replace(s, label="baseline") for s in baseline.sides[:1])
    note = "compared with stored results: weaker evidence than an interleaved run"
    return replace(candidate, sides=ours + base, cases=cases, notes=(*candidate.notes, note))


def refuse_unlike(baseline: Benchmarks, candidate: Benchmarks) -> None:
    """Raise UsageError where two results are of different machines, or their first sides of different providers."""
    for name, results in (("baseline", baseline), ("candidate", candidate)):
        if not any(_first(case).seconds for case in results.cases):
            raise UsageError(
                f"the {name} is empty: it has no samples", next="measure it again: stackbuild bench … --out"
            )
    differences = candidate.machine.differences(baseline.machine)
    ours, theirs = candidate.sides[0], baseline.sides[0]
    if (ours.provider, ours.options) != (theirs.provider, theirs.options):
        differences += (f"provider: {ours.provider} {ours.options} against {theirs.provider} {theirs.options}",)
    if candidate.timer != baseline.timer:
        differences += (f"timer: {candidate.timer} against {baseline.timer}",)
    if differences:
        raise UsageError(
            "they were not measured alike: " + "; ".join(differences),
            next="measure both on this machine: stackbuild gate --baseline OLD.whl --candidate NEW.whl",
        )


def changes(before: Benchmarks, after: Benchmarks) -> tuple[Change, ...]:
    """Every figure that both have, by case: latency, throughput, session creation, first inference, memory."""
    theirs = {case.name: case for case in before.cases}
    return tuple(
        change
        for case in after.cases
        if case.name in theirs
        for change in _changes(case, _first(theirs[case.name]), _first(case))
    )


def _changes(case: Case, before: Series, after: Series) -> list[Change]:
    made = []
    for metric, unit, old, new in (
        ("latency", "ms", before.seconds, after.seconds),
        ("session creation", "ms", before.create, after.create),
        ("first inference", "ms", before.first, after.first),
    ):
        if old and new:
            a, b = median(old) * 1e3, median(new) * 1e3
            made.append(Change(case.name, metric, unit, a, b, (a - b) / a))
            if metric == "latency":
                x, y = case.items / a * 1e3, case.items / b * 1e3
                made.append(Change(case.name, "throughput", f"{case.unit}s/s", x, y, (y - x) / x))
    for metric, peak, now in (
        ("host memory", before.host_bytes, after.host_bytes), ("device memory", before.device_bytes, after.device_bytes),
    ):  # fmt: skip
        if peak and now:
            made.append(Change(case.name, metric, "MiB", peak / 2**20, now / 2**20, (peak - now) / peak))
    return made


def _paired(theirs: Case, ours: Case) -> Case:
    return replace(ours, series=(replace(_first(ours), side="candidate"), replace(_first(theirs), side="baseline")))


def _first(case: Case) -> Series:
    return case.series[0] if case.series else Series("", ())


def _names(results: Benchmarks) -> str:
    return ", ".join(case.name for case in results.cases[:3]) or "none"
