"""The provider in every ONNX Runtime release that it takes, with real streams: built for AMD and emulated (tests/emulation)."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from support.kernels import KERNELS, KernelStack, run

EMULATION = Path(__file__).parents[2] / "emulation"
RELEASES = ("1.24.1", "1.25.1", "1.26.0", "1.28.0", "1.29.0", "1.30.0", "1.31.1", "1.32.0")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.network,
    pytest.mark.sandbox,
    pytest.mark.timeout(3600),
    pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++"),
]

RUNS = """
import sys
import numpy as np, onnx, onnxruntime as ort
from onnx import helper, numpy_helper
ort.set_default_logger_severity(4)
ort.register_execution_provider_library("rk", sys.argv[1])
device = [d for d in ort.get_ep_devices() if d.ep_name.startswith("RocKernels")][0]
rng = np.random.default_rng(0)
values = lambda *shape: rng.standard_normal(shape).astype("float32")
info = lambda name: helper.make_tensor_value_info(name, 1, ["n", 16])
weights = [numpy_helper.from_array(values(16, 16), "w"), numpy_helper.from_array(values(16), "b")]
def model(nodes):
    graph = helper.make_graph(nodes, "g", [info("x")], [info("y")], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10).SerializeToString()
node = helper.make_node
layer = [node("MatMul", ["x", "w"], ["m"]), node("Add", ["m", "b"], ["a"]), node("Relu", ["a"], ["r"])]
normed = [node("Add", ["r", "x"], ["q"]), node("LayerNormalization", ["q", "b"], ["y"])]
for nodes in (layer + normed, layer + [node("Neg", ["x"], ["y"])]):
    settings = ort.SessionOptions()
    settings.add_provider_for_devices([device], {})
    settings.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    ours = ort.InferenceSession(model(nodes), settings)
    cpu = ort.InferenceSession(model(nodes), providers=["CPUExecutionProvider"])
    for rows in (3, 3, 3, 5, 3):  # ONNX Runtime plans a run's memory after the first of a shape
        x = {"x": values(rows, 16)}
        np.testing.assert_allclose(ours.run(None, x)[0], cpu.run(None, x)[0], rtol=1e-4, atol=1e-4)
print("ran")
"""


@pytest.fixture(scope="module")
def library(stack: KernelStack, tmp_path_factory: pytest.TempPathFactory) -> Path:
    headers = stack.built("source.headers") / "usr" / "include" / "onnxruntime"
    out = tmp_path_factory.mktemp("emulated") / "ep"
    run(sys.executable, EMULATION / "build.py", KERNELS, "gfx1100", out, "--provider", headers)
    return out / "libonnxruntime_ep_rockernels.so"


@pytest.mark.parametrize("release", RELEASES)
def test_runs_after_the_first_in_a_release(release: str, library: Path, tmp_path: Path) -> None:
    """Also with a group that nobody reads. Memory planned for a run was what ended the process in 1.24 to 1.28."""
    run(sys.executable, "-m", "venv", tmp_path / "venv")
    python = tmp_path / "venv" / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", f"onnxruntime=={release}", "onnx", "numpy")
    said = run("env", f"LD_LIBRARY_PATH={library.parent}", python, "-W", "ignore", "-c", RUNS, library)
    assert said.strip().endswith("ran")
