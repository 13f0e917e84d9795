"""What a condition of the preprocessor's is where some macros are not defined: true, false, or not known."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Container

_TOKEN = re.compile(r"\s*(?:(\w+|&&|\|\||[<>=!]=|[-+*<>!()])|(\S))")
_COMPARISONS = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
_LONGEST = 200
"""So many tokens a condition may have: what is longer is not known."""


class _UnreadableCondition(Exception):
    """A condition has something else than names, numbers, comparisons and their connection."""


def truth(text: str, is_undefined: Callable[[str], bool], zeros: Container[str] = ()) -> bool | None:
    """Whether the condition of an `#if` holds, None where that is not known. What is not defined counts as 0 there.

    `zeros` are macros that are defined as 0.
    """
    tokens = _TOKEN.findall(text.replace("\\\n", " "))
    if len(tokens) > _LONGEST or any(other for _, other in tokens):
        return None
    reader = _ConditionReader([token for token, _ in tokens], is_undefined, zeros)
    try:
        value = reader.alternatives()
    except _UnreadableCondition:
        return None
    return value if reader.token == "" else None


class _ConditionReader:
    """Reads a condition from its tokens, the first of those that are left at a time."""

    def __init__(self, tokens: list[str], is_undefined: Callable[[str], bool], zeros: Container[str]) -> None:
        self._tokens = tokens
        self._zeros = zeros
        self._at = 0
        self._is_undefined = is_undefined

    @property
    def token(self) -> str:
        """The next token, "" at the end."""
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _take(self, token: str = "") -> str:
        if not self.token or (token and self.token != token):
            raise _UnreadableCondition
        self._at += 1
        return self._tokens[self._at - 1]

    def alternatives(self) -> bool | None:
        """Values with `||` between them."""
        values = [self._conjunction()]
        while self.token == "||":
            self._take()
            values.append(self._conjunction())
        return True if True in values else None if None in values else False

    def _conjunction(self) -> bool | None:
        values = [self._part()]
        while self.token == "&&":
            self._take()
            values.append(self._part())
        return False if False in values else None if None in values else True

    def _part(self) -> bool | None:
        if self.token == "!":
            self._take()
            value = self._part()
            return None if value is None else not value
        if self.token == "(" and not self._is_number_in_brackets():
            self._take("(")
            inner = self.alternatives()
            self._take(")")
            return None if self._has_comparison() else inner
        left = self._sum()
        if self.token not in _COMPARISONS:
            return None if left is None else bool(left)
        compare = _COMPARISONS[self._take()]
        right = self._sum()
        return None if left is None or right is None else compare(left, right)

    def _has_comparison(self) -> bool:
        """Whether a value in brackets is compared: then that was read, and is not known."""
        if self.token not in _COMPARISONS:
            return False
        self._take()
        self._sum()
        return True

    def _is_number_in_brackets(self) -> bool:
        return self._tokens[self._at + 2 : self._at + 3] == [")"]

    def _sum(self) -> int | None:
        """Products with `+` and `-` between them."""
        value = self._product()
        while self.token in ("+", "-"):
            sign = self._take()
            other = self._product()
            value = None if value is None or other is None else value + other if sign == "+" else value - other
        return value

    def _product(self) -> int | None:
        value = self._number()
        while self.token == "*":
            self._take()
            other = self._number()
            value = None if value is None or other is None else value * other
        return value

    def _number(self) -> int | None:
        """A name or a number, in brackets or not; what a name is that is not defined is 0."""
        if self.token == "(":
            self._take("(")
            value = self._number()
            self._take(")")
            return value
        word = self._take()
        if not (word[0].isalnum() or word[0] == "_"):
            raise _UnreadableCondition
        if word == "defined":
            has_bracket = self.token == "("
            name = self._take("(") and self._take() if has_bracket else self._take()
            if has_bracket:
                self._take(")")
            return 0 if self._is_undefined(name) else None
        if word[0].isdigit():
            return _value(word)
        if self.token == "(":
            self._skip_arguments()
            return None
        return 0 if word in self._zeros or self._is_undefined(word) else None

    def _skip_arguments(self) -> None:
        depth = 0
        while True:
            token = self._take()
            depth += (token == "(") - (token == ")")
            if not depth:
                return


def _value(number: str) -> int | None:
    try:
        return int(number.rstrip("uUlL"), 0)
    except ValueError:
        return None
