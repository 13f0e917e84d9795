"""Stopping a run: by a signal, once, and not under nohup."""

from __future__ import annotations

import io
import os
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from stackbuild.core.cancel import Stopper, check_signals, pause, until_stopped, within_seconds, worker_threads
from stackbuild.core.copy_file import PIECE, copy_file
from stackbuild.core.digest import of_file, of_stream
from stackbuild.core.errors import Interruption


def test_a_stopper_is_set_once_and_signals_set_it() -> None:
    stopper = Stopper()
    before = signal.getsignal(signal.SIGTERM)
    with stopper.on_signals():
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.01)
        assert stopper.signal == signal.SIGTERM
    assert signal.getsignal(signal.SIGTERM) is before
    stopper.set(signal.SIGINT)
    with pytest.raises(Interruption) as caught:
        stopper.check()
    assert caught.value.exit_code == 143


def test_a_build_under_nohup_outlives_its_terminal() -> None:
    stopper = Stopper()
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with stopper.on_signals():
            signal.raise_signal(signal.SIGHUP)
            stopper.check()
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.fixture
def stopped() -> Iterator[None]:
    with Stopper().on_signals():
        signal.raise_signal(signal.SIGTERM)
        yield


def test_a_long_file_is_not_read_on_after_a_signal() -> None:
    class Endless(io.BytesIO):
        reads = 0

        def read(self, size: int | None = -1, /) -> bytes:
            self.reads += 1
            if self.reads == 3:
                signal.raise_signal(signal.SIGTERM)
            assert self.reads < 10
            return b"x" * 100

    with Stopper().on_signals(), pytest.raises(Interruption):
        of_stream(Endless())


def test_a_digest_is_that_of_all_pieces(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"ab" * 300_000)
    assert of_file(tmp_path / "a") == "7afdccdfbe56487cf9a66f9f182911c6068f33acf08bb6106341ac239072005c"


def test_a_copy_ends_after_a_signal(stopped: None, tmp_path: Path) -> None:
    (tmp_path / "long").touch()
    os.truncate(tmp_path / "long", 10 * PIECE)
    with pytest.raises(Interruption):
        copy_file(tmp_path / "long", tmp_path / "copy")
    assert (tmp_path / "copy").stat().st_size <= PIECE


def test_a_copy_is_whole_and_a_fifo_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(os.urandom(PIECE + 1))
    copy_file(tmp_path / "a", tmp_path / "b")
    assert (tmp_path / "b").read_bytes() == (tmp_path / "a").read_bytes()
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(shutil.SpecialFileError):
        copy_file(tmp_path / "fifo", tmp_path / "c")


def test_items_end_after_a_signal(stopped: None) -> None:
    with pytest.raises(Interruption):
        list(until_stopped([1]))


def test_threads_end_with_an_exception_in_their_owner() -> None:
    ended: list[bool] = []

    def work(number: int) -> None:
        try:
            for _ in range(5000):
                check_signals()
                time.sleep(0.001)
        except Interruption:
            ended.append(True)
            raise

    with pytest.raises(KeyboardInterrupt), worker_threads(2) as pool:
        pool.submit(work, 0)
        raise KeyboardInterrupt
    assert ended == [True]


@pytest.mark.parametrize("wait", (lambda: pause(20), lambda: within_seconds(lambda: time.sleep(20), 20)))
def test_a_signal_ends_a_wait(wait: Callable[[], None]) -> None:
    stopper, since = Stopper(), time.monotonic()
    with stopper.on_signals():
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGTERM)).start()
        with pytest.raises(Interruption):
            wait()
    assert time.monotonic() - since < 5


def test_what_takes_longer_than_its_seconds_is_left_alone() -> None:
    end_event = threading.Event()
    with pytest.raises(TimeoutError, match=r"no answer in 0\.1 s"):
        within_seconds(end_event.wait, 0.1)
    end_event.set()
    assert within_seconds(lambda: 3, 5) == 3
    with pytest.raises(ZeroDivisionError):
        within_seconds(lambda: 1 // 0, 5)
