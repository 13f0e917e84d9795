"""Waiting for a remote: a stop is seen at once, and a server that sends too little is given up."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from stackbuild.core.cancel import WorkThread
from stackbuild.remote.faults import RemoteFault

_Result = TypeVar("_Result")


@dataclass(frozen=True)
class MinimumRate:
    """A transfer may go on while at least `rate` bytes a second come over each `window` of seconds."""

    window: float = 30.0
    rate: float = 2000.0


DEFAULT_RATE = MinimumRate()


class Progress:
    """Bytes that came. Once `is_given_up`, whoever counts more is stopped by a RemoteFault."""

    def __init__(self) -> None:
        self.bytes = 0
        self.is_given_up = False

    def count(self, size: int) -> None:
        if self.is_given_up:
            raise RemoteFault("given up")
        self.bytes += size


@dataclass(frozen=True)
class Watch(Generic[_Result]):
    """Work in a thread of its own. `abort` ends what it waits for; it leaves nothing behind that matters."""

    work: Callable[[], _Result]
    progress: Progress
    abort: Callable[[], None]

    def run(self, check: Callable[[], None], minimum_rate: MinimumRate | None = DEFAULT_RATE) -> _Result:
        """The work's result, or what it raised. Raises RemoteFault where it is too slow, and what `check` raises.

        Without a minimum rate nothing is too slow: a push has the limits of its requests.
        """
        thread = WorkThread(self.work, "remote")
        try:
            self._wait(thread, check, minimum_rate)
        except BaseException:
            self.progress.is_given_up = True
            self.abort()
            thread.join(2.0)
            raise
        return thread.outcome()

    def _wait(
        self, thread: WorkThread[_Result], check: Callable[[], None], minimum_rate: MinimumRate | None
    ) -> None:
        since, before = time.monotonic(), self.progress.bytes
        has_ended = False
        while not has_ended:
            has_ended = thread.join()
            check()
            seconds = time.monotonic() - since
            if minimum_rate is not None and seconds > minimum_rate.window:
                came = self.progress.bytes - before
                if came < minimum_rate.rate * minimum_rate.window:
                    raise RemoteFault("too slow", actual=f"{came} bytes in {seconds:.0f} s")
                since, before = time.monotonic(), self.progress.bytes
