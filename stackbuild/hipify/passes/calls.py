"""Call rules: a function whose arguments change, found with balanced brackets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from stackbuild.hipify.cpp.edits import Edit, wrap
from stackbuild.hipify.cpp.keywords import BEFORE_EXPRESSIONS
from stackbuild.hipify.cpp.scan import NAME, after_template, arguments, back_space, back_token, is_name_char, skip_space
from stackbuild.hipify.cpp.source_text import View
from stackbuild.hipify.passes import aliases
from stackbuild.hipify.passes.aliases import Use
from stackbuild.hipify.passes.argument_list import NewList, new_list
from stackbuild.hipify.rules.lookups import Lookups
from stackbuild.hipify.rules.rules import ConversionRule
from stackbuild.model.findings import Finding, Severity

Span = tuple[int, int]


@dataclass
class Calls:
    """What call rules ask of a text: edits, whole new argument lists, and what could not be done."""

    edits: list[Edit] = field(default_factory=list)
    lists: list[NewList] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    moved_arguments: frozenset[tuple[str, int | None]] = frozenset()
    """Functions whose arguments a rule puts into another order, with the number that they have then."""


def by_rules(view: View, lookups: Lookups) -> Calls:
    """What all call rules ask, with a finding for each call that cannot be taken apart or is not as its rule says."""
    calls = Calls()
    ruled_names = lookups.matches.get("call", _NONE)
    present = view.words & ruled_names
    if view.macros_in_reach is not view.macros:  # the function itself is named in another file
        present |= {
            word for macro in view.tree.macro_definitions for word in NAME.findall(macro.body) if word in ruled_names
        }
    if not present:
        return calls
    by_alias: dict[str, list[Use]] = {}
    for use in aliases.uses(view, present):
        by_alias.setdefault(use.function, []).append(use)
    alias_starts = {use.name_of_function[0] for uses in by_alias.values() for use in uses if use.name_of_function}
    rules = lookups.of_kind("call", view.name)
    calls.moved_arguments = frozenset((name, rule.count) for rule in rules if rule.arguments for name in rule.match)
    for rule in rules:
        asked_at: set[int] = set()
        for name in rule.match:
            for at in view.own(name) if name in present else ():
                _check_names(view, rule, (at, at + len(name)), calls, bool(by_alias.get(name)), alias_starts)
            for use in by_alias.get(name, ()):
                if use.open_at not in asked_at:  # one name for several functions of a rule
                    asked_at.add(use.open_at)
                    _one(view, rule, use, calls)
    return calls


_NONE: frozenset[str] = frozenset()


def _check_names(
    view: View, rule: ConversionRule, name: Span, calls: Calls, has_alias: bool, alias_starts: set[int]
) -> None:
    """What one rule asks where its function is named: nothing where it is declared or has another number of arguments."""
    open_at = after_template(view.code, name[1])
    function = view.text[slice(*name)]
    if not view.code.startswith("(", open_at):
        macro = view.macro_at(name[0])
        stands_for = macro is not None and macro.bare == function
        has_alias = has_alias or (macro is not None and macro.name in view.tree.macro_names)
        if (rule.moves or rule.by_hand) and name[0] not in alias_starts and (not stands_for or not has_alias):
            calls.findings.append(_uncalled_finding(view, function, name[0]))
        return
    argument_list = arguments(view.code, open_at)
    if argument_list is None:
        calls.findings.append(_unbalanced_finding(view, function, name[0]))
    elif not declares(view, name[0], argument_list[0]):
        use = Use(function, name, open_at, argument_list[1], argument_list[0], 0, 0, name, frozenset((function,)))
        _one(view, rule, use, calls, has_alias)


def _one(view: View, rule: ConversionRule, use: Use, calls: Calls, has_alias: bool = False) -> None:
    """What one rule asks at one call. `has_alias`: what a macro hands on is seen to where that is used."""
    spans = use.spans
    called_name = view.text[slice(*use.name)]
    if (line := _DIRECTIVE.search(view.code, use.open_at, use.close_at)) is not None:
        spans = [span for span in spans if span[1] <= line.start()]
        if rule.moves:
            calls.findings.append(_divided_finding(view, called_name, use.name[0]))
            return
    if rule.by_hand:
        calls.findings.append(_by_hand(view, rule, use.name, (use.function, use.count) in calls.moved_arguments))
    if (rest := aliases.rest(view, use.open_at, use.spans)) is not None:
        wraps = [index for index, _ in rule.wrap if (place := use.place(index)) is not None and place >= rest]
        macro = view.macro_at(use.open_at)
        is_seen_to = macro and (macro.name in view.tree.macro_names or (has_alias and not view.is_header))
        if (rule.moves or wraps) and not is_seen_to:
            calls.findings.append(_handed_on(view, use))
        calls.edits += _wraps(view, rule, use, spans[:rest])
        return
    if rule.count is not None and use.count != rule.count:
        if rule.arguments:
            calls.findings.append(_other_arguments(view, rule, use.name, use.count))
        return
    if rule.moves and use.has_hip_form:
        return  # the source calls HIP's function with these arguments already
    if rule.moves and (not use.means <= set(rule.match) or _is_hidden(rule, use)):
        calls.findings.append(_unsure(view, use))
        return
    if rule.to and use.name_of_function:
        calls.edits.append(Edit(*use.name_of_function, rule.to[0], rule.id))
    if rule.bare and view.code.startswith("<", skip_space(view.code, use.name[1])):
        calls.edits.append(Edit(use.name[1], use.open_at, "", rule.id))
    calls.edits += _wraps(view, rule, use, spans)
    calls.edits += _inserts(rule, use)
    calls.edits += _drops(rule, use)
    if rule.arguments:
        calls.lists.append(new_list(view, (use.open_at + 1, use.close_at), spans, rule.arguments, rule.id))


def _is_hidden(rule: ConversionRule, use: Use) -> bool:
    """Whether a rule moves what a macro's body gives: the function's name, or one of its first arguments."""
    numbers = [index for index, _ in rule.insert] + list(rule.drop)
    return bool(
        (rule.to and not use.name_of_function)
        or (rule.arguments and not use.is_plain)
        or any(use.place(number) is None for number in numbers)
    )


_NO_TYPE = BEFORE_EXPRESSIONS | {"xor", "in", "__extension__", "goto"}
_DIRECTIVE = re.compile(r"\n[ \t]*#")
_DEFINE_LINE = re.compile(r"[ \t]*#[ \t]*define[ \t]+\w+[ \t]*\Z")
_EXPRESSION = re.compile(r"[&*!~(\"'\-+\d]|\w+\s*(?:[(.\[]|->)")


def declares(view: View, start: int, spans: list[Span]) -> bool:
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
    if _DEFINE_LINE.match(view.code, line, end):
        return False
    return not any(_EXPRESSION.match(view.code, *span) for span in spans)


def _begins_with_type(code: str, end: int) -> bool:
    """Whether nothing but a type stands between a statement's begin and an offset: words, `::`, `<…>`, `*`, `&`."""
    start = max(code.rfind(mark, 0, end) for mark in ";{}\n") + 1
    return (
        re.fullmatch(r"\s*(?:extern\s+\"[^\"]*\"\s*)?(?!return\b|else\b|case\b)\w[\w\s:<>,*&]*", code[start:end])
        is not None
    )


