"""Events of a build as lines of text and as JSON."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from stackbuild.cli.build import _steps_failed
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
from stackbuild.views.build import PlainView, QuietView, VerboseView, lines_of
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
        RunStarted("r1", "demo", ("a",), ("a",), "/f"), StepStarted("a", "k", "/l", 2.0), StepFinished("a", "k", "t", "run", 1.25, Compiles(3, 1), 1_230_000_000),
        StepFinished("b", "k", "t", "reused", 0.0), Note("warning", "[red]x"), StageFinished("publish", "dist", 0.1, True),
        StepBroke("c", "exit code 1", "make", ("l",), "/log", "look"), RunFinished("r1", 3.0, 1, 0, 1),
    ]  # fmt: skip
    for event in events:
        body = document(event)
        assert body["event"] == type(event).__name__
        assert json.loads(json.dumps(body)) == body
    assert "ccache 3/4 hits, 1.23 GB of memory" in drawn(events[2]) and "[red]x" in drawn(events[4])


@pytest.mark.parametrize(("seconds", "text"), [(0.042, "0.042 s"), (0.0, "0 s"), (3.14, "3.1 s"), (59.4, "59 s"), (185, "3 min 05 s"), (7800, "2 h 10 min")])
def test_durations(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text


def test_a_stage_that_does_not_stand_is_no_tick() -> None:
    line = lines_of(StageFinished("bench", "5 cases, gates FAIL", 1.0, stands=False))[0].plain
    assert line.startswith("✗")


def seen(view: PlainView, *events: object) -> str:
    file = io.StringIO()
    view.console = Console(file=file, force_terminal=False, width=200)
    with view:
        for event in events:
            view(event)  # type: ignore[arg-type]
    return file.getvalue()


BROKE = StepBroke("lib", "exit code 2", "make 'all of it'", ("x.c:1: error",), "/s/lib.log", "stackbuild shell --recipe r lib")


def test_quiet_shows_failures_and_warnings_alone() -> None:
    text = seen(
        QuietView(), StepStarted("lib", "k", "/none", 0.0), Note("info", "by the way"), Note("warning", "look"), StepFinished("a", "k", "t", "run", 1.0), BROKE
    )
    assert text.count("look") == 2 and "exit code 2" in text and "by the way" not in text and "✓" not in text


def test_verbose_shows_what_a_step_prints_behind_its_name(tmp_path: Path) -> None:
    log = tmp_path / "lib.log"
    log.write_text("$ make\none\ntwo\nlast without its end")
    text = seen(VerboseView(), StepStarted("lib", "k", str(log), 0.0), StepFinished("lib", "k", "t", "run", 1.0))
    assert [line for line in text.splitlines() if "│" in line] == [
        "lib │ $ make", "lib │ one", "lib │ two", "lib │ last without its end",
    ]  # fmt: skip


def test_a_failure_on_the_screen_is_not_told_again() -> None:
    view = PlainView()
    text = seen(view, StepStarted("lib", "k", "/none", 0.0), BROKE)
    assert text.count("/s/lib.log") == 1 and view.failed_steps == ["lib"]
    last = str(_steps_failed(view.failed_steps))
    assert last == "the build failed: lib"
