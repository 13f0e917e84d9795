"""ONNX's node tests through the plugin provider on an emulated GPU: those that the provider takes wholly are right."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("tinygrad")
pytest.importorskip("onnxruntime")

from support.emulated_nodes import run_node_tests
from support.kernel_wheels import package_wheel
from support.kernels import KERNELS, debian_sid_stack


@pytest.mark.slow
@pytest.mark.timeout(5400)
@pytest.mark.parametrize("target", ["gfx1100", "gfx942"])
def test_onnx_node_tests_are_right_on_an_emulated_gpu(target: str, tmp_path: Path) -> None:
    """The provider is built first, with ccache. The tests take a minute where its kernels are translated."""
    tests = run_node_tests(debian_sid_stack().built("kernels-ep") / "onnxruntime_ep_rockernels", target, tmp_path)
    assert tests.failed == 0, tests.output
    assert tests.passed > 700
    assert tests.reports["dispatch"] > 1000
    assert not tests.reports.keys() - {"dispatch"}


@pytest.mark.slow
@pytest.mark.sandbox
@pytest.mark.timeout(5400)
@pytest.mark.parametrize("target", ["gfx1100", "gfx942"])
def test_the_provider_keeps_the_budgets_of_its_kernels(target: str, tmp_path: Path) -> None:
    """Every operator of the probes alone, the quantized ones too; a budget of one instruction is exceeded."""
    wheel = package_wheel(debian_sid_stack().built("kernels-ep") / "onnxruntime_ep_rockernels", tmp_path)
    budgets = KERNELS / "tools" / "emulated-ep-budgets.toml"
    command = [sys.executable, "-m", "stackbuild", "bench", "kernels", str(wheel), "--emulated", target, "--budgets"]
    done = subprocess.run([*command, str(budgets)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-500:]
    small = tmp_path / "small.toml"
    small.write_text(re.sub(r"(?<=instructions = )\d+", "1", budgets.read_text()))
    done = subprocess.run([*command, str(small)], capture_output=True, text=True, check=False)
    assert done.returncode == 6 and "over the budget of 1" in done.stdout