def _wraps(view: View, rule: ConversionRule, use: Use, spans: list[Span]) -> Iterator[Edit]:
    for index, template in rule.wrap:
        place = use.place(index)
        if place is not None and place < len(spans):
            before, after = template.split("{}")
            start, end = spans[place]
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


def _inserts(rule: ConversionRule, use: Use) -> Iterator[Edit]:
    spans = use.spans
    for index, text in rule.insert:
        place = use.place(index)
        assert place is not None  # what a macro hides is reported
        if place < len(spans):
            yield Edit(spans[place][0], spans[place][0], f"{text}, ", rule.id)
        elif spans:
            yield Edit(spans[-1][1], spans[-1][1], f", {text}", rule.id, closes=True)
        else:
            yield Edit(use.open_at + 1, use.open_at + 1, text, rule.id)


def _drops(rule: ConversionRule, use: Use) -> Iterator[Edit]:
    """Deletions of whole arguments, each with the comma that divides it from the one before, or else after."""
    spans = use.spans
    for index in rule.drop:
        place = use.place(index)
        if place is not None and place < len(spans):
            start, end = spans[place]
            if place > 0:
                start = spans[place - 1][1]
            elif len(spans) > 1:
                end = spans[1][0]
            yield Edit(start, end, "", rule.id)


