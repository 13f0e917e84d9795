"""`stackbuild gate`: baseline and candidate as wheels, measured side by side, or as stored results."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from stackbuild.bench.compare import stored_pair
from stackbuild.bench.environment import default_cache
from stackbuild.bench.experiment import ProgressCallback
from stackbuild.bench.kernels import KernelBench, measure_kernels
from stackbuild.bench.lock_diff import compare_inputs, lock_beside
from stackbuild.bench.measure import Measurement, baseline_of
from stackbuild.bench.models import CPU, ModelBench, measure_models
from stackbuild.bench.results_file import identity, read_benchmarks
from stackbuild.core.errors import UsageError
from stackbuild.core.yaml_file import read_yaml
from stackbuild.judgement import judge, missing_sides
from stackbuild.model.gates import AccuracyGate, BaselineGate, Gate, Gates, needs_baseline
from stackbuild.model.results import Evidence
from stackbuild.recipe.load import load
from stackbuild.recipe.suites import load_suite

DEFAULT: tuple[Gate, ...] = (AccuracyGate(kind="accuracy"), BaselineGate(kind="baseline"))
"""As right as the element type allows, and not slower than the suite's kind allows."""


@dataclass(frozen=True)
class GateRequest:
    """What is to be judged: `candidate` and `baseline` are both wheels, or both results files.

    An artifact is a wheel and its lock: `WHEEL.lock.yaml` beside it unless another is named.
    """

    candidate: Path
    baseline: Path | None = None
    suite: str = ""
    provider: str = CPU
    options: dict[str, str] = field(default_factory=dict)
    python: Path | None = None
    threads: int = 0
    seed: int = 0
    clock: str = "wall"
    candidate_lock: Path | None = None
    baseline_lock: Path | None = None
    cache: Path = field(default_factory=default_cache)


def gates_of(file: Path | None, recipe: str = "") -> tuple[Gate, ...]:
    """The gates of a YAML file with `gates:`, or of a recipe; without either, DEFAULT.

    Raises UsageError for both at once, and for either without a gate: without a gate nothing is judged.
    """
    if file and recipe:
        raise UsageError("--gates and --recipe both say which gates", next="give one of them")
    if not (file or recipe):
        return DEFAULT
    gates = read_yaml(file, Gates, "see docs/benchmarks.md").gates if file else load(recipe).recipe.gates
    if not gates:
        option = "--gates" if file else "--recipe"
        raise UsageError(
            "it has no gates",
            where=str(file or recipe),
            next=f"write at least one under `gates:`, or leave {option} out",
        )
    return gates


def without_baseline(gates: Sequence[Gate]) -> tuple[tuple[Gate, ...], str]:
    """The gates that a first release can be judged by, and what is said of the others. Accuracy is always judged."""
    left_out = [gate.name or gate.kind for gate in gates if needs_baseline(gate)]
    first_gates = tuple(gate for gate in gates if not needs_baseline(gate)) or (AccuracyGate(kind="accuracy"),)
    return first_gates, f"not judged, since there is no baseline: {', '.join(left_out)}" if left_out else ""


def run_gate(request: GateRequest, gates: Sequence[Gate], tick: ProgressCallback) -> Measurement:
    """Measure wheels or read results, and judge them. Raises UsageError for inputs that do not go together."""
    for file in (request.candidate, request.baseline):
        if file is not None and not file.is_file():
            raise UsageError("there is no such file", where=str(file), next="give a .whl, or results that bench wrote")
    if request.baseline and request.baseline.samefile(request.candidate):
        raise UsageError(
            "the candidate and the baseline are the same file: nothing would be compared",
            where=str(request.candidate), next="give the wheel or the results of the last release as --baseline",
        )  # fmt: skip
    kinds = {file.suffix for file in (request.candidate, request.baseline) if file}
    if kinds == {".json"}:
        return _judge_files(request, gates)
    if kinds != {".whl"}:
        raise UsageError(
            f"cannot judge {' and '.join(sorted(kinds))} together", next="give two wheels (best), or two results files"
        )
    return measure_wheel(request, gates, tick)


