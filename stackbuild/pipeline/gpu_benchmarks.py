"""The recipe's benchmarks on machines that have a GPU of a target, where the client of a cluster has none.

The worker measures with a process of its own (`python -m stackbuild.pipeline.gpu_benchmarks REQUEST.json`), so a stop and
the death of the worker end it at once, and what it prints is the step's log. The client judges: gates and waivers hold by
its own clock.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path

from stackbuild.actions import Job
from stackbuild.build.context import BuildContext
from stackbuild.build.perform import perform
from stackbuild.core import digest
from stackbuild.core.copy_file import copy_file
from stackbuild.core.digest import plain
from stackbuild.core.errors import MachineLacks, StepFailed, Stop, UsageError
from stackbuild.core.interpreter import this_python
from stackbuild.core.model import TypeAdapter
from stackbuild.core.plain_file import read_plain
from stackbuild.core.shell_words import shell_word
from stackbuild.machine.gpu import gpus
from stackbuild.model.gates import BaselineGate, needs_baseline
from stackbuild.model.plan import Resources, Step, sorted_items
from stackbuild.model.recipe import Recipe
from stackbuild.model.results import Benchmarks, Verdict
from stackbuild.pipeline.built_wheels import BuiltWheels
from stackbuild.pipeline.gpu_steps import (
    MEMORY,
    gpu_step,
    packing_steps,
    plain_target,
    refuse_other_judges,
    report_of,
    wheelhouse_steps,
)
from stackbuild.recipe.suites import bundled_suites, load_suite
from stackbuild.sources.local import LocalSource, content

CPU = "CPUExecutionProvider"
REPORT, REPORT_MOST = "benchmarks.json", 64 << 20
"""The results on a worker, and how many of their bytes are read."""
FILES, FILES_SOURCE = "source.bench.files", "bench.files"
"""The step with the files of this machine that a measurement needs, and its source."""
SUITE, MODELS, LOCK, BASELINE = "suite.json", "models", "candidate.lock.yaml", "baseline"
"""What that step has: the suite, its models, the lock of the wheels, and the baseline with its lock."""
REQUEST, FAILURE = "request.json", "failure.json"
"""What the worker's process is given, and what it leaves where it fails."""


@dataclass(frozen=True)
class GpuBenchmarks:
    """What was measured on a GPU of the target, and what the gates say of it."""

    target: str
    benchmarks: Benchmarks
    verdict: Verdict


@dataclass(frozen=True)
class WorkerRequest:
    """A measurement on a worker: the recipe, the wheels, and paths. `files` is "" without files of the client."""

    recipe: str
    wheels: tuple[str, ...]
    wheelhouse: str
    files: str
    scratch: str
    report: str


def provider_of(recipe: Recipe) -> str:
    """The provider that the recipe's suite runs on."""
    return next(iter(recipe.verify.providers if recipe.verify else ()), CPU)


def suite_place(name: str, lock: Path) -> str:
    """A bundled suite's name, or the path of one beside the recipe."""
    beside = lock.parent / name
    return str(beside) if beside.is_file() else name


def require_bench_packages(recipe: Recipe) -> None:
    """Before anything is compiled: a recipe with a suite, and no packages here to measure with. Raises MachineLacks."""
    packages = {"numpy": find_spec("numpy"), "onnx": find_spec("onnx")} if recipe.bench else {}
    missing = [name for name, spec in packages.items() if spec is None]
    if missing:
        raise MachineLacks(
            f"{' and '.join(missing)} not installed: the recipe's `bench` cannot be run",
            next=f"{shell_word(sys.executable)} -m pip install numpy onnx, or `--until WHEEL-STEP`, which measures nothing",
        )


def require_baseline(recipe: Recipe) -> None:
    """Before anything is compiled: a gate that compares with an earlier release, and no gate names one. Raises UsageError."""
    lacking = [gate for gate in recipe.gates if needs_baseline(gate)] if recipe.bench else []
    if lacking and _baseline(recipe) is None:
        raise UsageError(
            f"the gate {lacking[0].name or lacking[0].kind!r} has no baseline to compare with",
            where=recipe.name,
            next="write `wheel: OLD.whl` in the baseline gate. Or give `--until WHEEL-STEP`, and judge the wheel with"
            " `stackbuild gate --baseline OLD.whl`",
        )


