"""Correctness before speed: what each side computes against a reference, and which provider really ran it. Untimed."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from dataclasses import dataclass, field, replace
from pathlib import Path

from stackbuild.bench import counters
from stackbuild.bench.environment import WorkerEnvironment
from stackbuild.bench.experiment import Contender, Experiment, ProgressCallback, Work
from stackbuild.bench.job import ERROR_METRICS, SessionOptions, run_each
from stackbuild.core.digest import Json, plain
from stackbuild.model.results import CONTROL, Accuracy, Benchmarks, KernelCounters, OpTime, Series, Share

Problems = dict[str, str]
CPU = "CPUExecutionProvider"


@dataclass(frozen=True)
class Reference:
    """What outputs are compared with: files with the truth by case, or a session of its own and its work by case."""

    description: str
    environment: WorkerEnvironment
    session: SessionOptions
    work: dict[str, Work]
    truth: dict[str, Path] = field(default_factory=dict)


@dataclass(frozen=True)
class OutputCheck:
    """What is found out of a side's outputs: compared with a reference where there is one, profiled where asked for."""

    reference: Reference | None
    profile: bool = False


@dataclass(frozen=True)
class _SideCheck:
    """What was found of one side, by case."""

    accuracy: dict[str, Accuracy]
    ops: dict[str, tuple[OpTime, ...]]
    kernels: dict[str, tuple[KernelCounters, ...]]
    problems: Problems
    notes: tuple[str, ...] = ()


def add_correctness(
    benchmarks: Benchmarks,
    experiment: Experiment,
    outputs: OutputCheck,
    tick: ProgressCallback,
) -> Benchmarks:
    """The same results with accuracy and provider shares in every series but the control's."""
    reference, profile = outputs.reference, outputs.profile
    with tempfile.TemporaryDirectory(prefix="stackbuild-proof-") as folder:
        truth = _truth(experiment, reference, Path(folder)) if reference else {}
        checks = {}
        for contender in experiment.contenders:
            if contender.side.label != CONTROL:
                tick(f"proving {contender.side.label}", 0)
                check = _check(experiment, contender, reference, truth, Path(folder))
                checks[contender.side.label] = _with_counters(check, experiment, contender) if profile else check
    cases = tuple(
        replace(case, series=tuple(_with_check(s, case.name, checks.get(s.side), profile) for s in case.series))
        for case in benchmarks.cases
    )
    notes = tuple(dict.fromkeys(note for check in checks.values() for note in check.notes))
    return replace(benchmarks, cases=cases, notes=(*benchmarks.notes, *notes))


def _truth(experiment: Experiment, reference: Reference, folder: Path) -> dict[str, Path | str]:
    """By case, the file with the reference's outputs, or the problem that kept it from being made."""
    truth: dict[str, Path | str] = dict(reference.truth)
    names = [task.case.name for task in experiment.tasks if task.case.name not in truth]
    if names:
        works = [reference.work[name] | {"name": name} for name in names]
        outputs, problems = _outputs(reference.environment, reference.session, works, folder, "truth")
        truth |= outputs | {n: f"there is no reference: {why}" for n, why in problems.items()}
    return truth


def _check(
    experiment: Experiment,
    contender: Contender,
    reference: Reference | None,
    truth: dict[str, Path | str],
    folder: Path,
) -> _SideCheck:
    label = contender.side.label
    works = [task.work[label] for task in experiment.tasks if label in task.work]
    job: Work = {"do": "profile", "session": plain(contender.session)}
    profiles = run_each(contender.environment, job, works)
    ops = {name: _ops(row.get("ops", [])) for name, row in profiles.cases.items()}
    problems = {name: str(row["problem"]) for name, row in profiles.cases.items() if "problem" in row}
    if reference is None:
        return _SideCheck({}, ops, {}, problems)
    sound = [work for work in works if work["name"] not in problems]
    outputs, wrong = _outputs(contender.environment, contender.session, sound, folder, label)
    accuracy, incomparable = _compare(reference, outputs, truth)
    return _SideCheck(accuracy, ops, {}, problems | wrong | incomparable)


def _with_counters(check: _SideCheck, experiment: Experiment, contender: Contender) -> _SideCheck:
    """With the GPU kernels' counters of every case that ran, where rocprofv3 is there to take them."""
    rocprof = counters.program()
    if contender.side.provider == CPU or rocprof is None:
        return check
    label, found_counters, missing = contender.side.label, {}, list[str]()
    for work in (t.work[label] for t in experiment.tasks if label in t.work and t.case.name not in check.problems):
        job: Work = {"do": "profile", "session": plain(contender.session), "cases": [work]}
        found_counters[str(work["name"])], lacks = counters.collect_counters(contender.environment, job, rocprof)
        missing += lacks
    return replace(check, kernels=found_counters, notes=tuple(missing))


def _outputs(
    environment: WorkerEnvironment, session: SessionOptions, works: list[Work], folder: Path, label: str
) -> tuple[dict[str, Path], Problems]:
    """Run every case once and keep what it computes."""
    files = {str(work["name"]): folder / f"{label}-{number}.npz" for number, work in enumerate(works)}
    cases = [work | {"keep": str(files[str(work["name"])])} for work in works]
    answer = run_each(environment, {"do": "outputs", "session": plain(session)}, cases) if cases else None
    answered_cases = answer.cases if answer else {}
    problems = {name: str(case["problem"]) for name, case in answered_cases.items() if "problem" in case}
    return {name: file for name, file in files.items() if name not in problems}, problems


def _compare(
    reference: Reference, outputs: dict[str, Path], truth: dict[str, Path | str]
) -> tuple[dict[str, Accuracy], Problems]:
    problems = {name: str(truth[name]) for name in outputs if isinstance(truth[name], str)}
    cases: list[Work] = [
        {"name": name, "ours": str(file), "theirs": str(truth[name])}
        for name, file in outputs.items()
        if name not in problems
    ]
    if not cases:
        return {}, problems
    answer = run_each(reference.environment, {"do": "compare", "error_metrics": str(ERROR_METRICS)}, cases)
    accuracy = {}
    for name, case in answer.cases.items():
        if "problem" in case:
            problems[name] = f"its output cannot be compared: {case['problem']}"
        else:
            figures = {measure: float(str(value)) for measure, value in case.items()}
            accuracy[name] = Accuracy(reference.description, **figures)
    return accuracy, problems


def _with_check(series: Series, case: str, check: _SideCheck | None, profile: bool) -> Series:
    if check is None:
        return series
    ops = check.ops.get(case, ())
    return replace(
        series, accuracy=check.accuracy.get(case), shares=shares(ops), ops=ops if profile else (),
        kernels=check.kernels.get(case, ()),
        problem=series.problem or check.problems.get(case, ""),
    )  # fmt: skip


def _ops(rows: Json) -> tuple[OpTime, ...]:
    records = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    return tuple(
        OpTime(str(r["op"]), str(r["provider"]), float(str(r["seconds"])), int(str(r["nodes"]))) for r in records
    )


def shares(ops: tuple[OpTime, ...]) -> tuple[Share, ...]:
    """What each provider ran, most nodes first."""
    nodes: dict[str, int] = defaultdict(int)
    seconds: dict[str, float] = defaultdict(float)
    for op in ops:
        nodes[op.provider] += op.nodes
        seconds[op.provider] += op.seconds
    total, time = sum(nodes.values()), sum(seconds.values())
    return tuple(
        Share(provider, count / total, seconds[provider] / time if time else 0.0)
        for provider, count in sorted(nodes.items(), key=lambda item: -item[1])
    )
