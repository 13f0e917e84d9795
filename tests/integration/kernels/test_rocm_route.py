"""The custom ops through ONNX Runtime's ROCm execution provider, of which there is none without an AMD GPU: what they ask of the
runtime, of a stand-in for it; what becomes of their workspaces on streams that are worked on later; and their host code around the
device code, on emulated waves.

`rocm_like/` has both stand-ins; the workspaces (kernels/common/workspaces.hpp) are the product's.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.kernels import EMULATED_OBJECTS, KERNELS, KernelStack, run

HERE = Path(__file__).parent / "rocm_like"
EMULATION = Path(__file__).parents[2] / "emulation"
pytestmark = [
    pytest.mark.timeout(1500),
    pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++"),
]
COMPILE = ("g++", "-std=c++17", "-O1", "-g", "-Wall", "-Wextra", f"-I{KERNELS}")


@pytest.mark.parametrize("sanitizer", ["address,undefined", "thread"])
def test_workspaces_are_shared_by_nothing_in_flight(tmp_path: Path, sanitizer: str) -> None:
    program = tmp_path / "pool"
    run(*COMPILE, f"-fsanitize={sanitizer}", HERE / "pool.cpp", "-o", program, "-pthread")
    assert "10 right" in run("env", "ASAN_OPTIONS=detect_leaks=0", program)


@pytest.mark.sandbox
def test_calls_in_flight_have_workspaces_of_their_own(stack: KernelStack, cpu: Path, tmp_path: Path) -> None:
    """Two streams at once, another device, growth in flight, no memory left: wrong answers with an allocator that knows no streams."""
    headers = stack.built("source.headers") / "usr" / "include" / "onnxruntime"
    assert (headers / "onnxruntime_c_api.h").is_file()
    library, hip, driver = tmp_path / cpu.name, tmp_path / "libstackbuild_kernels_hip.so", tmp_path / "driver"
    shutil.copy(cpu, library)
    run(*COMPILE, "-shared", "-fPIC", "-fvisibility=hidden", HERE / "hip_library.cpp", "-o", hip)
    run(*COMPILE, f"-isystem{headers}", HERE / "onnxruntime.cpp", "-o", driver, "-ldl", "-pthread")
    assert "4 right" in run(driver, library, hip)


BOTH = """\
  static const std::array<CustomOp<Op>, 4> ops{CustomOp<Op>(kFloat, nullptr), CustomOp<Op>(kHalf, nullptr),
                                               CustomOp<Op>(kFloat, SBK_GPU_PROVIDER),
                                               CustomOp<Op>(kHalf, SBK_GPU_PROVIDER)};
"""
ON_GPU = """\
  static const std::array<CustomOp<Op>, 2> ops{CustomOp<Op>(kFloat, SBK_GPU_PROVIDER),
                                               CustomOp<Op>(kHalf, SBK_GPU_PROVIDER)};
"""


@pytest.fixture(scope="module")
def waves(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library of all operators' device code but Conv's, on waves of 32."""
    library = tmp_path_factory.mktemp("waves") / "libstackbuild_kernels_hip.so"
    only = ("attention", "batch_norm", "group_norm", "leaky_relu")
    build = [sys.executable, EMULATION / "build.py", KERNELS, "gfx1100", library, "--objects", EMULATED_OBJECTS]
    run(*build, *(word for operator in only for word in ("--only", operator)))
    return library


def check(library: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(KERNELS / "tools" / "check.py"), str(library), *words]
    for op in ("Attention", "BatchNormalization", "GroupNormalization", "LeakyRelu", "MultiHeadAttention"):
        command += ["--op", op]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def assert_right(done: subprocess.CompletedProcess[str]) -> None:
    """And there were as many cases as there are known to be."""
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
    right, _, cases = done.stdout.splitlines()[-1].partition(" right")[0].partition(" of ")
    assert right == cases
    assert int(cases) >= 500


