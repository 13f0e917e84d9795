"""The device's clock and memory on a real GPU: against the wall's clock, on work whose size is known."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Iterator

import pytest

from stackbuild.bench.devices import AMD, NVIDIA, ClockUnavailable, DeviceEvents, RuntimeGpu, memory_reader

pytestmark = pytest.mark.gpu
SIZE = 4 << 30
FUNCTIONS = {
    AMD: {"take": "hipMalloc", "give": "hipFree", "fill": "hipMemsetAsync", "finish": "hipStreamSynchronize"},
    NVIDIA: {"take": "cuMemAlloc_v2", "give": "cuMemFree_v2", "fill": "cuMemsetD8Async", "finish": "cuStreamSynchronize"},
}  # fmt: skip


class Filling:
    """Four GiB on the GPU, and filling them on a stream."""

    def __init__(self, gpu: RuntimeGpu, stream: ctypes.c_void_p) -> None:
        self.gpu, self.stream, self.memory = gpu, stream, ctypes.c_void_p()
        gpu.call(FUNCTIONS[gpu.vendor]["take"], ctypes.byref(self.memory), ctypes.c_size_t(SIZE))

    def fill(self) -> None:
        self.gpu.call(FUNCTIONS[self.gpu.vendor]["fill"], self.memory, 7, ctypes.c_size_t(SIZE), self.stream)

    def fill_and_wait(self) -> None:
        self.fill()
        self.gpu.call(FUNCTIONS[self.gpu.vendor]["finish"], self.stream)


@pytest.fixture
def clock() -> Iterator[DeviceEvents]:
    for vendor in (AMD, NVIDIA):
        try:
            yield DeviceEvents(RuntimeGpu(vendor, 0))
            return
        except ClockUnavailable:
            continue
    pytest.skip("no HIP runtime and no CUDA driver answers")


def test_events_agree_with_the_wall(clock: DeviceEvents) -> None:
    """On work long enough that its launch does not count, and twice the work is twice the time."""
    work = Filling(clock.gpu, clock.stream)
    work.fill_and_wait()
    once = min(clock(work.fill) for _ in range(5))
    twice = min(clock(lambda: (work.fill(), work.fill())[1]) for _ in range(5))
    walls = []
    for _ in range(5):
        began = time.perf_counter()
        work.fill_and_wait()
        walls.append(time.perf_counter() - began)
    print(
        f"4 GiB filled in {once * 1e3:.3f} ms by events, {min(walls) * 1e3:.3f} ms by the wall; twice {twice * 1e3:.3f} ms"
    )
    assert 0.9 < once / min(walls) < 1.02
    assert 1.9 < twice / once < 2.1


def test_only_work_on_the_stream_is_proved(clock: DeviceEvents) -> None:
    work = Filling(clock.gpu, clock.stream)
    clock.check_stream(work.fill_and_wait)
    elsewhere = Filling(clock.gpu, clock.gpu.create("stream", 1))
    with pytest.raises(ClockUnavailable, match="does not work on the stream"):
        clock.check_stream(elsewhere.fill_and_wait)


def test_memory_in_use_is_seen(clock: DeviceEvents) -> None:
    read = memory_reader(clock.gpu.vendor, [0])
    assert read, "neither sysfs nor NVML tells"
    before = read()
    Filling(clock.gpu, clock.stream)
    assert SIZE <= read() - before < SIZE + (256 << 20)
