"""Rung 8: proof that the GPU worked, from the kernel's own counters of every AMD GPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread

from stackbuild.verification.catalogue import IDLE
from stackbuild.verification.rung import Outcome

DRM = Path("/sys/class/drm")
_EVERY = 0.02
#: Memory that a session with a model takes at least; a desktop's idle movement stays below.
_MEMORY = 16 << 20
_BUSY = 5
_AMD = "0x1002"


@dataclass
class Watched:
    """The counters of one GPU before, and their largest values meanwhile: bytes of VRAM, per cent busy."""

    name: str
    memory_before: int = 0
    memory: int = 0
    busy_before: int = 0
    busy: int = 0

    @property
    def worked(self) -> bool:
        return self.memory - self.memory_before >= _MEMORY or self.busy - self.busy_before >= _BUSY


@dataclass(frozen=True)
class Watch:
    """All AMD GPUs of the machine, watched while something runs."""

    root: Path = DRM
    seen: list[Watched] = field(default_factory=list)

    def cards(self) -> list[Path]:
        """The device folders of AMD GPUs."""
        found = [card / "device" for card in sorted(self.root.glob("card[0-9]*")) if "-" not in card.name]
        return [device for device in found if _text(device / "vendor") == _AMD]

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Sample the counters until the block ends."""
        rows = [
            (device, Watched(device.parent.name, *(_counters(device)[0],) * 2, *(_counters(device)[1],) * 2))
            for device in self.cards()
        ]
        self.seen.extend(row for _, row in rows)
        ended = Event()
        sampler = Thread(target=_sample, args=(rows, ended), daemon=True)
        sampler.start()
        try:
            yield
        finally:
            ended.set()
            sampler.join()


def _sample(rows: list[tuple[Path, Watched]], ended: Event) -> None:
    while not ended.wait(_EVERY):
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


def gpu_worked(watch: Watch, run: Callable[[], object], waits: str) -> Outcome:
    """Run something on the provider and see whether a GPU moved."""
    if not watch.cards():
        return Outcome(skip="no AMD GPU here")
    if waits:
        return Outcome(skip=waits)
    with watch.watching():
        run()
    told = ", ".join(
        f"{w.name}: {max(0, w.memory - w.memory_before) >> 20} MiB of memory, busy up to {w.busy} %" for w in watch.seen
    )
    if not any(w.worked for w in watch.seen):
        return Outcome((IDLE.finding("GPU", told),))
    return Outcome(says=told)
