"""The plugin execution provider in the stock onnxruntime wheel, on a machine without a GPU: the package declines and says why;
the CPU test platform passes ONNX's node tests, the random-shape cases, the fusions' graphs and both models.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from support.cpu import saturates
from support.kernels import KERNELS, devices_with, run

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(1500)]
ONLY_THE_CPU = "[('CPUExecutionProvider', 'OrtHardwareDeviceType.CPU')]"


@pytest.fixture(scope="module")
def loader(cpu_ep: Path) -> Path:
    return cpu_ep / "onnxruntime_ep_rockernels" / "libonnxruntime_ep_rockernels.so"


def test_the_loader_alone_declines_and_says_why(loader: Path) -> None:
    said = devices_with(loader)
    assert ONLY_THE_CPU in said
    assert "RocKernels offers no device: no device library lies beside" in said


def test_a_device_library_that_does_not_open_is_named(loader: Path, tmp_path: Path) -> None:
    shutil.copy(loader, tmp_path)
    (tmp_path / "librockernels_ep_hip.so").write_bytes(b"not a library")
    said = devices_with(tmp_path / loader.name)
    assert ONLY_THE_CPU in said
    assert "librockernels_ep_hip.so" in said


def test_a_device_library_whose_runtime_is_missing_is_named_with_it(loader: Path, amd: Path, tmp_path: Path) -> None:
    """A real library for AMD, where libamdhip64 is not installed; where it is, there is none of the provider's exports."""
    shutil.copy(loader, tmp_path)
    shutil.copy(amd / "libstackbuild_kernels_hip.so", tmp_path / "librockernels_ep_hip.so")
    said = devices_with(tmp_path / loader.name)
    assert ONLY_THE_CPU in said
    assert "libamdhip64.so" in said or "exports no CreateEpFactories" in said


def test_the_package_says_why_there_is_no_device(cpu_ep: Path) -> None:
    asking = (
        "import sys; sys.path.insert(0, sys.argv[1]); import onnxruntime as ort, onnxruntime_ep_rockernels as r\n"
        "ort.register_execution_provider_library(r.get_ep_name(), r.get_library_path()); print(r.why_no_device())\n"
        "s = ort.SessionOptions(); print([d.ep_name for d in ort.get_ep_devices()])\n"
    )
    said = run(sys.executable, "-c", asking, cpu_ep)
    assert "no device library lies beside" in said
    assert "['CPUExecutionProvider']" in said


def test_the_package_looks_itself_when_nothing_is_registered(cpu_ep: Path) -> None:
    asking = (
        "import sys; sys.path.insert(0, sys.argv[1]); import onnxruntime_ep_rockernels as r; print(r.why_no_device())"
    )
    assert "no device library lies beside" in run(sys.executable, "-c", asking, cpu_ep)


def test_a_device_library_that_cannot_be_looked_at_is_named(cpu_ep: Path, tmp_path: Path) -> None:
    """A link to itself; as a folder of a server that is gone would be."""
    package = tmp_path / "onnxruntime_ep_rockernels"
    shutil.copytree(cpu_ep / "onnxruntime_ep_rockernels", package)
    (package / "librockernels_ep_hip.so").symlink_to("librockernels_ep_hip.so")
    asking = "import sys; sys.path.insert(0, sys.argv[1]); import onnxruntime_ep_rockernels as r; print(r.why_no_device())"
    assert "librockernels_ep_hip.so" in run(sys.executable, "-c", asking, tmp_path)
    assert ONLY_THE_CPU in devices_with(package / "libonnxruntime_ep_rockernels.so")


def test_the_loader_links_no_gpu_runtime(loader: Path) -> None:
    needed = run("readelf", "-d", loader)
    assert not re.search(r"NEEDED.*(hip|cuda|hsa|roc|blas|onnxruntime)\w*\.so", needed)


def test_libraries_ask_for_no_glibc_newer_than_2_34(loader: Path, cpu_ep: Path) -> None:
    """glibc 2.38's headers turn atoi, strtol and fmod into new symbols: a wheel would load on few distributions."""
    for library in (loader, cpu_ep / "checks" / "librockernels_ep_cpu_test.so"):
        found = {
            tuple(map(int, v.split(".")))
            for v in re.findall(r"GLIBC_(2\.\d+)", run("readelf", "--version-info", library))
        }
        assert max(found) <= (2, 34)


def test_no_function_that_sets_errno_is_asked_for(loader: Path, cpu_ep: Path, amd: Path) -> None:
    """glibc 2.43 gives sqrtf a new version: what Debian sid builds would not load on Debian 13."""
    for library in (
        loader,
        cpu_ep / "checks" / "librockernels_ep_cpu_test.so",
        amd / "libstackbuild_kernels_hip.so",
        amd / "libstackbuild_kernels.so",
    ):
        wanted = run("readelf", "--dyn-syms", "--wide", library)
        assert "UND" in wanted
        assert not re.search(r"UND sqrtf?@", wanted), library


