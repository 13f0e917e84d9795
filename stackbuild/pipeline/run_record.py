"""A whole run as one value, for the report: read from a run's folder, or made from results alone.

A run's folder has `events.jsonl`: one event of `stackbuild.model.events` a line, with `at` in seconds since 1970. The
stages that were reached add files: `hipify.STEP.json` for each conversion to HIP, `wheels.json` with the wheels and the
lock, `verify.json` with a `verification`, `bench.json` with `benchmarks` and `verdict`, `published.json` with the index
and the command that installs from it.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stackbuild.core.errors import UsageError
from stackbuild.core.model import ValidationError
from stackbuild.core.model_mistakes import reason_of
from stackbuild.model.findings import Verification
from stackbuild.model.results import Benchmarks, Verdict
from stackbuild.publishing.wheel_readme import WheelUsage

WHEELS, PUBLISHED_FILE = "wheels.json", "published.json"
"""Files of a run's folder: `{wheels: [{name, size, sha256, usage}], lock}`, and `{index, install}`."""

if TYPE_CHECKING:
    from stackbuild.bench.trend import Trend
    from stackbuild.hipify.tree.report_file import Conversion


@dataclass(frozen=True)
class TimeSpan:
    """One step or stage: when it began (seconds after the run did), how long it took, and how it ended.

    `how` is run, cached, reused, failed or unfinished; `hits` and `misses` are ccache's.
    `peak_memory` is in bytes, 0 where it is not known.
    """

    name: str
    start: float
    seconds: float
    how: str
    hits: int = 0
    misses: int = 0
    says: str = ""
    peak_memory: int = 0


@dataclass(frozen=True)
class BuiltFile:
    """A wheel that the run built: its name, its size in bytes, its sha256, and how it is used."""

    name: str
    size: int
    sha256: str
    usage: WheelUsage = WheelUsage()


@dataclass(frozen=True)
class Delivery:
    """What the run left on this machine. `install` is the command that installs it, "" before it is published.

    `files` are the lock and the logs, each with its name for people. They exist on the machine of the run alone.
    """

    wheels: tuple[BuiltFile, ...] = ()
    install: str = ""
    index: str = ""
    files: tuple[tuple[str, Path], ...] = ()

    @property
    def usages(self) -> tuple[WheelUsage, ...]:
        """How the wheels are used: those for several Pythons are used alike."""
        return tuple(dict.fromkeys(wheel.usage for wheel in self.wheels if wheel.usage.places))


@dataclass(frozen=True)
class RunRecord:
    """A run. `facts` are shown as provenance, in their order."""

    title: str
    started: str
    seconds: float
    steps: tuple[TimeSpan, ...] = ()
    stages: tuple[TimeSpan, ...] = ()
    notes: tuple[str, ...] = ()
    verifications: tuple[Verification, ...] = ()
    benchmarks: Benchmarks | None = None
    verdict: Verdict | None = None
    conversions: tuple[Conversion, ...] = ()
    history: tuple[Trend, ...] = ()
    facts: dict[str, str] = field(default_factory=dict)
    delivery: Delivery = Delivery()

    @property
    def failures(self) -> tuple[TimeSpan, ...]:
        return tuple(span for span in (*self.steps, *self.stages) if span.how in ("failed", "unfinished"))

    @property
    def holes(self) -> tuple[tuple[str, str, str], ...]:
        """What was to be measured and was not: (case, side, why); without the cases that a waiver opens."""
        if not self.benchmarks:
            return ()
        gates = self.verdict.gates if self.verdict else ()
        waived_cases = {gate.case for gate in gates if gate.waived} - {gate.case for gate in gates if gate.closed}
        return tuple(
            (case.name, one.side, one.problem or "no sample was kept")
            for case in self.benchmarks.cases
            for one in case.series
            if (one.problem or not one.seconds) and case.name not in waived_cases
        )


