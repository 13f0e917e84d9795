"""Benchmarks of whole models: the suite's architectures or a user's own file, on one or several sides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from stackbuild.bench.correctness import Reference
from stackbuild.bench.environment import Environment, default_cache, here, with_wheel
from stackbuild.bench.experiment import Contender, Experiment, Task, Tick, Work, checked, with_control
from stackbuild.bench.job import Budget, Session, run_job
from stackbuild.bench.measure import Measured, baseline_of, run
from stackbuild.bench.model_cache import model_file, written
from stackbuild.bench.onnx_file import UserModel, user_case
from stackbuild.bench.providers import provider_name
from stackbuild.bench.suite_cases import Cell, cells
from stackbuild.bench.suites import Suite
from stackbuild.core.errors import UsageError
from stackbuild.model.gates import Gate
from stackbuild.model.results import Side

CPU = "CPUExecutionProvider"
REFERENCE = "float32 on the CPU, graph optimisation off"


@dataclass(frozen=True)
class ModelBench:
    """How models are to be measured. `against` are further providers, each a side; `devices` adds a side that splits
    the batch over them. `wheel` is the candidate's onnxruntime (default: the one installed for `python`), or that of a
    plugin EP, whose library `plugin` names as `package:function`; else `plugin` is a path."""

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
    asked: ModelBench, suite: Suite, name: str, gates: Sequence[Gate], tick: Tick, users: Sequence[UserModel] = ()
) -> Measured:
    """Measure the suite's models, and the user's own, on every side; judged by the gates.

    Raises UsageError for a model or shape that is wrong, MachineLacks for a provider that is not there.
    """
    if asked.plugin and ":" not in asked.plugin and not Path(asked.plugin).is_file():
        raise UsageError("there is no such library", where=asked.plugin, next="--plugin takes a plugin EP's .so")
    if suite.kind != "models":
        raise UsageError(f"the suite {name} is of {suite.kind}", next=f"stackbuild bench kernels --suite {name}")
    asked = replace(asked, baseline=baseline_of(asked.baseline, gates))
    contenders = tuple(_contenders(asked))
    budget = Budget(**suite.budget.model_dump())
    empty = Experiment(name, "models", contenders, (), budget, apart=True, seed=asked.seed, clock=asked.clock)
    experiment = checked(empty)
    made, notes = [], list[str]()
    for cell in (cell for cases in suite.models for cell in cells(cases)):
        tick(f"model {cell.name}", 0)
        made.append(_task(cell, asked, contenders, notes))
    own = [UserModel(Path(f.file), shapes) for f in suite.files for shapes in f.shapes]
    made += [_user_task(user, contenders, asked) for user in (*own, *users)]
    experiment = replace(experiment, tasks=tuple(task for task, _ in made))
    says, beside = _beside(asked)
    session = Session(CPU, threads=asked.threads)
    reference = Reference(says, beside, session, {t.case.name: work for t, work in made})
    found = run(experiment, asked.rounds or suite.rounds, gates, reference, profile=asked.profile, tick=tick)
    return replace(found, benchmarks=replace(found.benchmarks, notes=(*found.benchmarks.notes, *notes)))


def _beside(asked: ModelBench) -> tuple[str, Environment]:
    """What makes the reference, and what it is called: the interpreter's own onnxruntime, else the candidate's.

    Where a recipe builds onnxruntime itself, the environment it is proved in has no other.
    """
    own = here(asked.python)
    if asked.wheel and run_job(own, {"do": "versions"}).problem:
        return f"{REFERENCE}, by the candidate's own onnxruntime", with_wheel(asked.wheel, asked.cache, asked.python)
    return REFERENCE, own


def _contenders(asked: ModelBench) -> list[Contender]:
    """The candidate, its baseline and control, every other provider, and the candidate on several devices."""
    ours = with_wheel(asked.wheel, asked.cache, asked.python) if asked.wheel else here(asked.python)
    made = [_contender("candidate", ours, asked, asked.provider, asked.options, asked.plugin)]
    if asked.baseline:
        theirs = with_wheel(asked.baseline, asked.cache, asked.python)
        made.append(_contender("baseline", theirs, asked, asked.provider, asked.options, asked.plugin))
        made = list(with_control(made, "baseline"))
    for other in asked.against:
        full = provider_name(other)
        made.append(_contender(full, ours, asked, full, {}, ""))
    if asked.devices:
        made.append(replace(made[0], side=replace(made[0].side, label=_several(asked))))
    return made


def _contender(
    label: str, environment: Environment, asked: ModelBench, provider: str, options: dict[str, str], plugin: str
) -> Contender:
    library = str(Path(plugin).absolute()) if plugin and ":" not in plugin else plugin
    session = Session(provider, options, plugin=library, threads=asked.threads)
    side = Side(label, provider, environment.artifact, environment.sha256, options, threads=asked.threads)
    return Contender(side, environment, session, asked.copies)


def _task(cell: Cell, asked: ModelBench, contenders: tuple[Contender, ...], notes: list[str]) -> tuple[Task, Work]:
    """One case, and how the reference is told of it: float32, unoptimised, the same seeds. May add to the notes."""
    file = model_file(cell.net, cell.dtype, cell.optimised, lambda: _beside(asked)[1], asked.cache)
    if file.fused:
        notes.append(f"{cell.name}: the optimiser fused {file.fused}")
    element = "float16" if cell.dtype == "float16" else "float32"  # int8 is the weights' type only
    whole = cell.work(file.path, element)
    by_side = {c.side.label: whole for c in contenders}
    if asked.devices:
        options = [{} if asked.provider == CPU else {"device_id": device} for device in asked.devices]
        by_side[_several(asked)] = cell.work(file.path, element, options)
    truth = cell.work(written(cell.net, "float32", asked.cache).path, "float32") | {"optimise": "none"}
    return Task(cell.case(file), by_side), truth


def _user_task(user: UserModel, contenders: tuple[Contender, ...], asked: ModelBench) -> tuple[Task, Work]:
    if asked.devices:
        raise UsageError("--devices splits the suite's models only", next="leave it out for a model of your own")
    case, work = user_case(user)
    return Task(case, {c.side.label: work for c in contenders}), work | {"optimise": "none"}


def _several(asked: ModelBench) -> str:
    return f"{len(asked.devices)} devices"
