"""The provider through its CPU test platform: sessions made and destroyed, threads, registrations, options."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from support.kernels import KERNELS, KernelStack, run

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(1500)]
PRELUDE = """
import gc, sys, threading
import numpy as np, onnx, onnxruntime as ort
from onnx import helper
ort.set_default_logger_severity(4)
library = sys.argv[1]
def register(name="first"):
    ort.register_execution_provider_library(name, library)
    return [d for d in ort.get_ep_devices() if d.ep_name.startswith("RocKernels")]
weight = helper.make_tensor("w", 1, [4, 3, 3, 3], np.linspace(-1, 1, 108).astype("float32"))
nodes = [helper.make_node("Conv", ["x", "w"], ["t"], pads=[1] * 4), helper.make_node("Relu", ["t"], ["y"])]
info = helper.make_tensor_value_info("x", 1, ["n", 3, "h", "w_"])
graph = helper.make_graph(nodes, "g", [info], [onnx.ValueInfoProto(name="y")], [weight])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10).SerializeToString()
x = np.arange(2 * 3 * 5 * 4, dtype="float32").reshape(2, 3, 5, 4) / 50 - 1
wanted = ort.InferenceSession(model, providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]
def session(devices, **options):
    settings = ort.SessionOptions()
    settings.log_severity_level = 4
    settings.add_provider_for_devices(devices[:1], options)
    settings.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    return ort.InferenceSession(model, settings)
def check(opened):
    np.testing.assert_allclose(opened.run(None, {"x": x})[0], wanted, rtol=1e-5, atol=1e-5)
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096 / 2**20
"""


@pytest.fixture(scope="module")
def library(cpu_ep: Path) -> Path:
    return cpu_ep / "checks" / "librockernels_ep_cpu_test.so"


def script(library: Path, body: str) -> str:
    return run(sys.executable, "-W", "ignore", "-c", PRELUDE + body, library)


def test_200_sessions_and_20_registrations_leave_nothing_behind(library: Path) -> None:
    body = """
devices = register()
for _ in range(30): check(session(devices))
gc.collect(); before = resident()
for _ in range(200): check(session(devices))
gc.collect(); grown = resident() - before
ort.unregister_execution_provider_library("first")
for _ in range(20):
    devices = register(); check(session(devices)); gc.collect(); ort.unregister_execution_provider_library("first")
print("MiB", grown)
"""
    assert float(script(library, body).split("MiB")[1]) < 8


def test_threads_make_and_run_sessions_at_once(library: Path) -> None:
    body = """
devices = register()
shared, failed = session(devices), []
def work():
    try:
        for _ in range(15): check(session(devices)); check(shared)
    except Exception as error: failed.append(str(error))
threads = [threading.Thread(target=work) for _ in range(4)]
[t.start() for t in threads]; [t.join() for t in threads]
print("failed", failed)
"""
    assert "failed []" in script(library, body)


def test_a_session_outlives_its_registration(library: Path) -> None:
    """ONNX Runtime asks for the session to be released first, and does not see to it: it unloads the library."""
    body = """
opened = session(register())
ort.unregister_execution_provider_library("first")
check(opened); del opened; gc.collect()
check(session(register())); print("whole")
"""
    assert "whole" in script(library, body)


def test_one_library_under_two_names(library: Path) -> None:
    body = """
register(); both = register("second"); print(len(both), "offers")
check(session(both)); check(session(both[1:]))
ort.unregister_execution_provider_library("first"); print("whole")
"""
    said = script(library, body)
    assert "2 offers" in said
    assert "whole" in said


def test_memory_that_does_not_suffice_is_an_error_and_the_session_goes_on(library: Path) -> None:
    """ONNX Runtime hands a failed allocation's null on as an output's address. Twice: the first must not move the session to the CPU."""
    body = """