def bench_targets(recipe: Recipe, lock: Path, context: BuildContext) -> tuple[str, ...]:
    """The targets on whose GPUs other machines of the run measure, sorted; () where this machine measures.

    That is so for a suite on the CPU alone, and on a machine that has a GPU of the recipe's targets. Raises MachineLacks
    where no machine can measure.
    """
    place = context.placement
    targets = {plain_target(target) for target in recipe.gfx}
    if place is None or not _needs_gpu(recipe) or targets & {gpu.gfx for gpu in gpus()}:
        return ()
    chosen_targets = tuple(sorted(targets & place.gpu_targets() or targets))
    bound = [
        Step(f"bench.{target}", "bench", (), sorted_items({"gfx": target}), resources=Resources(MEMORY))
        for target in chosen_targets
    ]
    place.refuse_lacking([*bound, *([Step(FILES, "snapshot")] if _has_files(recipe, lock) else [])])
    return chosen_targets


def _needs_gpu(recipe: Recipe) -> bool:
    """Whether the suite runs on another provider than the CPU's, or a gate names one."""
    sides = {str(getattr(gate, field, "")) for gate in recipe.gates for field in ("side", "versus")}
    providers = {provider_of(recipe), *(side for side in sides if side.endswith("ExecutionProvider"))}
    return recipe.bench is not None and bool(recipe.gfx) and providers != {CPU}


def _has_files(recipe: Recipe, lock: Path) -> bool:
    return _own_suite(recipe, lock) is not None or _baseline(recipe) is not None


def _own_suite(recipe: Recipe, lock: Path) -> Path | None:
    place = suite_place(recipe.bench.suite, lock) if recipe.bench else ""
    return None if place in bundled_suites() else Path(place)


def _baseline(recipe: Recipe) -> Path | None:
    from stackbuild.bench.measure import baseline_of

    return baseline_of(None, recipe.gates)


def measure_on_gpus(
    built_wheels: BuiltWheels, targets: Iterable[str], context: BuildContext
) -> tuple[GpuBenchmarks, ...]:
    """The recipe's suite on a GPU of each target, one after the other, on machines of the run's placement.

    Raises StepFailed where one measures nothing, MachineLacks where none can, UsageError for files of this machine.
    """
    from stackbuild.judgement import judge

    recipe, plan = built_wheels.recipe, built_wheels.plan
    with tempfile.TemporaryDirectory(prefix="stackbuild-bench-", dir=context.store.tmp) as folder:
        files = _files_step(built_wheels, Path(folder), context)
    packing, houses = packing_steps(plan, built_wheels.wheels, context), wheelhouse_steps(plan, context)
    params = {"wheels": " ".join(step.name for step in packing)}
    suite = suite_place(recipe.bench.suite, built_wheels.lock) if recipe.bench else ""
    results = []
    for target in targets:
        step = gpu_step("bench", target, recipe, (*packing, *houses, *files), params, context)
        benchmarks = replace(read_results(report_of(step, files, plan, context)), suite=suite)
        verdict = judge(benchmarks, recipe.gates, datetime.now(UTC).date())
        results.append(GpuBenchmarks(target, benchmarks, verdict))
    return tuple(results)


def _files_step(built_wheels: BuiltWheels, folder: Path, context: BuildContext) -> tuple[Step, ...]:
    """The step, done, with the files of this machine that are measured with; none where there are no such files.

    Raises UsageError for a file that is not there.
    """
    recipe = built_wheels.recipe
    if not _has_files(recipe, built_wheels.lock):
        return ()
    try:
        _copy_files(built_wheels, folder)
    except OSError as error:
        raise UsageError(
            f"a file of the benchmarks cannot be read: {error}", where=recipe.name,
            next="see `bench.suite`, its `files`, and the `wheel` and `lock` of the baseline gate",
        ) from None  # fmt: skip
    source = LocalSource(folder)
    step = Step(FILES, "snapshot", (), sorted_items({"tree": content(source)}))
    perform(step, {}, replace(context, locals={FILES_SOURCE: source}))
    return (step,)


def _copy_files(built_wheels: BuiltWheels, folder: Path) -> None:
    from stackbuild.bench.lock_diff import lock_beside

    recipe, lock = built_wheels.recipe, built_wheels.lock
    if own := _own_suite(recipe, lock):
        suite = load_suite(str(own))
        models = []
        for number, cases in enumerate(suite.files):
            name = f"{MODELS}/{number}/{Path(cases.file).name}"
            _copy(Path(cases.file), folder / name)
            models.append(cases.model_copy(update={"file": name}))
        sent_suite = suite.model_copy(update={"files": tuple(models)})
        (folder / SUITE).write_text(sent_suite.model_dump_json())
    if lock.is_file():
        (folder / LOCK).write_bytes(built_wheels.lock_data)
    if baseline := _baseline(recipe):
        sent_wheel = folder / BASELINE / baseline.name
        _copy(baseline, sent_wheel)
        gate_lock = next((Path(g.lock) for g in recipe.gates if isinstance(g, BaselineGate) and g.lock), None)
        if gate_lock or lock_beside(baseline).is_file():
            _copy(gate_lock or lock_beside(baseline), lock_beside(sent_wheel))


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    copy_file(source, target)


