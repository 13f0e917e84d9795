"""Whole new argument lists: arguments that move, are left out or come twice, each with the edits made inside it."""

from __future__ import annotations

from dataclasses import dataclass

from stackbuild.hipify.cpp.edits import Edit, apply
from stackbuild.hipify.cpp.source_text import View
from stackbuild.hipify.rules.rules import PLACE

Span = tuple[int, int]


@dataclass(frozen=True)
class NewList:
    """What stands between the brackets of a call becomes `template`, in which `{0}` is the first of `arguments`.

    An argument's span goes from comma to comma without white space: a comment beside it moves with it. `ends_line` are
    those that end with a `//` comment, after which the line has to end.
    """

    region: Span
    arguments: tuple[Span, ...]
    ends_line: frozenset[int]
    template: str
    by: str


def new_list(view: View, region: Span, spans: list[Span], template: str, by: str) -> NewList:
    """The list for a call whose arguments have these spans, between the brackets of `region`."""
    bounds = [region[0], *(view.code.index(",", end) + 1 for _, end in spans[:-1]), region[1] + 1]
    wide = [_trim(view.text, bounds[i], bounds[i + 1] - 1) for i in range(len(spans))]
    ends = frozenset(i for i, (_, end) in enumerate(wide) if _in_line_comment(view, end))
    return NewList(region, tuple(wide), ends, template, by)


def _trim(text: str, start: int, end: int) -> Span:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


def _in_line_comment(view: View, end: int) -> bool:
    """Whether the character before an offset belongs to a `//` comment."""
    if not end or not view.in_comment(end - 1):
        return False
    return (
        not view.text.endswith("*/", 0, end)
        or "//" in view.text[view.text.rfind("\n", 0, end) + 1 : end].split("/*")[0]
    )


def compose(text: str, settled_edits: list[Edit], lists: list[NewList]) -> list[Edit]:
    """Settled edits with the new lists made: each is one edit, in which those inside its arguments are done.

    The innermost list comes first, so that a call in a moved argument of another call is made, too.
    """
    for one in sorted(lists, key=lambda new: new.region[1] - new.region[0]):
        start, end = one.region
        inside = [e for e in settled_edits if start <= e.start and e.end <= end]
        parts = [_part(text, one, number, inside) for number in range(len(one.arguments))]
        new = PLACE.sub(lambda match, parts=parts: parts[int(match[1])], one.template)  # type: ignore[misc]
        rest = [e for e in settled_edits if not (start <= e.start and e.end <= end)]
        settled_edits = sorted([*rest, Edit(start, end, new, one.by)], key=lambda e: (e.start, e.end))
    return settled_edits


def _part(text: str, one: NewList, number: int, inside: list[Edit]) -> str:
    """The text of one argument with the edits inside it."""
    start, end = one.arguments[number]
    shifted_edits = [
        Edit(e.start - start, e.end - start, e.text, e.by) for e in inside if start <= e.start and e.end <= end
    ]
    return apply(text[start:end], shifted_edits) + ("\n" if number in one.ends_line else "")
