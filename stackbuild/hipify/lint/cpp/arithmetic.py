"""Evaluates C's integer expressions: numbers, names, casts, every operator, assignments, `min` and `max`.

An expression is parsed once to a tree and evaluated against an environment that its assignments change, so that
`while (o >>= 1)` counts. What cannot be computed raises `NoValue`: nothing is guessed.
"""

from __future__ import annotations

import re
from functools import lru_cache

_TOKEN = re.compile(
    r"\s*(?:(?P<number>0[xX][0-9a-fA-F']+|0[bB][01']+|\d[\d']*)(?P<suffix>[uUlLzZ]*)(?![\w.])"
    r"|(?P<name>(?:::)?[A-Za-z_]\w*(?:\s*(?:::|\.|->)\s*[A-Za-z_]\w*)*)"
    r"|(?P<sign><<=|>>=|<<|>>|<=|>=|==|!=|&&|\|\||\+\+|--|[-+*/%&|^]=|[-+*/%()<>=!~&|^?:,{}\[\]]))"
)
_SPACE = re.compile(r"\s+")
_LEVELS = {
    "||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6, "<": 7, ">": 7, "<=": 7, ">=": 7,
    "<<": 8, ">>": 8, "+": 9, "-": 9, "*": 10, "/": 10, "%": 10,
}  # fmt: skip
_SETS = frozenset(("=", "+=", "-=", "*=", "/=", "%=", "<<=", ">>=", "&=", "|=", "^="))
_TYPE = re.compile(
    r"(?:std::|cuda::std::)?(?:u?int(?:8|16|32|64|ptr)?(?:_t)?|unsigned|signed|long|short|char|bool|const|volatile|size_t|auto|u32|u64|i32)"
)
_CASTS = frozenset(("static_cast", "reinterpret_cast", "const_cast"))
_SMALLEST = {"min": min, "max": max, "std::min": min, "std::max": max}
_MAX = 1 << 70
_DEPTH = 60
_LONGEST = 300
"""So many tokens an expression may have: what is longer counts no lanes, and a broken file stays quick."""

Env = dict[str, int | None]
Token = tuple[str, str]
Expression = tuple[object, ...]


class NoValue(Exception):
    """The value of an expression cannot be determined."""


def is_type(name: str) -> bool:
    """Whether a name is an integer type's, or a qualifier."""
    return _TYPE.fullmatch(name) is not None


def _tokens(text: str) -> list[Token] | None:
    tokens: list[Token] = []
    at, text = 0, text.strip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None or len(tokens) > _LONGEST:
            return None
        kind = "number" if match["number"] else "name" if match["name"] else "sign"
        token = match[kind]
        tokens.append((kind, token + match["suffix"] if kind == "number" else _SPACE.sub("", token)))
        at = match.end()
    return tokens


@lru_cache(maxsize=4096)
def parse(text: str) -> Expression | None:
    """The tree of an expression, or None where it cannot be read."""
    tokens = _tokens(text)
    if not tokens:
        return None
    reader = _ExpressionParser(tokens)
    try:
        node = reader.comma()
    except (IndexError, NoValue):
        return None
    return node if reader.at == len(tokens) else None


