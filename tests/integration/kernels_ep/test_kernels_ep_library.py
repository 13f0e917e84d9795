"""The plugin execution provider in the stock onnxruntime wheel, on a machine without a GPU.

The loader is compiled and must decline; the CPU test platform is compiled and must pass ONNX's node tests, the
random-shape cases and two threads at once. Needs g++, cmake and ONNX Runtime's headers of 1.27 or newer, in
ONNXRUNTIME_INCLUDE_DIR or a system folder.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

KERNELS = Path(__file__).parents[3] / "kernels"
LEAST_API = 27


def _headers() -> Path | None:
    for folder in (os.environ.get("ONNXRUNTIME_INCLUDE_DIR"), "/usr/include/onnxruntime", "/usr/local/include/onnxruntime"):
        header = Path(folder or "/nonexistent") / "onnxruntime_c_api.h"
        if header.is_file():
            found = re.search(r"#define ORT_API_VERSION (\d+)", header.read_text())
            if found and int(found[1]) >= LEAST_API:
                return header.parent
    return None


HEADERS = _headers()
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(HEADERS is None, reason="needs ONNX Runtime's headers of 1.27 or newer: set ONNXRUNTIME_INCLUDE_DIR"),
    pytest.mark.skipif(not shutil.which("cmake") or not shutil.which("g++"), reason="needs cmake and g++"),
]


def _run(*command: str | Path) -> str:
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def cpu_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    build = tmp_path_factory.mktemp("kernels-ep")
    _run("cmake", "-S", KERNELS, "-B", build, "-DSBK_PLATFORM=cpu", "-DSBK_EP=ON", "-DSBK_CUSTOM_OPS=OFF",
         f"-DONNXRUNTIME_INCLUDE_DIR={HEADERS}")  # fmt: skip
    _run("cmake", "--build", build, "--target", "rockernels_ep_cpu_test", "-j2")
    return build / "ep" / "librockernels_ep_cpu_test.so"


@pytest.fixture(scope="module")
def loader(tmp_path_factory: pytest.TempPathFactory) -> Path:
    library = tmp_path_factory.mktemp("loader") / "libonnxruntime_ep_rockernels.so"
    ep = KERNELS / "ep"
    _run("g++", "-std=c++17", "-shared", "-fPIC", "-fvisibility=hidden", "-DRK_CPU=0", '-DRK_VERSION="0.1.0"', f"-I{KERNELS}",
         f"-I{ep}", f"-I{HEADERS}", ep / "loader" / "loader.cpp", "-o", library, "-ldl", "-Wl,--no-undefined")  # fmt: skip
    return library


REGISTER = """
import sys, onnxruntime as ort
ort.register_execution_provider_library("rk", sys.argv[1])
print([d.ep_name for d in ort.get_ep_devices()])
ort.unregister_execution_provider_library("rk")
"""


def test_the_loader_alone_declines_and_says_why(loader: Path) -> None:
    said = _run(sys.executable, "-c", REGISTER, loader)
    assert "['CPUExecutionProvider']" in said
    assert "RocKernels offers no device: no device library lies beside" in said


def test_a_device_library_that_does_not_open_is_named(loader: Path, tmp_path: Path) -> None:
    shutil.copy(loader, tmp_path)
    (tmp_path / "librockernels_ep_hip.so").write_bytes(b"not a library")
    said = _run(sys.executable, "-c", REGISTER, tmp_path / loader.name)
    assert "['CPUExecutionProvider']" in said
    assert "librockernels_ep_hip.so" in said


def test_the_loader_links_no_gpu_runtime_and_exports_three_names(loader: Path) -> None:
    needed = _run("readelf", "-d", loader)
    assert not re.search(r"NEEDED.*(hip|cuda|hsa|roc|blas|onnxruntime)\w*\.so", needed)


def test_the_cpu_platform_passes_every_check(cpu_library: Path) -> None:
    said = _run(sys.executable, KERNELS / "ep" / "gpu-check", "--cpu-test-library", cpu_library, "--cases", "8", "--quick")
    assert "all checks hold" in said
    assert re.search(r"ONNX node tests: [6-9]\d\d passed, 0 failed", said)


def test_the_cpu_platform_is_offered_as_a_cpu(cpu_library: Path) -> None:
    said = _run(sys.executable, "-c", REGISTER.replace("d.ep_name for", "(d.ep_name, str(d.device.type)) for"), cpu_library)
    assert "('RocKernelsCpuTestExecutionProvider', 'OrtHardwareDeviceType.CPU')" in said
