"""The worker's view of a GPU beside ONNX Runtime, by ctypes: its events, and how much of its memory is in use.

On AMD it calls the HIP runtime (hip_runtime_api.h; ROCm 5 to 7 have the same functions), on NVIDIA the driver's
library (cuda.h, nvml.h). It runs where stackbuild is not installed, so it imports the standard library alone.
"""

from __future__ import annotations

import ctypes
import re
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

AMD, NVIDIA = 0x1002, 0x10DE  # PCI vendors, as ONNX Runtime names devices by
VENDORS = {
    "MIGraphXExecutionProvider": AMD, "ROCMExecutionProvider": AMD,
    "CUDAExecutionProvider": NVIDIA, "TensorrtExecutionProvider": NVIDIA,
}  # fmt: skip
LIBRARIES = {
    AMD: ("libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"), NVIDIA: ("libcuda.so.1",),
}  # fmt: skip
#: The functions that both have, with the same arguments; each answers 0 where all went well.
NAMES = {
    AMD: {
        "stream": "hipStreamCreateWithFlags", "event": "hipEventCreateWithFlags", "record": "hipEventRecord",
        "wait": "hipEventSynchronize", "between": "hipEventElapsedTime", "hold": "hipLaunchHostFunc",
        "bus": "hipDeviceGetPCIBusId",
    },
    NVIDIA: {
        "stream": "cuStreamCreate", "event": "cuEventCreate", "record": "cuEventRecord",
        "wait": "cuEventSynchronize", "between": "cuEventElapsedTime", "hold": "cuLaunchHostFunc",
        "bus": "cuDeviceGetPCIBusId",
    },
}  # fmt: skip
NON_BLOCKING, SHORTEST_NAP = 1, 0.05


class ClockUnavailable(RuntimeError):
    """Why the device's clock cannot be had here."""


class RuntimeGpu:
    """One GPU by its runtime's number. Raises ClockUnavailable without a runtime or such a GPU."""

    def __init__(self, vendor: int, number: int, library: Any = None) -> None:
        self.vendor, self.number, self.names = vendor, number, NAMES[vendor]
        self.library = library or _library(vendor)
        if vendor == NVIDIA:
            self.call("cuInit", 0)

    def call(self, function: str, *arguments: Any) -> None:
        error = getattr(self.library, function)(*arguments)
        if error:
            raise ClockUnavailable(f"{function} answered {error}")

    def call_by_role(self, what: str, *arguments: Any) -> None:
        self.call(self.names[what], *arguments)

    def bus(self) -> str:
        """Its PCI address, lower case, such as 0000:c1:00.0."""
        text = ctypes.create_string_buffer(64)
        self.call_by_role("bus", text, 64, self.number)
        return text.value.decode().lower()

    def use(self) -> None:
        """Make it this thread's device."""
        if self.vendor == AMD:
            self.call("hipSetDevice", self.number)
        else:
            context = ctypes.c_void_p()
            self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), self.number)
            self.call("cuCtxSetCurrent", context)

    def create(self, what: str, flags: int = 0) -> ctypes.c_void_p:
        handle = ctypes.c_void_p()
        self.call_by_role(what, ctypes.byref(handle), flags)
        return handle