class _ExpressionParser:
    """Reads tokens by C's precedence. Raises IndexError and NoValue on text that is not an expression."""

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.at = 0
        self.depth = 0

    def peek(self) -> str:
        return self.tokens[self.at][1] if self.at < len(self.tokens) else ""

    def take(self, sign: str) -> None:
        if self.peek() != sign:
            raise NoValue(sign)
        self.at += 1

    def comma(self) -> Expression:
        node = self.assignment()
        while self.peek() == ",":
            self.at += 1
            node = ("then", node, self.assignment())
        return node

    def assignment(self) -> Expression:
        self.depth += 1
        if self.depth > _DEPTH:
            raise NoValue("too deep")
        left = self.binary(1)
        if self.peek() == "?":
            self.at += 1
            yes = self.assignment()
            self.take(":")
            left = ("if", left, yes, self.assignment())
        elif self.peek() in _SETS:
            sign = self.peek()
            self.at += 1
            right = self.assignment()
            value = right if sign == "=" else ("two", sign[:-1], left, right)
            left = ("set", left[1] if left[0] == "name" else "", value)
        self.depth -= 1
        return left

    def binary(self, level: int) -> Expression:
        operand = self.unary()
        while (sign := self.peek()) in _LEVELS and _LEVELS[sign] >= level:
            self.at += 1
            operand = ("two", sign, operand, self.binary(_LEVELS[sign] + 1))
        return operand

    def unary(self) -> Expression:
        self.depth += 1
        if self.depth > _DEPTH:
            raise NoValue("too deep")
        node = self.operand()
        self.depth -= 1
        return node

    def operand(self) -> Expression:
        kind, text = self.tokens[self.at]
        self.at += 1
        if kind == "number":
            return ("number", _number(text), "u" in text.lower() and (64 if "ll" in text.lower() else 32))
        if kind == "name":
            return self.name_expression(text)
        if text in ("++", "--"):
            inner = self.unary()
            return ("set", inner[1] if inner[0] == "name" else "", ("two", text[0], inner, ("number", 1, False)))
        if text in ("-", "+", "!", "~"):
            return ("one", text, self.unary())
        if text != "(":
            raise NoValue(text)
        if self.is_cast():
            return self.unary()
        node = self.comma()
        self.take(")")
        return self.after(node)

    def is_cast(self) -> bool:
        """Whether a type in brackets begins here; it is passed over."""
        end = self.at
        while end < len(self.tokens) and self.tokens[end][0] == "name":
            end += 1
        if end == self.at or end + 1 >= len(self.tokens) or self.tokens[end][1] != ")":
            return False
        after = self.tokens[end + 1]
        plain = all(is_type(name) for _, name in self.tokens[self.at : end])
        if not plain and not (after[0] != "sign" or after[1] == "("):
            return False
        self.at = end + 1
        return True

    def name_expression(self, name: str) -> Expression:
        if name in _CASTS:
            self.angles()
        elif is_type(name):
            while self.tokens[self.at][0] == "name" and is_type(self.tokens[self.at][1]):
                self.at += 1
        else:
            return self.after(("number", int(name == "true"), False) if name in ("true", "false") else ("name", name))
        close = {"(": ")", "{": "}"}[self.peek()] if self.peek() in "({" and self.peek() else ""
        if not close:
            raise NoValue(name)
        self.at += 1
        node = self.comma()
        self.take(close)
        return self.after(node)

    def angles(self) -> None:
        """Pass over the template arguments of a cast."""
        self.take("<")
        depth = 1
        while depth:
            depth += {"<": 1, ">": -1, ">>": -2}.get(self.tokens[self.at][1], 0)
            self.at += 1

    def after(self, node: Expression) -> Expression:
        """What follows a primary expression: calls, indexes, `++` and `--`."""
        while (sign := self.peek()) in ("(", "[", "++", "--"):
            self.at += 1
            if sign in ("++", "--"):
                change = ("set", node[1] if node[0] == "name" else "", ("two", sign[0], node, ("number", 1, False)))
                node = ("was", node, change)
                continue
            args: list[Expression] = []
            close = ")" if sign == "(" else "]"
            while self.peek() != close:
                args.append(self.assignment())
                if self.peek() == ",":
                    self.at += 1
            self.at += 1
            name = str(node[1]) if node[0] == "name" else ""
            node = ("name", f"{name}()") if name and sign == "(" and not args else ("call", name, *args)
        return node


def _number(text: str) -> int:
    digits = text.rstrip("uUlLzZ").replace("'", "")
    if digits[:2].lower() in ("0x", "0b"):
        return int(digits, 0)
    return int(digits, 8) if digits[0] == "0" and digits.strip("01234567") == "" else int(digits)


def walk(node: Expression) -> list[Expression]:
    """A tree's nodes, the outermost first."""
    nodes = [node]
    for one in nodes:  # grows
        nodes += [part for part in one if isinstance(part, tuple)]
    return nodes


