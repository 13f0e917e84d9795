"""Real measurements on the CPU: a small model, wheels with a known slow-down, the command line in a process."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from support import slowed_wheels


@pytest.fixture
def stackbuild(tmp_path: Path) -> slowed_wheels.RunCommand:
    """`stackbuild ARGUMENTS` in a process of its own, in the test's folder."""

    def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "stackbuild", *map(str, arguments)]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=280)

    return run


@pytest.fixture
def small_model(tmp_path: Path) -> Path:
    return slowed_wheels.small_model(tmp_path)


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
    """Makes a wheel `onnxruntime` whose runs take that share longer than the installed one's."""
    return partial(slowed_wheels.slowed, tmp_path)
