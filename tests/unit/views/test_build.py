"""Events of a build as lines of text and as JSON."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

from stackbuild.model.events import (
    Compiles,
    Note,
    RunFinished,
    RunStarted,
    StageFinished,
    StepBroke,
    StepFinished,
    StepStarted,
    document,
)
from stackbuild.views.build import lines_of
from stackbuild.views.text import format_duration


def drawn(event: object) -> str:
    console = Console(file=io.StringIO(), force_terminal=False, width=200)
    for line in lines_of(event):  # type: ignore[arg-type]
        console.print(line)
    file = console.file
    assert isinstance(file, io.StringIO)
    return file.getvalue()


def test_a_failure_is_drawn_with_command_lines_log_and_next_step() -> None:
    text = drawn(StepBroke("lib", "exit code 2", "make all", ("x.c:1: error: [bold]no[/bold]",), "/s/lib.log", "stackbuild shell --recipe r lib"))
    for part in ("lib", "exit code 2", "$ make all", "│ x.c:1: error: [bold]no[/bold]", "log:  /s/lib.log", "stackbuild shell --recipe r lib"):
        assert part in text


def test_events_drawn_and_as_json() -> None:
    events = [
        RunStarted("r1", "demo", ("a",), ("a",), "/f"), StepStarted("a", "k", "/l", 2.0), StepFinished("a", "k", "t", "run", 1.25, Compiles(3, 1)),
        StepFinished("b", "k", "t", "reused", 0.0), Note("warning", "[red]x"), StageFinished("publish", "dist", 0.1, True),
        StepBroke("c", "exit code 1", "make", ("l",), "/log", "look"), RunFinished("r1", 3.0, 1, 0, 1),
    ]  # fmt: skip
    for event in events:
        body = document(event)
        assert body["event"] == type(event).__name__
        assert json.loads(json.dumps(body)) == body
    assert "ccache 3/4 hits" in drawn(events[2]) and "[red]x" in drawn(events[4])


@pytest.mark.parametrize(("seconds", "text"), [(0.042, "0.042 s"), (0.0, "0 s"), (3.14, "3.1 s"), (59.4, "59 s"), (185, "3 min 05 s"), (7800, "2 h 10 min")])
def test_durations(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


def test_a_stage_that_does_not_stand_is_no_tick() -> None:
    line = lines_of(StageFinished("bench", "5 cases, gates FAIL", 1.0, stands=False))[0].plain
    assert line.startswith("✗")
