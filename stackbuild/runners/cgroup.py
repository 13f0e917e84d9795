"""Limits of memory and processes for a process tree through control groups, v1 or v2, where the machine lets us make one.

Where it does not (no root, no delegation) they are not enforced here, and out of memory is detected by the machine-wide
counter of the kernel's OOM killer instead.

A group's folder is locked (flock(2)) by the process that made it, for as long as that lives. So whoever gets the lock
knows that the owner is dead, whatever process namespace either is in.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

UNIFIED_ROOT = Path("/sys/fs/cgroup")
"""Where groups of version 2 are made; those of version 1 in `memory` and `pids` below it."""
V1_LIMITS = {"memory": "memory.limit_in_bytes", "pids": "pids.max"}
PREFIX = "stackbuild-"
REMOVE_SECONDS, POLL_SECONDS = 1.0, 0.005
FIRST_SAMPLE_SECONDS, SAMPLE_SECONDS = 0.02, 0.25
"""Memory is read so long after a command's start, then at twice the interval each time, up to the second figure."""


@dataclass(frozen=True)
class Group:
    """The folders of a control group, one a hierarchy; none where no group can be made.

    `kills_before` is the kernel's OOM count when it was made.
    """

    folders: tuple[Path, ...]
    kills_before: int

    @property
    def entry_files(self) -> tuple[str, ...]:
        """The files that a process of one thread writes 0 into to enter.

        In version 1 that is `tasks`. The kernel then moves one thread and needs no grace period of RCU. A write to
        `cgroup.procs` waits for one: 13 ms instead of 0.1 ms on Linux 6.18.
        """
        tasks = ((folder, folder / "tasks") for folder in self.folders)
        return tuple(str(file if file.exists() else folder / "cgroup.procs") for folder, file in tasks)

    @property
    def limits_memory(self) -> bool:
        return any(_kills_file(folder) for folder in self.folders)

    def ran_out(self) -> bool | None:
        """Whether the kernel killed something for memory meanwhile: in the group, or anywhere if there is none. None where
        there is none and nothing was killed: memory may have been refused."""
        files = [file for folder in self.folders if (file := _kills_file(folder))]
        if files:
            return sum(map(_kills, files)) > 0
        return True if _kills_machine() > self.kills_before else None

    def memory(self) -> int:
        """Bytes of anonymous and shared memory in use, page cache left out; 0 where no group counts them."""
        for folder in self.folders:
            with contextlib.suppress(OSError):
                text = (folder / "memory.stat").read_text()
                return (_field(text, "anon") or _field(text, "rss")) + _field(text, "shmem")
        return 0


class PeakMemory:
    """Samples a group's memory in a thread of its own, from entering to leaving. `bytes` is the largest sample."""

    def __init__(self, group: Group) -> None:
        self.bytes = 0
        self._group = group
        self._end_event = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self) -> Self:
        if self._group.limits_memory:
            self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._end_event.set()
        if self._thread.ident is not None:
            self._thread.join()

    def _sample(self) -> None:
        wait = FIRST_SAMPLE_SECONDS
        while not self._end_event.wait(wait):
            self.bytes = max(self.bytes, self._group.memory())
            wait = min(2 * wait, SAMPLE_SECONDS)


@contextlib.contextmanager
def limits(label: str, memory: int, processes: int) -> Iterator[Group]:
    """A group with that many bytes of memory and that many processes and threads; removed at the end."""
    with contextlib.ExitStack() as stack:
        folders = tuple(
            stack.enter_context(_remove_at_end(folder, lock))
            for folder, lock in _group_folders(label, memory, processes)
        )
        yield Group(folders, _kills_machine())


