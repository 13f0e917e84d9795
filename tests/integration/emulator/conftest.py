"""The bundled kernels for AMD, built once, and an environment that has them and ONNX Runtime."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from stackbuild.core.resources import folder
from stackbuild.inspection import inspect
from stackbuild.verification.clean_env import install, make_venv, this_machine
from stackbuild.verification.rung import RungContext, RungOutcome
from stackbuild.verification.rungs.emulation import Emulation, check_emulated
from stackbuild.verification.subject import subject_of
from stackbuild.verification.workspace import workspace
from support.kernel_wheels import HIP_LIBRARY, kernels_wheel
from support.kernels import CACHE, small_stack

RUNTIME = ("onnxruntime", "numpy", "onnx")


@dataclass(frozen=True)
class EmulatedKernels:
    """The wheel of the kernels, installed as `verify` installs it; `library` is its device code as it was built."""

    wheel: Path
    wheelhouse: Path
    context: RungContext
    library: bytes = field(repr=False)
    kept: Path

    def check(self, library: bytes | None = None, **options: object) -> RungOutcome:
        """Run the rung with this device code in the place of what was installed."""
        (self.context.sandbox.site / HIP_LIBRARY).write_bytes(self.library if library is None else library)
        return check_emulated(self.context, replace(Emulation("gfx1100", self.kept), **options))  # type: ignore[arg-type]


@pytest.fixture(scope="session")
def amd() -> Path:
    """The package `stackbuild_kernels` for four AMD targets."""
    return small_stack().built("amd") / "stackbuild_kernels"


@pytest.fixture(scope="session")
def wheelhouse() -> Path:
    """The wheels that the operators run with, downloaded once."""
    house = CACHE / "wheelhouse"
    if not any(house.glob("onnxruntime-*.whl")):
        fresh = CACHE / f"wheelhouse-{os.getpid()}"
        command = [sys.executable, "-m", "pip", "download", "-q", "-d", str(fresh), *RUNTIME]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-600:]
        shutil.rmtree(house, ignore_errors=True)
        fresh.rename(house)
    return house


@pytest.fixture(scope="session")
def kernels(amd: Path, wheelhouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmulatedKernels]:
    with workspace() as work:
        wheel = kernels_wheel(amd, work / "wheels")
        subject = subject_of((inspect(wheel),))
        (work / "clean").mkdir()
        host = this_machine(subject.claim, None)
        readable = (work / "wheels", wheelhouse, folder("kernels").resolve())
        clean, result = make_venv(work / "clean", host, readable, lambda: None)
        assert not result.code, result.problem
        result = install(clean, wheelhouse, (str(wheel), *RUNTIME))
        assert not result.code, result.tail
        installed = clean.site / HIP_LIBRARY
        installed.chmod(0o644)
        context = RungContext(subject, (), clean, folder("kernels"), work)
        yield EmulatedKernels(wheel, wheelhouse, context, installed.read_bytes(), tmp_path_factory.mktemp("emulator"))
