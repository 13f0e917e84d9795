"""Evaluates the small integer expressions that loops count with: numbers, names, + - * / % << >> and brackets."""

from __future__ import annotations

import re

_TOKEN = re.compile(r"\s*(?:(0[xX][0-9a-fA-F]+|\d+)[uUlL]*|([A-Za-z_][\w:]*)|(<<|>>|[-+*/%()]))")
_LEVELS = (("<<", ">>"), ("+", "-"), ("*", "/", "%"))
_MAX = 1 << 40
_CASTS = frozenset(("int", "unsigned", "long", "uint32_t", "int32_t", "size_t", "static_cast", "const", "auto"))

Token = tuple[str, str]


def tokens(text: str) -> list[Token] | None:
    """The tokens of an expression, or None where there is anything else in it."""
    found: list[Token] = []
    at = 0
    text = text.strip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            return None
        kind = ("number", "name", "sign")[(match.lastindex or 1) - 1]
        found.append((kind, match.group(match.lastindex or 0)))
        at = match.end()
    return found


def names(text: str) -> set[str] | None:
    """The names in an expression, or None where it is none."""
    found = tokens(text)
    return None if found is None else {text for kind, text in found if kind == "name"}


def value(text: str, stands_for: dict[str, int]) -> int | None:
    """The value of an expression with names standing for numbers, in C's integer arithmetic; None where it has none."""
    found = tokens(text)
    if not found:
        return None
    try:
        result, rest = _level(found, 0, stands_for)
    except (IndexError, KeyError, ZeroDivisionError, ValueError):
        return None
    return result if not rest and abs(result) < _MAX else None


def _level(rest: list[Token], level: int, stands_for: dict[str, int]) -> tuple[int, list[Token]]:
    if level == len(_LEVELS):
        return _atom(rest, stands_for)
    left, rest = _level(rest, level + 1, stands_for)
    while rest and rest[0][1] in _LEVELS[level]:
        sign = rest[0][1]
        right, rest = _level(rest[1:], level + 1, stands_for)
        left = apply(sign, left, right)
    return left, rest


def _atom(rest: list[Token], stands_for: dict[str, int]) -> tuple[int, list[Token]]:
    kind, text = rest[0]
    if kind == "number":
        return int(text, 0) if text[:2] in ("0x", "0X") else int(text), rest[1:]
    if kind == "name":
        return stands_for[text], rest[1:]
    if text == "-":
        inner, after = _atom(rest[1:], stands_for)
        return -inner, after
    if text != "(":
        raise ValueError(text)
    inner, after = _level(rest[1:], 0, stands_for)
    if after[0][1] != ")":
        raise ValueError(text)
    return inner, after[1:]


def apply(sign: str, left: int, right: int) -> int:
    """One operation of C on integers. Raises ValueError and ZeroDivisionError where it has no value."""
    if sign in ("<<", ">>"):
        if not 0 <= right < 63:
            raise ValueError(sign)
        return left << right if sign == "<<" else left >> right
    if sign in ("/", "%"):
        quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
        return quotient if sign == "/" else left - quotient * right
    return {"+": left + right, "-": left - right, "*": left * right}[sign]
