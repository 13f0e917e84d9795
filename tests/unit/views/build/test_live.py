"""The live view on a terminal: what was printed stays, what moved on goes."""

from __future__ import annotations

import io
import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from stackbuild.model.events import RunStarted, StepFinished, StepStarted
from stackbuild.views import build
from stackbuild.views.console import Console, Text

STEPS = tuple(f"s{n}" for n in range(20))


def screen(written: str) -> list[str]:
    """The lines that a tall terminal shows after that text: rich moves up by whole lines, erases them and writes anew."""
    lines, row, column = [""], 0, 0
    for number, move, end, text in re.findall(r"\x1b\[\??([0-9;]*)([A-Za-z])|([\r\n])|([^\x1b\r\n]+)", written):
        if move == "A":
            row = max(0, row - int(number or 1))
        elif move == "K":
            lines[row] = ""
        elif end == "\r":
            column = 0
        elif end == "\n":
            row, column = row + 1, 0
            lines += [""] * (row + 1 - len(lines))
        elif text:
            lines[row] = lines[row][:column].ljust(column) + text + lines[row][column + len(text) :]
            column += len(text)
    return [line.rstrip() for line in lines if line.strip()]


class Slow:
    """A line that takes as long to draw as on a busy machine: long enough for a refresh, were one let in."""

    def __init__(self, line: Text) -> None:
        self.line = line

    def __rich_console__(self, console: Console, options: object) -> Iterator[Text]:
        time.sleep(0.02)
        yield self.line


def test_a_line_printed_while_the_view_refreshes_stays_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = build.lines_of
    monkeypatch.setattr(build, "REFRESH_PER_SECOND", 1000)
    monkeypatch.setattr(build, "lines_of", lambda event: [Slow(line) for line in drawn(event)])
    log = tmp_path / "log"
    log.write_text("a\nb\nc\nd\n")
    paper = io.StringIO()
    console = Console(file=paper, force_terminal=True, width=100, height=1000, _environ={"TERM": "xterm"})
    with build.LiveView(console) as view:
        view(RunStarted("r", "t", (), STEPS, ""))
        for name in STEPS:
            view(StepStarted(name, "k", str(log), 0.0))
            time.sleep(0.005)
            view(StepFinished(name, "k", "t", "run", 1.0))
    assert [re.sub(r" +", " ", line) for line in screen(paper.getvalue())] == [f"✓ {name} 1.0 s" for name in STEPS]


@pytest.mark.parametrize(("since", "said"), [(2.0, "2.0 s of about 10 s"), (40.0, "40 s (10 s last time)")])
def test_a_step_that_takes_longer_than_last_time_is_not_of_about_less(
    since: float, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paper = io.StringIO()
    view = build.LiveView(Console(file=paper, force_terminal=True, width=100, _environ={"TERM": "xterm"}))
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    view(StepStarted("kernels", "k", str(tmp_path / "none"), 10.0))
    now[0] += since
    view.console.print(view.draw())
    assert said in re.sub(r"\x1b\[[0-9;]*m", "", paper.getvalue())
