"""Namespace rules: `x::`, `using namespace x`, `namespace y = x`, `namespace x {`, and `b::` for `a::b` where `a` is left away."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from stackbuild.hipify.cpp.edits import Edit
from stackbuild.hipify.cpp.scan import NAME, qualifier, skip_space
from stackbuild.hipify.cpp.source_text import View
from stackbuild.hipify.rules.lookups import Lookups, compiled_pattern

Span = tuple[int, int]


def edits(view: View, lookups: Lookups) -> Iterator[Edit]:
    """The edits of all namespace rules."""
    for rule in lookups.of_kind("namespace", view.name):
        for name in rule.match:
            parts = name.split("::")
            if rule.to and view.words.issuperset(parts) and name not in view.tree.own_spaces:
                for start, end in _spaces(view, parts):
                    if _names_a_space(view, start, end):
                        yield Edit(start, end, rule.to[0], rule.id)
                to = rule.to[0].split("::")
                if len(parts) > 1 and to[:-1] == parts[:-1]:
                    for at in _short_uses(view, parts, rule.members):
                        yield Edit(at, at + len(parts[-1]), to[-1], rule.id)


def _spaces(view: View, parts: list[str]) -> Iterator[tuple[int, int]]:
    """Where a namespace is named, `a` or `a::b`, also with white space inside."""
    if len(parts) == 1:
        yield from ((at, at + len(parts[0])) for at in view.places(parts[0]))
    else:
        yield from (m.span() for m in compiled_pattern(r"\b" + r"\s*::\s*".join(parts) + r"\b").finditer(view.code))


_USES = re.compile(r"(?:\busing\s+namespace|\bnamespace\s+\w+\s*=)\s*(?:::\s*)?\Z")
_OPENS = re.compile(r"\bnamespace\s+\Z")
_AFTER = re.compile(r"\s*(::|\{)?")


def _names_a_space(view: View, start: int, end: int) -> bool:
    """Whether a name is `name::`, `using namespace name`, `namespace x = name` or `namespace name {`, and not `other::name`.

    A namespace that another one encloses is another.
    """
    after = _AFTER.match(view.code, end)
    line = max(view.code.rfind(";", 0, start) + 1, start - 80)
    if after and after[1] and _OPENS.search(view.code, line, start):
        return not view.in_space(start)
    if after and after[1] == "::":
        return qualifier(view.code, start) in ("", "::")
    return bool(_USES.search(view.code, line, start))


# Each begins with its word: the search then skips to that.
_ALIAS = re.compile(r"namespace(?<!\wnamespace)\s+(\w+)\s*=\s*(?:::\s*)?(\w+(?:\s*::\s*\w+)*)\s*;")
_USING_NAMESPACE = re.compile(r"using(?<!\wusing)\s+namespace\s+(?:::\s*)?(\w+(?:\s*::\s*\w+)*)\s*;")
_NAMESPACE_START = re.compile(r"namespace(?<!\wnamespace)\s+(\w+(?:\s*::\s*\w+)*)\s*\{")


def _short_uses(view: View, parts: list[str], members: Collection[str]) -> Iterator[int]:
    """Where a namespace's last part stands for it: the others are brought, around it, or have another name.

    Without another name for them only one of `members` tells that it is this namespace and not another of that name.
    """
    outer, last = parts[:-1], parts[-1]
    aliases = {m[1] for m in _ALIAS.finditer(view.code) if _path(m[2]) == outer}
    inside = [span for span, path in _open_namespaces(view) if path == outer]
    using = [
        (m.end(), _scope_end(view, m.start())) for m in _USING_NAMESPACE.finditer(view.code) if _path(m[1]) == outer
    ]
    for at in view.places(last) if aliases or inside or using else ():
        before = qualifier(view.code, at)
        after = skip_space(view.code, at + len(last))
        if before[:-2] in aliases:
            yield at
        elif before == "" and view.code.startswith("::", after) and _within(at, inside + using):
            member = NAME.match(view.code, skip_space(view.code, after + 2))
            if member and member.group() in members:
                yield at
        elif view.code.startswith("{", after) and _OPENS.search(view.code, max(0, at - 80), at) and _within(at, inside):
            yield at


def _path(text: str) -> list[str]:
    return "".join(text.split()).split("::")


def _within(at: int, spans: list[Span]) -> bool:
    return any(start < at < end for start, end in spans)


def _scope_end(view: View, at: int) -> int:
    inner = view.braces.innermost(at)
    return view.braces.span(inner)[1] if inner >= 0 else len(view.code)


def _open_namespaces(view: View) -> Iterator[tuple[Span, list[str]]]:
    """The namespaces that the text opens, each with its whole path."""
    paths: dict[int, list[str]] = {}
    for match in _NAMESPACE_START.finditer(view.code):
        number = view.braces.opening_at(match.end() - 1)
        if number is not None:
            outer = next((paths[pair] for pair in view.braces.around(match.start()) if pair in paths), [])
            paths[number] = outer + _path(match[1])
            yield view.braces.span(number), paths[number]
