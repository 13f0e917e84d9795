"""What runs leave in their output folder for the next: the digests that decide, whose each output is, and its report."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stackbuild.hipify.cpp.edits import LineMap
from stackbuild.hipify.model import FileReport
from stackbuild.model.findings import Finding, Severity, SourceLocation

STATE = ".stackbuild-hipify.json"
FORMAT = 5


@dataclass(frozen=True)
class OutputRecord:
    """One output of an earlier run.

    `key` is the digest of tables, rules, target and engine. `origin` is the source's real path relative to the output
    folder's, `name` the file's name in reports. `source_digest` and `output_digest` are sha256 of input and output.
    `source_stamp` is the input's size, times and inode when it was read: an equal stamp means equal bytes. It is all 0 if
    the input had just been written. `output_stamp` is the output's size and time as written.
    """

    key: str
    origin: str
    name: str
    source_digest: str
    output_digest: str
    source_stamp: tuple[int, ...]
    output_stamp: tuple[int, int]
    report: FileReport


@dataclass(frozen=True)
class State:
    """Everything that runs made in a folder: outputs and support headers by their path in it.

    `pending` are the digests of what a run was about to write. If the run was killed, they tell its outputs apart from
    a person's files.
    """

    files: Mapping[str, OutputRecord] = field(default_factory=dict)
    support: Mapping[str, str] = field(default_factory=dict)
    pending: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def digests(self, path: str) -> tuple[str, ...]:
        """The sha256 that a file of this tool's own making may have there, none where it made none."""
        record = self.files.get(path)
        own = (record.output_digest,) if record else (self.support[path],) if path in self.support else ()
        return (*own, *self.pending.get(path, ()))


def load(folder: Path) -> State:
    """The state of the runs into `folder`; an empty one where there is none that can be read."""
    try:
        data = json.loads((folder / STATE).read_bytes())
        if data["format"] != FORMAT:
            return State()
        files = {path: _record(data["keys"], row) for path, row in data["files"].items()}
        pending = {path: tuple(digests) for path, digests in data["pending"].items()}
        return State(files, dict(data["support"]), pending)
    except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError):
        return State()


def stamp(folder: Path) -> tuple[int, ...]:
    """What changes when a run leaves another state: size, time and inode of its file."""
    try:
        status = (folder / STATE).stat()
    except OSError:
        return ()
    return status.st_size, status.st_mtime_ns, status.st_ino


def made_in(folder: Path, only_beside: bool) -> frozenset[str]:
    """The paths of what runs made in a folder; `only_beside`: of sources that lie in that folder too."""
    state_record = load(folder)
    files = (
        path for path, record in state_record.files.items() if not (only_beside and record.origin.startswith(".."))
    )
    return frozenset((*files, *(() if only_beside else state_record.support)))


def dump(state: State) -> bytes:
    """The state as the bytes of its file: rows, since they load fastest."""
    keys = sorted({record.key for record in state.files.values()})
    number = {key: i for i, key in enumerate(keys)}
    files = {path: _row(number, record) for path, record in state.files.items()}
    data = {"format": FORMAT, "keys": keys, "support": state.support, "pending": state.pending, "files": files}
    return json.dumps(data, separators=(",", ":")).encode("utf-8", "surrogateescape")


def _row(number: dict[str, int], record: OutputRecord) -> list[Any]:
    report = record.report
    findings = [
        [f.rule, f.severity.value, f.found, f.why, f.fix, f.link, f.place.line if f.place else 0, f.place.column if f.place else 0]
        for f in report.findings
    ]  # fmt: skip
    state = "converted" if report.state == "unchanged" else report.state
    counts = [dict(report.substitutions), dict(report.rules)]
    mine = [
        number[record.key],
        record.origin,
        record.name,
        record.source_digest,
        record.output_digest,
        record.source_stamp,
        record.output_stamp,
    ]
    return [
        *mine,
        report.source,
        report.output,
        state,
        findings,
        *counts,
        report.lines.breaks,
        report.declares,
        report.unless,
    ]


def _record(keys: list[str], row: list[Any]) -> OutputRecord:
    (
        key,
        origin,
        name,
        read,
        digest,
        details,
        stamp,
        source,
        output,
        state,
        rows,
        substitutions,
        rules,
        lines,
        declares,
        unless,
    ) = row
    findings = tuple(
        Finding(f[0], Severity(f[1]), name, f[2], f[3], f[4], f[5], SourceLocation(name, f[6], f[7]) if f[6] else None)
        for f in rows
    )
    breaks = LineMap(tuple((a, b) for a, b in lines))
    report = FileReport(
        source,
        output,
        state,
        findings,
        substitutions,
        rules,
        breaks,
        tuple(declares),
        tuple((a, b, c) for a, b, c in unless),
    )
    return OutputRecord(keys[key], origin, name, read, digest, tuple(details), (stamp[0], stamp[1]), report)
