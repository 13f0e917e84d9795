"""What of a conversion made a file's lines other than a patch expects them: asked only where a patch does not apply."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from stackbuild.hipify.cpp.edits import Edit, apply
from stackbuild.hipify.engines import Engine
from stackbuild.hipify.model import Report
from stackbuild.hipify.passes.includes import HEADER, RUNTIME
from stackbuild.hipify.passes.rename import TABLE
from stackbuild.sources.patch_drift import HunkChange
from stackbuild.sources.patches import HunkCause

EARLIER = "an earlier patch of the series"


@dataclass(frozen=True)
class _PlacedEdit:
    """An edit with its place in the converted text, and the text that it replaced."""

    edit: Edit
    start: int
    end: int
    before: str

    @property
    def name(self) -> str:
        """A rule by its id, HIPIFY's tables by what they replaced."""
        if self.edit.by == "runtime":
            return f"the include of {RUNTIME}"
        return f"HIPIFY ({self.before.strip()})" if self.edit.by in (TABLE, HEADER) else f"rule {self.edit.by}"


def cause_finder(
    report: Report, source: Path, scratch: Path, engine: Engine
) -> Callable[[str, tuple[HunkChange, ...]], HunkCause]:
    """Who made a converted file's lines what they are."""
    by_path = {Path(f.output).relative_to(scratch).as_posix(): f for f in report.files}

    def answer(file: str, changes: tuple[HunkChange, ...]) -> HunkCause:
        if file not in by_path:
            return HunkCause()
        path = Path(by_path[file].source)
        text = path.read_bytes().decode("utf-8", "surrogateescape")
        edits = list(engine.run(text, path.relative_to(source).as_posix()).edits)
        return explain(text, edits, changes)

    return answer


def explain(text: str, edits: list[Edit], changes: tuple[HunkChange, ...]) -> HunkCause:
    """Whom each change is due to, by the edits that made the converted text of `text`.

    A change is certainly a rule's where the patch has what the rule replaced. Where it has something else, an older
    rule may have made that, or upstream changed its side.
    """
    lines = apply(text, edits).split("\n")
    placed_edits = list(_place_edits(text, edits))
    due = [one for change in changes for one in _causes_of(placed_edits, change, _offset(lines, change))]
    upstream = True if any(not name for name, _ in due) else False if all(sure for _, sure in due) else None
    return HunkCause(tuple(dict.fromkeys(name for name, _ in due if name)), upstream)


def _place_edits(text: str, edits: list[Edit]) -> Iterator[_PlacedEdit]:
    shift = 0
    for edit in edits:
        start = edit.start + shift
        yield _PlacedEdit(edit, start, start + len(edit.text), text[edit.start : edit.end])
        shift += len(edit.text) - (edit.end - edit.start)


def _offset(lines: list[str], change: HunkChange) -> int | None:
    """Where the line of a change begins in the converted text; None where that has no such line: a patch changed it."""
    there = [i for i, line in enumerate(lines) if line == change.text]
    if not there:
        return None
    nearest = min(there, key=lambda i: abs(i + 1 - change.line))
    return sum(len(line) + 1 for line in lines[:nearest])


def _causes_of(edits: list[_PlacedEdit], change: HunkChange, at: int | None) -> Iterator[tuple[str, bool]]:
    """Whom a change is due to, "" for upstream, and whether that is certain."""
    if at is None:
        yield EARLIER, True
    elif change.kind == "added":
        names = [m.name for m in edits if m.start <= at and m.end >= at + len(change.text) and m.end > m.start]
        yield from ((name, True) for name in names or [""])
    elif change.kind == "missing":
        names = [m.name for m in edits if m.start == m.end == at and "\n" in m.before]
        yield from ((name, True) for name in names or [""])
    else:
        for start, end, before in change.spans:
            causes = [m for m in edits if m.start < max(at + end, at + start + 1) and m.end > at + start]
            causes += [m for m in edits if m.start == m.end == at + start]
            yield from ((m.name, bool(before) and before in m.before) for m in causes)
            if not causes:
                yield "", True
