"""Draws a plan, a key's explanation and what is in the store."""

from __future__ import annotations

import difflib

from stackbuild.errors import safe
from stackbuild.explain import Explanation
from stackbuild.planning import Reasoned
from stackbuild.show.paper import Text, page

SIGNS = {"cached": ("✓", "green"), "run": ("▸", "cyan")}


def draw_plan(rows: tuple[Reasoned, ...]) -> None:
    """One line a step: cached or to run, its key, and why it runs."""
    name = max((len(row.step) for row in rows), default=0)
    does = max((len(row.action) for row in rows), default=0)
    drawn = Text(f"   {'step':{name}}  {'does':{does}}  {'key':12}  why\n", "bold")
    for row in rows:  # a table of a thousand rows takes rich a second
        sign, style = SIGNS[row.state]
        drawn.append(sign, style)
        drawn.append(f"  {row.step:{name}}  {row.action:{does}}  {row.key[:12]}  ", "not bold")
        drawn.append(f"{safe(row.why)}\n", "dim not bold")
    page().print(drawn, end="")
    todo = sum(r.state == "run" for r in rows)
    page().print(
        f"{todo} of {len(rows)} steps to run" if todo else f"nothing to do: all {len(rows)} steps are in the store"
    )


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
        for line in difflib.unified_diff(
            explanation.before.split("\n"), explanation.text.split("\n"), n=0, lineterm=""
        ):
            if not line.startswith(("---", "+++", "@@")):
                page().print(Text(safe(line), "green" if line[0] == "+" else "red"))
