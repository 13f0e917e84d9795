"""Draws rules: a list, a page on each, and docs/rules.md."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from stackbuild.model.findings import RuleDescription, Severity
from stackbuild.views.console import Text, indent, out, table

Groups = Sequence[tuple[str, Sequence[RuleDescription]]]
_STYLES = {Severity.ERROR: "bold red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}


def draw_list(groups: Groups) -> None:
    """One line a rule, by group."""
    for title, rules in groups:
        rows = table("", "", "", title=title)
        rows.show_header = False
        for rule in rules:
            rows.add_row(Text(rule.id, "bold"), Text(str(rule.severity), _STYLES[rule.severity]), Text(rule.title))
        out().print(rows)
        out().print()


def draw_rules(rules: Iterable[RuleDescription]) -> None:
    """A page on each rule."""
    for rule in rules:
        out().print(Text.assemble((rule.id, "bold"), "  ", (str(rule.severity), _STYLES[rule.severity])))
        out().print(Text(rule.title))
        for name, value in _rows(rule):
            out().print(indent(value, "", 8, f"  {name}", "dim"))
        out().print()


def _rows(rule: RuleDescription) -> list[tuple[str, str]]:
    rows = [("when", rule.when), ("why", rule.why), ("fix", rule.fix)]
    if rule.needs:
        rows.append(("needs", f"a recipe that sets it ({rule.needs})"))
    return [*rows, ("more", rule.link)] if rule.link else rows


def text_of_all(groups: Groups) -> str:
    """docs/rules.md: one section a rule."""
    lines = [
        "# Rules",
        "",
        "<!-- Generated: `stackbuild rules --markdown > docs/rules.md`. Edit the tables that",
        "stackbuild/checks/catalogue.py names instead. -->",
        "",
        "What `stackbuild inspect`, `verify`, `recipe check` and `doctor --venv` look for. An *error* finding ends with exit code",
        "5, in a recipe with 3; *warnings* and *notes* do not. Rules that need a recipe speak only with `--recipe`.",
        "`stackbuild help ID` prints a section of this page.",
        "",
        "| rule | severity | |",
        "|---|---|---|",
    ]
    for _, rules in groups:
        lines += [f"| [{a.id}](#{a.id.lower()}) | {a.severity} | {a.title} |" for a in rules]
    for title, rules in groups:
        lines += ["", f"## {title}"]
        for rule in rules:
            lines += ["", f"### {rule.id}", "", f"**{rule.severity}** · {rule.title}", ""]
            lines += [f"- *{name}*: {_markdown(value)}" for name, value in _rows(rule)]
    return "\n".join(lines) + "\n"


def _markdown(text: str) -> str:
    """A link as a link; an asterisk or a less-than sign outside of code as itself."""
    if text.startswith("https://"):
        return f"<{text}>"
    parts = text.split("`")
    return "`".join(
        p if n % 2 else p.replace("*", "\\*").replace("<", "\\<").replace("_", "\\_") for n, p in enumerate(parts)
    )