@pytest.mark.skipif(saturates(), reason="needs VNNI: ONNX Runtime's CPU provider, the peer, saturates here")
def test_the_cpu_platform_passes_every_check(cpu_ep: Path) -> None:
    library = cpu_ep / "checks" / "librockernels_ep_cpu_test.so"
    said = run(sys.executable, KERNELS / "ep" / "gpu-check", "--cpu-test-library", library, "--cases", "8", "--quick")
    assert "all checks hold" in said
    assert re.search(r"ONNX node tests: [6-9]\d\d passed, 0 failed", said)


def test_the_cpu_platform_is_offered_as_a_cpu(cpu_ep: Path) -> None:
    assert "('RocKernelsCpuTestExecutionProvider', 'OrtHardwareDeviceType.CPU')" in devices_with(
        cpu_ep / "checks" / "librockernels_ep_cpu_test.so"
    )


def test_no_package_has_the_cpu_test_platform(cpu_ep: Path) -> None:
    names = {p.name for p in (cpu_ep / "onnxruntime_ep_rockernels").iterdir()}
    assert names == {"LICENSE", "README", "__init__.py", "py.typed", "libonnxruntime_ep_rockernels.so"}


def test_coverage_says_which_nodes_are_taken_and_why_not_the_others(cpu_ep: Path, tmp_path: Path) -> None:
    """A Conv and what follows it; an operator without a kernel, a type without one, and arithmetic on a shape."""
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"], "conv"),
        helper.make_node("Relu", ["a"], ["b"], "relu"),
        helper.make_node("Det", ["b"], ["c"], "det"),
        helper.make_node("Cast", ["b"], ["e"], "cast", to=onnx.TensorProto.DOUBLE),
        helper.make_node("MatMul", ["e", "wide"], ["f"], "double"),
        helper.make_node("Shape", ["b"], ["g"], "shape"),
        helper.make_node("Gather", ["g", "first"], ["h"], "gather"),
    ]
    weights = {"w": np.ones((4, 3, 3, 3), np.float32), "wide": np.ones((6, 6)), "first": np.zeros(1, np.int64)}
    given = [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["n", 3, 8, 8])]
    made = [
        helper.make_tensor_value_info(name, number, None)
        for name, number in (("c", onnx.TensorProto.FLOAT), ("f", onnx.TensorProto.DOUBLE), ("h", onnx.TensorProto.INT64))
    ]
    graph = helper.make_graph(nodes, "g", given, made, [numpy_helper.from_array(value, name) for name, value in weights.items()])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9), tmp_path / "m.onnx")
    check = [sys.executable, KERNELS / "ep" / "gpu-check", "--cpu-test-library", cpu_ep / "checks" / "librockernels_ep_cpu_test.so"]
    said = run(*check, "--coverage", tmp_path / "m.onnx", "--json", tmp_path / "found.json")
    assert "1  Conv" in said
    (found,) = json.loads((tmp_path / "found.json").read_text())
    assert {"Conv", "Relu", "Cast", "Shape"} <= found["taken"].keys()
    left = {node["name"]: node["reason"] for node in found["left"]}
    assert left["det"] == "there is no kernel for Det"
    assert left["double"] == "input 0 (e) is double; kernels take float, float16"
    assert left["gather"].startswith("it works on shapes")
    assert found["share"] == round(sum(found["taken"].values()) / (sum(found["taken"].values()) + len(found["left"])), 4)
    gone = subprocess.run([*map(str, check), "--coverage", str(tmp_path / "gone.onnx")], capture_output=True, text=True, check=False)
    assert (gone.returncode, "no such file" in gone.stderr) == (2, True)