def _other_arguments(view: View, rule: ConversionRule, name: Span, count: int) -> Finding:
    return view.finding(
        name[0],
        "HIPIFY-ARGUMENTS",
        Severity.WARNING,
        f"{view.text[slice(*name)]} has {count} arguments here, and rule {rule.id} knows it with {rule.count}",
        "HIP's function takes them in another order or number, so with its name alone it does not compile, or is wrong",
        "write this call by hand, or add a call rule for it",
    )


def _by_hand(view: View, rule: ConversionRule, name: Span, is_moved: bool) -> Finding:
    what = "its arguments are those that hipify-clang gives it" if is_moved else "only its name was converted"
    return view.finding(
        name[0],
        "HIPIFY-BY-HAND",
        Severity.WARNING if is_moved else Severity.ERROR,
        f"{view.text[slice(*name)]} takes other arguments in its HIP form, and {what}",
        rule.why,
        "see to stages, policies, buffers and the sizes behind pointers"
        if is_moved
        else "write this call by hand from the library's documentation",
        rule.link,
    )


_OTHERWISE = "HIP's function takes them in another order, number or form, so with its name alone it does not compile, or is wrong"


def _handed_on(view: View, use: Use) -> Finding:
    macro = view.macro_at(use.open_at)
    return view.finding(
        use.name[0],
        "HIPIFY-ARGUMENTS",
        Severity.WARNING,
        f"{use.function} is given {'what the macro ' + macro.name if macro else 'a pack that its caller'} is given",
        _OTHERWISE + (", and other files may use the macro" if macro else ""),
        f"see to the arguments {'where the macro is used in other files' if macro else 'by hand'}: as in a call of {use.function} itself",
    )


def _unsure(view: View, use: Use) -> Finding:
    return view.finding(
        use.name[0],
        "HIPIFY-ARGUMENTS",
        Severity.WARNING,
        f"{view.text[slice(*use.name)]} calls {use.function}, and not in every case, or gives it some arguments itself",
        _OTHERWISE,
        f"write this call by hand: as one of {use.function} itself",
    )


def _uncalled_finding(view: View, name: str, at: int) -> Finding:
    return view.finding(
        at,
        "HIPIFY-ARGUMENTS",
        Severity.NOTE,
        f"{name} is named here and not called",
        _OTHERWISE,
        "see to the arguments where it is called by a pointer, a macro of another file or a template",
    )


def _divided_finding(view: View, name: str, at: int) -> Finding:
    return view.finding(
        at,
        "HIPIFY-DIVIDED-CALL",
        Severity.WARNING,
        f"preprocessor lines stand between the arguments of {name}",
        "how many arguments it has depends on them, so only its name was converted",
        "put the lines around the whole call, or convert this call by hand",
    )


def _unbalanced_finding(view: View, name: str, at: int) -> Finding:
    return view.finding(
        at,
        "HIPIFY-UNBALANCED",
        Severity.WARNING,
        f"the bracket of {name}( is never closed",
        "its arguments cannot be told apart, so only its name was converted",
        "close the bracket, or convert this call by hand",
    )
