"""Draws a run: live on a terminal, plain lines elsewhere, JSON lines under --json."""

from __future__ import annotations

import sys
import threading
import time
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path

from stackbuild.core.digest import document_text
from stackbuild.core.errors import bar_lines
from stackbuild.core.log_excerpt import clean
from stackbuild.core.output_style import OUTPUT_STYLE
from stackbuild.model.events import (
    Event,
    Note,
    RunFinished,
    RunStarted,
    StageFinished,
    StageStarted,
    StepBroke,
    StepFinished,
    StepStarted,
    document,
)
from stackbuild.views.console import Console, Group, Table, Text, alarm, err, live_region, print_text
from stackbuild.views.text import SHOWN_MEMORY, format_duration, format_size

TAIL_LINES = 4
TAIL_BYTES = 4096
REFRESH_PER_SECOND = 8
EVENT_SCHEMA = "stackbuild.event/1"
"""Names and versions the shape of an event's line, as the `schema` of other commands' JSON does."""


def print_event(event: Event) -> None:
    """`build --json`: one JSON object a line on stdout."""
    print_text(document_text({"schema": EVENT_SCHEMA, "at": round(time.time(), 3), **document(event)}, indent=None))


def lines_of(event: Event) -> list[Text]:
    """What stays on the screen of an event; most events leave one line or none."""
    match event:
        case StepFinished(
            step=step, how="run", seconds=seconds, compiles=compiles, peak_memory=memory, machine=machine
        ):
            total = compiles.hits + compiles.misses
            hits = f", ccache {compiles.hits}/{total} hits" if total else ""
            memory_text = f", {format_size(memory)} of memory" if memory >= SHOWN_MEMORY else ""
            return [_line("✓", "green", step, f"{format_duration(seconds)}{hits}{memory_text}{_on(machine)}")]
        case StepFinished(step=step, how="reused"):
            return [_line("✓", "green", step, "inputs identical to an earlier build's: output reused")]
        case StageFinished(stage=stage, result=result, seconds=seconds, stands=False):
            return [_line("✗", "bold red", stage, f"{bar_lines(result)} ({format_duration(seconds)})")]
        case StageFinished(stage=stage, result=result, seconds=seconds, remembered=is_remembered):
            when = "as before" if is_remembered else format_duration(seconds)
            return [_line("✓", "green", stage, f"{bar_lines(result)} ({when})")]
        case StepBroke():
            return _failure_rows(event)
        case Note(level=level, text=text):
            return [
                Text(
                    f"{'!' if level == 'warning' else '·'} {bar_lines(text)}",
                    style="yellow" if level == "warning" else "dim",
                )
            ]
        case _:
            return []


def _on(machine: str) -> str:
    return f", on {machine}" if machine else ""


def _line(sign: str, style: str, name: str, text: str) -> Text:
    return Text.assemble((sign, style), f" {name:<18} ", (text, "dim"))


def _failure_rows(event: StepBroke) -> list[Text]:
    rows = [
        Text.assemble(("✗", "bold red"), (f" {event.step}", "bold"), f"  {bar_lines(event.what)}"),
        Text(f"  $ {event.command}", "dim"),
    ]
    rows += [Text(f"  │ {line}") for line in event.lines]
    if event.log:  # a step of the host that fails early writes none
        rows.append(Text(f"  log:  {event.log}"))
    if event.look:
        rows.append(Text(f"  look: {event.look}"))
    return rows


@dataclass
class PlainView:
    """One line an event, for CI logs and pipes."""

    console: Console = field(default_factory=err)
    failed_steps: list[str] = field(default_factory=list)

    def __call__(self, event: Event) -> None:
        if isinstance(event, StepBroke):
            self.failed_steps.append(event.step)
        if isinstance(event, StepStarted):
            hint = f"  (took {format_duration(event.expected)} last time)" if event.expected else ""
            where = f" on {event.machine}" if event.machine else ""
            self.console.print(f"  {event.step} …{where}{hint}", highlight=False, markup=False)
        elif isinstance(event, StageStarted):
            self.console.print(f"  {event.stage} …", markup=False)
        for line in lines_of(event):
            self.console.print(line)

    def __enter__(self) -> PlainView:
        return self

    def __exit__(self, *args: object) -> None:
        pass


