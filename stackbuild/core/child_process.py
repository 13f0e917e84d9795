"""Children that lead a process group of their own: waiting for one beside a stopper, and collecting what it says."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable

from stackbuild.core.cancel import POLL_SECONDS, WAIT_SECONDS, Stopper, check_signals

CHECK_SECONDS = 0.2
"""Between two calls of the check while a child runs."""
GRACE_SECONDS = 3.0
"""Between SIGTERM and SIGKILL for a child that is told to stop."""


def wait(process: subprocess.Popen[bytes], stopper: Stopper) -> int:
    """The exit code of a child that leads its own process group. Raises Stopped after the whole group has ended."""
    child = os.pidfd_open(process.pid)
    try:
        ready: list[int] = []
        while not ready:
            ready, _, _ = select.select([child, stopper.fileno()], [], [], WAIT_SECONDS)
        if child not in ready:
            _end(process, child)
            stopper.check()
        return process.wait()
    finally:
        os.close(child)


def wait_within(process: subprocess.Popen[bytes], seconds: float, check: Callable[[], None]) -> tuple[int, bool]:
    """The exit code of a child that leads its own process group, and whether it ran out of time.

    `check` is called five times a second, and what it raises ends the wait. Whatever happens, the whole group is killed.
    """
    until = time.monotonic() + seconds
    try:
        while (remaining := until - time.monotonic()) > 0:
            try:
                return process.wait(min(CHECK_SECONDS, remaining)), False
            except subprocess.TimeoutExpired:
                check()
        return -signal.SIGKILL, True
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def collect_output(process: subprocess.Popen[bytes], seconds: float, most: int) -> tuple[bytes, bytes]:
    """What a child that leads its own process group says until it ends, on standard output and error, as bytes.

    Whatever else happens, the whole group is killed. Raises Stopped, TimeoutError after so many seconds, and
    OverflowError where it says more than `most` bytes.
    """
    assert process.stdout is not None and process.stderr is not None
    buffers = {process.stdout.fileno(): bytearray(), process.stderr.fileno(): bytearray()}
    waiting, end = set(buffers), time.monotonic() + seconds
    try:
        while waiting:
            check_signals()
            if time.monotonic() > end:
                raise TimeoutError(f"not done after {seconds:g} s")
            for fd in select.select(waiting, [], [], POLL_SECONDS)[0]:
                data = os.read(fd, 1 << 16)
                buffers[fd] += data
                if not data:
                    waiting.discard(fd)
                if len(buffers[fd]) > most:
                    raise OverflowError(f"it says more than {most} bytes")
        process.wait()
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()
        process.stderr.close()
    out, err = buffers.values()
    return bytes(out), bytes(err)


def _end(process: subprocess.Popen[bytes], child: int) -> None:
    """SIGTERM to the group, SIGKILL after the grace."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        if select.select([child], [], [], GRACE_SECONDS)[0]:
            break
    process.wait()
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
