"""The guard ends the process groups of a process that is gone, and no others."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

from stackbuild.runners import guard

OWNER = """
import subprocess, sys, time
from stackbuild.runners.guard import guard_group
made = [subprocess.Popen(["sleep", "600"], start_new_session=True, stdout=subprocess.DEVNULL) for _ in range(3)]
with guard_group(made[0].pid), guard_group(made[1].pid):
    with guard_group(made[2].pid):
        pass
    print(*(process.pid for process in made), flush=True)
    time.sleep(600)
"""


def has_ended(process: int, seconds: float) -> bool:
    return bool(select.select([process], [], [], seconds)[0])


def test_groups_end_with_their_owner_and_one_that_was_left_does_not() -> None:
    owner = subprocess.Popen([sys.executable, "-c", OWNER], stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    pids = [int(word) for word in owner.stdout.readline().split()]
    one, two, left = (os.pidfd_open(pid) for pid in pids)
    try:
        assert not has_ended(one, 0.1)
        owner.send_signal(signal.SIGKILL)
        owner.communicate()
        assert has_ended(one, 10) and has_ended(two, 10)
        assert not has_ended(left, 0.2)
    finally:
        signal.pidfd_send_signal(left, signal.SIGKILL)
        for process in (one, two, left):
            os.close(process)


def words_of(pid: int) -> bytes:
    """The process's command line. For a moment after exec(2) closed the pipe that Popen waits for, Linux shows none."""
    end = time.monotonic() + 5
    while not (words := Path(f"/proc/{pid}/cmdline").read_bytes()) and time.monotonic() < end:
        time.sleep(0.001)
    return words


def test_one_that_somebody_ended_is_replaced_and_told_all_groups() -> None:
    with guard.guard_group(4_000_001):
        first = guard._guard
        assert first is not None
        first.kill()
        first.wait()
        with guard.guard_group(4_000_002):
            assert guard._guard is not None and guard._guard.pid != first.pid
            assert words_of(guard._guard.pid).startswith(b"/bin/sh\0-c\0trap")


def test_a_forked_child_has_no_guard_and_lets_go_of_the_pipe() -> None:
    with guard.guard_group(4_000_003):
        assert guard._guard is not None and guard._guard.stdin is not None
        pipe = guard._guard.stdin.fileno()
        child = os.fork()
        if not child:
            try:
                os.fstat(pipe)
            except OSError:
                os._exit(3 if guard._guard is None else 4)
            os._exit(5)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
