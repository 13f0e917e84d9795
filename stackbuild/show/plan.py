"""Draws a plan, a key's explanation and what is in the store."""

from __future__ import annotations

import difflib

from stackbuild.errors import safe
from stackbuild.explain import Explanation
from stackbuild.planning import Reasoned
from stackbuild.show.paper import Text, page, table

SIGNS = {"cached": ("✓", "green"), "run": ("▸", "cyan")}


def draw_plan(rows: tuple[Reasoned, ...]) -> None:
    """One line a step: cached or to run, its key, and why it runs."""
    drawn = table("", "step", "does", "key", "why")
    for row in rows:
        sign, style = SIGNS[row.state]
        drawn.add_row(Text(sign, style), row.step, row.action, row.key[:12], Text(safe(row.why), "dim"))
    page().print(drawn)
    todo = sum(r.state == "run" for r in rows)
    page().print(f"{todo} of {len(rows)} steps to run" if todo else f"nothing to do: all {len(rows)} steps are in the store")


def draw_explanation(explanation: Explanation) -> None:
    """The key text, then its difference from the last build's."""
    page().print(Text(f"key {explanation.key}", "bold"))
    page().print(Text(safe(explanation.text.rstrip())))
    if not explanation.before:
        page().print(Text("\nnever built here before", "dim"))
    elif explanation.before == explanation.text:
        page().print(Text("\nthe same as the last build's: nothing to do", "dim"))
    else:
        page().print(Text("\nwhat changed since the last build", "bold"))
        for line in difflib.unified_diff(explanation.before.split("\n"), explanation.text.split("\n"), n=0, lineterm=""):
            if not line.startswith(("---", "+++", "@@")):
                page().print(Text(safe(line), "green" if line[0] == "+" else "red"))
