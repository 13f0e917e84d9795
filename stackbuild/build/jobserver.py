"""One jobserver for all steps of a run: GNU make's protocol over a FIFO, which make ≥ 4.4 and ninja ≥ 1.13 speak.

A step holds one token while it runs (the one every make may use unasked); its compilers take more from the FIFO. Tokens
that a killed child took with it are put back when nothing runs.
Source: "POSIX Jobserver" in the manual of GNU make 4.4.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

from stackbuild.core.cancel import Stopper

POLL_SECONDS = 0.02


class Jobserver:
    """`jobs` tokens in the FIFO at `path`, which is made here."""

    def __init__(self, path: Path, jobs: int) -> None:
        self.path = path
        self.jobs = jobs
        os.mkfifo(path, 0o600)
        self._fd = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        self.refill()

    def refill(self) -> None:
        """Make it `jobs` tokens again; only while no step runs."""
        with contextlib.suppress(BlockingIOError):
            while os.read(self._fd, 4096):
                pass
        self._put(self.jobs)

    @contextlib.contextmanager
    def token(self, stopper: Stopper) -> Iterator[None]:
        """Hold one token. Raises Stopped while waiting for it."""
        while not self._take():
            stopper.check()
            time.sleep(POLL_SECONDS)
        try:
            yield
        finally:
            self._put(1)

    def free_tokens(self) -> int:
        """How many tokens nobody holds at this moment."""
        return int.from_bytes(fcntl.ioctl(self._fd, termios.FIONREAD, bytes(4)), sys.byteorder)

    def _put(self, tokens: int) -> None:
        """Put tokens in. A step may have filled the FIFO: they are made right when no step runs."""
        with contextlib.suppress(BlockingIOError):
            os.write(self._fd, b"+" * tokens)

    def _take(self) -> bool:
        try:
            return bool(os.read(self._fd, 1))
        except BlockingIOError:
            return False

    @property
    def makeflags(self) -> str:
        """What MAKEFLAGS is in a session that sees the FIFO at /jobserver."""
        return f" -j{self.jobs} --jobserver-auth=fifo:/jobserver"

    def close(self) -> None:
        os.close(self._fd)
        self.path.unlink(missing_ok=True)
