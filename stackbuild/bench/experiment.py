"""An experiment: the contenders, the tasks, and rounds of them, each sample from a fresh process.

A round runs every side once, in a random order, so that drift and other load affect all sides alike. Interleaved pairs
cancel most of a shared machine's noise (Bulej et al., "Duet benchmarking", ICPE 2020).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from stackbuild.bench.environment import WorkerEnvironment
from stackbuild.bench.job import SessionOptions, TimingBudget, WorkerAnswer, run_job
from stackbuild.bench.machine import busy_notes, fingerprint
from stackbuild.core.digest import Json, plain
from stackbuild.core.errors import MachineLacks, UsageError
from stackbuild.model.results import CONTROL, Benchmarks, Case, Fingerprint, Series, Side
from stackbuild.tables.provider_options import builtin_providers

Work = dict[str, Json]
ProgressCallback = Callable[[str, int], None]
"""Called with what ended and with the number of processes that are left (0: not known)."""


def no_progress(what: str, remaining: int) -> None:
    """A tick that does nothing."""


@dataclass(frozen=True)
class Contender:
    """One side and how it is run."""

    side: Side
    environment: WorkerEnvironment
    session: SessionOptions
    copies: bool = False


@dataclass(frozen=True)
class Task:
    """One case, and the worker's job for it by the side's label."""

    case: Case
    work: dict[str, Work]


@dataclass(frozen=True)
class Experiment:
    """What is measured. `process_per_case` gives each case a process of its own; else one process runs all cases of a round.

    `clock` is wall, or device for the GPU's own events.
    """

    suite: str
    kind: str
    contenders: tuple[Contender, ...]
    tasks: tuple[Task, ...]
    budget: TimingBudget
    process_per_case: bool
    seed: int = 0
    clock: str = "wall"

    def with_cases(self, cases: Iterable[str]) -> Experiment:
        """The same with some of its cases."""
        names = set(cases)
        return replace(self, tasks=tuple(t for t in self.tasks if t.case.name in names))

    def processes(self, rounds: int) -> int:
        """How many processes so many rounds start: what a progress bar counts."""
        return rounds * len(self._groups()) * len(self.contenders)

    def _groups(self) -> list[tuple[Task, ...]]:
        return [(task,) for task in self.tasks] if self.process_per_case else [self.tasks]


def with_control(contenders: Sequence[Contender], baseline: str) -> tuple[Contender, ...]:
    """The contenders and a second copy of the baseline, whose pairs with it are the A/A self-check."""
    copied_contender = next(c for c in contenders if c.side.label == baseline)
    return (*contenders, replace(copied_contender, side=replace(copied_contender.side, label=CONTROL)))


def with_libraries(experiment: Experiment) -> Experiment:
    """The same with the libraries that each side really has.

    Raises MachineLacks where a side lacks its provider or its interpreter cannot run the worker. Raises UsageError where
    the device's clock is wanted and a provider does not take a stream to put events on.
    """
    if experiment.clock == "device":
        for contender in experiment.contenders:
            _refuse_without_stream(contender)
    return replace(experiment, contenders=tuple(_with_libraries(c) for c in experiment.contenders))


def _with_libraries(contender: Contender) -> Contender:
    answer = run_job(contender.environment, {"do": "versions", "session": plain(contender.session)})
    if answer.problem:
        lacks = "check that --plugin is an execution provider's library for this onnxruntime, and --provider its name"
        raise MachineLacks(
            answer.problem, where=f"side {contender.side.label!r}",
            next=lacks if contender.session.plugin else "give a --python with numpy and the onnxruntime this side needs",
        )  # fmt: skip
    has = answer.libraries["providers"].split()
    if contender.side.provider not in has and not contender.session.plugin:
        raise MachineLacks(
            f"its onnxruntime {answer.libraries['onnxruntime']} has no {contender.side.provider}",
            where=f"side {contender.side.label!r}", next=f"choose one of {', '.join(has)}, or another wheel",
        )  # fmt: skip
    return replace(contender, side=replace(contender.side, libraries=answer.libraries))


def _refuse_without_stream(contender: Contender) -> None:
    """For built-in providers only: for a plugin EP the worker checks that the session works on the given stream."""
    provider = builtin_providers().get(contender.side.provider)
    if not contender.session.plugin and provider is not None and "user_compute_stream" not in provider.options:
        raise UsageError(
            f"{provider.name} takes no stream of the caller's, so no events can be put around its work",
            where=f"side {contender.side.label!r}", next="--clock wall, which covers its synchronisation",
        )  # fmt: skip


def measure(
    experiment: Experiment,
    rounds: int,
    *,
    first_round: int = 0,
    machine: Fingerprint | None = None,
    tick: ProgressCallback = no_progress,
) -> Benchmarks:
    """Rounds `first_round` to `first_round + rounds` of the experiment. `tick` hears of every process that ended.

    The machine is looked at once for a whole measurement: its vendor's tools take seconds.
    """
    if not experiment.tasks:
        raise UsageError("the suite has no cases", next="name a model, or another --suite")
    measured_at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    machine = machine or fingerprint()
    remaining = iter(range(experiment.processes(rounds) - 1, -1, -1))
    clocks: dict[str, str] = {}
    unchecked_cases: dict[str, str] = {}
    cases = tuple(
        case
        for number, group in enumerate(experiment._groups())
        for case in _measure_group(
            experiment,
            group,
            number,
            range(first_round, first_round + rounds),
            lambda what, _: tick(what, next(remaining)),
            clocks,
            unchecked_cases,
        )
    )
    sides = tuple(c.side for c in experiment.contenders)
    notes = (*(busy_notes(machine) if rounds and not first_round else ()), *_unchecked_notes(unchecked_cases))
    return Benchmarks(experiment.suite, experiment.kind, measured_at, machine, sides, cases, _timer(clocks), notes)


def _unchecked_notes(unchecked_cases: dict[str, str]) -> tuple[str, ...]:
    """A note for each reason why outputs of timed runs were not compared, with the cases it is about."""
    reasons = dict.fromkeys(unchecked_cases.values())
    return tuple(
        f"timed runs of {', '.join(sorted(case for case, why in unchecked_cases.items() if why == reason))}: {reason}"
        for reason in reasons
    )


def _timer(clocks: dict[str, str]) -> str:
    """How runs were timed, as the workers said; by side where they differ."""
    ways = sorted(set(clocks.values()))
    if len(ways) > 1:
        return "; ".join(f"{label}: {way}" for label, way in sorted(clocks.items()) if label != CONTROL)
    return ways[0] if ways else ""


def _measure_group(
    experiment: Experiment,
    group: tuple[Task, ...],
    number: int,
    rounds: range,
    tick: ProgressCallback,
    clocks: dict[str, str],
    unchecked_cases: dict[str, str],
) -> list[Case]:
    """The cases of one group with a series per side; a round in which any side failed counts for none of them."""
    results: dict[tuple[str, str], list[Work]] = {}
    problems: dict[tuple[str, str], str] = {}
    for turn in rounds:
        answers = {
            c.side.label: _run_group(experiment, c, group, tick)
            for c in _order(experiment, number, turn)
        }  # fmt: skip
        for task in group:
            this = {label: _case_of(answers[label], task.case.name) for label in task.work}
            bad = {label: str(work["problem"]) for label, work in this.items() if "problem" in work}
            problems |= {(task.case.name, label): why for label, why in bad.items()}
            for label, work in this.items():
                clocks |= {label: str(work["clock"])} if "clock" in work else {}
                unchecked_cases |= {task.case.name: str(work["unchecked"])} if work.get("unchecked") else {}
                if not bad:
                    results.setdefault((task.case.name, label), []).append(work)
    return [
        replace(t.case, series=tuple(_series(n, results.get((t.case.name, n), []), problems.get((t.case.name, n), ""))
                                     for n in t.work))
        for t in group
    ]  # fmt: skip


def _order(experiment: Experiment, group: int, turn: int) -> list[Contender]:
    order = list(experiment.contenders)
    random.Random(f"{experiment.seed}/{group}/{turn}").shuffle(order)
    return order


def _run_group(
    experiment: Experiment, contender: Contender, group: tuple[Task, ...], tick: ProgressCallback
) -> WorkerAnswer:
    label = contender.side.label
    cases: list[Json] = [task.work[label] for task in group if label in task.work]
    job: Work = {
        "do": "time", "session": plain(contender.session), "cases": cases, "budget": plain(experiment.budget),
        "copies": contender.copies, "clock": experiment.clock,
    }  # fmt: skip
    answer = run_job(contender.environment, job)
    tick(f"{label}: {group[0].case.name}{' …' if len(group) > 1 else ''}", 0)
    return answer


def _case_of(answer: WorkerAnswer, name: str) -> Work:
    return {"problem": answer.problem} if answer.problem else answer.cases[name]


def _series(label: str, results: list[Work], problem: str) -> Series:
    def of(name: str) -> tuple[float, ...]:
        return tuple(float(str(work[name])) for work in results)

    def largest(name: str) -> int | None:
        sizes = [int(str(work[name])) for work in results if work[name] is not None]
        return max(sizes, default=None)

    return Series(
        label, of("seconds"), of("create"), of("first"), largest("host_bytes"), largest("device_bytes"),
        problem=problem,
    )  # fmt: skip
