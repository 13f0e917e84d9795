"""Draws recipes: the list, a text, what a check found."""

from __future__ import annotations

import json
from itertools import groupby

from stackbuild.checks.source_tags import SourceTags
from stackbuild.core.digest import Json
from stackbuild.model.findings import Finding, Severity
from stackbuild.model.recipe import Recipe
from stackbuild.tables.proofs import Proof
from stackbuild.views.console import Text, err, indent, out, print_text, table

STYLE = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "blue"}


def draw_list(recipes: tuple[Recipe, ...], ran: dict[str, Proof]) -> None:
    rows = table("recipe", "rocm", "gfx", "python", "what it builds", "ran here")
    for recipe in recipes:
        gfx = f"{len(recipe.gfx)} targets" if len(recipe.gfx) > 3 else ", ".join(recipe.gfx)
        summary = ran[recipe.name].summary if recipe.name in ran else ""
        cells = (recipe.name, recipe.rocm or "-", gfx, ", ".join(recipe.python), recipe.summary, summary)
        rows.add_row(*map(Text, cells))
    out().print(rows)


def draw_outdated(rows: tuple[SourceTags, ...]) -> None:
    """Each source with what is newer upstream, and what to do where a server could not be asked."""
    if not rows:
        out().print("no source of this recipe comes from a git repository: there is nothing to compare")
        return
    drawing = table("source", "builds", "newest of its line", "newest", "")
    for row in rows:
        current = "-" if row.problem else "this one"
        newest, line = row.newest or current, row.in_line or current
        builds = f"{row.ref[:12]} ({row.tag})" if row.tag else row.ref
        drawing.add_row(*map(Text, (row.source, builds, line, newest, row.problem)))
    out().print(drawing)
    if names := [row.source for row in rows if row.unreachable]:
        err().print(
            f"nothing is known of {', '.join(names)}\n  next: check the network, or name a folder with clones of these "
            "repositories: --mirror DIR"
        )


def draw_text(text: str) -> None:
    """A text as it is: it may be piped into a file."""
    print_text(text)


def draw_schema(schema: dict[str, Json]) -> None:
    print_text(json.dumps(schema, indent=2) + "\n")


def draw_findings(name: str, findings: tuple[Finding, ...]) -> None:
    """Each finding a line; what explains several in a row is said once, below the last."""
    for (severity, advice), alike in groupby(findings, lambda f: (f.severity, _advice(f))):
        for finding in alike:
            at = finding.place
            where = (
                f"{at.file}:{at.line}:{at.column}: "
                if at and not finding.subject.startswith((at.file, at.file.rpartition("/")[2]))
                else ""
            )
            out().print(
                Text(f"{severity.value:8}", STYLE[severity]),
                Text(f"{where}{finding.subject}: {finding.found}"),
                Text(f"[{finding.rule}]", "dim"),
            )
        out().print(indent(advice, "dim", 9))
    if findings:
        err().print(Text("`stackbuild help ID` explains the rule in square brackets.", "dim"))
    counts = {s: sum(f.severity is s for f in findings) for s in Severity}
    err().print(Text(f"{name}: " + ", ".join(f"{n} {s.value}{'s' * (n != 1)}" for s, n in counts.items())))


def _advice(finding: Finding) -> str:
    return f"{finding.why}; next: {finding.fix}" + (f" [{finding.link}]" if finding.link else "")
