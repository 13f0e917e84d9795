"""A measurement: stopped by signals, each provider once, a broken interpreter."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from stackbuild.bench import experiment
from stackbuild.bench.environment import WorkerEnvironment
from stackbuild.bench.experiment import Contender, Experiment, with_libraries
from stackbuild.bench.job import SessionOptions, TimingBudget, WorkerAnswer
from stackbuild.bench.selection import parse_providers
from stackbuild.core.errors import Interruption, MachineLacks
from stackbuild.model.results import Side
from stackbuild.views.bench import progress


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_while_measuring_ends_it_in_order(number: signal.Signals) -> None:
    found = signal.signal(number, signal.SIG_DFL)  # also where nohup runs the tests
    try:
        with pytest.raises(Interruption), progress():
            signal.raise_signal(number)
        assert signal.getsignal(number) is signal.SIG_DFL
    finally:
        signal.signal(number, found)


def test_nohup_is_respected() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with progress():
            signal.raise_signal(signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_a_provider_is_measured_once() -> None:
    assert parse_providers(["cpu", "rocm", "cpu", "CPUExecutionProvider"]) == (
        "CPUExecutionProvider",
        "ROCMExecutionProvider",
    )


def test_a_broken_interpreter_or_plugin_has_a_next_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(experiment, "run_job", lambda *_: WorkerAnswer({}, problem="it is no library"))
    broken = WorkerEnvironment(Path("/bin/false"))
    for plugin, next in (("x.so", "--plugin"), ("", "--python")):
        contender = Contender(Side("candidate", "X"), broken, SessionOptions("X", plugin=plugin))
        with pytest.raises(MachineLacks) as stop:
            with_libraries(Experiment("s", "models", (contender,), (), TimingBudget(), process_per_case=True))
        assert next in stop.value.next
