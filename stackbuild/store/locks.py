"""Locks that die with their holder: flock(2) on a file, the holder's pid inside for whoever waits."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

POLL_SECONDS = 0.05


@contextlib.contextmanager
def hold(path: Path, waiting: Callable[[str], None], check: Callable[[], None]) -> Iterator[None]:
    """Hold the lock of that file. While another holds it, `waiting` is told once by whom and `check` may raise."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        told = False
        while not _try(fd):
            if not told:
                waiting(os.pread(fd, 64, 0).decode("ascii", "replace").strip() or "unknown")
                told = True
            check()
            time.sleep(POLL_SECONDS)
        os.ftruncate(fd, 0)
        os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(fd)


def is_held(path: Path) -> bool:
    """Whether a live process holds the lock of that file."""
    try:
        fd = os.open(path, os.O_RDWR)
    except OSError:
        return False
    try:
        return not _try(fd)
    finally:
        os.close(fd)


def _try(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
