"""Rung 8: proof that the GPU worked, from the kernel's own counters of every AMD GPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread

from stackbuild.verification.catalogue import IDLE
from stackbuild.verification.rung import RungOutcome

DRM = Path("/sys/class/drm")
KFD = Path("/dev/kfd")
NO_GPU_HERE = "no AMD GPU here"
_EVERY = 0.02
#: Memory that a session with a model takes at least; a desktop's idle movement stays below.
_MEMORY = 16 << 20
_BUSY = 5
_AMD = "0x1002"


@dataclass
class GpuActivity:
    """The counters of one GPU before, and their largest values meanwhile: bytes of VRAM, per cent busy."""

    name: str
    memory_before: int = 0
    memory: int = 0
    busy_before: int = 0
    busy: int = 0

    @property
    def is_busy(self) -> bool:
        return self.memory - self.memory_before >= _MEMORY or self.busy - self.busy_before >= _BUSY


@dataclass(frozen=True)
class GpuWatch:
    """All AMD GPUs of the machine, watched while something runs."""

    root: Path = DRM
    activities: list[GpuActivity] = field(default_factory=list)

    def cards(self) -> list[Path]:
        """The device folders of AMD GPUs."""
        cards = [card / "device" for card in sorted(self.root.glob("card[0-9]*")) if "-" not in card.name]
        return [device for device in cards if _text(device / "vendor") == _AMD]

    def is_here(self) -> bool:
        """Whether there is an AMD GPU that HIP could use: a container may have the device without its counters."""
        return bool(self.cards()) or KFD.exists()

    @contextmanager
    def sampling(self) -> Iterator[None]:
        """Sample the counters until the block ends."""
        rows = [
            (device, GpuActivity(device.parent.name, *(_counters(device)[0],) * 2, *(_counters(device)[1],) * 2))
            for device in self.cards()
        ]
        self.activities.extend(row for _, row in rows)
        stop = Event()
        sampler = Thread(target=_sample, args=(rows, stop), daemon=True)
        sampler.start()
        try:
            yield
        finally:
            stop.set()
            sampler.join()


def _sample(rows: list[tuple[Path, GpuActivity]], stop: Event) -> None:
    has_ended = False
    while not has_ended:
        has_ended = stop.wait(_EVERY)  # once more after the end: the run may have been shorter than the interval
        for device, row in rows:
            memory, busy = _counters(device)
            row.memory, row.busy = max(row.memory, memory), max(row.busy, busy)


def _counters(device: Path) -> tuple[int, int]:
    return _number(device / "mem_info_vram_used"), _number(device / "gpu_busy_percent")


def _number(path: Path) -> int:
    text = _text(path)
    return int(text) if text.isdigit() else 0


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def check_gpu_activity(watch: GpuWatch, run: Callable[[], object], blocker: str) -> RungOutcome:
    """Run something on the provider and see whether a GPU moved."""
    if not watch.cards():
        return RungOutcome(skip=NO_GPU_HERE)
    if blocker:
        return RungOutcome(skip=blocker)
    with watch.sampling():
        run()
    activity = ", ".join(
        f"{w.name}: {max(0, w.memory - w.memory_before) >> 20} MiB of memory, busy up to {w.busy} %"
        for w in watch.activities
    )
    if not any(w.is_busy for w in watch.activities):
        return RungOutcome((IDLE.finding("GPU", activity),))
    return RungOutcome(says=activity)
