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
    """Hold the lock of that file. While another holds it, `waiting` is called once with its holder, and `check` may raise."""
    path.parent.mkdir(parents=True, exist_ok=True)
    reported = False
    while (fd := _take(path)) is None:
        if not reported:
            waiting(_holder(path))
            reported = True
        check()
        time.sleep(POLL_SECONDS)
    try:
        os.ftruncate(fd, 0)
        os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(fd)


def remove_dead(path: Path, with_it: Callable[[], None]) -> bool:
    """Unless a live process holds it: do `with_it` while holding the lock, then remove its file. False when it is held."""
    fd = _take(path)
    if fd is None:
        return False
    try:
        with_it()
        path.unlink(missing_ok=True)
    finally:
        os.close(fd)
    return True


def is_held(path: Path) -> bool:
    """Whether a live process holds the lock of that file."""
    try:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        return not _try(fd)
    finally:
        os.close(fd)


def _take(path: Path) -> int | None:
    """The locked file, or None when another holds it. A file that was removed meanwhile is not a lock: it is made anew."""
    while True:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        if not _try(fd):
            os.close(fd)
            return None
        with contextlib.suppress(FileNotFoundError):
            if os.fstat(fd).st_ino == path.stat().st_ino:
                return fd
        os.close(fd)


def _holder(path: Path) -> str:
    with contextlib.suppress(OSError):
        return path.read_bytes()[:64].decode("ascii", "replace").strip() or "unknown"
    return "unknown"


def _try(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
