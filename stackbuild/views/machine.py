"""Draws what `env` and `doctor` found."""

from __future__ import annotations

from stackbuild.machine.env import Warned
from stackbuild.model.findings import Rung, Status
from stackbuild.views.console import Text, err, out, print_text, table

MARKS = {Status.PASSED: ("✓", "green"), Status.FAILED: ("✗", "red"), Status.SKIPPED: ("-", "dim")}


def draw_environment(lines: str, warnings: tuple[Warned, ...]) -> None:
    """The lines on stdout, to be evaluated or kept; the warnings beside them."""
    print_text(lines)
    for warning in warnings:
        err().print(Text(f"warning: {warning.name}: {warning.why} [{warning.source}]", "yellow"))


def draw_doctor(rungs: tuple[Rung, ...]) -> None:
    rows = table("", "check", "found")
    for rung in rungs:
        mark, style = MARKS[rung.status]
        rows.add_row(Text(mark, style), Text(rung.name), Text(rung.reason))
    out().print(rows)
    failed = sum(rung.status is Status.FAILED for rung in rungs)
    said = f"{failed} to mend (✗)" if failed else "nothing to mend: stackbuild can build here"
    err().print(Text(f"{said}; - is what was not checked or cannot be vouched for", "dim"))
