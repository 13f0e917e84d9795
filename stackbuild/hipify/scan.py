"""Looks at C++ text without reading comments and strings: blanking, names, arguments, lines.

`blank` gives a text of the same length in which comments are spaces and literals are quotes around `FILL`, so that an
offset in it is an offset in the original. All the rest of this package searches that text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cached_property

# Each alternative begins with its own character: the search then skips to the next of those three.
_COMMENT_OR_STRING = re.compile(
    r"""//[^\n\\]*(?:\\.[^\n\\]*)*"""
    r"""|/\*.*?(?:\*/|\Z)"""
    r"""|"(?<=R")([^()\\\s"]{0,16})\(.*?(?:\)\1"|\Z)"""
    r"""|"[^"\\\n]*(?:\\.[^"\\\n]*)*\""""
    r"""|'(?:(?<![0-9A-Za-z_]')|(?<=[uUL]')|(?<=u8'))(?:[^'\\\n]|\\.)[^'\n]{0,8}'""",
    re.S,
)
FILL = "\x01"
# How far a call's arguments and a template's may go: what is longer is not one, and a broken file stays quick.
REACH = 1 << 16
TEMPLATE_REACH = 1 << 12
DEPTH = 64
_NOT_NEWLINE = re.compile(r"[^\n]")
NAME = re.compile(r"[A-Za-z_]\w*")
_OPEN = {"(": ")", "[": "]", "{": "}"}
_STEP = re.compile(r"[()\[\]{},;]")
_TEMPLATE_STEP = re.compile(r"[()\[\]{};<>,]|->|&&|\|\|")


def blank(text: str) -> str:
    """The text with comments as spaces and literals as quotes around FILL; newlines stay where they are."""
    return _COMMENT_OR_STRING.sub(_hollow, text)


def _hollow(found: re.Match[str]) -> str:
    text = found.group()
    if text[0] == "/":
        return " " * len(text) if "\n" not in text else _NOT_NEWLINE.sub(" ", text)
    inner = FILL * (len(text) - 2) if "\n" not in text else _NOT_NEWLINE.sub(FILL, text[1:-1])
    return '"' + inner + '"'


class Lines:
    """Finds the line and column, both from 1, of an offset."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def starts(self) -> list[int]:
        return [0, *(m.end() for m in re.finditer("\n", self._text))]

    def at(self, offset: int) -> tuple[int, int]:
        line = bisect_right(self.starts, offset)
        return line, offset - self.starts[line - 1] + 1

    def text_of(self, line: int) -> str:
        start = self.starts[line - 1]
        end = self._text.find("\n", start)
        return self._text[start : len(self._text) if end < 0 else end].rstrip("\r")


def skip_space(code: str, at: int) -> int:
    """The offset of the next character that is not white space (a continued line counts as white space)."""
    while at < len(code) and (code[at].isspace() or code[at] == "\\"):
        at += 1
    return at


def back_space(code: str, at: int) -> int:
    """The offset after the last character before `at` that is not white space."""
    while at > 0 and (code[at - 1].isspace() or code[at - 1] == "\\"):
        at -= 1
    return at


def arguments(code: str, open_at: int) -> tuple[list[tuple[int, int]], int] | None:
    """The spans of the arguments of the call whose `(` is at `open_at`, and the offset of its `)`.

    Commas inside brackets and template arguments do not divide. None where the bracket is never closed.
    A span has no white space around it; a call without arguments has none.
    """
    spans: list[tuple[int, int]] = []
    stack = [")"]
    start = at = open_at + 1
    limit = open_at + REACH
    while found := _STEP.search(code, at, limit):
        char = found.group()
        at = found.end()
        if char in _OPEN:
            stack.append(_OPEN[char])
            if len(stack) > DEPTH:
                return None
        elif char == ";" and "}" not in stack:
            return None
        elif char in ")]}":
            if char != stack.pop():
                return None
            if not stack:
                _add(code, spans, start, found.start())
                return spans, found.start()
        elif char == "," and len(stack) == 1 and not _in_template(code, start, found.start()):
            _add(code, spans, start, found.start())
            start = at
    return None


def _add(code: str, spans: list[tuple[int, int]], start: int, end: int) -> None:
    first, last = skip_space(code, start), back_space(code, end)
    if first < last or spans:
        spans.append((min(first, last), last))


def _in_template(code: str, start: int, comma: int) -> bool:
    """Whether the comma stands between the `<` and `>` of a template's arguments."""
    at = code.find("<", start, comma)
    while at >= 0:
        end = template_end(code, at)
        if end is not None and end > comma:
            return True
        at = code.find("<", end if end is not None else at + 1, comma)
    return False


def template_end(code: str, open_at: int) -> int | None:
    """The offset after the `>` that closes the `<` at `open_at`, or None where that is a comparison or a shift.

    A `<` opens template arguments when a name stands before it, and what follows closes before any `;`, `{`, `&&`
    or unbalanced bracket.
    """
    before = code[open_at - 1] if open_at else ""
    if not (before.isalnum() or before == "_") or code[open_at : open_at + 2] in ("<<", "<="):
        return None
    depth, brackets, at = 1, 0, open_at + 1
    limit = open_at + TEMPLATE_REACH
    while found := _TEMPLATE_STEP.search(code, at, limit):
        step, at = found.group(), found.end()
        if step in "([":
            brackets += 1
        elif step in ")]":
            brackets -= 1
            if brackets < 0:
                return None
        elif step in ("{", "}", ";", "&&", "||"):
            if brackets == 0:
                return None
        elif brackets == 0 and step == "<":
            depth += is_name_char(code[at - 2])
        elif brackets == 0 and step == ">":
            depth -= 1
            if depth == 0:
                return at
    return None


def is_name_char(char: str) -> bool:
    return char.isalnum() or char == "_"


def whole_names(code: str, name: str) -> list[int]:
    """The offsets at which `name` stands as a whole identifier."""
    found, size = [], len(name)
    at = code.find(name)
    while at >= 0:
        end = at + size
        if not (at and is_name_char(code[at - 1])) and not (end < len(code) and is_name_char(code[end])):
            found.append(at)
        at = code.find(name, end)
    return found


_NO_NAMESPACE = frozenset(("return", "case", "throw", "else", "delete", "co_return", "co_yield", "co_await"))


def qualifier(code: str, at: int) -> str:
    """What qualifies the name at `at`: "" for nothing, "::" for the global scope, "ns::", "." or "->"."""
    end = back_space(code, at)
    if code.endswith("->", 0, end):
        return "->"
    if code.endswith(".", 0, end) and not code.endswith("...", 0, end):
        return "."
    if not code.endswith("::", 0, end):
        return ""
    before = back_space(code, end - 2)
    if before == 0 or _ends_directive(code, before, end):
        return "::"
    start = before
    while start and is_name_char(code[start - 1]):
        start -= 1
    if start < before:
        return "::" if code[start:before] in _NO_NAMESPACE else code[start:before] + "::"
    return "<>::" if code[before - 1] == ">" else "::"


def _ends_directive(code: str, before: int, end: int) -> bool:
    """Whether what ends at `before` is a preprocessor line that is over before `end`."""
    line = code.rfind("\n", 0, before) + 1
    return "\n" in code[before:end] and code[line:before].lstrip().startswith("#")
