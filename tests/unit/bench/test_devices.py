"""The device's clock, on a runtime that is made up: which functions are called with what, and when it is refused."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, ClassVar

import pytest

from stackbuild.bench import devices
from stackbuild.bench.devices import (
    AMD,
    NVIDIA,
    ClockUnavailable,
    DeviceEvents,
    RuntimeGpu,
    hip_runtimes,
    memory_reader,
)
from stackbuild.bench.environment import plain_environment
from stackbuild.bench.experiment import Contender, Experiment, with_libraries
from stackbuild.bench.job import SessionOptions, TimingBudget
from stackbuild.bench.providers import clock_name, provider_options
from stackbuild.core.errors import UsageError
from stackbuild.model.results import Side
from stackbuild.tables.provider_options import plugin_providers


class Made:
    """A runtime with one stream: events are stamped with when the stream gets to them, in seconds of its own."""

    def __init__(self, broken: str = "") -> None:
        self.now, self.busy_until, self.stamps, self.called = 0.0, 0.0, dict[int, float](), list[str]()
        self.handles, self.broken = iter(range(0x7F00_0000_1000, 0x7F00_0000_2000)), broken

    def __getattr__(self, function: str) -> Any:
        if not function.startswith(("hip", "cu")):
            raise AttributeError(function)

        def call(*arguments: Any) -> int:
            self.called.append(function)
            for part, act in self.ACTS.items():
                if part in function:
                    act(self, *arguments)
            return 1 if function == self.broken else 0

        return call

    def create(self, into: Any, flags: int) -> None:
        into._obj.value = next(self.handles)

    def record(self, event: Any, stream: Any) -> None:
        self.stamps[event.value] = self.now

    def elapsed(self, into: Any, start: Any, stop: Any) -> None:
        into._obj.value = (self.stamps[stop.value] - self.stamps[start.value]) * 1e3

    def hold(self, stream: Any, function: Any, data: Any) -> None:
        self.busy_until = time.perf_counter() + data.value * 1e-6

    def bus(self, text: Any, size: int, number: int) -> None:
        text.value = f"0000:C{number}:00.0".encode()

    ACTS: ClassVar[dict[str, Any]] = {
        "StreamCreate": create, "EventCreate": create, "EventRecord": record, "ElapsedTime": elapsed,
        "LaunchHostFunc": hold, "PCIBusId": bus,
    }  # fmt: skip


def events(vendor: int, made: Made) -> DeviceEvents:
    return DeviceEvents(RuntimeGpu(vendor, 0, made))


@pytest.mark.parametrize(("vendor", "prefix"), [(AMD, "hip"), (NVIDIA, "cu")])
def test_seconds_are_those_between_the_events(vendor: int, prefix: str) -> None:
    made = Made()
    clock = events(vendor, made)

    def run() -> None:
        made.now += 0.012

    assert clock(run) == pytest.approx(0.012)
    assert {name[: len(prefix)] for name in made.called} == {prefix}
    assert clock.options == {"has_user_compute_stream": "1", "user_compute_stream": str(0x7F00_0000_1000)}


def test_a_session_on_another_stream_is_found_out() -> None:
    """A made-up session on the stream waits for what holds the stream up; another does not."""
    made = Made()
    clock = events(AMD, made)
    clock.check_stream(lambda: time.sleep(max(0.0, made.busy_until - time.perf_counter())))
    with pytest.raises(ClockUnavailable, match="does not work on the stream"):
        clock.check_stream(lambda: None)


def test_a_runtime_that_refuses_is_named() -> None:
    with pytest.raises(ClockUnavailable, match="hipEventCreateWithFlags answered 1"):
        events(AMD, Made("hipEventCreateWithFlags"))
    with pytest.raises(ClockUnavailable, match="cuInit answered 1"):
        RuntimeGpu(NVIDIA, 0, Made("cuInit"))
    with pytest.raises(ClockUnavailable, match="the loader finds none of libamdhip64"):
        RuntimeGpu(AMD, 0)


def test_memory_is_read_of_the_card_that_the_runtime_means(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The runtime's first GPU need not be sysfs's first card."""
    files = {"c0": "111", "c1": "222"}
    for bus, used in files.items():
        folder = tmp_path / f"sys/bus/pci/devices/0000:{bus}:00.0"
        folder.mkdir(parents=True)
        (folder / "mem_info_vram_used").write_text(used + "\n")
        card = tmp_path / f"sys/class/drm/card{int(bus[1])}/device"
        card.mkdir(parents=True)
        (card / "mem_info_vram_used").write_text(used[::-1] + "9\n")
    monkeypatch.setattr(devices, "_library", lambda vendor: Made())
    both, second = memory_reader(AMD, [0, 1], tmp_path), memory_reader(AMD, [1], tmp_path)
    assert both and second and both() == 333 and second() == 222
    assert memory_reader(AMD, [0, 7], tmp_path) is None
    monkeypatch.undo()
    alone = memory_reader(AMD, [1], tmp_path)
    assert alone and alone() == 2229
    assert memory_reader(AMD, [0], tmp_path / "nothing") is None


def test_runtimes_in_the_process_are_told_by_its_map(tmp_path: Path) -> None:
    maps = tmp_path / "maps"
    maps.write_text(
        "7f00-7f01 r-xp 0 0:0 1 /opt/rocm/lib/libamdhip64.so.7.1\n7f02-7f03 r-xp 0 0:0 1 /w/x/libamdhip64.so.6\n"
        "7f04-7f05 r-xp 0 0:0 1 /opt/rocm/lib/libamdhip64.so.7.1\n7f06 r--p 0 /lib/libc.so.6\n"
    )
    assert hip_runtimes(maps) == {"/opt/rocm/lib/libamdhip64.so.7.1", "/w/x/libamdhip64.so.6"}


@pytest.mark.parametrize("provider", ["CPUExecutionProvider", "MIGraphXExecutionProvider"])
def test_a_provider_that_takes_no_stream_has_no_device_clock(provider: str) -> None:
    contender = Contender(Side("candidate", provider), plain_environment(), SessionOptions(provider))
    with pytest.raises(UsageError, match="takes no stream of the caller's") as stop:
        with_libraries(
            Experiment("s", "models", (contender,), (), TimingBudget(), process_per_case=True, clock="device")
        )
    assert "--clock wall" in stop.value.next
    with pytest.raises(UsageError, match="no clock 'gpu'"):
        clock_name("gpu")


def test_a_plugin_ep_of_the_same_name_takes_other_options() -> None:
    assert provider_options("MIGraphXExecutionProvider", ["fp16_enable=1"], plugin=True) == {"fp16_enable": "1"}
    with pytest.raises(UsageError, match="no option 'fp16_enable'") as stop:
        provider_options("MIGraphXExecutionProvider", ["fp16_enable=1"])
    assert "migraphx_fp16_enable" in stop.value.next
    assert "user_compute_stream" in plugin_providers()["MIGraphXExecutionProvider"].options
    with pytest.raises(UsageError, match="RocKernelsExecutionProvider has no option 'fused'") as stop:
        provider_options("RocKernelsExecutionProvider", ["fused=0"], plugin=True)
    assert "did you mean fuse?" in stop.value.next
