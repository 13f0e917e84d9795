"""Shows a compiler's messages about converted files against the CUDA files they came from."""

from __future__ import annotations

import os
import re
from pathlib import Path

import stackbuild.hipify.state as state
from stackbuild.hipify.values import FileReport

_PLACE = re.compile(r"(?P<path>[^\s:()\"'<>]+\.\w+)(?P<sep>:|\()(?P<line>\d+)")


def relocate(log: str, out: Path) -> str:
    """The text of a log with each `OUT/file:line` as `SRC/file:line`; other places stay as they are.

    Lines that conversion added count as the line they were added before.
    """
    last = state.load(out if out.is_dir() else out.parent)
    known = {_real(kept.report.output): kept.report for kept in last.files.values()}
    suffixes = _by_suffix(list(known.values()))

    def told(found: re.Match[str]) -> str:
        path = found.group("path")
        report = known.get(_real(path)) or suffixes.get(path.removeprefix("./"))
        if report is None:
            return found.group()
        return f"{report.source}{found.group('sep')}{report.lines.original(int(found.group('line')))}"

    return _PLACE.sub(told, log)


def _real(path: str) -> str:
    return os.path.realpath(path)


def _by_suffix(reports: list[FileReport]) -> dict[str, FileReport]:
    """Reports by every tail of their output's path that only one has: a build prints paths from its own folder."""
    found: dict[str, list[FileReport]] = {}
    for report in reports:
        parts = Path(report.output).parts
        for start in range(1, len(parts)):
            found.setdefault("/".join(parts[start:]), []).append(report)
    return {tail: one[0] for tail, one in found.items() if len(one) == 1}
