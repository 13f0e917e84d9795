"""Renames: by the tables, and by the rules that name identifiers, patterns, literals and namespaces."""

from __future__ import annotations

import re
from collections.abc import Iterator

from stackbuild.hipify.cpp.edits import Edit
from stackbuild.hipify.cpp.scan import is_name_char, line_start
from stackbuild.hipify.cpp.source_text import View
from stackbuild.hipify.model import INSIDE_NAME
from stackbuild.hipify.passes import namespaces
from stackbuild.hipify.rules.lookups import Lookups, compiled_pattern
from stackbuild.model.findings import Finding, Severity

TABLE = "table"
_NONE: frozenset[str] = frozenset()


def by_tables(
    view: View, lookups: Lookups, present: frozenset[str], own_lines: frozenset[int] = frozenset()
) -> Iterator[Edit]:
    """The table's edits for the names `present` in the text.

    `own_lines` are conditionals, by where they begin, that ask for CUDA's compiler and leave HIP's to another branch.
    """
    for name in present:
        if (subst := lookups.names.get(name)) is not None:
            for at in view.own(name):
                if name != "__CUDACC__" or line_start(view.code, at) not in own_lines:
                    yield Edit(at, at + len(name), subst.hip, TABLE, subst.group)


def by_rules(view: View, lookups: Lookups) -> Iterator[Edit]:
    """The edits of identifier, pattern and namespace rules. Each comes before the tables: put them first.

    Patterns leave names alone that the tables know: those are CUDA's and not the project's.
    """
    present = view.words & lookups.matches.get("identifier", _NONE)
    for rule in lookups.of_kind("identifier", view.name) if present else ():
        if not view.words.isdisjoint(rule.unless) or not view.meets(rule.where):
            continue
        for name in rule.match:
            if name in present and rule.to:
                for at in view.own(name):
                    tag = _TAG.search(view.code, max(0, at - 80), at) if rule.bare else None
                    yield Edit(tag.start() if tag else at, at + len(name), rule.to[0], rule.id)
    for rule in lookups.of_kind("pattern", view.name):
        for pattern in rule.match:
            for name in sorted(
                w for w in view.words if w not in lookups.cuda_names and compiled_pattern(pattern).fullmatch(w)
            ):
                to = compiled_pattern(pattern).sub(rule.to[0] if rule.to else "", name, count=1)
                for at in view.places(name):
                    yield Edit(at, at + len(name), to, rule.id)
    yield from namespaces.edits(view, lookups)


_TAG = re.compile(r"\b(?:struct|class|union|enum)\s+(?:::\s*)?\Z")


def literals(view: View, lookups: Lookups) -> tuple[list[Edit], list[Finding]]:
    """The edits of literal rules, outside comments, and an error for each match inside a longer identifier."""
    edits: list[Edit] = []
    errors: list[Finding] = []
    for rule in lookups.of_kind("literal", view.name):
        for text in rule.match:
            for at in _occurrences(view, text):
                end = at + len(text)
                if _cuts_identifier(view.text, at, end):
                    errors.append(_inside(view, at, text, rule.id, rule.place))
                else:
                    edits.append(Edit(at, end, rule.to[0] if rule.to else "", rule.id))
    return edits, errors


def _occurrences(view: View, text: str) -> Iterator[int]:
    at = view.text.find(text)
    while at >= 0:
        if not view.in_comment(at):
            yield at
        at = view.text.find(text, at + len(text))


def _cuts_identifier(text: str, start: int, end: int) -> bool:
    before = start > 0 and is_name_char(text[start - 1]) and is_name_char(text[start])
    after = end < len(text) and is_name_char(text[end]) and is_name_char(text[end - 1])
    return before or after


def _inside(view: View, at: int, text: str, rule: str, place: str) -> Finding:
    return view.finding(
        at,
        INSIDE_NAME,
        Severity.ERROR,
        f"the literal {text!r} of rule {rule} matches inside a longer identifier",
        "a literal that cuts an identifier changes names that it was not written for",
        f"use `identifier:` or `pattern:` at {place}, or a longer literal",
    )
