"""Draws rules: a list, a page on each, and docs/rules.md."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from stackbuild.inspection.rules.rule import About
from stackbuild.model.findings import Severity
from stackbuild.views.console import Text, out, table

Groups = Sequence[tuple[str, Sequence[About]]]
_STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}


def draw_list(groups: Groups) -> None:
    """One line a rule, by group."""
    for title, abouts in groups:
        rows = table("", "", "", title=title)
        rows.show_header = False
        for about in abouts:
            rows.add_row(Text(about.id, "bold"), Text(str(about.severity), _STYLES[about.severity]), Text(about.title))
        out().print(rows)
        out().print()


def draw_rules(abouts: Iterable[About]) -> None:
    """A page on each rule."""
    for about in abouts:
        out().print(Text.assemble((about.id, "bold"), "  ", (str(about.severity), _STYLES[about.severity])))
        out().print(Text(about.title))
        for name, value in _rows(about):
            out().print(Text.assemble((f"  {name:<6}", "dim"), value))
        out().print()


def _rows(about: About) -> list[tuple[str, str]]:
    rows = [("when", about.when), ("why", about.why), ("fix", about.fix)]
    if about.needs:
        rows.append(("needs", f"a recipe that sets it ({about.needs})"))
    return [*rows, ("more", about.link)] if about.link else rows


def text_of_all(groups: Groups) -> str:
    """docs/rules.md: one section a rule."""
    lines = [
        "# Rules",
        "",
        "<!-- Generated: `stackbuild rules --markdown > docs/rules.md`. Edit the rules in stackbuild/inspect/rules and",
        "stackbuild/verify/catalogue.py instead. -->",
        "",
        "What `stackbuild inspect` and `stackbuild verify` look for. An *error* finding ends with exit code 5; *warnings* and",
        "*notes* do not. Rules that need a recipe speak only with `--recipe`.",
        "",
        "| rule | severity | |",
        "|---|---|---|",
    ]
    for _, abouts in groups:
        lines += [f"| [{a.id}](#{a.id.lower()}) | {a.severity} | {a.title} |" for a in abouts]
    for title, abouts in groups:
        lines += ["", f"## {title}"]
        for about in abouts:
            lines += ["", f"### {about.id}", "", f"**{about.severity}** · {about.title}", ""]
            lines += [f"- *{name}*: {_markdown(value)}" for name, value in _rows(about)]
    return "\n".join(lines) + "\n"


def _markdown(text: str) -> str:
    """A link as a link; an asterisk or a less-than sign outside of code as itself."""
    if text.startswith("https://"):
        return f"<{text}>"
    parts = text.split("`")
    return "`".join(
        p if n % 2 else p.replace("*", "\\*").replace("<", "\\<").replace("_", "\\_") for n, p in enumerate(parts)
    )
