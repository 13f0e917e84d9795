"""The folders of runs: events, logs, durations, names."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackbuild.build.runs import EventLog, log_of, logs_of
from stackbuild.core.errors import UsageError
from stackbuild.model.events import (
    StepFinished,
)
from stackbuild.store.durations import step_seconds
from stackbuild.store.store import Store, new_run_id


def test_a_diary_keeps_events_and_how_long_steps_took(tmp_path: Path) -> None:
    store = Store(tmp_path / "store", new_run_id())
    heard: list[object] = []
    event_log = EventLog(store, [heard.append])
    (event_log.logs / "a.log").write_text("hello")
    event_log.emit(StepFinished("a", "k", "t", "run", 12.34))
    event_log.emit(StepFinished("b", "k", "t", "cached", 99.0))
    event_log.close(store, "demo")
    assert len(heard) == 2 and len((event_log.folder / "events.jsonl").read_text().splitlines()) == 2
    assert step_seconds(store, "demo") == {"a": 12.3}
    assert log_of(store.root, "", "a").read_text() == "hello" and logs_of(store.root, "")[0].name == "a.log"
    for bad in ("", "[1]", "5", "null", '{"a": "x"}', "\0", '{"a": [1]}'):
        (store.root / "runs" / ".seconds.demo.json").write_text(bad)
        assert step_seconds(store, "demo") == {}


def test_run_ids_are_never_the_same() -> None:
    assert len({new_run_id() for _ in range(200)}) == 200


def test_a_log_outside_the_runs_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret.log").write_text("x")
    with pytest.raises(UsageError):
        log_of(tmp_path / "store", "", "../../../../secret")
