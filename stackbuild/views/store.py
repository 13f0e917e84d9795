"""Draws what is in the store, and logs."""

from __future__ import annotations

from pathlib import Path

from stackbuild.core.log_excerpt import clean
from stackbuild.store.maintenance import Damage, GcReport, StoredOutput, UnfinishedStep
from stackbuild.views.console import Text, out, table
from stackbuild.views.text import format_duration

LONGEST_LINE = 1 << 16
"""Characters of a log that are held at once."""


def megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB" if size < 1e9 else f"{size / 1e9:.2f} GB"


def draw_listing(rows: tuple[StoredOutput, ...], unfinished_steps: tuple[UnfinishedStep, ...], root: Path) -> None:
    drawing = table("step", "recipe", "size", "took", "made", "key")
    for row in rows:
        drawing.add_row(
            row.step, row.recipe, megabytes(row.size), format_duration(row.seconds), row.made_at, row.key[:12]
        )
    out().print(drawing)
    out().print(Text(f"{len(rows)} outputs, {megabytes(sum(r.size for r in rows))} in {root}"))
    for unfinished_step in unfinished_steps:
        why = "the next build resumes in it" if unfinished_step.waits else "`stackbuild shell` shows it"
        out().print(Text(f"not finished: {unfinished_step.name}, {megabytes(unfinished_step.size)}; {why}"))


def draw_damage(damages: tuple[Damage, ...]) -> None:
    for damage in damages:
        out().print(
            Text.assemble(
                ("✗ ", "red"), f"{damage.tree[:12]}: {damage.reason}; in quarantine, the next build makes it again"
            )
        )
    if not damages:
        out().print("every file has its digest")


def draw_freed(report: GcReport, rehearsed: bool) -> None:
    verb = "would remove" if rehearsed else "removed"
    out().print(Text(f"{verb} {report.records} records and {report.trees} outputs, {megabytes(report.size)}"))


def draw_copied(step: str, folder: Path) -> None:
    out().print(Text(f"copied {step} to {folder}"))


def draw_logs(logs: tuple[Path, ...]) -> None:
    for log in logs:
        out().print(Text(f"{log.stem:<20} {log}"), soft_wrap=True)  # a path is copied whole


def draw_log(log: Path) -> None:
    """A whole log, a line at a time, without its control sequences; of a very long line the beginning."""
    with log.open(encoding="utf-8", errors="replace", newline="\n") as file:
        begins = True
        while piece := file.readline(LONGEST_LINE):
            if begins:
                out().print(Text(clean(piece.rstrip("\n"))))
            begins = piece.endswith("\n")
