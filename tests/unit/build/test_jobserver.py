"""The jobserver's tokens."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from stackbuild.build.jobserver import Jobserver
from stackbuild.core.cancel import Stopper
from stackbuild.core.errors import Interruption


def test_tokens_are_lent_and_come_back(tmp_path: Path) -> None:
    server = Jobserver(tmp_path / "fifo", 2)
    stopper = Stopper()
    assert server.free_tokens() == 2
    with server.token(stopper):
        assert server.free_tokens() == 1
    with server.token(stopper), server.token(stopper):
        assert not server._take() and server.free_tokens() == 0
    assert server._take() and server._take() and not server._take()
    server.refill()
    assert sum(server._take() for _ in range(5)) == 2
    assert server.makeflags == " -j2 --jobserver-auth=fifo:/jobserver"
    server.close()
    assert not (tmp_path / "fifo").exists()


def test_a_fifo_that_a_step_filled_is_made_right_when_nothing_runs(tmp_path: Path) -> None:
    server, stopper = Jobserver(tmp_path / "fifo", 2), Stopper()
    with server.token(stopper):
        step = os.open(tmp_path / "fifo", os.O_RDWR | os.O_NONBLOCK)
        with pytest.raises(BlockingIOError):
            while True:
                os.write(step, b"+" * 4096)
        os.close(step)
    server.refill()
    assert sum(server._take() for _ in range(100)) == 2
    server.close()


def test_waiting_for_a_token_ends_when_the_run_is_stopped(tmp_path: Path) -> None:
    server, stopper = Jobserver(tmp_path / "fifo", 1), Stopper()
    with server.token(stopper):
        threading.Timer(0.1, stopper.set, (signal.SIGINT,)).start()
        started = time.monotonic()
        with pytest.raises(Interruption) as caught, server.token(stopper):
            pass
        assert time.monotonic() - started < 2 and caught.value.exit_code == 130
    server.close()
