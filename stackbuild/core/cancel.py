"""How a run is stopped: SIGINT and SIGTERM set it, and `core/child_process.py` waits for it beside a child."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from types import FrameType
from typing import TYPE_CHECKING, Generic, TypeVar

from stackbuild.core.errors import Interruption

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

T = TypeVar("T")

POLL_SECONDS = 0.05
"""Between two looks at whether a signal has come."""

WAIT_SECONDS = 0.25
"""The longest wait of a main thread. Python runs a signal's handler between two bytecodes: a signal that comes right before
a wait without an end would be handled after it."""

IMPATIENT_SECONDS = 1.0
"""A second signal ends the process at once only so long after the first: `timeout` signals a child and then its group."""


class Stopper:
    """Set at most once; readable from any thread, and waitable together with a child."""

    def __init__(self) -> None:
        self.signal = 0
        self._since = 0.0
        self._reader, self._writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)

    def fileno(self) -> int:
        """For select(2): readable once it is set."""
        return self._reader

    def set(self, signal_number: int) -> None:
        """Stop everything that waits."""
        if not self.signal:
            self.signal = signal_number
            os.write(self._writer, b"x")

    def check(self) -> None:
        """Raises Stopped once the stopper is set."""
        if self.signal:
            raise Interruption(self.signal, next="run the same command again: it resumes where it stopped")

    @contextlib.contextmanager
    def on_signals(self) -> Iterator[None]:
        """Within, SIGINT, SIGTERM and SIGHUP set this stopper; a second one ends the process at once.

        A SIGHUP that is ignored, as `nohup` starts a program, stays ignored.
        """

        def handle(number: int, frame: FrameType | None) -> None:
            if self.signal and time.monotonic() - self._since > IMPATIENT_SECONDS:
                os._exit(128 + number)
            if not self.signal:
                self._since = time.monotonic()
                self.set(number)

        with signal_handler((signal.SIGINT, signal.SIGTERM, *unless_ignored(signal.SIGHUP)), handle):
            _listening.append(self)
            try:
                yield
            finally:
                _listening.remove(self)


_listening: list[Stopper] = []
"""The stoppers that signals of this process set: signals are the process's, so these are, too."""


def check_signals() -> None:
    """Raises Stopped once a signal has set a stopper of this process: for whoever was given none.

    In a thread of `worker_threads` it raises once their work is given up, too.
    """
    for stopper in _listening:
        stopper.check()
    given_up = getattr(_worker, "given_up", None)
    if given_up is not None and given_up.is_set():
        raise Interruption(signal.SIGINT, next="run the same command again")


def pause(seconds: float) -> None:
    """Sleep so long. Raises what `check_signals` raises as soon as that does."""
    end = time.monotonic() + seconds
    while (rest := end - time.monotonic()) > 0:
        check_signals()
        time.sleep(min(rest, POLL_SECONDS))
    check_signals()


class WorkThread(Generic[T]):
    """Work in a thread of its own. Who no longer waits for it leaves it alone: the process may end without it."""

    def __init__(self, work: Callable[[], T], name: str) -> None:
        self._work = work
        self._results: list[T] = []
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._results.append(self._work())
        except BaseException as error:  # raised again by who waits
            self._error = error

    def join(self, seconds: float = POLL_SECONDS) -> bool:
        """Wait at most so long for its end; whether it has ended."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def outcome(self) -> T:
        """What the work has returned, or raised. To be called after its end."""
        if self._error is not None:
            raise self._error
        return self._results[0]


def within_seconds(work: Callable[[], T], seconds: float) -> T:
    """What the work returns or raises. Raises TimeoutError once it took longer, and what `check_signals` raises at once."""
    check_signals()
    thread = WorkThread(work, "within-seconds")
    end = time.monotonic() + seconds
    while not thread.join():
        check_signals()
        if time.monotonic() > end:
            raise TimeoutError(f"no answer in {seconds:g} s")
    return thread.outcome()


def until_stopped(items: Iterable[T]) -> Iterator[T]:
    """The items, with `check_signals` before each."""
    for item in items:
        check_signals()
        yield item


_worker = threading.local()


@contextlib.contextmanager
def worker_threads(count: int, end_waits: Callable[[], None] = lambda: None) -> Iterator[ThreadPoolExecutor]:
    """Threads for work that calls `check_signals`: an exception within, a Ctrl-C too, does not wait for what they do.

    `end_waits` ends what they wait for elsewhere, such as a server.
    """
    from concurrent.futures import ThreadPoolExecutor

    given_up = threading.Event()
    pool = ThreadPoolExecutor(count, initializer=lambda: setattr(_worker, "given_up", given_up))
    try:
        yield pool
    except BaseException:
        given_up.set()
        end_waits()
        raise
    finally:
        pool.shutdown(cancel_futures=given_up.is_set())


def unless_ignored(*numbers: signal.Signals) -> tuple[signal.Signals, ...]:
    """Those of the signals that this process was not started deaf to, as `nohup` makes it deaf to SIGHUP."""
    return tuple(number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN)


@contextlib.contextmanager
def signal_handler(
    numbers: Iterable[signal.Signals], handler: Callable[[int, FrameType | None], None]
) -> Iterator[None]:
    """Within, these signals go to the handler; after it to whom they went before."""
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, one in before.items():
            signal.signal(number, one)