def find_run(name: str, verdict: Path | None = None) -> RunRecord:
    """The run that `name` means: a results file (with its verdict), a run's folder, or the id of a run in the store.

    The start of an id is enough where it is one run's; `last` is the latest that came as far as a plan. Raises UsageError
    for anything else.
    """
    from stackbuild.bench.results_file import read_benchmarks, read_verdict_on
    from stackbuild.build.runs import planned_runs
    from stackbuild.store.store import default_root

    path = Path(name)
    if path.is_file():
        benchmarks = read_benchmarks(path)
        return of_results(benchmarks, read_verdict_on(benchmarks, verdict) if verdict else None)
    if path.is_dir():
        return read_run(path)
    runs = sorted(p.name for p in (default_root() / "runs").glob("[!.]*") if p.is_dir())
    with_plan = planned_runs(default_root())
    matches = list(with_plan[-1:]) if name == "last" else [run for run in runs if run.startswith(name)]
    if name == "last" and not matches:
        raise UsageError(
            "no build was begun here yet",
            where=str(default_root()),
            next="`stackbuild build` makes a run; or give a results file that stackbuild bench wrote",
        )
    if len(matches) != 1:
        what = f"{len(matches)} runs begin with {name!r}" if matches else f"no file, folder or run is called {name!r}"
        hint = f"the latest runs are {', '.join(with_plan[-3:])}" if with_plan else "no run is in the store"
        raise UsageError(what, next=f"{hint}; or give a results file that stackbuild bench wrote")
    return read_run(default_root() / "runs" / matches[0])


def of_results(benchmarks: Benchmarks, verdict: Verdict | None) -> RunRecord:
    """A run that was only a measurement."""
    subject = next((side.artifact for side in benchmarks.sides if side.artifact), "")
    title = f"Benchmarks: {benchmarks.suite}" + (f", {subject}" if subject else "")
    return RunRecord(title, benchmarks.taken, 0.0, benchmarks=benchmarks, verdict=verdict)


def read_run(folder: Path) -> RunRecord:
    """The run in a folder. Raises UsageError where there is none; a line cut short by a kill is left out."""
    from stackbuild.bench.results_file import read_run_results

    file = folder / "events.jsonl"
    if not file.is_file():
        raise UsageError(
            "there is no events.jsonl in it", where=str(folder), next="give a run's folder, or a results file"
        )
    events = list(_events(file))
    start_event = next((e for e in events if e["event"] == "RunStarted"), None)
    if start_event is None:
        raise UsageError("no run was begun in it", where=str(folder), next="give another run's folder")
    begin_time, end_time = (
        float(events[0]["at"]),
        float(events[-1]["at"]),
    )  # the base is made before the run is announced
    bench_file = folder / "bench.json"
    benchmarks, verdict = read_run_results(bench_file) if bench_file.is_file() else (None, None)
    return RunRecord(
        title=f"{start_event['recipe']}, run {start_event['run']}",
        started=datetime.fromtimestamp(begin_time, UTC).strftime("%Y-%m-%d %H:%M:%S UTC"),
        seconds=end_time - begin_time,
        steps=_once(_steps(events, begin_time)),
        stages=tuple(_stages(events, begin_time)),
        notes=tuple(str(e["text"]) for e in events if e["event"] == "Note" and e["level"] == "warning"),
        verifications=_verifications(folder / "verify.json"),
        benchmarks=benchmarks,
        verdict=verdict,
        conversions=_conversions(folder),
        facts={"recipe": str(start_event["recipe"]), "run": str(start_event["run"])},
        delivery=_delivery(folder),
    )


def _events(file: Path) -> Iterator[dict[str, Any]]:
    for line in file.read_text("utf-8", "replace").splitlines():
        try:
            event = json.loads(line)
        except ValueError:
            continue  # the last line of a killed run
        if isinstance(event, dict) and "event" in event and "at" in event:
            yield event


def _once(spans: Iterator[TimeSpan]) -> tuple[TimeSpan, ...]:
    """Each step once: the base has an event when it is made, and another as cached when the plan begins."""
    by_name: dict[str, TimeSpan] = {}
    for span in spans:
        if span.name not in by_name or span.how != "cached":
            by_name[span.name] = span
    return tuple(by_name.values())


