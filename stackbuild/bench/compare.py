"""Results side by side: two files as one for the judge, and the release-to-release table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import median

from stackbuild.core.errors import UsageError
from stackbuild.model.results import Benchmarks, Case, Series


@dataclass(frozen=True)
class FigureChange:
    """One figure of one case in two results: `better` is how much better the newer is, as a share (-0.05 is worse)."""

    case: str
    metric: str
    unit: str
    before: float
    after: float
    better: float


def stored_pair(baseline: Benchmarks, candidate: Benchmarks) -> Benchmarks:
    """Two measurements taken apart as one with the sides `baseline` and `candidate`, for the judge.

    A case that one of them lacks stays, with the lack as its problem: what is not measured does not pass. Raises
    UsageError where they were not measured alike.
    """
    require_comparable(baseline, candidate)
    ours, theirs = _by_name(candidate), _by_name(baseline)
    cases = tuple(_pair(theirs.get(name), ours.get(name)) for name in {**ours, **theirs})
    sides = replace(candidate.sides[0], label="candidate"), replace(baseline.sides[0], label="baseline")
    note = "compared with stored results: weaker evidence than an interleaved run"
    return replace(candidate, sides=sides, cases=cases, notes=(*candidate.notes, note))


def require_comparable(baseline: Benchmarks, candidate: Benchmarks) -> None:
    """Raise UsageError where two results are of different machines, share no case, or cases of one name are not alike.

    Their first sides are compared: provider, options and threads must be equal, and each common case's file and shapes.
    """
    for name, results in (("baseline", baseline), ("candidate", candidate)):
        if not any(_first(case).seconds for case in results.cases):
            raise UsageError(
                f"the {name} is empty: it has no samples", next="measure it again: stackbuild bench … --out"
            )
    differences = candidate.machine.differences(baseline.machine)
    ours, theirs = candidate.sides[0], baseline.sides[0]
    if (ours.provider, ours.options) != (theirs.provider, theirs.options):
        differences += (f"provider: {ours.provider} {ours.options} against {theirs.provider} {theirs.options}",)
    if ours.threads != theirs.threads:
        differences += (f"threads: {ours.threads or 'all'} against {theirs.threads or 'all'}",)
    if candidate.timer != baseline.timer:
        differences += (f"timer: {candidate.timer} against {baseline.timer}",)
    before = _by_name(baseline)
    common = [(before[case.name], case) for case in candidate.cases if case.name in before]
    differences += tuple(text for old, new in common for text in _unlike(old, new))
    if differences:
        raise UsageError(
            "they were not measured alike: " + "; ".join(differences[:8]),
            next="measure both on this machine: stackbuild gate --baseline OLD.whl --candidate NEW.whl",
        )
    if not common:
        raise UsageError(
            "the baseline and the candidate have no case in common",
            next=f"measure both with one suite; the baseline has {_names(baseline)}, the candidate {_names(candidate)}",
        )


def changes(before: Benchmarks, after: Benchmarks) -> tuple[FigureChange, ...]:
    """Every figure that both have, by case: latency, throughput, session creation, first inference, memory."""
    theirs = _by_name(before)
    return tuple(
        change
        for case in after.cases
        if case.name in theirs
        for change in _changes(case, _first(theirs[case.name]), _first(case))
    )


def _changes(case: Case, before: Series, after: Series) -> list[FigureChange]:
    changes = []
    for metric, unit, old, new in (
        ("latency", "ms", before.seconds, after.seconds),
        ("session creation", "ms", before.create, after.create),
        ("first inference", "ms", before.first, after.first),
    ):
        if old and new:
            a, b = median(old) * 1e3, median(new) * 1e3
            changes.append(FigureChange(case.name, metric, unit, a, b, (a - b) / a))
            if metric == "latency":
                x, y = case.items / a * 1e3, case.items / b * 1e3
                changes.append(FigureChange(case.name, "throughput", f"{case.unit}s/s", x, y, (y - x) / x))
    for metric, peak, now in (
        ("host memory", before.host_bytes, after.host_bytes), ("device memory", before.device_bytes, after.device_bytes),
    ):  # fmt: skip
        if peak and now:
            changes.append(FigureChange(case.name, metric, "MiB", peak / 2**20, now / 2**20, (peak - now) / peak))
    return changes


def _pair(theirs: Case | None, ours: Case | None) -> Case:
    """One case of both; a lack is a problem of that side."""
    case = ours or theirs
    assert case is not None
    return replace(case, series=(_series(ours, "candidate"), _series(theirs, "baseline")))


def _series(case: Case | None, side: str) -> Series:
    if case is None:
        return Series(side, (), problem=f"the {side}'s results have no such case")
    return replace(_first(case), side=side)


def _unlike(old: Case, new: Case) -> list[str]:
    """In what two cases of one name are not the same work."""
    differences = [] if old.sha256 == new.sha256 else [f"{new.name}: model {new.sha256[:12]} against {old.sha256[:12]}"]
    for field in ("opset", "dtype", "shapes", "batch", "items", "unit"):
        before, after = getattr(old, field), getattr(new, field)
        if before != after:
            differences.append(f"{new.name}: {field} {after} against {before}")
    return differences


def _by_name(results: Benchmarks) -> dict[str, Case]:
    return {case.name: case for case in results.cases}


def _first(case: Case) -> Series:
    return case.series[0] if case.series else Series("", ())


def _names(results: Benchmarks) -> str:
    return ", ".join(case.name for case in results.cases[:3]) or "none"
