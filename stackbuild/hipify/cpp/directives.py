"""The preprocessor lines of a text: its includes and the conditional branches each stands in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from stackbuild.hipify.cpp.source_text import View

_DIRECTIVE = re.compile(
    r"#[ \t]*(include_next|include|import|ifdef|ifndef|if|elifdef|elifndef|elif|else|endif|pragma|define)\b"
)
_SIGN = re.compile(r"[ \t]*(?=[<\"])")
_PATH = re.compile(r"<([^>\n]+)>|\"([^\"\n]+)\"")
_GUARD = re.compile(r"[ \t]*(\w+)")
_MACRO = re.compile(r"[ \t]*(\w+)[ \t]*$", re.M)
_VALUE = re.compile(r"[ \t]*(\w+)[ \t]+(?=[<\"])")
_IF_NOT_DEFINED = re.compile(r"[ \t]*![ \t]*defined[ \t]*\(?[ \t]*(\w+)[ \t]*\)?[ \t]*$", re.M)
_HAS_INCLUDE = re.compile(r"\b__has_include[ \t]*\([ \t]*(?=[<\"])")

Branch = tuple[int, int]
DEEP = 200
"""So many `#if`s around an include are told apart; one that is deeper is taken to be on a path of its own."""


class Include(NamedTuple):
    """One `#include`: its line `[start, end)` with the newline, the span of the path in it, and the branches around it."""

    path: str
    start: int
    end: int
    path_span: tuple[int, int]
    branches: tuple[Branch, ...]


class Mention(NamedTuple):
    """A header named elsewhere than in an `#include`: in `__has_include`, `#include_next`, `#import`, or as a macro.

    `span` is the path's.
    """

    path: str
    span: tuple[int, int]


@dataclass(frozen=True)
class Directives:
    """`head` is where a first `#include` belongs: after licence, `#pragma once` and include guard."""

    includes: tuple[Include, ...]
    head: int
    mentions: tuple[Mention, ...] = ()


def read(view: View) -> Directives:
    """The includes of a text in order. Those in comments and literals do not count."""
    code = view.code
    words = [(m[1], start, m.end()) for m in _DIRECTIVE.finditer(code) if (start := _begins(view, m.start())) >= 0]
    guard, head = _guard(view, words)
    includes: list[Include] = []
    stack: list[Branch] = []
    line_count = 0
    named_macros: set[str] = set()
    for word, start, end in words:
        if word in ("if", "ifdef", "ifndef"):
            line_count += 1
            stack.append((line_count, 0))
        elif word == "endif":
            if stack:
                stack.pop()
        elif word in ("else", "elif", "elifdef", "elifndef"):
            if stack:
                stack[-1] = (stack[-1][0], stack[-1][1] + 1)
        elif word == "include" and (path := _path(view, _SIGN, end)):
            branches = tuple(b for b in stack if b != (guard, 0)) if len(stack) <= DEEP else ((-1 - start, 0),)
            includes.append(Include(path.path, start, _line_end(code, path.span[1] + 1), path.span, branches))
        elif word == "include" and (macro := _MACRO.match(code, end)):
            named_macros.add(macro.group(1))
    return Directives(tuple(includes), head, tuple(_mentions(view, words, named_macros)))


def _path(view: View, before: re.Pattern[str], at: int) -> Mention | None:
    """The header whose `<` or `"` follows `before`, which stands at an offset."""
    sign = before.match(view.code, at)
    if sign is None or (path := _PATH.match(view.text, sign.end())) is None:
        return None
    return Mention(path.group(path.lastindex or 1), path.span(path.lastindex or 1))


def _mentions(view: View, lines: list[tuple[str, int, int]], names: set[str]) -> Iterator[Mention]:
    for word, _, end in lines:
        if word in ("include_next", "import") and (path := _path(view, _SIGN, end)):
            yield path
        value = _VALUE.match(view.code, end) if word == "define" else None
        path = _path(view, _VALUE, end) if value else None
        if value and path and (value.group(1) in names or _is_bracketed(view.code, value.end(), path.span[1])):
            yield path
    for sign in _HAS_INCLUDE.finditer(view.code) if "__has_include" in view.words else ():
        if path := _path(view, _HAS_INCLUDE, sign.start()):
            yield path


def _is_bracketed(code: str, start: int, end: int) -> bool:
    """Whether a macro's text is `<…>` and nothing else."""
    return code[start] == "<" and not code[end + 1 : _line_end(code, end)].strip()


def _begins(view: View, at: int) -> int:
    """Where the line begins on which the `#` at an offset is the first sign, else -1."""
    start = view.code.rfind("\n", 0, at) + 1
    if start == at:
        return at
    if view.code[start:at].strip("\ufeff \t"):
        return -1
    return at if view.text[start:at].strip("\ufeff \t") else start


def _safe_start(view: View, at: int) -> int:
    """The start of the line of an offset, or the offset itself where a comment stands between."""
    start = _line_start(view.code, at)
    return at if view.text[start:at].strip("\ufeff \t") else start


def _guard(view: View, lines: list[tuple[str, int, int]]) -> tuple[int, int]:
    """The number of the `#if` that is the include guard, 0 for none, and the offset after guard or `#pragma once`."""
    code = view.code
    first = _first_code(code)
    line = _line_start(code, first)
    at = next((i for i, (_, start, _) in enumerate(lines) if start >= line), len(lines))
    if at == len(lines) or lines[at][1] > first:
        return 0, _safe_start(view, first)
    word, _, end = lines[at]
    after = _line_end(code, end)
    if word == "pragma" and code[end:after].strip() == "once":
        inner_guard, inner = _guard_only(code, lines, at + 1)
        return inner_guard, inner or after
    guard, inner = _guard_only(code, lines, at)
    return guard, inner or _safe_start(view, first)


def _guard_only(code: str, lines: list[tuple[str, int, int]], at: int) -> tuple[int, int]:
    if at + 1 >= len(lines):
        return 0, 0
    (word, _, end), (then, _, then_end) = lines[at], lines[at + 1]
    name = _GUARD.match(code, end) if word == "ifndef" else _IF_NOT_DEFINED.match(code, end) if word == "if" else None
    guard = _GUARD.match(code, then_end)
    if name and guard and then == "define" and name.group(1) == guard.group(1):
        return 1, _line_end(code, then_end)
    return 0, 0


def _first_code(code: str) -> int:
    rest = code.lstrip()
    while rest.startswith("\ufeff"):
        rest = rest[1:].lstrip()
    return len(code) - len(rest)


def _line_start(code: str, at: int) -> int:
    return code.rfind("\n", 0, at) + 1


def _line_end(code: str, at: int) -> int:
    end = code.find("\n", at)
    return len(code) if end < 0 else end + 1


def place_for_include(view: View, directives: Directives) -> int:
    """Where a new include goes: before the first unconditional include unless code comes earlier, else the head."""
    top = next((i for i in directives.includes if not i.branches), None)
    if top is None or top.start < directives.head:
        return directives.head
    between = re.compile(r"^[ \t]*(?:#.*)?$", re.M).sub("", view.code[directives.head : top.start])
    return directives.head if between.strip() else top.start
