"""A log that comes in pieces: whole, begun for another client, begun again on another machine, cut at its end."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackbuild.cluster import logs
from stackbuild.cluster.logs import LogCopy
from stackbuild.model.events import Event, Note, StepStarted


def begin(path: Path) -> tuple[LogCopy, list[Event]]:
    events: list[Event] = []
    return LogCopy(path, events.append, StepStarted("s", "k", str(path), 2.0)), events


def started(machine: str) -> dict[str, object]:
    return {"machine": machine, "event": {"event": "StepStarted"}}


def test_pieces(tmp_path: Path) -> None:
    copy, events = begin(tmp_path / "s.log")
    copy(started("w1"))
    copy({"machine": "w1", "at": 0, "log": b"one\n"})
    copy({"machine": "w1", "at": 4, "log": b"two\n"})
    copy({"machine": "w1", "event": {"event": "Note", "level": "warning", "text": "odd"}})
    copy.complete(8)
    assert (tmp_path / "s.log").read_text() == "one\ntwo\n"
    assert events == [StepStarted("s", "k", str(tmp_path / "s.log"), 2.0, "w1"), Note("warning", "w1: odd")]


def test_a_step_that_began_for_another_client(tmp_path: Path) -> None:
    copy, events = begin(tmp_path / "s.log")
    copy({"machine": "w1", "at": 100, "log": b"end\n"})
    assert (tmp_path / "s.log").read_text() == "[100 bytes of this log went to another client]\nend\n"
    assert len(events) == 1 and copy.has_begun


def test_a_step_that_runs_again(tmp_path: Path) -> None:
    copy, events = begin(tmp_path / "s.log")
    for machine in ("w1", "w2"):
        copy(started(machine))
        copy({"machine": machine, "at": 0, "log": machine.encode()})
    assert (tmp_path / "s.log").read_text() == "w2"
    assert Note("warning", "s: runs again, on w2; w1 was lost") in events


def test_an_end_that_does_not_come(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "COMPLETE_SECONDS", 0.01)
    copy, _ = begin(tmp_path / "s.log")
    copy(started("w1"))
    copy({"machine": "w1", "at": 0, "log": b"one"})
    copy.complete(10)
    assert (tmp_path / "s.log").read_text() == "one\n[7 more bytes of this log did not come]\n"


@pytest.mark.parametrize(
    "message",
    [
        {}, {"machine": 5, "at": 0, "log": b"x"}, {"machine": "w1", "at": 0, "log": 1 << 40}, {"machine": "w1", "at": "0", "log": b"x"},
        {"machine": "w1", "event": None}, {"machine": "w1", "event": {"event": "Note"}}, {"machine": "w1", "event": {"event": "Exit"}},
        {"machine": "w1", "at": -1, "log": b"x"}, {"machine": "w1", "at": 10**5000, "log": b"x"}, [], None, "started", 7,
    ],
)  # fmt: skip
def test_what_is_no_message_is_passed_over(tmp_path: Path, message: dict[str, object]) -> None:
    copy, events = begin(tmp_path / "s.log")
    copy(message)
    assert not events and not (tmp_path / "s.log").exists()


def test_a_flood_is_bounded_and_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "MOST_BYTES", 10)
    monkeypatch.setattr(logs, "MOST_NOTES", 3)
    copy, events = begin(tmp_path / "s.log")
    copy(started("w1"))
    for number in range(5):
        copy({"machine": "w1", "at": 4 * number, "log": b"abc\n"})
        copy({"machine": "w1", "event": {"event": "Note", "level": "info", "text": "x" * 5000}})
    copy.complete(20)
    assert (tmp_path / "s.log").read_text() == "abc\nabc\nab\n[10 bytes left out]\n"
    assert [len(event.text) for event in events if isinstance(event, Note)][:2] == [4004, 4004]
    assert events[-1] == Note("warning", "s: no more than 3 notes of a step are shown") and len(events) == 4


def test_gaps_without_an_end_are_bounded_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each gap costs its worker one byte, and the log a line."""
    monkeypatch.setattr(logs, "MOST_BYTES", 1000)
    copy, _ = begin(tmp_path / "s.log")
    for number in range(200):
        copy({"machine": "w1", "at": 2 * number, "log": b"x"})
    assert (tmp_path / "s.log").stat().st_size == 1000


def test_a_step_that_begins_without_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "MOST_BEGINNINGS", 5)
    copy, events = begin(tmp_path / "s.log")
    for number in range(50):
        copy(started(f"w{number}" + "x" * 10_000))
    beginnings = [event for event in events if isinstance(event, StepStarted)]
    assert len(beginnings) == 5 and all(len(event.machine) == logs.MOST_NAME for event in beginnings)
    assert max(len(event.text) for event in events if isinstance(event, Note)) < 3 * logs.MOST_NAME
