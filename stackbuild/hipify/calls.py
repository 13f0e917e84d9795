"""Call rules: a function whose arguments change, found with balanced brackets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from stackbuild.hipify.argumentlist import NewList, new_list
from stackbuild.hipify.edits import Edit, wrap
from stackbuild.hipify.prepare import Plan
from stackbuild.hipify.rules import Rule
from stackbuild.hipify.scan import after_template, arguments, back_space, back_token, is_name_char, skip_space
from stackbuild.hipify.view import View
from stackbuild.report import Finding, Severity

Span = tuple[int, int]


@dataclass
class Calls:
    """What call rules ask of a text: edits, whole new argument lists, and what could not be done."""

    edits: list[Edit] = field(default_factory=list)
    lists: list[NewList] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)


def by_rules(view: View, plan: Plan) -> Calls:
    """What all call rules ask, with a finding for each call that cannot be taken apart or is not as its rule says."""
    asked = Calls()
    if view.words.isdisjoint(plan.matched.get("call", ())):
        return asked
    for rule in plan.of_kind("call", view.name):
        for name in rule.match:
            if name in view.words:
                for at in view.own(name):
                    _one(view, rule, (at, at + len(name)), asked)
    return asked


def _one(view: View, rule: Rule, name: Span, asked: Calls) -> None:
    """What one rule asks at one name: nothing where it is no call or has another number of arguments."""
    open_at = after_template(view.code, name[1])
    if not view.code.startswith("(", open_at):
        return
    found = arguments(view.code, open_at)
    if found is None:
        asked.findings.append(_unbalanced(view, view.text[slice(*name)], name[0]))
        return
    spans, close_at = found
    if _declares(view, name[0], spans):
        return
    if (line := _DIRECTIVE.search(view.code, open_at, close_at)) is not None:
        spans = [span for span in spans if span[1] <= line.start()]
        if rule.count is not None or rule.insert or rule.drop or rule.arguments:
            asked.findings.append(_divided(view, view.text[slice(*name)], name[0]))
            return
    if rule.by_hand:
        asked.findings.append(_by_hand(view, rule, name))
    if rule.count is not None and len(spans) != rule.count:
        if rule.arguments:
            asked.findings.append(_other_arguments(view, rule, name, len(spans)))
        return
    asked.edits += [Edit(*name, rule.to[0], rule.id)] if rule.to else []
    if rule.bare and view.code.startswith("<", skip_space(view.code, name[1])):
        asked.edits.append(Edit(name[1], open_at, "", rule.id))
    asked.edits += _wraps(view, rule, spans)
    asked.edits += _inserts(rule, spans, open_at, close_at)
    asked.edits += _drops(rule, spans)
    if rule.arguments:
        asked.lists.append(new_list(view, (open_at + 1, close_at), spans, rule.arguments, rule.id))


_NO_TYPE = frozenset(
    ("return", "else", "do", "throw", "case", "co_return", "co_await", "co_yield", "not", "and", "or", "xor", "in",
     "__extension__", "goto")
)  # fmt: skip
_DIRECTIVE = re.compile(r"\n[ \t]*#")
_DEFINED = re.compile(r"[ \t]*#[ \t]*define[ \t]+\w+[ \t]*\Z")
_EXPRESSION = re.compile(r"[&*!~(\"'\-+\d]|\w+\s*(?:[(.\[]|->)")


def _declares(view: View, start: int, spans: list[Span]) -> bool:
    """Whether this declares the function and does not call it: a type's name stands right before, and no value inside."""
    end = back_token(view.code, start)
    if view.code.endswith("::", 0, end):
        end = back_space(view.code, end - 2)
    first = end
    while first and is_name_char(view.code[first - 1]):
        first -= 1
    if first == end:
        return view.code.endswith((">", "*", "&"), 0, end) and _begins_with_type(view.code, end)
    if view.code[first:end] in _NO_TYPE:
        return False
    line = view.code.rfind("\n", 0, first) + 1
    if _DEFINED.match(view.code, line, end):
        return False
    return not any(_EXPRESSION.match(view.code, *span) for span in spans)


def _begins_with_type(code: str, end: int) -> bool:
    """Whether nothing but a type stands between a statement's begin and an offset: words, `::`, `<…>`, `*`, `&`."""
    start = max(code.rfind(mark, 0, end) for mark in ";{}\n") + 1
    return (
        re.fullmatch(r"\s*(?:extern\s+\"[^\"]*\"\s*)?(?!return\b|else\b|case\b)\w[\w\s:<>,*&]*", code[start:end])
        is not None
    )


def _wraps(view: View, rule: Rule, spans: list[Span]) -> Iterator[Edit]:
    for index, template in rule.wrap:
        if index < len(spans):
            before, after = template.split("{}")
            start, end = spans[index]
            if start < end and not view.text.startswith(before, start):
                if _MACRO.search(before) and "," in _flat(view.code[start:end]):
                    before, after = f"{before}(", f"){after}"
                yield from wrap(start, end, before, after, rule.id)


_MACRO = re.compile(r"(?:\A|[^\w>)])[A-Z][A-Z0-9_]*\($")
_INNER = re.compile(r"\([^()]*\)")


def _flat(code: str) -> str:
    """A text without what its round brackets hold: a comma that is left divides a macro's arguments."""
    while (shorter := _INNER.sub("", code)) != code:
        code = shorter
    return code


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


def _other_arguments(view: View, rule: Rule, name: Span, count: int) -> Finding:
    return view.finding(
        name[0],
        "HIPIFY-ARGUMENTS",
        Severity.WARNING,
        f"{view.text[slice(*name)]} has {count} arguments here, and rule {rule.id} knows it with {rule.count}",
        "HIP's function takes them in another order or number, so with its name alone it does not compile, or is wrong",
        "write this call by hand, or add a call rule for it",
    )


def _by_hand(view: View, rule: Rule, name: Span) -> Finding:
    return view.finding(
        name[0],
        "HIPIFY-BY-HAND",
        Severity.ERROR,
        f"{view.text[slice(*name)]} takes other arguments in its HIP form, and only its name was converted",
        rule.why,
        "write this call by hand from the library's documentation",
        rule.link,
    )


def _divided(view: View, name: str, at: int) -> Finding:
    return view.finding(
        at,
        "HIPIFY-DIVIDED-CALL",
        Severity.WARNING,
        f"preprocessor lines stand between the arguments of {name}",
        "how many arguments it has depends on them, so only its name was converted",
        "put the lines around the whole call, or convert this call by hand",
    )


def _unbalanced(view: View, name: str, at: int) -> Finding:
    return view.finding(
        at,
        "HIPIFY-UNBALANCED",
        Severity.WARNING,
        f"the bracket of {name}( is never closed",
        "its arguments cannot be told apart, so only its name was converted",
        "close the bracket, or convert this call by hand",
    )