def _judge_files(request: GateRequest, gates: Sequence[Gate]) -> Measurement:
    """Judge what files hold. One results file may hold both sides, interleaved; two are weaker evidence."""
    benchmarks, evidence = read_benchmarks(request.candidate), Evidence.INTERLEAVED
    if request.baseline:
        before = read_benchmarks(request.baseline)
        if identity(before) == identity(benchmarks):
            raise UsageError(
                "both files hold the same measurement: nothing would be compared",
                where=str(request.baseline), next="give the results of the last release as --baseline",
            )  # fmt: skip
        benchmarks, evidence = stored_pair(before, benchmarks), Evidence.STORED
    elif missing := missing_sides(benchmarks, gates):
        raise UsageError(
            f"the results have no side {missing[0]!r}", where=str(request.candidate),
            next="give --baseline, or measure that side too (--baseline, --against)",
        )  # fmt: skip
    return Measurement(benchmarks, judge(benchmarks, gates, datetime.now(UTC).date(), evidence))


def measure_wheel(request: GateRequest, gates: Sequence[Gate], tick: ProgressCallback) -> Measurement:
    """Measure a wheel, judge it, and list the inputs in which it differs from its baseline.

    Raises UsageError for another wheel, or one that has no baseline.
    """
    _refuse_itself(request, gates)
    baseline = baseline_of(request.baseline, gates)
    if baseline is None:
        return _measure(request, gates, tick)
    locks = _locks(request, baseline, gates)
    inputs = compare_inputs(*locks) if isinstance(locks, tuple) else None
    result = _measure(request, gates, tick)
    lock_notes = (locks,) if isinstance(locks, str) else ()
    benchmarks = replace(result.benchmarks, inputs=inputs, notes=(*result.benchmarks.notes, *lock_notes))
    input_notes = (inputs.says,) if inputs else lock_notes
    return Measurement(benchmarks, replace(result.verdict, notes=(*result.verdict.notes, *input_notes)))


def _locks(request: GateRequest, baseline: Path, gates: Sequence[Gate]) -> tuple[Path, Path] | str:
    """The baseline's lock and the candidate's, or why they cannot be compared. One that is named must be there."""
    theirs = request.baseline_lock or _gates_lock(gates) or lock_beside(baseline)
    ours = request.candidate_lock or lock_beside(request.candidate)
    for whose, lock, default in (
        ("baseline", theirs, lock_beside(baseline)),
        ("candidate", ours, lock_beside(request.candidate)),
    ):
        if lock == default and not lock.is_file():
            return f"the {whose} has no {lock.name} beside it: which inputs differ is not known"
    return theirs, ours


def _gates_lock(gates: Sequence[Gate]) -> Path | None:
    """The lock that the baseline gates name. Raises UsageError where they name two: there is one baseline."""
    named_sides = sorted({g.lock for g in gates if isinstance(g, BaselineGate) and g.lock})
    if len(named_sides) > 1:
        raise UsageError(
            f"the gates name {len(named_sides)} locks of the baseline: {' and '.join(named_sides[:2])}",
            next="keep the true one",
        )
    return Path(named_sides[0]) if named_sides else None


def _refuse_itself(request: GateRequest, gates: Sequence[Gate]) -> None:
    """Raise UsageError for a gate that would compare the candidate with itself, before anything is measured."""
    for gate in gates:
        if {gate.side, getattr(gate, "versus", "")} <= {"candidate", request.provider}:
            raise UsageError(
                f"the gate {gate.name or gate.kind!r} compares the candidate with itself: it runs on {request.provider}",
                next="name a side under versus (baseline, onnxruntime), or measure on another --provider",
            )


