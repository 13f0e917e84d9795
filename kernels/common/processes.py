"""What the scripts share that check on a GPU: the processes they start, and the platform of this machine."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from types import FrameType


class NoGpu(Exception):
    """This machine lacks what building for its GPU needs; the message says what."""


class Children:
    """Processes that this one starts, each with a group of its own (a sanitizer's is what it runs). None outlives the `with`."""

    def __init__(self) -> None:
        self._started: list[subprocess.Popen[str]] = []

    def __enter__(self) -> Children:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._started:
            self.end(process)

    def start(self, command: list[str], **options: object) -> subprocess.Popen[str]:
        process: subprocess.Popen[str] = subprocess.Popen(command, text=True, start_new_session=True, **options)  # type: ignore[call-overload]
        self._started.append(process)
        return process

    def run(self, command: list[str], **options: object) -> None:
        """Waits for it. Raises CalledProcessError where it fails."""
        if status := self.start(command, **options).wait():
            raise subprocess.CalledProcessError(status, command)

    @classmethod
    def said(cls, process: subprocess.Popen[str], seconds: float) -> tuple[str, bool]:
        """What a process printed, and whether it ended in so many seconds; it is killed where it did not."""
        try:
            return process.communicate(timeout=max(1.0, seconds))[0], True
        except subprocess.TimeoutExpired:
            cls.end(process)
            return process.communicate()[0], False

    @staticmethod
    def end(process: subprocess.Popen[str]) -> None:
        """Kills a process and its group, if it still runs."""
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _terminated(number: int, frame: FrameType | None) -> None:
    sys.exit(128 + number)


def ended_in_order(name: str, work: Callable[[], int]) -> int:
    """What `work` returns; 130 after Ctrl-C. SIGTERM becomes the exception SystemExit(143), so that `with` and `finally` see it."""
    signal.signal(signal.SIGTERM, _terminated)
    try:
        return work()
    except KeyboardInterrupt:
        print(f"{name}: interrupted", file=sys.stderr)
        return 130


def platform() -> str:
    """The platform to build for: amd where there is a hipconfig, nvidia where there is an nvcc. Raises NoGpu where neither is."""
    for tool, name in (("hipconfig", "amd"), ("nvcc", "nvidia")):
        if shutil.which(tool):
            return name
    raise NoGpu("neither hipconfig (ROCm's HIP) nor nvcc (CUDA) is in PATH: nothing to build with; --library names a built library")


def device_options(name: str) -> list[str]:
    """CMake's options for this machine's GPUs. Raises NoGpu where there is none."""
    tool = {"amd": "rocm_agent_enumerator", "nvidia": "nvidia-smi"}[name]
    if shutil.which(tool) is None:
        raise NoGpu(f"no GPU found: there is no {tool}")
    said = subprocess.run([tool, *(["-L"] if name == "nvidia" else [])], capture_output=True, text=True, check=False)
    targets = sorted(set(said.stdout.split()) - {"gfx000"})
    if said.returncode or not targets:
        raise NoGpu(f"no GPU found: {tool} {'ends with ' + str(said.returncode) if said.returncode else 'names none'}")
    return ["-DCMAKE_CUDA_ARCHITECTURES=native"] if name == "nvidia" else ["-DGPU_TARGETS=" + ";".join(targets)]
