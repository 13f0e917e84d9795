"""Runs: each has an id and a folder with its events and logs; the times of its steps are recorded in the store."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterable
from pathlib import Path

from stackbuild.core.errors import UsageError
from stackbuild.model.events import Emit, Event, StepFinished, document
from stackbuild.store import atomic
from stackbuild.store.durations import record_step_seconds
from stackbuild.store.store import Store

MAX_RUNS = 50
"""So many runs keep their folder."""


class EventLog:
    """Writes a run's events to `events.jsonl` and hands them on; events may come from several threads."""

    def __init__(self, store: Store, listeners: Iterable[Emit]) -> None:
        self.folder = store.root / "runs" / store.run
        self.logs = self.folder / "logs"
        self.logs.mkdir(parents=True)
        self._listeners = tuple(listeners)
        self._lock = threading.Lock()
        self._file = (self.folder / "events.jsonl").open("a", encoding="utf-8")
        self._seconds: dict[str, float] = {}

    def emit(self, event: Event) -> None:
        with self._lock:
            line = json.dumps({"at": round(time.time(), 3), **document(event)}, ensure_ascii=False)
            self._file.write(line + "\n")
            self._file.flush()
            if isinstance(event, StepFinished) and event.how == "run":
                self._seconds[event.step] = round(event.seconds, 1)
            for listener in self._listeners:
                listener(event)

    def close(self, store: Store, recipe: str) -> None:
        """Remember how long the steps took, and let old runs go."""
        self._file.close()
        if self._seconds:
            record_step_seconds(store, recipe, self._seconds)
        for old in sorted(p for p in (store.root / "runs").iterdir() if p.name[0] != ".")[:-MAX_RUNS]:
            atomic.remove(old)


def planned_runs(root: Path) -> tuple[str, ...]:
    """The ids of the runs that came as far as a plan, the latest last: a mistyped command leaves a folder without one."""
    files = (root / "runs").glob("[!.]*/events.jsonl")
    return tuple(sorted(file.parent.name for file in files if b'"RunStarted"' in file.read_bytes()))


def logs_of(root: Path, run: str) -> tuple[Path, ...]:
    """The logs of a run, the last one that has any when `run` is "". Raises UsageError where there are none."""
    runs = sorted((p for p in (root / "runs").glob("*/logs") if any(p.iterdir())), reverse=True)
    for logs in runs:
        if run in ("", logs.parent.name):
            return tuple(sorted(logs.glob("*.log")))
    names = ", ".join(p.parent.name for p in runs[:5])
    raise UsageError(
        f"no logs of run {run!r}" if run else "no step has run here yet",
        next=f"runs with logs: {names}" if names else "`stackbuild build` keeps a log of each step that it runs",
    )


def log_of(root: Path, run: str, step: str) -> Path:
    """The log of a step: of that run, or of the last run that ran it. Raises UsageError where there is none."""
    if "/" in step or "/" in run:
        raise UsageError(f"no log of step {step!r}", next="`stackbuild logs` lists the logs of the last run")
    runs = [run] if run else sorted((p.name for p in (root / "runs").glob("[!.]*")), reverse=True)
    for name in runs:
        log = root / "runs" / name / "logs" / f"{step}.log"
        if log.is_file():
            return log
    raise UsageError(f"no log of step {step!r}", next="`stackbuild logs` lists the logs of the last run")