@pytest.mark.sandbox
def test_the_route_on_emulated_waves(stack: KernelStack, waves: Path, tmp_path: Path) -> None:
    """Where the device's memory is the host's, the CPU provider can be the one whose tensors are on the device: every operator then
    goes the way it goes with ROCm's, past, masks and bias included. (Conv and its workspaces: the test above.)"""
    headers = stack.built("source.headers") / "usr" / "include" / "onnxruntime"
    kernels = tmp_path / "kernels"
    shutil.copytree(KERNELS, kernels, ignore=shutil.ignore_patterns("__pycache__", "ep", "tools"))
    registered = kernels / "customop" / "register.cpp"
    assert BOTH in registered.read_text()
    registered.write_text(registered.read_text().replace(BOTH, ON_GPU))
    library = tmp_path / "libstackbuild_kernels.so"
    sources = [*sorted((kernels / "customop").glob("*.cpp")), *sorted(kernels.glob("*/*_cpu.cpp"))]
    flags = ("-O2", "-fPIC", "-shared", "-fvisibility=hidden", '-DSBK_GPU_PROVIDER="CPUExecutionProvider"')
    run("g++", "-std=c++17", *flags, f"-I{kernels}", f"-isystem{headers}", *sources, "-o", library, "-ldl")
    without = check(library)
    assert without.returncode == 1
    assert "cannot load the kernels for the GPU" in without.stdout
    shutil.copy(waves, tmp_path)
    assert_right(check(library))


ONE_NODE = """
import sys, numpy as np, onnxruntime as ort
from onnx import helper
library, op, *shapes = sys.argv[1:]
inputs = [np.ones([int(n) for n in shape.split("x")], np.float32) for shape in shapes]
inputs = inputs[:3] + [mask.astype(bool) for mask in inputs[3:]]
names = [f"x{i}" for i in range(len(inputs))]
infos = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape) for n, x in zip(names, inputs)]
node = helper.make_node(op, names, ["y"], domain="stackbuild.kernels")
graph = helper.make_graph([node], "g", infos, [helper.make_tensor_value_info("y", 1, None)])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("stackbuild.kernels", 1)], ir_version=8)
options = ort.SessionOptions()
options.log_severity_level = 4
options.register_custom_ops_library(library)
session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
print("made")
print(session.run(None, dict(zip(names, inputs)))[0].tolist())
"""


def one_node(cpu: Path, waves: Path, folder: Path, *words: str, **more: str) -> subprocess.CompletedProcess[str]:
    """A session of one node, and a run of it, with copies to the emulated GPU."""
    for library in (cpu, waves):
        (folder / library.name).unlink(missing_ok=True)  # a copy is as read-only as its source
        shutil.copy(library, folder)
    command = [sys.executable, "-c", ONE_NODE, str(folder / cpu.name), *words]
    environment = {**os.environ, "STACKBUILD_KERNELS_DEVICE": "gpu", **more}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.sandbox
def test_without_a_gpu_no_session_is_made(cpu: Path, waves: Path, tmp_path: Path) -> None:
    assert "made" in one_node(cpu, waves, tmp_path, "LeakyRelu", "4").stdout
    done = one_node(cpu, waves, tmp_path, "LeakyRelu", "4", EMULATION_DEVICES="0")
    assert done.returncode == 1
    assert done.stdout == ""
    assert "no GPU found" in done.stderr
    assert "see that the driver is loaded" in done.stderr


@pytest.mark.sandbox
def test_a_mask_of_one_value_over_no_keys(cpu: Path, waves: Path, tmp_path: Path) -> None:
    done = one_node(cpu, waves, tmp_path, "Attention", "1x1x2x4", "1x1x0x4", "1x1x0x3", "1x1x2x1")
    assert done.stdout == "made\n[[[[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]]]\n", done.stderr


@pytest.mark.sandbox
def test_copies_around_a_call_on_emulated_waves(cpu: Path, waves: Path, tmp_path: Path) -> None:
    """STACKBUILD_KERNELS_DEVICE=gpu, the library as it is: of packed tensors that is what lies between a head and the next, too."""
    shutil.copy(cpu, tmp_path)
    shutil.copy(waves, tmp_path)
    assert_right(check(tmp_path / cpu.name, "--device", "gpu"))
