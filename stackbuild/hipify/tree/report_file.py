"""What is kept of a recipe's conversion: one JSON file beside the converted source, for `logs`, `report` and failures."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stackbuild.core.digest import canonical
from stackbuild.hipify.cpp.edits import LineMap
from stackbuild.hipify.model import Report
from stackbuild.model.findings import Finding, Severity, SourceLocation

SCHEMA = "stackbuild.hipify-stage/1"


@dataclass(frozen=True)
class RuleSummary:
    """One rule of a conversion: how often it found something, and the first of it."""

    count: int
    first: Finding


@dataclass(frozen=True)
class Conversion:
    """A conversion as it was kept: files converted of those read, substitutions by API group, findings by rule."""

    step: str
    tool: str
    converted: int
    files: int
    substitutions: dict[str, int]
    rules: tuple[RuleSummary, ...]
    patches: tuple[str, ...] = ()


def dump(report: Report, source: Path, scratch: Path, patches: tuple[str, ...]) -> str:
    """The text to keep. Paths are relative to the source and the output, so that equal conversions are equal texts."""
    files = [
        {
            "source": Path(f.source).relative_to(source).as_posix(),
            "output": Path(f.output).relative_to(scratch).as_posix(),
            "state": f.state,
            "lines": f.lines.breaks,
        }
        for f in report.files
    ]
    body = {"schema": SCHEMA, "engine": report.engine, "tool": report.tool, "files": files}
    details = {"substitutions": report.substitutions, "findings": report.findings, "patches": patches}
    return canonical({**body, **details}) + "\n"


def load(path: Path) -> Conversion:
    """The conversion that a step's file tells of. Raises OSError and ValueError."""
    try:
        data = json.loads(path.read_bytes())
        findings = [_finding(row) for row in data["findings"]]
        counts = Counter(f.rule for f in findings)
        first = {f.rule: f for f in reversed(findings)}
        order = sorted(first.values(), key=lambda f: (list(Severity).index(f.severity), -counts[f.rule], f.rule))
        return Conversion(
            step=path.stem,
            tool=data["tool"],
            converted=sum(file["state"] == "converted" for file in data["files"]),
            files=len(data["files"]),
            substitutions=data["substitutions"],
            rules=tuple(RuleSummary(counts[f.rule], f) for f in order),
            patches=tuple(data["patches"]),
        )
    except (KeyError, TypeError) as error:
        raise ValueError(f"not a conversion: {error}") from error


def places(path: Path) -> list[tuple[str, str, LineMap]]:
    """Each converted file as output, source and line map. Raises OSError and ValueError."""
    files = json.loads(path.read_bytes())["files"]
    return [(f["output"], f["source"], LineMap(tuple((a, b) for a, b in f["lines"]))) for f in files]


def _finding(row: dict[str, Any]) -> Finding:
    place = SourceLocation(**row["place"]) if row["place"] else None
    return Finding(
        row["rule"], Severity(row["severity"]), row["subject"], row["found"], row["why"], row["fix"], row["link"], place
    )
