"""The ladder on public wheels, by name: the control climbs everything a CPU can, the ROCm wheels stop where they must."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from stackbuild.inspection import NOTHING
from stackbuild.model.findings import Rung, Status
from stackbuild.verification import VerifyOptions, verify

pytestmark = [
    pytest.mark.network,
    pytest.mark.sandbox,
    pytest.mark.timeout(1200),
    pytest.mark.skipif(
        shutil.which("bwrap") is None or sys.version_info[:2] != (3, 11), reason="needs bubblewrap and Python 3.11"
    ),
]


def fetch(folder: Path, *requirements: str, dependencies: bool = True) -> Path:
    words = ["download", "--quiet", "--only-binary=:all:", "--dest", folder, *(() if dependencies else ("--no-deps",))]
    subprocess.run([sys.executable, "-m", "pip", *words, *requirements], check=True, stderr=subprocess.DEVNULL)
    return folder


@pytest.fixture(scope="session")
def wheelhouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fetch(
        tmp_path_factory.mktemp("house"), "onnxruntime==1.31.1", "numpy", "onnx", "coloredlogs", "sympy", "packaging"
    )


def climbed(wheel: Path, house: Path) -> dict[str, Rung]:
    return {rung.name: rung for rung in verify((wheel,), lambda name: NOTHING, VerifyOptions(wheelhouse=house)).rungs}


def test_the_control_climbs_everything_that_a_cpu_can(wheelhouse: Path):
    rungs = climbed(next(wheelhouse.glob("onnxruntime-*.whl")), wheelhouse)
    for name in ("static rules", "install and import", "load", "operators", "share of nodes", "numerics"):
        assert rungs[name].status is Status.PASSED, (name, rungs[name].reason)
    assert "23 of 23 operators" in rungs["operators"].reason and "100% of nodes" in rungs["share of nodes"].reason
    assert rungs["GPU at work"].status is Status.SKIPPED


def test_a_provider_that_is_listed_and_cannot_load(wheelhouse: Path, tmp_path: Path):
    folder = fetch(tmp_path, "onnxruntime-migraphx==1.27.1", dependencies=False)
    rungs = climbed(next(folder.glob("*.whl")), wheelhouse)
    assert "lists MIGraphXExecutionProvider" in rungs["install and import"].reason
    if rungs["load with ROCm"].status is Status.SKIPPED:
        for name in ("load with ROCm", "operators", "share of nodes", "numerics"):
            assert "libmigraphx_c.so.3" in rungs[name].reason


def test_a_wheel_that_declares_nothing_does_not_import(wheelhouse: Path, tmp_path: Path):
    folder = fetch(tmp_path, "onnxruntime-rocm==1.22.2.post3", dependencies=False)
    rungs = climbed(next(folder.glob("*.whl")), wheelhouse)
    assert {f.rule for f in rungs["install and import"].findings if f.severity == "error"} == {"SB-RUN-IMPORT"}
    assert rungs["load"].status is Status.PASSED
    assert "2 of 3 libraries" in rungs["load"].reason, "the provider needs ROCm, which is not here"