import resource
nodes = [helper.make_node("Expand", ["x", "s"], ["t"]), helper.make_node("Relu", ["t"], ["u"]), helper.make_node("ReduceMax", ["u"], ["y"], keepdims=0)]
infos = [helper.make_tensor_value_info("x", 1, [1]), helper.make_tensor_value_info("s", 7, [2])]
large = helper.make_model(helper.make_graph(nodes, "g", infos, [onnx.ValueInfoProto(name="y")]), opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
settings = ort.SessionOptions(); settings.log_severity_level = 4
settings.add_provider_for_devices(register()[:1], {})
opened = ort.InferenceSession(large.SerializeToString(), settings)
used = int(open("/proc/self/statm").read().split()[0]) * 4096
resource.setrlimit(resource.RLIMIT_AS, (used + 2**30, used + 2**30))
ask = lambda *shape: opened.run(None, {"x": np.ones(1, "float32"), "s": np.array(shape)})[0]
for _ in range(2):
    try: ask(10**5, 10**5); print("answered")
    except Exception as error: print("refused:", error)
print(ask(3, 4), opened.get_providers()[0])
"""
    said = script(library, body)
    assert said.count("refused: ") == 2
    assert said.count("no device memory left for a tensor of 40000000000 bytes") == 2
    assert "1.0 RocKernelsCpuTestExecutionProvider" in said


@pytest.mark.parametrize(
    ("option", "value", "says"),
    [
        ("fuse", "yes", "provider option fuse is 0 or 1, not yes"),
        ("fusee", "1", "RocKernels has no provider option fusee"),
        ("conv_choice", "fastest", "conv_choice is rule, no_winograd, measure or cached"),
        ("conv_choice", "cached", "needs conv_cache"),
        ("conv_cache", "/tmp/choices", "goes with conv_choice"),
        ("fuse", "", "provider option fuse is 0 or 1, not empty"),
        ("conv_choice", "", "conv_choice is rule, no_winograd, measure or cached, not empty"),
        ("enable_hip_graph", "1", "captures no graphs"),
    ],
)
def test_an_option_that_cannot_be_is_refused(library: Path, option: str, value: str, says: str) -> None:
    body = f"""
try: session(register(), {option}={value!r})
except Exception as error: print("refused", error)  # ONNX Runtime before 1.32 prints the reason and tries the CPU
"""
    said = script(library, body)
    assert "refused" in said
    assert says in said


@pytest.mark.parametrize(
    ("choice", "file", "says"),
    [("cached", "none", "cannot read"), ("measure", "no folder/choices", "cannot write"), ("measure", ".", "cannot write")],
)
def test_choices_that_cannot_be_read_or_kept_are_refused(
    library: Path, tmp_path: Path, choice: str, file: str, says: str
) -> None:
    body = f"""
try: session(register(), conv_choice={choice!r}, conv_cache={str(tmp_path / file)!r})
except Exception as error: print("refused", error)
"""
    said = script(library, body)
    assert "refused" in said
    assert f"{says} {tmp_path / file}, the choices of convolutions" in said


def test_options_of_conv_are_taken(library: Path, tmp_path: Path) -> None:
    body = f"""
devices = register()
check(session(devices, conv_choice="rule"))
check(session(devices, conv_choice="measure", conv_cache={str(tmp_path / "choices")!r})); print("whole")
"""
    assert "whole" in script(library, body)


def test_a_file_with_external_data_under_a_name_that_is_not_ascii(library: Path, tmp_path: Path) -> None:
    body = f"""
import os
folder = os.path.join({str(tmp_path)!r}, "modèle 模型"); os.mkdir(folder); file = os.path.join(folder, "é.onnx")
onnx.save_model(onnx.load_model_from_string(model), file, save_as_external_data=True, location="gewichte ü.bin", size_threshold=0)
settings = ort.SessionOptions(); settings.add_provider_for_devices(register(), {{}})
check(ort.InferenceSession(file, settings)); print("whole")
"""
    assert "whole" in script(library, body)


def test_the_gate_takes_newer_major_releases_and_one_runtime(stack: KernelStack, tmp_path: Path) -> None:
    headers = stack.built("source.headers") / "usr" / "include" / "onnxruntime"
    includes = [f"-I{folder}" for folder in (KERNELS / "ep", KERNELS, headers)]
    program = tmp_path / "gate"
    source = Path(__file__).with_name("gate_orders.cpp")
    run("g++", "-std=c++17", "-DRK_CPU=1", '-DRK_VERSION="x"', *includes, source, "-o", program)
    assert run(program).strip() == "all hold"
