"""The language of AMD's pseudocode: text → syntax tree.

The guides describe every operation in a small language: typed views of registers (`S0.f32`), slices (`S0[31 : 16]`), casts
(`32'U(x)`), concatenation, `if`, `for` with constant bounds, and lambdas. Comments start with `//`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from stackbuild.core.errors import Stop

_TOKEN = re.compile(
    r"(?P<space>\s+|//[^\n]*)"
    r"|(?P<sized>\d+'(?:0x[0-9a-fA-F]+|\d+\.\d+|\d+)[UIFB]?)"
    r"|(?P<cast>\d+'[UIFB])"
    r"|(?P<number>0x[0-9a-fA-F]+(?:ULL|LL|U|L)?|\d+\.\d+F?|\d+(?:ULL|LL|U|L|F)?)"
    r"|(?P<name>[A-Za-z_][A-Za-z_0-9]*)"
    r"|(?P<sign>\+:|\*\*|<<|>>|<=|>=|==|!=|<>|&&|\|\||\+=|-=|\*=|&=|\|=|\^=|[-+*/%&|^~!<>=?:;,.(){}\[\]])"
)
_LEVELS = (
    ("||",),
    ("&&",),
    ("|",),
    ("^",),
    ("&",),
    ("==", "!=", "<>"),
    ("<", ">", "<=", ">="),
    ("<<", ">>"),
    ("+", "-"),
    ("*", "/", "%"),
    ("**",),
)
_ASSIGNMENTS = ("=", "+=", "-=", "*=", "&=", "|=", "^=")


class PseudocodeError(Stop):
    """Pseudocode that the emulator does not understand."""

    topic = "emulator"


@dataclass(frozen=True)
class Node:
    """A part of the tree: its kind, the parts below it, and a text (a name, an operator, a number as written)."""

    kind: str
    parts: tuple[Node, ...] = ()
    text: str = ""


class _PseudocodeParser:
    def __init__(self, text: str) -> None:
        self.tokens: list[tuple[str, str]] = []
        at = 0
        while at < len(text):
            match = _TOKEN.match(text, at)
            if match is None:
                raise PseudocodeError(f"no token at {text[at : at + 20]!r}")
            at = match.end()
            if match.lastgroup != "space":
                self.tokens.append((str(match.lastgroup), match.group()))
        self.at = 0

    def peek(self, ahead: int = 0) -> str:
        place = self.at + ahead
        return self.tokens[place][1] if place < len(self.tokens) else ""

    def kind(self) -> str:
        return self.tokens[self.at][0] if self.at < len(self.tokens) else ""

    def take(self, *kinds_of_token: str) -> str:
        text = self.peek()
        if kinds_of_token and text not in kinds_of_token:
            raise PseudocodeError(f"{kinds_of_token[0]!r} is missing before {text!r}")
        self.at += 1
        return text

    def block(self, *ends: str) -> Node:
        """Statements up to one of `ends`, which is not taken."""
        nodes: list[Node] = []
        while self.peek() not in ends and self.peek():
            if self.peek() == ";":
                self.take()
            else:
                nodes.append(self.statement())
        return Node("block", tuple(nodes))

    def statement(self) -> Node:
        word = self.peek()
        if word == "if":
            return self.branch()
        if word == "for":
            self.take()
            name = self.take()
            self.take("in")
            first = self.expression(1)
            self.take(":")
            last = self.expression()
            self.take("do")
            body = self.block("endfor")
            self.take("endfor")
            return Node("for", (first, last, body), name)
        if word == "declare":
            self.take()
            name = self.take()
            self.take(":")
            kind = self.take()
            count = ""
            if self.peek() == "[":
                self.take()
                count = self.take()
                self.take("]")
            return Node("declare", (Node("type", (), kind), Node("count", (), count)), name)
        if word == "break":
            self.take()
            return Node("break")
        if word == "return":
            self.take()
            return Node("return", (self.expression(),))
        target = self.expression()
        sign = self.peek()
        if sign not in _ASSIGNMENTS:
            return Node("call", (target,))
        self.take()
        if self.peek() == "lambda":
            return self.function(target.text)
        value = self.expression()
        if sign != "=":
            value = Node("binary", (target, value), sign[:-1])
        if self.peek() != "=":
            return Node("assign", (target, value))
        self.take()  # A = B = value
        last = self.expression()
        return Node("block", (Node("assign", (value, last)), Node("assign", (target, last))))

    def function(self, name: str) -> Node:
        self.take("lambda")
        self.take("(")
        names = []
        while self.peek() != ")":
            names.append(Node("name", (), self.take()))
            if self.peek() == ",":
                self.take()
        self.take(")")
        self.take("(")
        body = self.block(")")
        self.take(")")
        return Node("lambda", (Node("names", tuple(names)), body), name)

    def branch(self) -> Node:
        self.take("if", "elsif")
        condition = self.expression()
        self.take("then")
        then = self.block("elsif", "else", "endif")
        if self.peek() == "elsif":
            return Node("if", (condition, then, Node("block", (self.branch(),))))
        otherwise = Node("block")
        if self.take("else", "endif") == "else":
            otherwise = self.block("endif")
            self.take("endif")
        return Node("if", (condition, then, otherwise))

    def expression(self, level: int = 0) -> Node:
        if level == 0:
            condition = self.expression(1)
            if self.peek() != "?":
                return condition
            self.take()
            yes = self.expression()
            self.take(":")
            return Node("choose", (condition, yes, self.expression()))
        if level > len(_LEVELS):
            return self.unary()
        operand = self.expression(level + 1)
        while self.peek() in _LEVELS[level - 1]:
            sign = self.take()
            operand = Node("binary", (operand, self.expression(level + 1)), sign)
        return operand

    def unary(self) -> Node:
        if self.peek() in ("-", "~", "!", "+"):
            sign = self.take()
            return Node("unary", (self.unary(),), sign)
        return self.suffixes(self.primary())

    def primary(self) -> Node:
        kind, text = self.kind(), self.take()
        if kind in ("number", "sized"):
            return Node("number", (), text)
        if kind == "cast":
            if self.peek() == "(":
                self.take("(")
                value = self.expression()
                self.take(")")
                return Node("cast", (value,), text)
            return Node("type", (), text)
        if text == "(":
            value = self.expression()
            self.take(")")
            return value
        if text == "{":
            parts = [self.expression()]
            while self.peek() == ",":
                self.take()
                parts.append(self.expression())
            self.take("}")
            return Node("join", tuple(parts))
        if kind == "name":
            if self.peek() == "(":
                self.take()
                arguments = []
                while self.peek() != ")":
                    arguments.append(self.expression())
                    if self.peek() == ",":
                        self.take()
                self.take(")")
                return Node("function", tuple(arguments), text)
            return Node("name", (), text)
        raise PseudocodeError(f"{text!r} starts no expression")

    def suffixes(self, value: Node) -> Node:
        while self.peek() in (".", "["):
            if self.take() == ".":
                value = Node("view", (value,), self.take())
                continue
            first = self.expression()
            if self.peek() == "]":
                value = Node("element", (value, first))
            else:
                kind = "slice" if self.take(":", "+:") == ":" else "piece"
                value = Node(kind, (value, first, self.expression()))
            self.take("]")
        return value


@cache
def parse(text: str) -> Node:
    """The tree of an operation's pseudocode, a node of kind "block". Raises PseudocodeError."""
    parser = _PseudocodeParser(text)
    tree = parser.block()
    if parser.peek():
        raise PseudocodeError(f"{parser.peek()!r} ends nothing")
    return tree
