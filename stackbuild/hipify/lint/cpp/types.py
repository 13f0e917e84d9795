"""The width of the integer type of a name or a function, as far as the text declares it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Literal

from stackbuild.hipify.cpp.keywords import STATEMENT_HEADS
from stackbuild.hipify.cpp.scan import back_space, call_arguments, is_name_char, skip_space, whole_names
from stackbuild.hipify.lint.cpp import levels

Width = Literal["narrow", "wide", ""]
"""32 bits or fewer, 64 bits, or not known (`auto`, a template's parameter, a class, `bool`)."""

_NARROW = re.compile(
    r"(?:unsigned|signed)(?: (?:int|short|char))?|int|short|char|u?int(?:_least|_fast)?(?:8|16|32)(?:_t)?|uint|u?short|uchar|[ui](?:8|16|32)|DWORD"
)
_WIDE = re.compile(
    r"(?:unsigned |signed )?long(?: long)?(?: int)?|u?int(?:_least|_fast)?64(?:_t)?|size_t|uintptr_t|[ui]64|ull"
)
_QUALIFIERS = re.compile(
    r"\b(?:const|constexpr|volatile|static|extern|inline|register|mutable|typename|explicit|virtual|friend|__shared__|__device__|__host__|__constant__"
    r"|__forceinline__|__noinline__|__restrict__|FORCEINLINE|(?:cuda::)?std::|::)\b|\bstd\s*::|\b[A-Z][A-Z0-9_]{3,}\b"
)
_TEMPLATE = re.compile(r"template(?<!\wtemplate)\s*<")
_SPACE = re.compile(r"\s+")
_CONTROL = STATEMENT_HEADS | {"return", "sizeof", "else", "do"}
_DECLARED_TYPE = re.compile(r"(.*?[\w>])\s*[&*]*\s*", re.S)
_MOST = 40
_STATEMENT = 600
"""So far before a name its declaration begins."""


def width(code: str, text: str, depth: int = 0) -> Width:
    """How wide a type is by its text; aliases of the same text are looked up."""
    plain = _SPACE.sub(" ", _QUALIFIERS.sub(" ", text)).strip(" &*")
    if not plain or depth > 3:
        return ""
    words = " ".join(sorted(plain.split(), key=lambda w: w not in ("unsigned", "signed")))
    if _NARROW.fullmatch(words):
        return "narrow"
    if _WIDE.fullmatch(words):
        return "wide"
    if not re.fullmatch(r"\w+", plain):
        return ""
    widths: set[Width] = set()
    for at in whole_names(code, plain)[:_MOST]:
        line = code[max(0, at - 80) : at]
        using = re.compile(r"\s*=\s*([^;{}()]+);").match(code, at + len(plain)) if line.endswith("using ") else None
        typedef = re.search(r"\btypedef\s+([^;{}()]+?)\s+\Z", line) if code.startswith(";", at + len(plain)) else None
        if using or typedef:
            widths.add(width(code, (using or typedef)[1], depth + 1))  # type: ignore[index]
    return widths.pop() if len(widths) == 1 else ""  # another type in each branch of an #if


def of_name(code: str, name: str, at: int) -> Width:
    """How wide the last declaration of a name before an offset makes it. Of a member, any declaration counts."""
    last = re.split(r"\.|->|::", name)[-1].strip()
    member = last != name
    for place in islice(whole_names(code, last) if member else _backwards(code, last, at), _MOST):
        spelling = declares(code, place)
        if spelling is not None:
            return width(code, spelling)
    return ""


def _backwards(code: str, name: str, at: int) -> Iterator[int]:
    """Where a whole name stands before an offset, the nearest first."""
    place = code.rfind(name, 0, at)
    while place >= 0:
        end = place + len(name)
        if not is_name_char(code[place - 1 : place]) and not is_name_char(code[end : end + 1]):
            yield place
        place = code.rfind(name, 0, place)


def declares(code: str, place: int) -> str | None:
    """The type by which the name at an offset is declared, None where it is not."""
    end = back_space(code, place)
    if not end or not (code[end - 1].isalnum() or code[end - 1] in "_>&*,"):
        return None
    start, opener = _part(code, place)
    head = code[start:place].strip()
    if opener == "[" or not head:
        return None
    if head.endswith(",") and opener != "(":  # `unsigned a = 1, b`
        first = re.match(r"((?:\w+\s+)+)\w+\s*(?:[=,\[{].*)?,\s*[&*]*\s*\Z", code[start:place].lstrip(), re.S)
        return first[1] if first and first[1].split()[0] not in _CONTROL else None
    if _DECLARED_TYPE.fullmatch(head) is None:
        return None
    text = head.rsplit(",", 1)[-1] if opener == "(" else head
    words = _SPACE.sub(" ", text).strip(" &*")
    if not words or not re.fullmatch(r"[\w:<>, ]+", words) or words.split()[-1] in _CONTROL or words.isdigit():
        return None
    return words


def _part(code: str, place: int) -> tuple[int, str]:
    """Where the part of a statement begins in which an offset stands, and the sign before it."""
    return levels.begin(code, place, _STATEMENT, "([{};")


def return_width(code: str, at: int) -> Width:
    """How wide the result of the function is in whose body an offset stands."""
    for brace in _open_braces(code, at):
        end = back_space(code, brace)
        trailing = re.compile(r"->\s*([\w:]+(?:\s+[\w:]+)*)\s*\Z").search(code, max(0, end - 60), end)
        if trailing:
            return width(code, trailing[1])
        before = re.sub(r"\b(?:const|noexcept|override|final)\s*\Z", "", code[max(0, end - 20) : end]).rstrip()
        if not before.endswith(")"):
            continue
        open_at = _opening(code, code.rindex(")", 0, end))
        name_end = back_space(code, open_at)
        name = re.compile(r"[\w~]+\Z").search(code, max(0, name_end - 80), name_end)
        if name is None:
            return ""  # a lambda without a type
        if name.group() in _CONTROL:
            continue
        start, _ = _part(code, name.start())
        return width(code, _TEMPLATE.split(code[start : name.start()])[-1].rsplit(">", 1)[-1])
    return ""


def _open_braces(code: str, at: int) -> Iterator[int]:
    """The braces that are open at an offset, the innermost first."""
    depth = 0
    for brace in reversed(list(re.compile(r"[{}]").finditer(code, max(0, at - 20000), at))):
        depth += 1 if brace.group() == "}" else -1
        if depth < 0:
            depth = 0
            yield brace.start()


def _opening(code: str, close_at: int) -> int:
    depth = 0
    for bracket in reversed(list(re.compile(r"[()]").finditer(code, max(0, close_at - 4000), close_at + 1))):
        depth += 1 if bracket.group() == ")" else -1
        if depth == 0:
            return bracket.start()
    return 0


def of_parameter(code: str, function: str, number: int) -> Width:
    """How wide the parameter of a function is that the text declares."""
    for at in whole_names(code, function)[:_MOST]:
        argument_list = call_arguments(code, at + len(function))
        if (
            argument_list is None
            or number >= len(argument_list[0])
            or not code.startswith(("{", ";"), skip_space(code, argument_list[1] + 1))
        ):
            continue
        text = code[slice(*argument_list[0][number])].split("=")[0].strip()
        typed_match = re.fullmatch(r"(.*[\w>])[\s&*]+\w+", text, re.S)
        if typed_match and "(" not in text and (size := width(code, typed_match[1])):
            return size
    return ""
