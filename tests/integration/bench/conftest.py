"""Real measurements on the CPU: a small model, wheels with a known slow-down, the command line in a process."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from bench_wheels import pack

from stackbuild.bench.onnx_graph import Graph

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def stackbuild(tmp_path: Path) -> Run:
    """`stackbuild ARGUMENTS` in a process of its own, in the test's folder."""

    def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "stackbuild", *map(str, arguments)]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=280)

    return run


@pytest.fixture
def small_model(tmp_path: Path) -> Path:
    """A few milliseconds of matrix products."""
    graph = Graph("small")
    x = graph.input("x", ("batch", 256))
    for _ in range(4):
        x = graph.op("Relu", graph.linear(x, 256, 256))
    graph.output("y", x, ("batch", 256))
    graph.save(tmp_path / "small.onnx")
    return tmp_path / "small.onnx"


@pytest.fixture
def small_suite(small_model: Path) -> Path:
    suite = small_model.with_name("small.yaml")
    suite.write_text(
        "kind: models\nrounds: 8\n"
        "budget: {warm_seconds: 0.02, seconds: 0.02, least: 5, most: 50}\n"
        f"files: [{{file: {small_model.name}, shapes: [{{x: [64, 256]}}]}}]\n"
    )
    return suite


@pytest.fixture
def slowed_wheel(tmp_path: Path) -> Callable[[float], Path]:
    """A wheel `onnxruntime` whose runs take that share longer than the installed one's."""

    def make(share: float) -> Path:
        package = tmp_path / f"slowed-{share}" / "onnxruntime"
        shutil.copytree(Path(__file__).with_name("slowed"), package)
        text = (package / "__init__.py").read_text().replace("SHARE = 0.0", f"SHARE = {share}")
        (package / "__init__.py").write_text(text)
        return pack(package, tmp_path / "wheels", f"1.{round(share * 1000)}")

    return make
