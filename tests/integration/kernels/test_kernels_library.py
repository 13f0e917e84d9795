"""The custom-op library built for the CPU and run in the installed onnxruntime.

Needs cmake, a C++ compiler and ONNX Runtime's headers, in ONNXRUNTIME_INCLUDE_DIR or a system folder. With
STACKBUILD_KERNELS_LIBRARY (a built libstackbuild_kernels.so) the checks run on that instead; with
STACKBUILD_KERNELS_HIP_LIBRARY the device code of that library is held to its register budgets.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("onnxruntime")

KERNELS = Path(__file__).parents[3] / "kernels"
HEADERS = next((f for f in map(Path, filter(None, (os.environ.get("ONNXRUNTIME_INCLUDE_DIR"), "/usr/include/onnxruntime")))
                if (f / "onnxruntime_c_api.h").is_file()), None)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if given := os.environ.get("STACKBUILD_KERNELS_LIBRARY"):
        return Path(given)
    if HEADERS is None or not shutil.which("cmake") or not shutil.which("c++"):
        pytest.skip("needs cmake, c++ and ONNX Runtime's headers: set ONNXRUNTIME_INCLUDE_DIR or STACKBUILD_KERNELS_LIBRARY")
    build = tmp_path_factory.mktemp("kernels")
    configure = ["cmake", "-S", str(KERNELS), "-B", str(build), "-DSBK_PLATFORM=cpu", f"-DONNXRUNTIME_INCLUDE_DIR={HEADERS}"]
    for command in (configure, ["cmake", "--build", str(build), "-j2"],
                    ["cmake", "--install", str(build), "--prefix", str(build / "out")]):
        subprocess.run(command, check=True, capture_output=True)
    return build / "out" / "stackbuild_kernels" / "libstackbuild_kernels.so"


def check(library: Path, *options: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(KERNELS / "check.py"), str(library), *options], capture_output=True,
                          text=True, env={**os.environ, **env})


def test_every_case_is_right(library: Path) -> None:
    done = check(library, "--seed", "3")
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-500:]


def test_asking_for_a_gpu_that_is_not_there_is_an_error_not_the_cpu(library: Path) -> None:
    """Where a GPU is there, the same run must be right on it."""
    done = check(library, "--op", "LeakyRelu", "--device", "gpu")
    if done.returncode != 0:
        assert "cannot load the kernels for the GPU" in done.stdout or "hip" in done.stdout.lower(), done.stdout[:500]
        assert "0 of " in done.stdout


def test_a_missing_library_is_exit_2() -> None:
    assert check(Path("/nonexistent/lib.so")).returncode == 2


def test_gpu_check_without_a_library_is_exit_2(tmp_path: Path) -> None:
    command = [sys.executable, str(KERNELS / "gpu-check"), "--library", str(tmp_path / "none.so"), "--out", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    assert "gpu-check:" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.skipif("STACKBUILD_KERNELS_HIP_LIBRARY" not in os.environ, reason="STACKBUILD_KERNELS_HIP_LIBRARY names none")
def test_device_code_stays_inside_its_register_budgets() -> None:
    command = [sys.executable, str(KERNELS / "bench" / "resources.py"), os.environ["STACKBUILD_KERNELS_HIP_LIBRARY"]]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