def reap() -> tuple[str, ...]:
    """Remove the groups whose owner is dead, with what still runs in them; the names of those removed."""
    labels = []
    for parent in (UNIFIED_ROOT, *(UNIFIED_ROOT / name for name in V1_LIMITS)):
        for folder in parent.glob(f"{PREFIX}*"):
            with contextlib.suppress(OSError):  # its owner lives, it is another user's, or another start removed it
                lock = _lock(folder)
                try:
                    _kill_all(folder)
                    _remove(folder)
                    labels.append(f"control group {folder.name}")
                finally:
                    os.close(lock)
    return tuple(dict.fromkeys(labels))


def _group_folders(label: str, memory: int, processes: int) -> Iterator[tuple[Path, int]]:
    """The folders of a new group with their locks; no process id in the name, which is another's in another namespace."""
    name = f"{PREFIX}{label}.{secrets.token_hex(4)}"
    enabled_controllers = _words(UNIFIED_ROOT / "cgroup.subtree_control")
    if "memory" in enabled_controllers:
        limit_files = {"memory.max": memory, **({"pids.max": processes} if "pids" in enabled_controllers else {})}
        yield from _make(UNIFIED_ROOT / name, limit_files)
        return
    for hierarchy, value in (("memory", memory), ("pids", processes)):
        if (UNIFIED_ROOT / hierarchy / "cgroup.procs").exists():
            yield from _make(UNIFIED_ROOT / hierarchy / name, {V1_LIMITS[hierarchy]: value})


def _make(folder: Path, values: dict[str, int]) -> Iterator[tuple[Path, int]]:
    try:
        folder.mkdir()
    except OSError:
        return
    try:
        lock = _lock(folder)
    except OSError:  # another start's clean-up came in between, and removes it
        return
    try:
        for file, value in values.items():
            (folder / file).write_text(str(value))
    except OSError:
        os.close(lock)
        with contextlib.suppress(OSError):
            folder.rmdir()
        return
    yield folder, lock


@contextlib.contextmanager
def _remove_at_end(folder: Path, lock: int) -> Iterator[Path]:
    try:
        yield folder
    finally:
        os.close(lock)
        _remove(folder)


def _lock(folder: Path) -> int:
    """A descriptor that holds the folder's lock. Raises OSError: where another holds it, or it is gone."""
    file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.stat(folder)  # noqa: PTH116 - whoever had the lock may have removed it
    except OSError:
        os.close(file)
        raise
    return file


def _kill_all(folder: Path) -> None:
    """Kill every process of a group. Raises OSError.

    Version 2 has a file for it: in `cgroup.procs` a process of another namespace is 0, and signal 0's group is our own.
    """
    if (kill := folder / "cgroup.kill").exists():
        kill.write_text("1")
        return
    until = time.monotonic() + REMOVE_SECONDS
    while (pids := [int(word) for word in _words(folder / "cgroup.procs")]) and time.monotonic() < until:
        for pid in pids:
            if pid > 0:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        time.sleep(POLL_SECONDS)


def _remove(folder: Path) -> None:
    """Remove a group; in a thread of its own where its last process is not reaped yet. The interpreter waits for that."""
    try:
        folder.rmdir()
    except FileNotFoundError:  # a clean-up was faster
        return
    except OSError:
        threading.Thread(target=_remove_soon, args=(folder,)).start()


def _remove_soon(folder: Path) -> None:
    until = time.monotonic() + REMOVE_SECONDS
    while time.monotonic() < until:
        time.sleep(POLL_SECONDS)
        with contextlib.suppress(OSError):
            folder.rmdir()
            return


def _words(file: Path) -> list[str]:
    with contextlib.suppress(OSError):
        return file.read_text().split()
    return []


def _kills_file(folder: Path) -> Path | None:
    files = (folder / name for name in ("memory.events", "memory.oom_control"))
    return next((file for file in files if file.exists()), None)


def _kills(file: Path) -> int:
    with contextlib.suppress(OSError):
        return _field(file.read_text(), "oom_kill")
    return 0


def _kills_machine() -> int:
    return _kills(Path("/proc/vmstat"))


def _field(text: str, name: str) -> int:
    return next((int(line.split()[1]) for line in text.splitlines() if line.split()[0] == name), 0)