def read_results(folder: Path) -> Benchmarks:
    """The results of a worker. Raises StepFailed where there are none."""
    from stackbuild.bench.results_file import read_benchmarks

    try:
        if read_plain(folder, REPORT, 1) is None or (folder / REPORT).stat().st_size > REPORT_MOST:
            raise UsageError("there are no results", where=str(folder))
        return read_benchmarks(folder / REPORT)
    except UsageError as error:
        raise StepFailed(f"not the results of a measurement: {error.what}", where=error.where) from None


# --- on the machine with the GPU


def do(job: Job) -> dict[str, str]:
    """Measure the wheel of the inputs, and write the results. Raises StepFailed, MachineLacks."""
    refuse_other_judges(job.params)
    recipe = Recipe.model_validate_json(job.params["recipe"])
    require_bench_packages(recipe)
    house = job.inputs.get(f"wheelhouse.{this_python()}")
    if house is None:
        raise MachineLacks(
            f"the suite needs the recipe's wheelhouse for Python {this_python()}",
            next=f"start the worker with one of Python {', '.join(recipe.python)}",
        )
    wheels = [str(wheel) for name in job.params["wheels"].split() for wheel in sorted(job.inputs[name].glob("*.whl"))]
    request = WorkerRequest(
        recipe=job.params["recipe"],
        wheels=tuple(wheels),
        wheelhouse=str(house),
        files=str(job.inputs.get(FILES, "")),
        scratch=str(job.scratch),
        report=str(job.out / REPORT),
    )
    (job.scratch / REQUEST).write_text(digest.canonical(plain(request)))
    words = [sys.executable, "-m", __name__, str(job.scratch / REQUEST)]
    try:
        job.call(words, "python3", TMPDIR=str(job.scratch), PYTHONUNBUFFERED="1")
    except StepFailed:
        raise _failure(job) from None
    return {}


def _failure(job: Job) -> Stop:
    """What the process said before it ended."""
    text = read_plain(job.scratch, FAILURE, 1 << 20)
    if text is None:
        return StepFailed("the measurement ended without a result", where=str(job.log))
    body = json.loads(text)
    return (MachineLacks if body["lacks"] else StepFailed)(body["what"], where=body["where"], next=body["next"])


def measure(request: WorkerRequest) -> Benchmarks:
    """Measure on this machine. Raises as `measure_wheel` does."""
    from stackbuild.bench.gate import GateRequest, measure_wheel, wheel_for
    from stackbuild.bench.lock_diff import lock_beside
    from stackbuild.verification.clean_env import make_wheelhouse_venv

    recipe, scratch, files = Recipe.model_validate_json(request.recipe), Path(request.scratch), Path(request.files)
    assert recipe.bench is not None
    own = files / SUITE
    suite = str(own) if request.files and own.is_file() else recipe.bench.suite
    baseline = next(iter(sorted((files / BASELINE).glob("*.whl"))), None) if request.files else None
    theirs = lock_beside(baseline) if baseline else None
    gates = tuple(
        gate.model_copy(update={"wheel": "", "lock": ""}) if isinstance(gate, BaselineGate) else gate
        for gate in recipe.gates
    )
    requests = GateRequest(
        wheel_for(suite, [Path(wheel) for wheel in request.wheels]),
        baseline=baseline,
        suite=suite,
        provider=provider_of(recipe),
        python=make_wheelhouse_venv(Path(request.wheelhouse), scratch / "venv"),
        threads=recipe.bench.threads,
        candidate_lock=files / LOCK if baseline and (files / LOCK).is_file() else None,
        baseline_lock=theirs if theirs and theirs.is_file() else None,
        cache=scratch / "cache",
    )
    return measure_wheel(requests, gates, _say).benchmarks


def _say(what: str, remaining: int) -> None:
    print(f"{what}; {remaining} processes left" if remaining else what, flush=True)


def main(argv: Sequence[str]) -> int:
    """Measure as the request in that file says, and write the results. Exit code 1 with FAILURE beside it."""
    from stackbuild.bench.results_file import write

    file = Path(argv[0])
    request = TypeAdapter(WorkerRequest).validate_python(json.loads(file.read_text()))
    try:
        write(measure(request), Path(request.report))
    except Stop as stop:
        print(f"error: {stop.what}", flush=True)
        body = {"what": stop.what, "where": stop.where, "next": stop.next, "lacks": isinstance(stop, MachineLacks)}
        file.with_name(FAILURE).write_text(digest.canonical(body))
        return 1
    return 0


ACTIONS: Mapping[str, Callable[[Job], dict[str, str]]] = {"bench": do}
"""What a worker does beside the actions of a build."""

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