def _measure(request: GateRequest, gates: Sequence[Gate], tick: ProgressCallback) -> Measurement:
    """Measure a wheel by what is in it: bundled kernels by a suite of kernels, an onnxruntime or a plugin EP by models.

    Every provider that a gate names is a side. Raises UsageError for another wheel, or one that has no baseline.
    """
    baseline = baseline_of(request.baseline, gates)
    if baseline is None and any(isinstance(gate, BaselineGate) for gate in gates):
        raise UsageError("there is no baseline to compare with", next="give --baseline OLD.whl, or name it in the gate")
    package = _package(request.candidate)
    if baseline and baseline.is_file() and _package(baseline) != package:
        raise UsageError(f"the candidate has {package}, the baseline {_package(baseline)}", next="give two of a kind")
    if package == "stackbuild_kernels":
        name = request.suite or "kernels-quick"
        kernels = KernelBench(
            request.candidate, request.baseline, request.provider, request.options, request.python, request.cache, request.threads,
            seed=request.seed, clock=request.clock,
        )  # fmt: skip
        return measure_kernels(kernels, load_suite(name), name, gates, tick)
    name = request.suite or "models-quick"
    plugin = "" if package == "onnxruntime" else f"{package}:get_library_path"
    if plugin and request.provider == CPU:
        raise UsageError(f"{request.candidate.name} is a plugin EP's", next="name its provider with --provider")
    models = ModelBench(
        request.provider, request.options, _providers(gates, request), wheel=request.candidate, baseline=request.baseline,
        python=request.python, plugin=plugin, cache=request.cache, threads=request.threads, seed=request.seed, clock=request.clock,
    )  # fmt: skip
    return measure_models(models, load_suite(name), name, gates, tick)


def wheel_for(name: str, wheels: Sequence[Path]) -> Path:
    """The wheel that a suite of that name is for. Raises UsageError where there is none."""
    kind = load_suite(name).kind
    description = {"kernels": "stackbuild_kernels", "models": "onnxruntime or a plugin EP"}[kind]
    match = next((wheel for wheel in wheels if _measured_by(kind, _tops(wheel))), None)
    if match is None:
        raise UsageError(
            f"the suite {name} measures {description}, and no wheel has it: {', '.join(w.name for w in wheels)}",
            where="bench.suite", next=f"name a suite of {'models' if kind == 'kernels' else 'kernels'}, or leave `bench:` out",
        )  # fmt: skip
    return match


def _providers(gates: Sequence[Gate], request: GateRequest) -> tuple[str, ...]:
    """The providers that gates judge or compare with, so that they are measured too."""
    named_sides = {str(getattr(gate, field, "")) for gate in gates for field in ("side", "versus")}
    return tuple(sorted(n for n in named_sides if n.endswith("ExecutionProvider") and n != request.provider))


def _package(wheel: Path) -> str:
    """Which of the packages that can be measured a wheel has. Raises UsageError for another or a broken one."""
    tops = _tops(wheel)
    package = _measured_by("kernels", tops) or _measured_by("models", tops)
    if not package:
        raise UsageError(
            "it has neither stackbuild_kernels, nor onnxruntime, nor a plugin EP (onnxruntime_ep_…) in it",
            where=str(wheel), next="other wheels cannot be measured",
        )  # fmt: skip
    return package


def _measured_by(kind: str, tops: set[str]) -> str:
    """The package of a wheel that suites of that kind measure; "" where it has none."""
    if kind == "kernels":
        return "stackbuild_kernels" if "stackbuild_kernels" in tops else ""
    plugins = sorted(top for top in tops if top.startswith("onnxruntime_ep_") and "." not in top)
    return "onnxruntime" if "onnxruntime" in tops else next(iter(plugins), "")


def _tops(wheel: Path) -> set[str]:
    """The names at the top of a wheel. Raises UsageError for a broken one."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            return {name.partition("/")[0] for name in archive.namelist()}
    except (zipfile.BadZipFile, OSError) as error:
        raise UsageError(f"not a wheel: {error}", where=str(wheel), next="give a .whl that pip installs") from None
