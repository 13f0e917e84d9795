"""Reads C++ backwards from an offset: where the expression that ends there begins, and whether a statement does."""

from __future__ import annotations

import re

from stackbuild.hipify.cpp.keywords import BEFORE_EXPRESSIONS
from stackbuild.hipify.cpp.scan import back_space, back_token, is_name_char, qualifier, skip_space

_BACK = 4000
_HEADS = frozenset(("if", "while", "for", "switch", "constexpr", "_Pragma", "__pragma"))
_KEYWORDS = _HEADS | BEFORE_EXPRESSIONS
_DEFINES = re.compile(r"[ \t]*#[ \t]*define[ \t]+\w+(?:\([^)]*\))?[ \t]*\Z")
_LABEL = re.compile(r"(?:\bcase\b[^;{}?]*|\bdefault\s*|[;{}]\s*\w+\s*):\Z")


def postfix_start(code: str, end: int) -> int | None:
    """Where the expression of names, calls, indices and members that ends at `end` begins; None where it is unknown."""
    at = end
    while at:
        if code[at - 1] == ">":
            if (open_at := _template_start(code, at)) is None:
                return None
            at = back_space(code, open_at)
        elif code[at - 1] in ")]":
            open_at = bracket_start(code, at)
            if open_at is None:
                return None
            before = back_space(code, open_at)
            if _is_primary(code, before):
                return open_at if code[open_at] == "(" else None
            at = before
            continue
        start = _word_start(code, at)
        if start == at or code[start:at] in _KEYWORDS:
            return None
        begins = _qualifier_end(code, start)
        if begins is None or begins[1]:
            return start if begins is None else begins[0]
        at = begins[0]
    return None


def _qualifier_end(code: str, start: int) -> tuple[int, bool] | None:
    """What a name hangs on by `::`, `.` or `->`: the offset where that ends, or (offset, True) of a global `::`."""
    before = back_space(code, start)
    if code.endswith("template", 0, before) and not is_name_char(code[before - 9 : before - 8]):
        start = before - 8
    sign = qualifier(code, start)
    if sign == "":
        return None
    before = back_space(code, start)
    size = 1 if sign == "." else 2
    return (before - size, True) if sign == "::" else (back_space(code, before - size), False)


def _is_primary(code: str, before: int) -> bool:
    """Whether a bracket whose `(` follows offset `before` is an expression of its own and not a call's or an index."""
    if not before or not (is_name_char(code[before - 1]) or code[before - 1] in ")]>"):
        return True
    if code[before - 1] == ")":
        open_at = bracket_start(code, before)
        return open_at is None or _word(code, back_space(code, open_at)) in _HEADS
    return _word(code, before) in _KEYWORDS


def is_statement(code: str, start: int, end: int) -> bool:
    """Whether `[start, end)` is a whole statement but for its `;`, or all that is left of a macro's text."""
    line = code.rfind("\n", 0, start) + 1
    stop = code.find("\n", end)
    in_macro = code[line:start].lstrip().startswith("#")
    if in_macro and not code[end : len(code) if stop < 0 else stop].strip():
        return _begins(code, start)
    after = skip_space(code, end)
    return code[after : after + 1] in (";", "}") and _begins(code, start)


def _begins(code: str, start: int) -> bool:
    """Whether a statement may begin at an offset, by what stands before it."""
    line = code.rfind("\n", 0, start) + 1
    if _DEFINES.match(code, line, start):
        return True
    before = back_token(code, start)
    sign = code[before - 1 : before]
    if sign in ("", ";", "{", "}"):
        return True
    if sign == ":":
        return _LABEL.search(code, max(0, before - 200), before) is not None
    if sign == ")":
        open_at = bracket_start(code, before)
        return open_at is not None and _word(code, back_space(code, open_at)) in _HEADS
    return code.endswith("]]", 0, before) or _word(code, before) in ("else", "do")


def bracket_start(code: str, end: int) -> int | None:
    """Where the round or square bracket opens that closes before `end`."""
    depth = 0
    for at in range(end - 1, max(-1, end - _BACK), -1):
        depth += {")": 1, "]": 1, "(": -1, "[": -1}.get(code[at], 0)
        if depth == 0:
            return at
    return None


def _template_start(code: str, end: int) -> int | None:
    """Where the `<` stands whose `>` ends before `end`."""
    depth = brackets = 0
    at = end
    while (at := at - 1) > max(0, end - _BACK):
        char = code[at]
        brackets += {")": 1, "]": 1, "}": 1, "(": -1, "[": -1, "{": -1}.get(char, 0)
        if brackets < 0 or (char == ";" and brackets == 0):
            return None
        if brackets == 0 and char == ">" and code[at - 1] != "-":
            depth += 1
        elif brackets == 0 and char == "<" and code[at - 1] == "<":
            at -= 1
        elif brackets == 0 and char == "<":
            depth -= 1
            if depth == 0:
                return at
    return None


def _word_start(code: str, end: int) -> int:
    while end and is_name_char(code[end - 1]):
        end -= 1
    return end


def _word(code: str, end: int) -> str:
    return code[_word_start(code, end) : end]
