"""Benchmarks of whole models: the suite's architectures or a user's own file, on one or several sides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from stackbuild.bench.correctness import OutputCheck, Reference
from stackbuild.bench.environment import WorkerEnvironment, default_cache, plain_environment, wheel_environment
from stackbuild.bench.experiment import (
    Contender,
    Experiment,
    ProgressCallback,
    Task,
    Work,
    with_control,
    with_libraries,
)
from stackbuild.bench.job import SessionOptions, TimingBudget, run_job
from stackbuild.bench.measure import Measurement, baseline_of, run
from stackbuild.bench.model_cache import model_file, net_file
from stackbuild.bench.onnx_file import UserModel, user_case
from stackbuild.bench.providers import provider_name
from stackbuild.bench.suite_cases import SuiteCase, suite_cases
from stackbuild.core.errors import UsageError
from stackbuild.core.shell_words import shell_word
from stackbuild.model.gates import Gate
from stackbuild.model.results import Side
from stackbuild.model.suite import Suite

CPU = "CPUExecutionProvider"
REFERENCE = "float32 on the CPU, graph optimisation off"


@dataclass(frozen=True)
class ModelBench:
    """How models are to be measured.

    `against` are further providers, each a side. `devices` adds a side that splits the batch over them. `wheel` is the
    candidate: an onnxruntime (default: the one installed for `python`) or a plugin EP. `plugin` is the plugin EP's
    library: `package:function` for one in a wheel, else a path.
    """

    provider: str = CPU
    options: dict[str, str] = field(default_factory=dict)
    against: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    wheel: Path | None = None
    baseline: Path | None = None
    python: Path | None = None
    plugin: str = ""
    cache: Path = field(default_factory=default_cache)
    threads: int = 0
    copies: bool = False
    profile: bool = False
    rounds: int | None = None
    seed: int = 0
    clock: str = "wall"


def measure_models(
    request: ModelBench,
    suite: Suite,
    name: str,
    gates: Sequence[Gate],
    tick: ProgressCallback,
    users: Sequence[UserModel] = (),
) -> Measurement:
    """Measure the suite's models, and the user's own, on every side; judged by the gates.

    Raises UsageError for a model or shape that is wrong, MachineLacks for a provider that is not there.
    """
    if request.plugin and ":" not in request.plugin and not Path(request.plugin).is_file():
        raise UsageError("there is no such library", where=request.plugin, next="--plugin takes a plugin EP's .so")
    if suite.kind != "models":
        raise UsageError(f"the suite {name} is of {suite.kind}", next=f"stackbuild bench kernels --suite {shell_word(name)}")
    request = replace(request, baseline=baseline_of(request.baseline, gates))
    contenders = tuple(_contenders(request))
    budget = TimingBudget(**suite.budget.model_dump())
    empty = Experiment(
        name, "models", contenders, (), budget, process_per_case=True, seed=request.seed, clock=request.clock
    )
    experiment = with_libraries(empty)
    tasks, notes = [], list[str]()
    for case in (case for cases in suite.models for case in suite_cases(cases)):
        tick(f"model {case.name}", 0)
        tasks.append(_task(case, request, contenders, notes))
    own = [UserModel(Path(f.file), shapes) for f in suite.files for shapes in f.shapes]
    tasks += [_user_task(user, contenders, request) for user in (*own, *users)]
    experiment = replace(experiment, tasks=tuple(task for task, _ in tasks))
    says, beside = _reference(request)
    session = SessionOptions(CPU, threads=request.threads)
    reference = Reference(says, beside, session, {t.case.name: work for t, work in tasks})
    benchmarks = run(experiment, request.rounds or suite.rounds, gates, OutputCheck(reference, request.profile), tick)
    return replace(benchmarks, benchmarks=replace(benchmarks.benchmarks, notes=(*benchmarks.benchmarks.notes, *notes)))


def _reference(request: ModelBench) -> tuple[str, WorkerEnvironment]:
    """What makes the reference, and what it is called: the interpreter's own onnxruntime, else the candidate's.

    Where a recipe builds onnxruntime itself, the environment it is verified in has no other.
    """
    own = plain_environment(request.python)
    if request.wheel and run_job(own, {"do": "versions"}).problem:
        return f"{REFERENCE}, by the candidate's own onnxruntime", wheel_environment(
            request.wheel, request.cache, request.python
        )
    return REFERENCE, own


def _contenders(request: ModelBench) -> list[Contender]:
    """The candidate, its baseline and control, every other provider, and the candidate on several devices."""
    ours = (
        wheel_environment(request.wheel, request.cache, request.python)
        if request.wheel
        else plain_environment(request.python)
    )
    contenders = [_contender("candidate", ours, request, request.provider, request.options, request.plugin)]
    if request.baseline:
        theirs = wheel_environment(request.baseline, request.cache, request.python)
        contenders.append(_contender("baseline", theirs, request, request.provider, request.options, request.plugin))
        contenders = list(with_control(contenders, "baseline"))
    for other in request.against:
        full = provider_name(other)
        contenders.append(_contender(full, ours, request, full, {}, ""))
    if request.devices:
        contenders.append(replace(contenders[0], side=replace(contenders[0].side, label=_devices_label(request))))
    return contenders


def _contender(
    label: str, environment: WorkerEnvironment, request: ModelBench, provider: str, options: dict[str, str], plugin: str
) -> Contender:
    library = str(Path(plugin).absolute()) if plugin and ":" not in plugin else plugin
    session = SessionOptions(provider, options, plugin=library, threads=request.threads)
    side = Side(label, provider, environment.artifact, environment.sha256, options, threads=request.threads)
    return Contender(side, environment, session, request.copies)


def _task(
    case: SuiteCase, request: ModelBench, contenders: tuple[Contender, ...], notes: list[str]
) -> tuple[Task, Work]:
    """One case, and the reference's job for it: float32, unoptimised, the same seeds. May add to the notes."""
    file = model_file(case.net, case.dtype, case.optimised, lambda: _reference(request)[1], request.cache)
    if file.fusions:
        notes.append(f"{case.name}: the optimiser fused {file.fusions}")
    element = "float16" if case.dtype == "float16" else "float32"  # int8 is the weights' type only
    whole = case.work(file.path, element)
    by_side = {c.side.label: whole for c in contenders}
    if request.devices:
        options = [{} if request.provider == CPU else {"device_id": device} for device in request.devices]
        by_side[_devices_label(request)] = case.work(file.path, element, options)
    truth = case.work(net_file(case.net, "float32", request.cache).path, "float32") | {"optimise": "none"}
    return Task(case.case(file), by_side), truth


def _user_task(user: UserModel, contenders: tuple[Contender, ...], request: ModelBench) -> tuple[Task, Work]:
    if request.devices:
        raise UsageError("--devices splits the suite's models only", next="leave it out for a model of your own")
    case, work = user_case(user)
    return Task(case, {c.side.label: work for c in contenders}), work | {"optimise": "none"}


def _devices_label(request: ModelBench) -> str:
    return f"{len(request.devices)} devices"
