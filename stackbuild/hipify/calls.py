"""Call rules: a function whose arguments change, found with balanced brackets."""

from __future__ import annotations

from collections.abc import Iterator

from stackbuild.hipify.edits import Edit, wrap
from stackbuild.hipify.prepare import Plan
from stackbuild.hipify.rules import Rule
from stackbuild.hipify.scan import arguments, skip_space
from stackbuild.hipify.view import View
from stackbuild.report import Finding, Severity

Span = tuple[int, int]


def by_rules(view: View, plan: Plan) -> tuple[list[Edit], list[Finding]]:
    """The edits of all call rules, and a finding for each call whose bracket is never closed."""
    edits: list[Edit] = []
    findings: list[Finding] = []
    for rule in plan.of_kind("call", view.name):
        for name in rule.match:
            if name in view.words:
                for at in view.own(name):
                    made = _one(view, rule, at, at + len(name))
                    if made is None:
                        findings.append(_unbalanced(view, name, at))
                    else:
                        edits += made
    return edits, findings


def _one(view: View, rule: Rule, start: int, end: int) -> list[Edit] | None:
    """The edits of one rule at one name: none where it is no call or has another number of arguments."""
    open_at = skip_space(view.code, end)
    if not view.code.startswith("(", open_at):
        return []
    found = arguments(view.code, open_at)
    if found is None:
        return None
    spans, close_at = found
    if (rule.count is not None and len(spans) != rule.count) or _declares(view, start, spans):
        return []
    edits = [Edit(start, end, rule.to[0], rule.id)] if rule.to else []
    edits += _wraps(view, rule, spans)
    edits += _inserts(rule, spans, open_at, close_at)
    edits += list(_drops(rule, spans))
    return edits


def _declares(view: View, start: int, spans: list[Span]) -> bool:
    """Whether this is a declaration of the function and no call: a type stands before it on its line."""
    line = max(view.code.rfind(c, 0, start) for c in ";{}\n") + 1
    before = view.code[line:start].split()
    return bool(before) and before[0] in ("extern", "static", "inline", "__host__", "typedef", "#")


def _wraps(view: View, rule: Rule, spans: list[Span]) -> Iterator[Edit]:
    for index, template in rule.wrap:
        if index < len(spans):
            before, after = template.split("{}")
            start, end = spans[index]
            if start < end and not view.text.startswith(before, start):
                yield from wrap(start, end, before, after, rule.id)


def _inserts(rule: Rule, spans: list[Span], open_at: int, close_at: int) -> Iterator[Edit]:
    for index, text in rule.insert:
        if index < len(spans):
            yield Edit(spans[index][0], spans[index][0], f"{text}, ", rule.id)
        elif spans:
            yield Edit(spans[-1][1], spans[-1][1], f", {text}", rule.id, closes=True)
        else:
            yield Edit(open_at + 1, open_at + 1, text, rule.id)


def _drops(rule: Rule, spans: list[Span]) -> Iterator[Edit]:
    """Deletions of whole arguments, each with the comma that divides it from the one before, or else after."""
    for index in rule.drop:
        if index < len(spans):
            start, end = spans[index]
            if index > 0:
                start = spans[index - 1][1]
            elif len(spans) > 1:
                end = spans[1][0]
            yield Edit(start, end, "", rule.id)


def _unbalanced(view: View, name: str, at: int) -> Finding:
    return view.finding(
        at,
        "HIPIFY-UNBALANCED",
        Severity.WARNING,
        f"the bracket of {name}( is never closed",
        "its arguments cannot be told apart, so only its name was converted",
        "close the bracket, or convert this call by hand",
    )
