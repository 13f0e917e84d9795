"""Draws how a whole build ended, and a dry run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stackbuild.core.shell_words import shell_words
from stackbuild.views.console import Text, err, out, print_json
from stackbuild.views.publishing import draw_install_line, draw_usages
from stackbuild.views.text import format_duration

if TYPE_CHECKING:
    from stackbuild.build.dry_run import DryStep
    from stackbuild.pipeline.release import ReleaseReport


def draw_release(report: ReleaseReport, until: str = "") -> None:
    """What was verified, where the wheels are, and, last, how to install them. `until` is the step that ended the build, or
    `configure`."""
    if report.claim:
        err().print(Text(report.claim))
    took = format_duration(report.seconds)
    if report.fresh:
        err().print(Text(f"{report.recipe} done in {took}", "bold"))
        err().print(Text(f"report: stackbuild report {report.run}", "dim"))
    elif until == "configure":
        err().print(
            Text(f"nothing to do: what of {report.recipe} can be configured now, is configured ({took})", "bold")
        )
    else:
        headline = "built, proved and published" if report.receipt else "built and proved" if report.claim else "built"
        goal = f"{until} of {report.recipe}" if until else report.recipe
        err().print(Text(f"nothing to do: {goal} is {headline} ({took})", "bold"))
    if report.receipt is not None:
        if report.fresh:
            draw_usages(report.receipt)
        draw_install_line(report.receipt)


def draw_dry_run(steps: tuple[DryStep, ...], as_json: bool) -> None:
    """Each step that would run, with its commands ready to paste."""
    if as_json:
        print_json(steps, "stackbuild.dry-run/1")
        return
    for step in steps:
        out().print(Text.assemble(("▸ ", "cyan"), (step.step, "bold"), (f"  {step.why}", "dim")))
        for argv in step.commands:
            out().print(Text(f"    {shell_words(argv)}"))
        if not step.commands:
            parameters = [f"{name}={value}" for name, value in step.params if not name.startswith("package ")]
            out().print(Text(f"    ({step.action}: {', '.join(parameters)[:300]})", "dim"))
    if not steps:
        out().print("nothing to do: every step is in the store")