@dataclass
class LiveView:
    """Finished steps scroll up; below them the running ones with elapsed and expected time and the end of their logs.

    One lock is held while anything is drawn. Without it rich's refreshing thread and a printed line each move the cursor up
    by a height that the other has just changed. Printed lines were erased then, and stale ones stayed.
    """

    console: Console = field(default_factory=err)
    running: dict[str, tuple[float, StepStarted | StageStarted]] = field(default_factory=dict)
    failed_steps: list[str] = field(default_factory=list)
    total: int = 0
    completed_count: int = 0
    start_time: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self._live = live_region(self.console, self.draw)
        self._drawing = threading.Lock()
        self._close_event = threading.Event()
        self._refresher = threading.Thread(target=self._refresh, daemon=True)

    def __enter__(self) -> LiveView:
        self._live.__enter__()
        self._refresher.start()
        return self

    def __exit__(self, *args: object) -> None:
        self._close_event.set()
        self._refresher.join()
        self.running.clear()
        self.total = 0
        self._live.__exit__(None, None, None)

    def _refresh(self) -> None:
        while not self._close_event.wait(1 / REFRESH_PER_SECOND):
            with self._drawing:
                try:
                    self._live.refresh()
                except (
                    OSError
                ):  # the terminal has gone: the next line that is printed says so where it can stop the run
                    return

    def __call__(self, event: Event) -> None:
        if isinstance(event, StepFinished) and event.how == "cached":
            return  # nothing is drawn of it, and there may be a thousand
        if isinstance(event, StepBroke):
            self.failed_steps.append(event.step)
        with self._drawing:
            self._count(event)
            for line in lines_of(event):
                self._live.console.print(line)
            self._live.refresh()

    def _count(self, event: Event) -> None:
        match event:
            case RunStarted(todo=todo):
                self.total, self.completed_count = self.completed_count + len(todo), self.completed_count
            case StepStarted(step=name) | StageStarted(stage=name):
                self.running[name] = (time.monotonic(), event)
            case StepFinished(step=name) | StageFinished(stage=name) | StepBroke(step=name):
                if self.running.pop(name, None) and not isinstance(event, StageFinished):
                    self.completed_count += 1
            case RunFinished():
                self.total = 0

    def draw(self) -> Group:
        """The part of the screen that moves."""
        parts: list[Text | Table] = []
        for name, (since, event) in list(self.running.items()):
            parts.append(_running_line(name, time.monotonic() - since, event))
            if isinstance(event, StepStarted):
                parts += [
                    Text(f"    {line}", style="dim", no_wrap=True, overflow="ellipsis")
                    for line in tail(Path(event.log))
                ]
        if self.total:
            parts.append(
                Text(
                    f"  {self.completed_count} of {self.total} steps · {format_duration(time.monotonic() - self.start_time)}",
                    style="dim",
                )
            )
        return Group(*parts)


def _running_line(name: str, elapsed_seconds: float, event: StepStarted | StageStarted) -> Text:
    expected_seconds = event.expected if isinstance(event, StepStarted) else 0.0
    about = (
        f" of about {format_duration(expected_seconds)}"
        if expected_seconds >= elapsed_seconds
        else f" ({format_duration(expected_seconds)} last time)"
        if expected_seconds
        else ""
    )
    machine = event.machine if isinstance(event, StepStarted) else ""
    return Text.assemble(
        ("▸", "cyan"), (f" {name:<18} ", "bold"), f"{format_duration(elapsed_seconds)}{about}{_on(machine)}"
    )


def tail(log: Path) -> list[str]:
    """The last lines of a log that is being written, safe to draw."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - TAIL_BYTES))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return []
    return list(deque((clean(line) for line in text.splitlines() if line.strip()), TAIL_LINES))


@dataclass
class QuietView(PlainView):
    """Under --quiet: failures and warnings alone."""

    console: Console = field(default_factory=alarm)

    def __call__(self, event: Event) -> None:
        warns = isinstance(event, Note) and event.level == "warning"
        if isinstance(event, StepBroke) or warns or (isinstance(event, StageFinished) and not event.stands):
            if isinstance(event, StepBroke):
                self.failed_steps.append(event.step)
            for line in lines_of(event):
                self.console.print(line)


@dataclass
class VerboseView(PlainView):
    """Under --verbose: what steps print, as they print it, each line behind the step's name."""

    logs: dict[str, tuple[Path, int]] = field(default_factory=dict)
    """The running steps: their logs and how many bytes of each are printed."""

    def __post_init__(self) -> None:
        self._printing = threading.Lock()
        self._close_event = threading.Event()
        self._follower = threading.Thread(target=self._follow, daemon=True)

    def __enter__(self) -> VerboseView:
        self._follower.start()
        return self

    def __exit__(self, *args: object) -> None:
        self._close_event.set()
        self._follower.join()

    def __call__(self, event: Event) -> None:
        with self._printing:
            if isinstance(event, StepStarted):
                self.logs[event.step] = (Path(event.log), 0)
            elif isinstance(event, StepFinished | StepBroke) and event.step in self.logs:
                self._print_new(event.step, whole=True)
                del self.logs[event.step]
            super().__call__(event)

    def _follow(self) -> None:
        while not self._close_event.wait(FOLLOW_SECONDS):
            with self._printing:
                for step in self.logs:
                    self._print_new(step, whole=False)

    def _print_new(self, step: str, whole: bool) -> None:
        """The lines that the log has since the last look; a line without its end waits, unless the log is `whole`."""
        log, at = self.logs[step]
        try:
            with log.open("rb") as file:
                file.seek(at)
                data = file.read(FOLLOW_BYTES)
        except OSError:
            return
        end_at = len(data) if whole else data.rfind(b"\n") + 1
        self.logs[step] = (log, at + end_at)
        for line in data[:end_at].decode("utf-8", "replace").splitlines():
            self.console.print(Text(f"{step} │ {clean(line)}", "dim"))
        if whole and len(data) == FOLLOW_BYTES:
            self._print_new(step, whole)


FOLLOW_SECONDS, FOLLOW_BYTES = 0.2, 1 << 20
"""How often logs are looked at under --verbose, and how much of one is printed at a time."""


def view() -> PlainView | LiveView:
    """The view that fits: live on a terminal that can, plain elsewhere; what --quiet and --verbose ask for."""
    if OUTPUT_STYLE.verbosity:
        return QuietView() if OUTPUT_STYLE.verbosity < 0 else VerboseView()
    return LiveView() if sys.stderr.isatty() and not err().is_dumb_terminal else PlainView()
