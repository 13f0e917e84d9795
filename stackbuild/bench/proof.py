"""Correctness before speed: what each side computes against a reference, and which provider really ran it. Untimed."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from dataclasses import dataclass, field, replace
from pathlib import Path

from stackbuild.bench.environment import Environment
from stackbuild.bench.experiment import Contender, Experiment, Task, Tick, Work
from stackbuild.bench.job import MEASURES, Session, run_job
from stackbuild.digest import Json, plain
from stackbuild.results import CONTROL, Accuracy, Benchmarks, Case, OpTime, Series, Share


@dataclass(frozen=True)
class Reference:
    """What outputs are held against: files with the truth by case, or a session of its own and what it is told."""

    says: str
    environment: Environment
    session: Session
    work: dict[str, Work]
    truth: dict[str, Path] = field(default_factory=dict)


def proved(
    measured: Benchmarks,
    experiment: Experiment,
    reference: Reference | None,
    *,
    profile: bool,
    tick: Tick = lambda _: None,
) -> Benchmarks:
    """The same results with accuracy and provider shares in every series but the control's."""
    cases = []
    for task in experiment.tasks:
        case = next(c for c in measured.cases if c.name == task.case.name)
        with tempfile.TemporaryDirectory(prefix="stackbuild-proof-") as folder:
            cases.append(_proved(case, task, experiment, reference, profile, Path(folder)))
        tick(f"proof: {case.name}")
    return replace(measured, cases=tuple(cases))


def _proved(
    case: Case, task: Task, experiment: Experiment, reference: Reference | None, profile: bool, folder: Path
) -> Case:
    truth = reference.truth.get(case.name, folder / "truth.npz") if reference else folder
    wrong = ""
    if reference and case.name not in reference.truth:
        wrong = _outputs(reference.environment, reference.session, reference.work[case.name], truth)
    by_label = {c.side.label: c for c in experiment.contenders}
    made = []
    for series in case.series:
        contender = by_label[series.side]
        if series.side != CONTROL and not series.problem:
            ops = _ops(contender, task)
            series = replace(series, shares=shares(ops), ops=ops if profile else ())
            if reference:
                series = replace(series, problem=wrong) if wrong else _held(series, contender, task, reference, truth)
        made.append(series)
    return replace(case, series=tuple(made))


def _held(series: Series, contender: Contender, task: Task, reference: Reference, truth: Path) -> Series:
    """The series with its accuracy, or with the problem that kept it from being taken."""
    with tempfile.TemporaryDirectory(prefix="stackbuild-outputs-") as folder:
        mine = Path(folder) / "mine.npz"
        if problem := _outputs(contender.environment, contender.session, task.work[series.side], mine):
            return replace(series, problem=problem)
        return _compared(series, reference, mine, truth)


def _compared(series: Series, reference: Reference, mine: Path, truth: Path) -> Series:
    case: Work = {"name": "c", "ours": str(mine), "theirs": str(truth)}
    answer = run_job(reference.environment, {"do": "compare", "measures": str(MEASURES), "cases": [case]})
    found = answer.cases.get("c", {})
    if problem := answer.problem or str(found.get("problem", "")):
        return replace(series, problem=f"its output could not be compared: {problem}")
    figures = {name: float(str(value)) for name, value in found.items()}
    return replace(series, accuracy=Accuracy(reference.says, **figures))


def _outputs(environment: Environment, session: Session, work: Work, keep: Path) -> str:
    """Run the case once and keep what it computes; the problem, or ""."""
    job: Work = {"do": "outputs", "session": plain(session), "cases": [work | {"name": "c", "keep": str(keep)}]}
    answer = run_job(environment, job)
    return answer.problem or str(answer.cases["c"].get("problem", ""))


def _ops(contender: Contender, task: Task) -> tuple[OpTime, ...]:
    """Every operator's time and provider from one profiled process; nothing where it could not be profiled."""
    case: Work = task.work[contender.side.label] | {"name": "c"}
    job: Work = {"do": "profile", "session": plain(contender.session), "cases": [case]}
    answer = run_job(contender.environment, job)
    rows = answer.cases.get("c", {}).get("ops", [])
    return tuple(_op(row) for row in rows if isinstance(row, dict)) if isinstance(rows, list) else ()


def _op(row: dict[str, Json]) -> OpTime:
    return OpTime(str(row["op"]), str(row["provider"]), float(str(row["seconds"])), int(str(row["nodes"])))


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