def _steps(events: list[dict[str, Any]], begin_time: float) -> Iterator[TimeSpan]:
    """Every step that ended or was under way; a finished step's start is its end less its seconds."""
    open_steps: dict[str, float] = {}
    for event in events:
        at = float(event["at"]) - begin_time
        if event["event"] == "StepStarted":
            open_steps[event["step"]] = at
        elif event["event"] == "StepFinished":
            start = open_steps.pop(event["step"], max(0.0, at - float(event["seconds"])))
            compiles = event.get("compiles") or {}
            yield TimeSpan(
                event["step"], start, float(event["seconds"]), event["how"], int(compiles.get("hits", 0)),
                int(compiles.get("misses", 0)), peak_memory=int(event.get("peak_memory", 0)),
            )  # fmt: skip
        elif event["event"] == "StepBroke":
            start = open_steps.pop(event["step"], at)
            yield TimeSpan(event["step"], start, at - start, "failed", says="\n".join([event["what"], *event["lines"]]))
    end = float(events[-1]["at"]) - begin_time
    yield from (TimeSpan(name, start, end - start, "unfinished") for name, start in open_steps.items())


def _stages(events: list[dict[str, Any]], begin_time: float) -> Iterator[TimeSpan]:
    for event in events:
        if event["event"] == "StageFinished":
            seconds, at = float(event["seconds"]), float(event["at"]) - begin_time
            how = "cached" if event.get("remembered") else "run"
            yield TimeSpan(event["stage"], max(0.0, at - seconds), seconds, how, says=str(event["result"]))


def _delivery(folder: Path) -> Delivery:
    """The wheels, their index, the lock and the logs. A run that stopped earlier has fewer."""
    wheels, published_hint = _hint(folder / WHEELS), _hint(folder / PUBLISHED_FILE)
    logs = [(f"log of {path.stem}", path) for path in sorted((folder / "logs").glob("*.log"))]
    files = [("lock", Path(str(wheels["lock"])))] if wheels.get("lock") else []
    return Delivery(
        tuple(map(_built_file, wheels.get("wheels", ()))),
        str(published_hint.get("install", "")),
        str(published_hint.get("index", "")),
        tuple((name, path) for name, path in (*files, *logs) if path.is_file()),
    )


def _built_file(row: dict[str, Any]) -> BuiltFile:
    try:
        usage = WheelUsage.model_validate(row.get("usage", {}))
    except ValidationError:  # of another version
        usage = WheelUsage()
    return BuiltFile(str(row["name"]), int(row["size"]), str(row["sha256"]), usage)


def _hint(file: Path) -> dict[str, Any]:
    """A JSON object that a power cut may have cut short; empty without one."""
    with contextlib.suppress(OSError, ValueError):
        hint = json.loads(file.read_text("utf-8"))
        return hint if isinstance(hint, dict) else {}
    return {}


def _conversions(folder: Path) -> tuple[Conversion, ...]:
    """What the run's sources were converted to HIP with: one file a conversion; one that cannot be read is left out."""
    files = sorted(folder.glob("hipify.*.json"))
    if not files:
        return ()
    from stackbuild.hipify.tree.report_file import load

    rows = []
    for file in files:
        with contextlib.suppress(OSError, ValueError):  # hints: a power cut may have cut one short
            rows.append(load(file))
    return tuple(rows)


def _verifications(file: Path) -> tuple[Verification, ...]:
    """The verification in the file, or the several."""
    if not file.is_file():
        return ()
    from stackbuild.core.model import TypeAdapter

    try:
        rows = json.loads(file.read_text("utf-8"))["verification"]
        return TypeAdapter(tuple[Verification, ...]).validate_python(rows if isinstance(rows, list) else [rows])
    except (ValueError, KeyError) as error:
        raise UsageError(f"not a verification: {reason_of(error)}", where=str(file), next="run stackbuild verify again") from None
