"""Draws a verification: a line for each rung as it ends, then the findings, then what may be claimed."""

from __future__ import annotations

from stackbuild.core.log_excerpt import clean
from stackbuild.model.findings import Rung, Severity, Status, Verification
from stackbuild.views.console import Text, margin, page
from stackbuild.views.inspect import draw_findings

_MARKS = {Status.PASSED: ("✓", "green"), Status.FAILED: ("✗", "bold red"), Status.SKIPPED: ("–", "yellow")}


def draw_rung(rung: Rung) -> None:
    """Progress, on stderr: the rung that just ended."""
    margin().print(_line(rung))


def draw_verification(made: Verification) -> None:
    """The report: rungs, findings, and the claim."""
    out = page()
    if not (out.is_terminal and margin().is_terminal):  # on one screen the rungs were seen as they ended
        out.print(Text(clean(made.subject), style="bold"))
        for rung in made.rungs:
            out.print(_line(rung))
    out.print()
    draw_findings([finding for finding in made.findings if finding.severity is not Severity.NOTE])
    out.print()
    out.print(Text(clean(made.claim.replace("\n", " ")), style="bold red" if made.failed else "bold green"))


def _line(rung: Rung) -> Text:
    mark, style = _MARKS[rung.status]
    seconds = f"{rung.seconds:5.1f} s" if rung.status is not Status.SKIPPED else " " * 7
    reason = clean(rung.reason.replace("\n", " "))
    return Text.assemble((f"{mark} ", style), f"{rung.name:<19}", (f"{seconds}  ", "dim"), reason)
