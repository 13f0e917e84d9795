"""Draws a verification: a line for each rung as it ends, then the findings, then what may be claimed."""

from __future__ import annotations

from stackbuild.core.log_excerpt import clean
from stackbuild.core.output_style import OUTPUT_STYLE
from stackbuild.model.findings import Rung, Severity, Status, Verification
from stackbuild.views.console import Text, alarm, err, out, same_place
from stackbuild.views.inspect import draw_findings

_MARKS = {Status.PASSED: ("✓", "green"), Status.FAILED: ("✗", "bold red"), Status.SKIPPED: ("–", "yellow")}


def draw_rung(rung: Rung) -> None:
    """Progress, on stderr: the rung that just ended."""
    err().print(_line(rung))


def draw_verification(verification: Verification) -> None:
    """The report: rungs, findings, and the claim."""
    console = out()
    if not same_place() or OUTPUT_STYLE.verbosity < 0:  # in one place the rungs were seen as they ended
        console.print(Text(clean(verification.subject), style="bold"))
        for rung in verification.rungs:
            console.print(_line(rung))
    console.print()
    draw_findings([finding for finding in verification.findings if finding.severity is not Severity.NOTE])
    console.print()
    console.print(
        Text(clean(verification.claim.replace("\n", " ")), style="bold red" if verification.failed else "bold green")
    )


def draw_unmet(line: str) -> None:
    """A rung that was required and did not pass."""
    alarm().print(Text(f"✗ {clean(line)}", style="bold red"))


def _line(rung: Rung) -> Text:
    mark, style = _MARKS[rung.status]
    seconds = f"{rung.seconds:5.1f} s" if rung.status is not Status.SKIPPED else " " * 7
    reason = clean(rung.reason.replace("\n", " "))
    return Text.assemble((f"{mark} ", style), f"{rung.name:<18} ", (f"{seconds}  ", "dim"), reason)
