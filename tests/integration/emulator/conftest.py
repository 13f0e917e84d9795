"""The bundled kernels for AMD, built once, and a sandbox that has them and this Python's ONNX Runtime."""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from zipfile import ZipFile

import pytest

from stackbuild.core.resources import folder
from stackbuild.inspection import inspect
from stackbuild.verification.probe_sandbox import ProbeSandbox
from stackbuild.verification.rung import RungContext, RungOutcome
from stackbuild.verification.rungs.emulation import Emulation, check_emulated
from stackbuild.verification.subject import subject_of
from stackbuild.verification.workspace import workspace
from support.kernel_wheels import HIP_LIBRARY, kernels_wheel
from support.kernels import every_target_stack, small_stack


@dataclass(frozen=True)
class EmulatedKernels:
    """The wheel of the kernels, unpacked where `verify` installs it; `library` is its device code as it was built."""

    wheel: Path
    context: RungContext
    library: bytes = field(repr=False)
    kept: Path

    def check(self, library: bytes | None = None, **options: object) -> RungOutcome:
        """Run the rung with this device code in the place of what was built."""
        (self.context.sandbox.site / HIP_LIBRARY).write_bytes(self.library if library is None else library)
        return check_emulated(self.context, replace(Emulation("gfx1100", self.kept), **options))  # type: ignore[arg-type]


@pytest.fixture(scope="session")
def amd() -> Path:
    """The package `stackbuild_kernels` for four AMD targets."""
    return small_stack().built("amd") / "stackbuild_kernels"


@pytest.fixture(scope="session")
def kernels(amd: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmulatedKernels]:
    with _emulated(amd, tmp_path_factory.mktemp("emulator")) as kernels:
        yield kernels


@pytest.fixture(scope="session")
def every_target_kernels(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmulatedKernels]:
    """The same for eight AMD targets, by Debian sid's clang: an hour of one core the first time."""
    package = every_target_stack().built("amd") / "stackbuild_kernels"
    with _emulated(package, tmp_path_factory.mktemp("emulator")) as kernels:
        yield kernels


@contextmanager
def _emulated(package: Path, kept: Path) -> Iterator[EmulatedKernels]:
    pytest.importorskip("onnxruntime")
    with workspace() as work:
        wheel = kernels_wheel(package, work / "wheels")
        site = work / "clean" / "env" / "lib" / f"python{sysconfig.get_python_version()}" / "site-packages"
        with ZipFile(wheel) as archive:
            archive.extractall(site)
        sandbox = ProbeSandbox(
            work / "clean", Path(sys.executable), readable=(Path(sys.prefix), folder("kernels").resolve()), env=(("PYTHONPATH", str(site)),)
        )  # fmt: skip
        context = RungContext(subject_of((inspect(wheel),)), (), sandbox, folder("kernels"), work)
        yield EmulatedKernels(wheel, context, (site / HIP_LIBRARY).read_bytes(), kept)
