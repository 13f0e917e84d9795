"""Draws a plan, a key's explanation and what is in the store."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterable

from stackbuild.core.errors import safe
from stackbuild.plan.current import TimedPlan
from stackbuild.plan.explain import Explanation
from stackbuild.views.console import Text, out, wraps
from stackbuild.views.text import format_duration

STYLES = {"+": "green", "-": "red", "~": "yellow"}
FILES = 40
"""How many changed files are shown."""
SIGNS = {"cached": ("✓", "green"), "run": ("▸", "cyan")}


def draw_plan(timed_plan: TimedPlan) -> None:
    """One line a step: cached or to run, its key, and why it runs. Then what the steps to run may take."""
    rows = timed_plan.status.rows
    name = max((len(row.step) for row in rows), default=0)
    does = max((len(row.action) for row in rows), default=0)
    column = 3 + name + 2 + does + 2 + 12 + 2
    width = out().width if wraps(sys.stdout) else 0
    drawing = Text(f"   {'step':{name}}  {'does':{does}}  {'key':12}  why", "bold")
    for row in rows:  # a table of a thousand rows takes rich a second
        sign, style = SIGNS[row.state]
        drawing.append(f"\n{sign}", f"{style} not bold")
        drawing.append(f"  {row.step:{name}}  {row.action:{does}}  {row.key[:12]}  ", "not bold")
        why = safe(row.why)
        drawing.append(f"\n     {why}" if why and 0 < width < column + len(why) else why, "dim not bold")
    out().print(drawing)
    todo = sum(r.state == "run" for r in rows)
    out().print(
        f"{todo} of {len(rows)} steps to run" if todo else f"nothing to do: all {len(rows)} steps are in the store"
    )
    if timed_plan.guessed_hours:
        out().print(Text(safe(f"never built here: {timed_plan.guessed_hours}")))
    if took := {t.step: t.last_seconds for t in timed_plan.times if t.last_seconds is not None}:
        each = ", ".join(f"{step} {format_duration(seconds)}" for step, seconds in took.items())
        out().print(Text(safe(f"took when they last ran here: {each}")))


def draw_explanation(explanation: Explanation) -> None:
    """The key text with what its digests are of, then what differs from the last build."""
    out().print(Text(f"key {explanation.key}", "bold"), soft_wrap=True)
    out().print(Text(safe(explanation.text.rstrip())), soft_wrap=True)
    for line in explanation.folders:
        out().print(Text(safe(line), "dim"))
    if not explanation.before:
        out().print(Text("\nnever built here before", "dim"))
    elif explanation.before == explanation.text:
        out().print(Text("\nthe same as the last build's: nothing to do", "dim"))
        _draw_origin(explanation)
    else:
        out().print(Text("\nwhat changed since the last build", "bold"))
        for cause in explanation.causes:
            if cause.step != explanation.step:
                out().print(Text(f"{safe(cause.step)}, which it needs:", "bold"))
            more = len(cause.files) - FILES
            _draw_changes((*cause.text, *cause.files[:FILES], *([f"… and {more} more files"] if more > 0 else [])))
        if not explanation.causes:
            _draw_changes(_difference(explanation.before, explanation.text))


def _draw_origin(explanation: Explanation) -> None:
    if origin := explanation.origin:
        out().print(Text(safe(f"its output is from {origin.url}")))
        out().print(Text(safe(f"signed by {origin.signed_by}; made {origin.made_at} by run {origin.run}")))


def _difference(before: str, text: str) -> Iterable[str]:
    lines = difflib.unified_diff(before.split("\n"), text.split("\n"), n=0, lineterm="")
    return (line for line in lines if not line.startswith(("---", "+++", "@@")))


def _draw_changes(lines: Iterable[str]) -> None:
    for line in lines:
        out().print(Text(safe(line), STYLES.get(line[:1], "dim")))
