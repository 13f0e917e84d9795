"""The custom ops through ONNX Runtime's ROCm execution provider, of which there is none without an AMD GPU: what they ask of the
runtime, of a stand-in for it, and what becomes of their workspaces on streams that are worked on later.

`rocm_like/` has both stand-ins; the workspaces (kernels/common/workspaces.hpp) are the product's.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from kernels_stack import KERNELS, Stack, run

HERE = Path(__file__).parent / "rocm_like"
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
def test_calls_in_flight_have_workspaces_of_their_own(stack: Stack, cpu: Path, tmp_path: Path) -> None:
    """Two streams at once, another device, growth in flight, no memory left: wrong answers with an allocator that knows no streams."""
    headers = stack.built("source.headers") / "usr" / "include" / "onnxruntime"
    assert (headers / "onnxruntime_c_api.h").is_file()
    library, hip, driver = tmp_path / cpu.name, tmp_path / "libstackbuild_kernels_hip.so", tmp_path / "driver"
    shutil.copy(cpu, library)
    run(*COMPILE, "-shared", "-fPIC", "-fvisibility=hidden", HERE / "hip_library.cpp", "-o", hip)
    run(*COMPILE, f"-isystem{headers}", HERE / "onnxruntime.cpp", "-o", driver, "-ldl", "-pthread")
    assert "4 right" in run(driver, library, hip)
