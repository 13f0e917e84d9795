"""One job in one fresh process: write the job file, run the worker, read the answer."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from stackbuild.bench.environment import WorkerEnvironment
from stackbuild.core.death_signal import death_signal_words
from stackbuild.core.digest import Json
from stackbuild.core.errors import MachineLacks

WORKER = Path(__file__).with_name("worker.py")
ERROR_METRICS = Path(__file__).with_name("error_metrics.py")


@dataclass(frozen=True)
class TimingBudget:
    """How long a case may warm up and be timed, in seconds, and how many timed runs it has."""

    warm_seconds: float = 1.0
    seconds: float = 0.2
    least: int = 3
    most: int = 200


@dataclass(frozen=True)
class SessionOptions:
    """How ONNX Runtime is to be opened: provider, its options, custom-op libraries (`package:function` or a path).

    `plugin` is the shared library of a plugin EP, named in the same way.
    """

    provider: str
    options: dict[str, str] = field(default_factory=dict)
    libraries: tuple[str, ...] = ()
    plugin: str = ""
    config: dict[str, str] = field(default_factory=dict)
    threads: int = 0


@dataclass(frozen=True)
class WorkerAnswer:
    """What the worker found by case, and the versions of what it ran with. `problem` where the process itself died."""

    cases: dict[str, dict[str, Json]]
    libraries: dict[str, str] = field(default_factory=dict)
    problem: str = ""


def run_job(environment: WorkerEnvironment, job: dict[str, Json], timeout: float = 600.0) -> WorkerAnswer:
    """Run one job. A worker that dies answers with a problem; one that cannot start raises MachineLacks.

    A worker is killed when this process is.
    """
    if not shutil.which(environment.python):
        raise MachineLacks(f"there is no interpreter {environment.python}", next="give another --python")
    with tempfile.TemporaryDirectory(prefix="stackbuild-bench-") as folder:
        file, answer = Path(folder) / "job.json", Path(folder) / "answer.json"
        file.write_text(json.dumps(job | {"answer": str(answer)}))
        try:
            ran = subprocess.run(
                [*death_signal_words(), *environment.launcher, environment.python, "-s", WORKER, file],
                env=environment.variables(), cwd=folder, timeout=timeout, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                errors="replace", check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return WorkerAnswer({}, problem=f"took longer than {timeout:g} s and was stopped")
        if ran.returncode or not answer.exists():
            return WorkerAnswer({}, problem=_death(ran.returncode, ran.stderr))
        document = json.loads(answer.read_text())
    return WorkerAnswer(document["cases"], document["libraries"])


def run_each(environment: WorkerEnvironment, job: dict[str, Json], cases: Sequence[dict[str, Json]]) -> WorkerAnswer:
    """All the cases in one process; should that die, each in its own, so that one crash is blamed on one case."""
    together = run_job(environment, job | {"cases": [*cases]})
    if not together.problem or len(cases) == 1:
        return together if not together.problem else _blame_all(together, cases)
    answers = [run_each(environment, job, [case]) for case in cases]
    by_name = {name: case for answer in answers for name, case in answer.cases.items()}
    return WorkerAnswer(by_name, next((a.libraries for a in answers if a.libraries), {}))


def _blame_all(answer: WorkerAnswer, cases: Sequence[dict[str, Json]]) -> WorkerAnswer:
    return WorkerAnswer({str(case["name"]): {"problem": answer.problem} for case in cases}, answer.libraries)


def _death(code: int, stderr: str) -> str:
    lines = [line for line in stderr.strip().splitlines() if line.strip()]
    last = lines[-1][:500] if lines else "it said nothing"
    if "ModuleNotFoundError" in last:
        return f"{last}: install it for that interpreter (pip install 'stackbuild[bench]')"
    how = f"died by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
    return f"{how}: {last}"
