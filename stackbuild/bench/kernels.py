"""Benchmarks of the bundled kernels: a custom-op wheel against ONNX Runtime's own operators, and against older wheels."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
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
from stackbuild.bench.job import SessionOptions, TimingBudget
from stackbuild.bench.measure import Measurement, baseline_of, run
from stackbuild.core import digest
from stackbuild.core.errors import MachineLacks, UsageError
from stackbuild.core.resources import folder
from stackbuild.core.shell_words import shell_word
from stackbuild.model.gates import Gate
from stackbuild.model.results import Case, Side
from stackbuild.model.suite import Suite

SCRIPT = "tools/bench_cases.py"
"""Below the kernels' folder: writes the cases of a suite as files."""
LIBRARY = "stackbuild_kernels:get_library_path"
OWN = "onnxruntime"
CPU = "CPUExecutionProvider"


@dataclass(frozen=True)
class KernelBench:
    """How the kernels are to be measured; everything has a default but the wheel."""

    wheel: Path
    baseline: Path | None = None
    provider: str = CPU
    options: dict[str, str] = field(default_factory=dict)
    python: Path | None = None
    cache: Path = field(default_factory=default_cache)
    threads: int = 0
    profile: bool = False
    rounds: int | None = None
    seed: int = 0
    clock: str = "wall"


@dataclass(frozen=True)
class _CaseRow:
    """One case as `bench_cases.py` lists it."""

    number: int
    op: str
    name: str
    dtype: str
    opset: int
    standard: bool
    shapes: dict[str, list[int]]


def measure_kernels(
    request: KernelBench, suite: Suite, name: str, gates: Sequence[Gate], tick: ProgressCallback
) -> Measurement:
    """Measure a custom-op wheel against ONNX Runtime's own operators (and a baseline wheel), paired and interleaved.

    With `gates`, pairs are added while one is undecided. Raises UsageError for what is not a wheel or a suite,
    MachineLacks for what is not installed.
    """
    if suite.kind != "kernels":
        raise UsageError(f"the suite {name} is of {suite.kind}", next="stackbuild bench models --suite " + name)
    request = replace(request, baseline=baseline_of(request.baseline, gates))
    with ExitStack() as stack:
        out = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="stackbuild-kernels-")))
        rows = _cases(suite, out, request.python)
        contenders = _contenders(request)
        tasks = tuple(_task(row, contenders, out) for row in rows)
        budget = TimingBudget(**suite.budget.model_dump())
        whole = Experiment(
            name, "kernels", contenders, tasks, budget, process_per_case=False, seed=request.seed, clock=request.clock
        )
        experiment = with_libraries(whole)
        reference = Reference(
            "float64 on the CPU", plain_environment(request.python), SessionOptions(CPU), {},
            {t.case.name: out / f"{r.number}.truth.npz" for t, r in zip(tasks, rows, strict=True)},
        )  # fmt: skip
        return run(experiment, request.rounds or suite.rounds, gates, OutputCheck(reference, request.profile), tick)


def _contenders(request: KernelBench) -> tuple[Contender, ...]:
    """The candidate, the baseline with its control where there is one, and ONNX Runtime's own operators."""
    contenders = [
        _contender("candidate", wheel_environment(request.wheel, request.cache, request.python), request, (LIBRARY,))
    ]
    if request.baseline:
        contenders.append(
            _contender(
                "baseline", wheel_environment(request.baseline, request.cache, request.python), request, (LIBRARY,)
            )
        )
        contenders = list(with_control(contenders, "baseline"))
    contenders.append(_contender(OWN, plain_environment(request.python), request, ()))
    return tuple(contenders)


def _contender(
    label: str, environment: WorkerEnvironment, request: KernelBench, libraries: tuple[str, ...]
) -> Contender:
    session = SessionOptions(request.provider, request.options, libraries, threads=request.threads)
    side = Side(
        label, request.provider, environment.artifact, environment.sha256, request.options, threads=request.threads
    )
    return Contender(side, environment, session)


def _cases(suite: Suite, out: Path, python: Path | None) -> list[_CaseRow]:
    """Have the kernels' own folder write the suite's cases; its message about a wrong one becomes the error."""
    selection = out / "wanted.json"
    selection.write_text(json.dumps([digest.plain(k) for k in suite.kernels]))
    environment = plain_environment(python)
    ran = subprocess.run(
        [environment.python, "-s", folder("kernels") / SCRIPT, selection, out], env=environment.variables(),
        capture_output=True, text=True, check=False, timeout=900,
    )  # fmt: skip
    if ran.returncode:
        last = (ran.stderr.strip() or "it said nothing").splitlines()[-1]
        if "ModuleNotFoundError" in last:
            raise MachineLacks(last, next=f"{shell_word(environment.python)} -m pip install 'stackbuild[bench]'")
        raise UsageError(f"the suite's cases cannot be made: {last}", next="see docs/benchmarks.md on kernel suites")
    return [_CaseRow(**row) for row in json.loads((out / "index.json").read_text())]


def _task(row: _CaseRow, contenders: tuple[Contender, ...], out: Path) -> Task:
    name = f"{row.op}/{row.dtype}/{row.name}".replace(" ", "_")
    shapes = {tensor: tuple(shape) for tensor, shape in row.shapes.items()}
    custom, standard = out / f"{row.number}.custom.onnx", out / f"{row.number}.standard.onnx"
    work: dict[str, Work] = {}
    for label in (c.side.label for c in contenders):
        if label != OWN or row.standard:
            model = standard if label == OWN else custom
            work[label] = {"name": name, "model": str(model), "parts": [{"feeds": str(out / f"{row.number}.npz")}]}
    batch = next(iter(shapes.values()))[0]
    sha256 = digest.of_file(custom)
    return Task(Case(name, row.op, row.dtype, shapes, batch, 1, "run", row.opset, sha256, ()), work)
