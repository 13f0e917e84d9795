"""What is built, once for all tests here."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import pytest

from support.kernels import KernelStack, small_stack

pytest.importorskip("onnxruntime")
os.environ["PYTHONDONTWRITEBYTECODE"] = "1"  # what is imported from the store's trees stays as it was built


@pytest.fixture(scope="session", autouse=True)
def ended_in_order() -> Iterator[None]:
    """SIGTERM and SIGHUP end the tests as Ctrl-C does: what they run is ended too."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt(signal.Signals(number).name)

    handled = [number for number in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) is signal.SIG_DFL]
    for number in handled:
        signal.signal(number, interrupt)
    yield
    for number in handled:
        signal.signal(number, signal.SIG_DFL)


@pytest.fixture(scope="session")
def stack() -> KernelStack:
    return small_stack()


@pytest.fixture(scope="session")
def cpu(stack: KernelStack) -> Path:
    """The custom-op library for the CPU."""
    return stack.built("cpu") / "stackbuild_kernels" / "libstackbuild_kernels.so"


@pytest.fixture(scope="session")
def cpu_ep(stack: KernelStack) -> Path:
    """A folder with the provider's package without a device library, and in `checks` the CPU test platform."""
    return stack.built("cpu-ep")


@pytest.fixture(scope="session")
def amd(stack: KernelStack) -> Path:
    """The package `stackbuild_kernels` for four AMD targets."""
    return stack.built("amd") / "stackbuild_kernels"
