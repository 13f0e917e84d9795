"""What a run leaves in its output folder for the next: the digests that decide, and the reports of unchanged files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stackbuild.hipify.edits import LineMap
from stackbuild.hipify.files import STATE
from stackbuild.hipify.values import FileReport
from stackbuild.report import Finding, Place, Severity

FORMAT = 3


@dataclass(frozen=True)
class Kept:
    """One file of the last run: sha256 of input and output, stamps of both, its report.

    `source` is the input's size, times and inode when it was read, all 0 where it had just been written: bytes whose
    stamp is the same are the same. `stamp` is the output's size and time as written.
    """

    read: str
    written: str
    source: tuple[int, ...]
    stamp: tuple[int, int]
    report: FileReport


@dataclass(frozen=True)
class State:
    """A whole run. `key` is the digest of tables, rules, target and engine; `support` the support headers written."""

    key: str = ""
    files: Mapping[str, Kept] = field(default_factory=dict)
    support: tuple[str, ...] = ()


def load(folder: Path) -> State:
    """The state of the last run into `folder`; an empty one where there is none that can be read."""
    try:
        data = json.loads((folder / STATE).read_bytes())
        if data["format"] != FORMAT:
            return State()
        files = {name: _kept(name, row) for name, row in data["files"].items()}
        return State(data["key"], files, tuple(data["support"]))
    except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError):
        return State()


def dump(state: State) -> bytes:
    """The state as the bytes of its file: rows, since they load fastest."""
    files = {name: _row(kept) for name, kept in state.files.items()}
    data = {"format": FORMAT, "key": state.key, "support": list(state.support), "files": files}
    return json.dumps(data, separators=(",", ":")).encode("utf-8", "surrogateescape")


def _row(kept: Kept) -> list[Any]:
    report = kept.report
    findings = [
        [f.rule, f.severity.value, f.found, f.why, f.fix, f.link, f.place.line if f.place else 0, f.place.column if f.place else 0]
        for f in report.findings
    ]  # fmt: skip
    lines = list(report.lines.breaks)
    state = "copied" if report.state == "copied" else "refused" if report.state == "refused" else "converted"
    counts = [dict(report.substitutions), dict(report.rules)]
    return [
        kept.read,
        kept.written,
        kept.source,
        kept.stamp,
        report.source,
        report.output,
        state,
        findings,
        *counts,
        lines,
    ]


def _kept(name: str, row: list[Any]) -> Kept:
    read, written, seen, stamp, source, output, state, findings, substitutions, rules, lines = row
    found = tuple(
        Finding(f[0], Severity(f[1]), name, f[2], f[3], f[4], f[5], Place(name, f[6], f[7]) if f[6] else None)
        for f in findings
    )
    breaks = LineMap(tuple((a, b) for a, b in lines))
    return Kept(
        read,
        written,
        tuple(seen),
        (stamp[0], stamp[1]),
        FileReport(source, output, state, found, substitutions, rules, breaks),
    )
