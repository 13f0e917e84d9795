"""What runs leave in their output folder for the next: the digests that decide, whose each output is, and its report."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stackbuild.core.plain_file import read_plain
from stackbuild.hipify.cpp.edits import LineMap
from stackbuild.hipify.model import FileReport
from stackbuild.model.findings import Finding, Severity, SourceLocation

STATE = ".stackbuild-hipify.json"
FORMAT = 5
MOST = 256 << 20
"""Bytes of a state that are read: those of a run over a million files."""


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
        data = json.loads(read_plain(folder, STATE, MOST) or b"")
        if data["format"] != FORMAT:
            return State()
        files = {path: _record(data["keys"], row) for path, row in data["files"].items()}
        pending = {path: _texts(digests) for path, digests in data["pending"].items()}
        support = dict(data["support"])
        _texts(support.values())
        return State(files, support, pending)
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


def _texts(values: Iterable[Any]) -> tuple[str, ...]:
    """The values, if they are texts. Raises TypeError."""
    texts = tuple(values)
    if not all(isinstance(text, str) for text in texts):
        raise TypeError("not a text")
    return texts


def _numbers(values: Iterable[Any]) -> tuple[int, ...]:
    """The values, if they are whole numbers. Raises TypeError."""
    numbers = tuple(values)
    if not all(type(number) is int for number in numbers):
        raise TypeError("not a number")
    return numbers


def _counts(values: Any) -> dict[str, int]:
    """A table of counts by name. Raises TypeError, ValueError."""
    counts = dict(values)
    _texts(counts)
    _numbers(counts.values())
    return counts


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
    _texts((keys[key], origin, name, read, digest, source, output, state))
    findings = tuple(_finding(name, *f) for f in rows)
    breaks = LineMap(tuple((a, b) for a, b in map(_numbers, lines)))
    report = FileReport(
        source,
        output,
        state,
        findings,
        _counts(substitutions),
        _counts(rules),
        breaks,
        _texts(declares),
        tuple(_exception(*row) for row in unless),
    )
    size, time = _numbers(stamp)
    return OutputRecord(keys[key], origin, name, read, digest, _numbers(details), (size, time), report)


def _exception(line: Any, column: Any, name: Any) -> tuple[int, int, str]:
    """Where a finding is left out if the tree declares a name. Raises TypeError."""
    _numbers((line, column))
    _texts((name,))
    return line, column, name


def _finding(name: str, *row: Any) -> Finding:
    """A finding as it was kept. Raises TypeError, ValueError."""
    rule, severity, message, why, fix, link, line, column = row
    _texts((rule, message, why, fix, link))
    _numbers((line, column))
    place = SourceLocation(name, line, column) if line else None
    return Finding(rule, Severity(severity), name, message, why, fix, link, place)
