"""A memory limit for a process tree through a control group, v1 or v2, where the machine lets us make one.

Where it does not (no root, no delegation) the limit is not enforced, and out of memory is told by the machine-wide
counter of the kernel's OOM killer instead.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_count = itertools.count()
PARENTS = (Path("/sys/fs/cgroup"), Path("/sys/fs/cgroup/memory"))
"""Where groups are made: version 2, version 1."""
REMOVE_SECONDS, POLL_SECONDS = 1.0, 0.005


@dataclass(frozen=True)
class Group:
    """A control group, or none (`folder` is None). `kills_before` is the kernel's OOM count when it was made."""

    folder: Path | None
    kills_before: int

    @property
    def entry_file(self) -> str:
        """The file that a process of one thread writes 0 into to enter; "" where there is no group.

        In version 1 that is `tasks`. The kernel then moves one thread and needs no grace period of RCU. A write to
        `cgroup.procs` waits for one: 13 ms instead of 0.1 ms on Linux 6.18.
        """
        if self.folder is None:
            return ""
        tasks = self.folder / "tasks"
        return str(tasks if tasks.exists() else self.folder / "cgroup.procs")

    def ran_out(self) -> bool:
        """Whether the kernel killed something for memory meanwhile: in the group, or anywhere if there is none."""
        return (_kills(self.folder) if self.folder else _kills_machine() - self.kills_before) > 0


@contextlib.contextmanager
def memory_limit(label: str, memory: int) -> Iterator[Group]:
    """A group with that many bytes of memory; removed at the end."""
    folder = _make(f"stackbuild.{label}.{os.getpid()}.{next(_count)}", memory)
    try:
        yield Group(folder, _kills_machine())
    finally:
        if folder is not None:
            _remove(folder)


def reap() -> tuple[str, ...]:
    """Remove the groups of runs whose process is gone, with what still runs in them; the names of those removed.

    bwrap's inner process is bound to its parent's life only once it has set up the sandbox: killed before, it lives on.
    """
    gone = []
    for parent in PARENTS:
        for folder in parent.glob("stackbuild.*.*.*"):
            if not Path("/proc", folder.name.split(".")[-2]).exists():
                with contextlib.suppress(OSError):  # another user's, or removed by another start
                    for pid in (folder / "cgroup.procs").read_text().split():
                        os.kill(int(pid), signal.SIGKILL)
                    _remove(folder)
                    gone.append(f"control group {folder.name}")
    return tuple(gone)


def _make(name: str, memory: int) -> Path | None:
    for parent, limit in zip(PARENTS, ("memory.max", "memory.limit_in_bytes"), strict=True):
        folder = parent / name
        try:
            if not (parent / "cgroup.procs").exists() or (limit == "memory.max" and not _has_memory(parent)):
                continue
            folder.mkdir()
            (folder / limit).write_text(str(memory))
        except OSError:
            with contextlib.suppress(OSError):
                folder.rmdir()
            continue
        return folder
    return None


def _has_memory(parent: Path) -> bool:
    return "memory" in (parent / "cgroup.subtree_control").read_text().split()


def _remove(folder: Path) -> None:
    """Remove a group; in a thread of its own where its last process is not reaped yet. The interpreter waits for that."""
    try:
        folder.rmdir()
    except OSError:
        threading.Thread(target=_remove_soon, args=(folder,)).start()


def _remove_soon(folder: Path) -> None:
    until = time.monotonic() + REMOVE_SECONDS
    while time.monotonic() < until:
        time.sleep(POLL_SECONDS)
        with contextlib.suppress(OSError):
            folder.rmdir()
            return


def _kills(folder: Path) -> int:
    for name in ("memory.events", "memory.oom_control"):
        with contextlib.suppress(OSError):
            return _field((folder / name).read_text(), "oom_kill")
    return 0


def _kills_machine() -> int:
    with contextlib.suppress(OSError):
        return _field(Path("/proc/vmstat").read_text(), "oom_kill")
    return 0


def _field(text: str, name: str) -> int:
    return next((int(line.split()[1]) for line in text.splitlines() if line.split()[0] == name), 0)
