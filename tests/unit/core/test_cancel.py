"""Stopping a run: by a signal, once, and not under nohup."""

from __future__ import annotations

import os
import signal
import time

import pytest

from stackbuild.core.cancel import Stopper
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