def test_coverage_of_quantized_nodes_names_the_form_and_the_type_that_have_no_kernel(cpu_ep: Path, tmp_path: Path) -> None:
    """Weights of 4 bits in blocks are taken, with groups by an index not; nor is what has 4 bits an element."""
    blocks = {"K": 32, "N": 8, "bits": 4, "block_size": 16}
    nodes = [
        helper.make_node("MatMulNBits", ["x", "codes", "scales"], ["a"], "taken", domain="com.microsoft", **blocks),
        helper.make_node("MatMulNBits", ["x", "codes", "scales", "", "groups"], ["b"], "indexed", domain="com.microsoft", **blocks),
        helper.make_node("DynamicQuantizeLinear", ["a"], ["q", "scale", "zero"], "dynamic"),
        helper.make_node("MatMulInteger", ["q", "bytes", "zero"], ["c"], "integer"),
        helper.make_node("DequantizeLinear", ["narrow", "one"], ["d"], "narrow"),
        helper.make_node("QLinearConv", ["image", "one", "point", "filter", "one", "point", "one", "point"], ["e"], "conv"),
    ]
    weights = {
        "codes": np.ones((8, 2, 8), np.uint8), "scales": np.ones((8, 2), np.float32), "groups": np.arange(32, dtype=np.int32) // 16,
        "bytes": np.ones((8, 3), np.int8), "one": np.array(1, np.float32), "point": np.array(3, np.uint8), "filter": np.ones((4, 3, 3, 3), np.uint8),
    }  # fmt: skip
    given = [
        helper.make_tensor_value_info(name, number, shape)
        for name, number, shape in (("x", onnx.TensorProto.FLOAT, ["n", 32]), ("narrow", onnx.TensorProto.INT4, [4]), ("image", onnx.TensorProto.UINT8, [1, 3, 8, 8]))
    ]
    made = [
        helper.make_tensor_value_info(name, number, None)
        for name, number in (("b", onnx.TensorProto.FLOAT), ("c", onnx.TensorProto.INT32), ("d", onnx.TensorProto.FLOAT), ("e", onnx.TensorProto.UINT8))
    ]
    graph = helper.make_graph(nodes, "g", given, made, [numpy_helper.from_array(value, name) for name, value in weights.items()])
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), tmp_path / "m.onnx")
    library = cpu_ep / "checks" / "librockernels_ep_cpu_test.so"
    run(sys.executable, KERNELS / "ep" / "gpu-check", "--cpu-test-library", library, "--coverage", tmp_path / "m.onnx", "--json", tmp_path / "found.json")
    (found,) = json.loads((tmp_path / "found.json").read_text())
    left = {node["name"]: node["reason"] for node in found["left"]}
    assert found["taken"] == {"MatMulNBits": 1, "DynamicQuantizeLinear": 1, "MatMulInteger": 1, "QLinearConv": 1}
    assert left.keys() == {"indexed", "narrow"}
    assert left["indexed"].startswith("its form is not taken")
    assert left["narrow"] == "input 0 (narrow) is int4; kernels take int16, int32, int8, uint16, uint8"


SLOW = """
import sys, onnxruntime as ort
ort.set_default_logger_severity(1)
ort.register_execution_provider_library("rk", sys.argv[1])
options = ort.SessionOptions()
options.log_severity_level = 1
options.add_provider_for_devices([device for device in ort.get_ep_devices() if device.ep_name.startswith("RocKernels")][:1], {})
ort.InferenceSession(sys.argv[2], options)
"""


def test_the_log_names_the_nodes_of_a_slow_kind_once_and_says_why(cpu_ep: Path, tmp_path: Path) -> None:
    """A window of three axes and groups of several channels; not a plain Conv, a depthwise one or heads of 64."""
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["a"], "plain"),
        helper.make_node("Conv", ["a", "depth"], ["b"], "depthwise", group=4),
        helper.make_node("Conv", ["b", "pairs"], ["c"], "grouped", group=2),
        helper.make_node("Conv", ["volume", "cube"], ["d"], "three_axes"),
        helper.make_node("Attention", ["q", "q", "q"], ["e"], "", q_num_heads=1, kv_num_heads=1),
        helper.make_node("Attention", ["q", "q", "q"], ["f"], "short_heads", q_num_heads=3, kv_num_heads=3),
    ]
    weights = {"w": (4, 3, 3, 3), "depth": (4, 1, 3, 3), "pairs": (4, 2, 3, 3), "cube": (2, 2, 3, 3, 3)}
    shapes = {"x": ["n", 3, 12, 12], "volume": ["n", 2, 6, 6, 6], "q": ["n", 4, 192]}
    given = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape) for name, shape in shapes.items()]
    made = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in "cdef"]
    values = [numpy_helper.from_array(np.ones(shape, np.float32), name) for name, shape in weights.items()]
    graph = helper.make_graph(nodes, "g", given, made, values)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10), tmp_path / "m.onnx")
    library = cpu_ep / "checks" / "librockernels_ep_cpu_test.so"
    done = subprocess.run([sys.executable, "-c", SLOW, library, tmp_path / "m.onnx"], capture_output=True, text=True, check=True)
    log = re.sub(r"_token_[0-9]+ ", " ", done.stdout + done.stderr)  # which ONNX Runtime puts behind a name for other layouts
    told = sorted(re.findall(r"RocKernels may be slow at the node (.*)", log))
    assert told == [
        "grouped (Conv): its groups have several channels each",
        "of e (Attention): its heads have more than 128 values",
        "three_axes (Conv): its window has three axes",
    ]
