"""kernels/gpu-check without a GPU: how it ends, with a library built for an emulated one (tests/emulation)."""

from __future__ import annotations

import ast
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from kernels_stack import KERNELS

EMULATION = Path(__file__).parents[2] / "emulation"
pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
SCRIPTS = (KERNELS / "gpu-check", KERNELS / "ep" / "gpu-check")


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("emulated") / "leaky.so"
    command = [sys.executable, str(EMULATION / "build.py"), str(KERNELS), "gfx942", str(out), "--only", "leaky_relu"]
    subprocess.run(command, check=True, capture_output=True)
    return out


def tool(folder: Path, name: str, text: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)


def alive(pid: int) -> bool:
    """Whether a process runs (one that nobody has waited for yet does not)."""
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_sanitizer_leaves_no_process(
    library: Path, tmp_path: Path, number: signal.Signals, status: int
) -> None:
    tool(tmp_path / "bin", "compute-sanitizer", f'sleep 300 & echo "$$ $!" > "{tmp_path}/$$.pid"; wait')
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    command = [sys.executable, str(SCRIPTS[0]), "--library", str(library), "--only", "sanitize", "--out", str(tmp_path)]
    running = subprocess.Popen(
        command,
        env={**os.environ, "PATH": path},
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(
            signal.SIGINT, signal.SIG_DFL
        ),  # as from a terminal, also where a shell runs the tests in its background
    )
    end = time.monotonic() + 120
    while len(list(tmp_path.glob("*.pid"))) < 12 and running.poll() is None and time.monotonic() < end:
        time.sleep(0.05)
    time.sleep(0.2)
    running.send_signal(number)
    _, said = running.communicate(timeout=60)
    pids = [int(pid) for file in tmp_path.glob("*.pid") for pid in file.read_text().split()]
    left = [pid for pid in pids if alive(pid)]
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert len(pids) == 24
    assert left == []
    assert running.returncode == status
    assert "Traceback" not in said


def test_another_library_is_exit_2(library: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.so"
    subprocess.run(["g++", "-shared", "-x", "c++", "/dev/null", "-o", str(other)], check=True)
    command = [sys.executable, str(SCRIPTS[0]), "--library", str(other), "--out", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "is not libstackbuild_kernels_hip.so" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_bare_name_is_a_file_here(library: Path) -> None:
    asks = "import sys, pathlib; sys.path.insert(0, sys.argv[1]); from bench import device; print(device.Device(pathlib.Path(sys.argv[2])).count())"
    command = [sys.executable, "-c", asks, str(KERNELS), library.name]
    done = subprocess.run(command, cwd=library.parent, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "1\n"), done.stderr


@pytest.mark.parametrize("script", SCRIPTS, ids=["kernels", "provider"])
@pytest.mark.parametrize(
    ("tools", "says"),
    [
        ({}, "neither hipconfig"),
        ({"hipconfig": "true"}, "there is no rocm_agent_enumerator"),
        ({"hipconfig": "true", "rocm_agent_enumerator": "echo gfx000"}, "rocm_agent_enumerator names none"),
        ({"hipconfig": "true", "rocm_agent_enumerator": "exit 1", "nvcc": "true"}, "rocm_agent_enumerator ends with 1"),
        ({"nvcc": "true"}, "there is no nvidia-smi"),
    ],
)
def test_what_is_missing_to_build_is_said_in_a_line(
    script: Path, tools: dict[str, str], says: str, tmp_path: Path
) -> None:
    """One rule for the platform in both: AMD's where there is a hipconfig."""
    (tmp_path / "bin").mkdir()
    for name, text in tools.items():
        tool(tmp_path / "bin", name, text)
    environment = {"PATH": str(tmp_path / "bin"), "HOME": str(tmp_path)}
    command = [
        sys.executable,
        str(script),
        *(["--out", str(tmp_path / "out")] if script == SCRIPTS[0] else ["--sanitize"]),
    ]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr[-1000:]
    assert says in done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr


@pytest.mark.skipif(shutil.which("cmake") is None, reason="needs cmake")
def test_a_compiler_that_is_not_hips_is_refused_before_anything_is_built(tmp_path: Path) -> None:
    command = ["cmake", "-S", str(KERNELS), "-B", str(tmp_path / "build"), "-DGPU_TARGETS=gfx90a;"]
    environment = {**os.environ, "CXX": "g++"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "does not compile HIP for the target 'gfx90a'" in " ".join(done.stderr.split())


def test_every_check_of_the_provider_is_run() -> None:
    names = (("PROVIDER_CHECKS", SCRIPTS[0]), ("CHECKS", SCRIPTS[1]))
    here, there = (
        next(
            ast.literal_eval(node.value)
            for node in ast.parse(script.read_text()).body
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == name
        )
        for name, script in names
    )
    assert sorted(check for part in here for check in part) == sorted(there)
