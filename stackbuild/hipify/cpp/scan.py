"""Looks at C++ text without reading comments and strings: blanking, names, arguments, lines.

`blank` replaces comments by spaces, and what is inside literals by `FILL`. The text keeps its length, so offsets in it
are offsets in the original. The rest of this package searches that text. Its lines are the preprocessor's: a line that a
backslash or a comment continues is one line.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cached_property
from itertools import accumulate

_LITERAL = (
    r"""|"(?:(?<=(?<!\w)R")|(?<=(?<!\w)[LuU]R")|(?<=(?<!\w)u8R"))([^()\\\s"]{0,16})\(.*?(?:\)\2"|\Z)"""
    r"""|"[^"\\\n]*(?:\\(?:[ \t]*\n|.)[^"\\\n]*)*\""""
    r"""|'(?:(?<![0-9A-Za-z_]')|(?<=[uUL]')|(?<=u8')|(?<=\breturn')|(?<=\bcase'))(?:[^'\\\n]|\\.)[^'\n]{0,12}'"""
)
# Each alternative begins with its own character: the search then skips to the next of those three. The first group is
# the whole, so that `split` gives it; the second what stands before the bracket of a raw string.
_COMMENT_OR_STRING = re.compile(
    r"(//[^\n\\]*(?:\\(?:[ \t]*\n)?[^\n\\]*)*|/\*[^*]*(?:\*(?!/)[^*]*)*(?:\*/|\Z)" + _LITERAL + ")", re.S
)
# The same where a line is continued between the two signs of a comment's begin or end.
_SPLICED_COMMENT = re.compile(
    r"(/(?:\\[ \t]*\n)*/[^\n\\]*(?:\\(?:[ \t]*\n)?[^\n\\]*)*|/(?:\\[ \t]*\n)*\*.*?(?:\*(?:\\[ \t]*\n)*/|\Z)"
    + _LITERAL
    + ")",
    re.S,
)
_SPLICED_SIGN = re.compile(r"[/*]\\[ \t]*\n")
_SPLICE = re.compile(r"\\[ \t]*\n")
_DIVIDES = re.compile(r"\\(?<=\w\\)[ \t]*\n(?=\w)")
FILL = "\x01"
# How far a call's arguments and a template's may go: what is longer is not one, and a broken file stays quick.
REACH = 1 << 16
TEMPLATE_REACH = 1 << 12
DEPTH = 64
_NOT_NEWLINE = re.compile(r"[^\n]")
NAME = re.compile(r"[A-Za-z_]\w*")
_NUMBER = re.compile(r"(?<!\w)\d\w*")
_OPEN = {"(": ")", "[": "]", "{": "}"}
_STEP = re.compile(r"[()\[\]{},;<]")
_TEMPLATE_STEP = re.compile(r"[()\[\]{};]|->\*?|<<=?|<=>?|>>?=|&&|\|\||\?|[<>]")


def blank(text: str) -> str:
    """The text with comments as spaces and literals as quotes around FILL; a newline in it ends a logical line."""
    signs = _SPLICED_COMMENT if _is_continued(text) and _SPLICED_SIGN.search(text) else _COMMENT_OR_STRING
    parts = signs.split(text)  # code, comment or literal, what a raw string has before its bracket, code, …
    parts[1::3] = [
        " " * len(whole) if whole[0] == "/" else _hollow(whole, raw)
        for whole, raw in zip(parts[1::3], parts[2::3], strict=True)
    ]
    del parts[2::3]
    code = "".join(parts)
    if "\\" in code:
        code = code.replace("\\\n", "  ")
        if "\\ " in code or "\\\t" in code:
            code = _SPLICE.sub(lambda match: " " * len(match.group()), code)
    return code


def _is_continued(text: str) -> bool:
    return "\\" in text and "\\\n" in text  # one sign is looked for many times as fast as two


def _hollow(literal: str, raw: str | None) -> str:
    if raw is not None and "\n" in literal:
        return '"' + _NOT_NEWLINE.sub(FILL, literal[1:-1]) + '"'
    return '"' + FILL * (len(literal) - 2) + '"'


_WORD_ONLY = "".join(chr(i) if chr(i).isalnum() or chr(i) == "_" else " " for i in range(128))


def words(code: str) -> tuple[frozenset[str], frozenset[str]]:
    """The identifiers in blanked text (what `NAME` finds), and what begins with a digit: `32u`, `0x1f`.

    Of plain ASCII in a fraction of the time.
    """
    if not code.isascii():
        return frozenset(NAME.findall(code)), frozenset(_NUMBER.findall(code))
    names = set(code.translate(_WORD_ONLY).split())
    numbers = frozenset(word for word in names if word < "A")
    names -= numbers
    names.update(word.lstrip("0123456789") for word in numbers)
    names.discard("")
    return frozenset(names), numbers


def spliced_names(text: str, code: str) -> list[tuple[int, str]]:
    """The names that a continued line divides, `cuda\\` over `Malloc`, each with its offset and whole."""
    names: list[tuple[int, str]] = []
    for splice in _DIVIDES.finditer(text) if _is_continued(text) else ():
        start, end = splice.span()
        if code[start] == " " and is_name_char(code[start - 1]) and is_name_char(code[end]):
            while start and is_name_char(code[start - 1]):
                start -= 1
            if whole := re.compile(r"\w+(?:\\[ \t]*\n\w+)+").match(text, start):
                names.append((start, _SPLICE.sub("", whole.group())))
    return names


_FEW = 6


class Lines:
    """Finds the line and column, both from 1, of an offset."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._asks = 0

    @cached_property
    def starts(self) -> list[int]:
        return [0, *accumulate(map((1).__add__, map(len, self._text.split("\n"))))][:-1]

    def at(self, offset: int) -> tuple[int, int]:
        if self._asks < _FEW:  # counting is quicker than to find all lines
            self._asks += 1
            return self._text.count("\n", 0, offset) + 1, offset - self._text.rfind("\n", 0, offset)
        line = bisect_right(self.starts, offset)
        return line, offset - self.starts[line - 1] + 1

    def text_of(self, line: int) -> str:
        start = self.starts[line - 1]
        end = self._text.find("\n", start)
        return self._text[start : len(self._text) if end < 0 else end].rstrip("\r")


_SPACES = re.compile(r"[\s\\]*")
_WINDOW = 64


def skip_space(code: str, at: int) -> int:
    """The offset of the next character that is not white space (a continued line counts as white space)."""
    spaces = _SPACES.match(code, at) if at < len(code) else None
    return spaces.end() if spaces else at


def back_space(code: str, at: int) -> int:
    """The offset after the last character before `at` that is not white space."""
    if at > 0 and not (code[at - 1].isspace() or code[at - 1] == "\\"):
        return at
    while at > 0:
        start = max(0, at - _WINDOW)
        part = code[start:at].rstrip()
        while part.endswith("\\"):
            part = part[:-1].rstrip()
        if part:
            return start + len(part)
        at = start
    return at


def back_token(code: str, at: int) -> int:
    """The offset after the last character before `at` that is neither white space nor part of a preprocessor line."""
    end = back_space(code, at)
    while end and "\n" in code[end:at]:
        line = code.rfind("\n", 0, end) + 1
        if code[skip_space(code, line)] != "#":
            break
        at, end = line, back_space(code, line)
    return end


def arguments(code: str, open_at: int) -> tuple[list[tuple[int, int]], int] | None:
    """The spans of the arguments of the call whose `(` is at `open_at`, and the offset of its `)`.

    Commas inside brackets and template arguments do not divide. None where the bracket is never closed.
    A span has no white space around it; a call without arguments has none.
    """
    spans: list[tuple[int, int]] = []
    stack = [")"]
    start = at = open_at + 1
    limit = open_at + REACH
    while step := _STEP.search(code, at, limit):
        char = step.group()
        at = step.end()
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
                _add(code, spans, start, step.start())
                return spans, step.start()
        elif len(stack) > 1:
            continue
        elif char == ",":
            _add(code, spans, start, step.start())
            start = at
        elif char == "<":
            at = template_end(code, at - 1) or at + (code[at : at + 1] == "<")
    return None


def call_arguments(code: str, end: int) -> tuple[list[tuple[int, int]], int] | None:
    """The same for the call of the name that ends at `end`. None where no `(` follows the name."""
    open_at = skip_space(code, end)
    return arguments(code, open_at) if code.startswith("(", open_at) else None


def without_brackets(text: str) -> str:
    """A text without the round brackets around it."""
    text = text.strip()
    while text.startswith("(") and (inside := arguments(text, 0)) is not None and inside[1] == len(text) - 1:
        text = text[1:-1].strip()
    return text


def _add(code: str, spans: list[tuple[int, int]], start: int, end: int) -> None:
    first, last = skip_space(code, start), back_space(code, end)
    if first < last or spans:
        spans.append((min(first, last), last))


def template_end(code: str, open_at: int) -> int | None:
    """The offset after the `>` that closes the `<` at `open_at`, or None where that is a comparison or a shift.

    A `<` opens template arguments under three conditions: a name precedes it, brackets and inner template arguments
    close, and what follows the `>` is not an operand of a comparison.
    """
    if not _may_open(code, open_at):
        return None
    stack: list[str] = []
    depth, at, odd = 1, open_at + 1, False
    limit = open_at + TEMPLATE_REACH
    while match := _TEMPLATE_STEP.search(code, at, limit):
        step, at = match.group(), match.end()
        if step in _OPEN:
            stack.append(_OPEN[step])
        elif step in (")", "]", "}"):
            if not stack or stack.pop() != step:
                return None
        elif stack:
            continue
        elif step == ";":
            return None
        elif step in ("&&", "||", "?"):
            odd = True
        elif step == "<":
            depth += _may_open(code, at - 1) and not code[at - 2].isspace()
            if depth > DEPTH:
                return None
        elif step == ">":
            depth -= 1
            if depth == 0:
                return at if _follows_template(code, open_at, at, odd) else None
    return None


def after_template(code: str, end: int) -> int:
    """The offset of what follows the name that ends at `end`, and its explicit template arguments where it has some."""
    at = skip_space(code, end)
    if code.startswith("<", at) and (close_at := template_end(code, at)) is not None:
        at = skip_space(code, close_at)
    return at


def _may_open(code: str, at: int) -> bool:
    """Whether the `<` at an offset may open template arguments: a name before it, that is not `operator`."""
    if code.startswith(("<<", "<="), at) or code[at - 1 : at] == "<":
        return False
    end = back_space(code, at)
    if not end or not is_name_char(code[end - 1]):
        return False
    start = end
    while start and is_name_char(code[start - 1]):
        start -= 1
    return not code[start].isdigit() and code[start:end] not in ("operator", "return")


_OPERAND = re.compile(r"[\w\"'!~+]|-(?!>)")


def _follows_template(code: str, open_at: int, end: int, odd: bool) -> bool:
    """Whether what follows a `>` makes `name<…>` a template: a comma, a closing sign or `::` does, an operand does not.

    A `(` follows both: then signs that template arguments seldom have, or blanks around the `<`, speak for a comparison.
    """
    at = skip_space(code, end)
    if code.startswith("(", at):
        return not odd and not (code[open_at - 1].isspace() and code[open_at + 1 : open_at + 2].isspace())
    if code.startswith(("*", "&"), at) and not code.startswith("&&", at):
        return code[skip_space(code, at + 1) : skip_space(code, at + 1) + 1] in (">", ",", ")", "*", "&")
    return not _OPERAND.match(code, at)


def is_name_char(char: str) -> bool:
    return char.isalnum() or char == "_"


def whole_names(code: str, name: str) -> list[int]:
    """The offsets at which `name` stands as a whole identifier."""
    places, size = [], len(name)
    at = code.find(name) if name else -1
    while at >= 0:
        end = at + size
        before, after = code[at - 1 : at], code[end : end + 1]
        if not (before.isalnum() or before == "_" or after.isalnum() or after == "_"):
            places.append(at)
        at = code.find(name, end)
    return places


# Keywords that a global `::` may follow.
_NO_NAMESPACE = frozenset(
    ("return", "case", "throw", "else", "do", "delete", "new", "co_return", "co_yield", "co_await", "using", "typename", "const", "volatile",
     "static", "inline", "constexpr", "extern", "friend", "struct", "class", "union", "enum", "virtual", "mutable", "explicit", "operator",
     "sizeof", "and", "or", "not", "thread_local", "typedef", "__host__", "__device__", "__forceinline__", "__inline__", "__restrict__")
)  # fmt: skip


def qualifier(code: str, at: int) -> str:
    """What qualifies the name at `at`: "" for nothing, "::" for the global scope, "ns::", "." or "->".

    The arrow before a return type (`auto f() -> cudaError_t`) qualifies nothing.
    """
    end = back_space(code, at)
    if code.endswith("->", 0, end):
        return "" if _returns(code, end - 2) else "->"
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


_AFTER_PARAMETERS = ("const", "volatile", "mutable", "constexpr", "noexcept", "__host__", "__device__", "&")
_QUALIFIERS = 80
"""So far before an arrow the bracket after the parameters may be."""
_SIGNATURE = 4096
"""So far before an arrow a function's `auto` or a lambda's `[` may be."""
_IS_AUTO = re.compile(r"\bauto\b\s*(?:[\w:<>~]|\s)*(?:operator\s*\W{1,3}\s*)?\Z")
_BEFORE_LAMBDA = re.compile(r"(?:(?<!\w)(?:return|co_return|co_yield|co_await)|[^\w)\]\s]|\A)\s*\Z")


def _returns(code: str, arrow: int) -> bool:
    """Whether the `->` at an offset stands before a return type: after the parameters of an `auto` function or a lambda."""
    end = back_space(code, arrow)
    while word := next((word for word in _AFTER_PARAMETERS if code.endswith(word, 0, end)), ""):
        end = back_space(code, end - len(word))
    first = max(0, arrow - _SIGNATURE)
    if not code.endswith(")", 0, end) or end <= max(first, arrow - _QUALIFIERS):
        return False
    depth, at = 0, end - 1
    while at >= first:
        if code[at] == ")":
            depth += 1
        elif code[at] == "(":
            depth -= 1
            if depth == 0:
                break
        at -= 1
    else:
        return False
    before = back_space(code, at)
    if code.endswith(
        ("]", "]]"), 0, before
    ):  # a lambda's captures, and not an element: something binary stands before those
        captures = _opening(code, before - 1, first)
        return _BEFORE_LAMBDA.search(code, max(0, captures - 80), captures) is not None
    if code.endswith(">", 0, before) and code.rfind("]", first, before) > code.rfind(";", first, before):
        return True  # a lambda with template parameters
    return _IS_AUTO.search(code, first, before) is not None


def _opening(code: str, close: int, first: int) -> int:
    """The offset of the `[` of the `]` at an offset."""
    depth, at = 0, close
    while at > first:
        depth += (code[at] == "]") - (code[at] == "[")
        if depth == 0:
            break
        at -= 1
    return at


def _ends_directive(code: str, before: int, end: int) -> bool:
    """Whether what ends at `before` is a preprocessor line that is over before `end`."""
    return "\n" in code[before:end] and back_token(code, end) != before


def line_start(code: str, at: int) -> int:
    """Where the line of an offset begins, with the lines that it continues."""
    start = code.rfind("\n", 0, at) + 1
    while start and code.endswith(("\\", "\\\r"), 0, start - 1):
        start = code.rfind("\n", 0, start - 1) + 1
    return start


_INCLUDE = re.compile(r"[ \t]*#[ \t]*(?:include(?:_next)?|import)\b")


def in_include(code: str, at: int) -> bool:
    """Whether an offset stands in an `#include`."""
    return _INCLUDE.match(code, line_start(code, at)) is not None


def line_end(code: str, at: int) -> int:
    """Where the line of an offset ends, with the lines that continue it."""
    end = code.find("\n", at)
    while end >= 0 and code.endswith(("\\", "\\\r"), 0, end):
        end = code.find("\n", end + 1)
    return end if end >= 0 else len(code)