@lru_cache(maxsize=4096)
def names(text: str) -> frozenset[str] | None:
    """The names in an expression, or None where it is not one."""
    node = parse(text)
    return None if node is None else frozenset(read_names(node))


def read_names(node: Expression) -> set[str]:
    """The names that a tree's value depends on."""
    return {str(n[1]) for n in walk(node) if n[0] == "name"}


def set_names(node: Expression) -> set[str]:
    """The names that a tree's assignments change."""
    return {str(n[1]) for n in walk(node) if n[0] == "set" and n[1]}


def value(text: str, stands_for: dict[str, int]) -> int | None:
    """The value of an expression with names standing for numbers, in C's integer arithmetic; None where it has none."""
    node = parse(text)
    try:
        return None if node is None else run(node, dict(stands_for))
    except NoValue:
        return None


def run(node: Expression, env: Env) -> int:
    """The value of a tree; its assignments change `env`. Raises NoValue, after which what it would have set is unknown."""
    kind = node[0]
    if kind == "number":
        return node[1]  # type: ignore[return-value]
    if kind == "name":
        number = env.get(str(node[1]))
        if number is None:
            raise NoValue(str(node[1]))
        return number
    if kind == "set":
        return _set(node, env)
    if kind == "two":
        return _two(str(node[1]), node[2], node[3], env)  # type: ignore[arg-type]
    if kind == "if":
        return run(node[2] if run(node[1], env) else node[3], env)  # type: ignore[arg-type]
    if kind == "one":
        return _one(str(node[1]), node[2], env)  # type: ignore[arg-type]
    if kind == "was":
        before = run(node[1], env)  # type: ignore[arg-type]
        run(node[2], env)  # type: ignore[arg-type]
        return before
    if kind == "then":
        _try(node[1], env)  # type: ignore[arg-type]
        return run(node[2], env)  # type: ignore[arg-type]
    if kind == "call" and node[1] in _SMALLEST and len(node) == 4:
        return _SMALLEST[str(node[1])](run(node[2], env), run(node[3], env))  # type: ignore[arg-type]
    raise NoValue(str(kind))


def _try(node: Expression, env: Env) -> None:
    """Run for what it sets."""
    try:
        run(node, env)
    except NoValue:
        env.update(dict.fromkeys(set_names(node)))


def _set(node: Expression, env: Env) -> int:
    name = str(node[1])
    try:
        env[name] = value = run(node[2], env)  # type: ignore[arg-type]
    except NoValue:
        env[name] = None
        raise
    return value


def _one(sign: str, inner: Expression, env: Env) -> int:
    result = run(inner, env)
    if sign == "~" and inner[0] == "number" and inner[2]:
        return ~result & (2**64 - 1 if inner[2] == 64 else 2**32 - 1)
    return {"-": -result, "+": result, "!": int(not result), "~": ~result}[sign]


def _two(sign: str, left: Expression, right: Expression, env: Env) -> int:
    if sign in ("&&", "||"):
        first = bool(run(left, env))
        return int(first) if first is (sign == "||") else int(bool(run(right, env)))
    return apply(sign, run(left, env), run(right, env))


def apply(sign: str, left: int, right: int) -> int:
    """One operation of C on integers. Raises NoValue where it has no value."""
    if sign in ("<<", ">>"):
        if not 0 <= right < 64 or abs(left) > _MAX:
            raise NoValue(sign)
        return left << right if sign == "<<" else left >> right
    if sign in ("/", "%"):
        if right == 0:
            raise NoValue(sign)
        quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
        return quotient if sign == "/" else left - quotient * right
    value = _PLAIN[sign](left, right)
    if abs(value) > _MAX:
        raise NoValue(sign)
    return int(value)


_PLAIN = {
    "+": int.__add__, "-": int.__sub__, "*": int.__mul__, "&": int.__and__, "|": int.__or__, "^": int.__xor__,
    "<": int.__lt__, ">": int.__gt__, "<=": int.__le__, ">=": int.__ge__, "==": int.__eq__, "!=": int.__ne__,
}  # fmt: skip
