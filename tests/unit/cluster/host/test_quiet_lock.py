"""A verification has its machine for itself, and later steps do not keep it waiting for ever."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from stackbuild.cluster.host import QuietLock
from stackbuild.cluster.offers import step_needs
from stackbuild.core.cancel import Stopper
from stackbuild.core.errors import Interruption
from stackbuild.model.plan import Step


def nothing() -> None: ...


class Holder:
    """A thread that takes the lock, and holds it until it is let go."""

    def __init__(self, lock: QuietLock, alone: bool, check: Callable[[], None] = nothing) -> None:
        self.has_it, self.let_go = threading.Event(), threading.Event()
        self._words = (lock, alone, check)
        self.thread = threading.Thread(target=self._hold)
        self.thread.start()

    def _hold(self) -> None:
        lock, alone, check = self._words
        with lock.hold(alone, check):
            self.has_it.set()
            self.let_go.wait(10)

    def end(self) -> None:
        self.let_go.set()
        self.thread.join()


def test_steps_run_beside_each_other_and_one_that_is_alone_waits_for_them() -> None:
    lock = QuietLock()
    first, second = Holder(lock, False), Holder(lock, False)
    assert first.has_it.wait(5) and second.has_it.wait(5)
    alone = Holder(lock, True)
    assert not alone.has_it.wait(0.3)
    later = Holder(lock, False)
    first.end()
    assert not alone.has_it.wait(0.2) and not later.has_it.is_set()
    second.end()
    assert alone.has_it.wait(5) and not later.has_it.wait(0.3)
    other = Holder(lock, True)
    alone.end()
    assert other.has_it.wait(5) and not later.has_it.is_set()
    other.end()
    assert later.has_it.wait(5)
    later.end()


def test_who_waits_can_be_stopped() -> None:
    lock, stopper = QuietLock(), Stopper()
    running = Holder(lock, False)
    assert running.has_it.wait(5)
    threading.Timer(0.1, stopper.set, (2,)).start()
    since = time.monotonic()
    with pytest.raises(Interruption), lock.hold(True, stopper.check):
        pass
    assert time.monotonic() - since < 5
    later = Holder(lock, False)
    assert later.has_it.wait(5)  # nobody waits any more
    later.end()
    running.end()


def test_a_verification_needs_a_gpu_of_its_target() -> None:
    step = Step("verify.gfx1100", "verify", params=(("gfx", "gfx1100"),))
    assert step_needs(step, "sandbox", "x86_64", "1")["gfx1100"] == 1.0
    assert "sandbox" not in step_needs(step, "sandbox", "x86_64", "1")