class DeviceEvents:
    """A clock that reads the device's own: events before and after the work on a stream that the session is given.

    `options` are the provider options that hand the stream over.
    """

    def __init__(self, gpu: RuntimeGpu) -> None:
        gpu.use()
        self.gpu, self.stream = gpu, gpu.create("stream", NON_BLOCKING)
        self.start, self.stop = gpu.create("event"), gpu.create("event")
        self.options = {"has_user_compute_stream": "1", "user_compute_stream": str(self.stream.value)}

    def __call__(self, run: Callable[[], None]) -> float:
        """Seconds from the stream's reaching the run to its last kernel's end; `run` need not wait for it."""
        self.gpu.call_by_role("record", self.start, self.stream)
        run()
        self.gpu.call_by_role("record", self.stop, self.stream)
        self.gpu.call_by_role("wait", self.stop)
        milliseconds = ctypes.c_float()
        self.gpu.call_by_role("between", ctypes.byref(milliseconds), self.start, self.stop)
        return milliseconds.value * 1e-3

    def check_stream(self, run: Callable[[], None]) -> None:
        """Raise ClockUnavailable unless the session works on this stream: else the events would time something else.

        `run` waits for its own end. The stream gets a host function that sleeps. A session on this stream takes longer
        by that time, a session on another stream does not.
        """
        usual = _wall(run)
        nap = min(0.9, max(SHORTEST_NAP, usual))
        sleep = ctypes.cast(ctypes.CDLL(None).usleep, ctypes.c_void_p)
        self.gpu.call_by_role("hold", self.stream, sleep, ctypes.c_void_p(round(nap * 1e6)))
        if _wall(run) < usual + nap * 0.6:
            raise ClockUnavailable("the session does not work on the stream it was given")
        if self.gpu.vendor == AMD and len(hip_runtimes()) > 1:
            raise ClockUnavailable(f"two HIP runtimes are in one process: {', '.join(sorted(hip_runtimes()))}")


def _wall(run: Callable[[], None]) -> float:
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


def hip_runtimes(maps: Path = Path("/proc/self/maps")) -> frozenset[str]:
    """The files of HIP's runtime that this process has mapped."""
    return frozenset(re.findall(r"/\S*libamdhip64\.so\S*", maps.read_text()))


def _library(vendor: int) -> Any:
    """The runtime that the process has already, else the newest that the loader finds."""
    there = sorted(hip_runtimes()) if vendor == AMD else []
    for name in (*there, *LIBRARIES[vendor]):
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    raise ClockUnavailable(f"the loader finds none of {', '.join(LIBRARIES[vendor])}")


def memory_reader(vendor: int, numbers: Sequence[int], root: Path = Path("/")) -> Callable[[], int] | None:
    """A function that returns the bytes in use on those GPUs, by all processes; None where the machine cannot tell.

    amdgpu's sysfs (kernel documentation, gpu/amdgpu/driver-misc.rst) or NVIDIA's management library.
    """
    readers = [_amd(n, root) if vendor == AMD else _nvidia(n) for n in numbers]
    usable = [r for r in readers if r]
    return (lambda: sum(read() for read in usable)) if usable and len(usable) == len(readers) else None


def _bus(vendor: int, number: int) -> str:
    try:
        return RuntimeGpu(vendor, number).bus()
    except (ClockUnavailable, AttributeError):
        return ""


def _amd(number: int, root: Path) -> Callable[[], int] | None:
    """By the PCI address the runtime gives the number; without a runtime, the n-th card."""
    bus = _bus(AMD, number)
    cards = sorted((root / "sys/class/drm").glob("card*/device/mem_info_vram_used"))
    files = [root / "sys/bus/pci/devices" / bus / "mem_info_vram_used"] if bus else cards[number : number + 1]
    return next(((lambda f=file: int(f.read_text())) for file in files if file.is_file()), None)


def _nvidia(number: int) -> Callable[[], int] | None:
    try:
        nvml = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return None
    handle, memory, bus = ctypes.c_void_p(), (ctypes.c_ulonglong * 3)(), _bus(NVIDIA, number)
    if nvml.nvmlInit_v2():
        return None
    if (nvml.nvmlDeviceGetHandleByPciBusId_v2(bus.encode(), ctypes.byref(handle)) if bus
            else nvml.nvmlDeviceGetHandleByIndex_v2(number, ctypes.byref(handle))):  # fmt: skip
        return None

    def used_memory() -> int:
        nvml.nvmlDeviceGetMemoryInfo(handle, ctypes.byref(memory))
        return int(memory[2])

    return used_memory
