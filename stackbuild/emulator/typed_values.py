"""Typed values and statements: what pseudocode is read into, and both back ends write out.

Every value has a type: unsigned, signed or floating point, and a width in bits.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from stackbuild.emulator.pseudocode import PseudocodeError

_VIEW = re.compile(r"(u|i|f|b|bf)(\d+)$")


class Type(NamedTuple):
    """`kind` is "u", "i", "f" or "g" (bfloat16); a weak type is that of a number without a suffix."""

    kind: str
    bits: int
    weak: bool = False


BOOL = Type("u", 1)
U32 = Type("u", 32)
I32 = Type("i", 32)
I64 = Type("i", 64)
F32 = Type("f", 32)


@dataclass(frozen=True)
class Value:
    """An expression: an operator, its type, what it takes. `data` is a name, a constant or the lowest bit of a slice."""

    op: str
    type: Type
    parts: tuple[Value, ...] = ()
    data: str | int | float = 0


@dataclass(frozen=True)
class Assignment:
    """Sets a variable."""

    name: str
    value: Value


@dataclass(frozen=True)
class Condition:
    """Runs one of two lists of statements."""

    value: Value
    then: tuple[SemanticStatement, ...]
    otherwise: tuple[SemanticStatement, ...]


SemanticStatement = Assignment | Condition


@dataclass(frozen=True)
class Semantics:
    """What an operation does to one lane, or to the wave. `variables` are local names and their types."""

    statements: tuple[SemanticStatement, ...]
    variables: dict[str, Type]
    reads: frozenset[str]
    writes: frozenset[str]
    result: Type
    """The type by which `D0` was written last; its bits are those of the destination that are written."""


def view_type(text: str) -> Type:
    """The type of `.f32`, `.b16`, `.bf16`. Raises PseudocodeError."""
    match = _VIEW.match(text)
    if not match:
        raise PseudocodeError(f".{text} is not a type that is known")
    kind = {"b": "u", "bf": "g"}.get(match[1], match[1])
    return Type(kind, int(match[2]))


def constant(value: int | float, type: Type) -> Value:
    """A number of a type, wrapped to its width."""
    if type.kind in "ui" and isinstance(value, int):
        value &= (1 << type.bits) - 1
        if type.kind == "i" and value >> type.bits - 1:
            value -= 1 << type.bits
    return Value("const", type, (), value)


def convert(value: Value, type: Type) -> Value:
    """The number in another type: integers wrap, floating point rounds."""
    have = value.type
    if (have.kind, have.bits) == (type.kind, type.bits):
        return Value(value.op, type, value.parts, value.data) if have.weak != type.weak else value
    if have.kind in "ui" and type.kind in "ui":
        return constant(int(value.data), type) if value.op == "const" else Value("wrap", type, (value,))
    if value.op == "const" and type.kind == "f":
        return Value("const", type, (), float(value.data))
    return Value("convert", type, (value,))


def bits_of(value: Value) -> Value:
    """The bits of a value, unsigned."""
    kind, bits, _ = value.type
    if kind == "u":
        return value
    return convert(value, Type("u", bits)) if kind == "i" else Value("bits", Type("u", bits), (value,))


def view(value: Value, type: Type) -> Value:
    """A value's bits as another type: the low ones where it is wider, extended where it is narrower."""
    have = value.type
    if have.kind in "ui" and type.kind in "ui":
        return convert(value, type)
    if have.kind == type.kind and have.bits == type.bits:
        return value
    if have.kind in "fg" and type.kind in "fg":
        return convert(value, type)
    raw = convert(bits_of(value), Type("u", type.bits))
    return Value("float", type, (raw,)) if type.kind in "fg" else convert(raw, type)


def strong_type(type: Type) -> Type:
    return Type(type.kind, type.bits)


def stored_value(value: Value, type: Type, have: Type) -> Value:
    """A value as it is kept in a variable of type `have` when it is set through a view of `type`."""
    if value.type.kind in "fg" and type.kind in "ui":
        value = view(value, type)
    elif type.kind in "fg" and value.type.kind in "ui":
        value = convert(value, type) if value.op == "const" and value.type.weak else view(value, type)
    else:
        value = convert(value, type)
    return value if (type.kind, type.bits) == (have.kind, have.bits) else view(value, have)


def truth(value: Value) -> Value:
    """A value as a condition."""
    if value.type == BOOL:
        return value
    if value.op == "const":
        return constant(int(bool(value.data)), BOOL)
    return Value("!=", BOOL, (value, convert(constant(0, I32), value.type)))


def bit_slice(value: Value, low: Value, width: int) -> Value:
    """`width` bits from bit `low`."""
    type = Type("u", width)
    if low.op == "const":
        start = int(low.data)
        if value.op == "const":
            return constant(int(value.data) >> start, type)
        if value.type.bits < start + width:
            value = convert(value, Type("u", start + width))
        return convert(value, type) if start == 0 else Value("slice", type, (value,), start)
    moved_value = Value(">>", value.type, (value, convert(low, U32)))
    return convert(moved_value, type)


def common_type(left: Value, right: Value) -> Type:
    """The type in which two values meet."""
    a, b = left.type, right.type
    if a.weak != b.weak:
        strong, weak = (b, a) if a.weak else (a, b)
        if weak.kind == "f" and strong.kind != "f":
            return Type("f", 64)
        return strong if strong.bits > 1 or weak.kind == "f" else Type("u", 32)
    if "f" in (a.kind, b.kind) or "g" in (a.kind, b.kind):
        wide = max((t for t in (a, b) if t.kind in "fg"), key=lambda t: t.bits)
        return Type("f", wide.bits, a.weak and b.weak)
    if a.kind == b.kind:
        return Type(a.kind, max(a.bits, b.bits), a.weak and b.weak)
    if a.bits == b.bits:
        return Type("u", a.bits)
    return a if a.bits > b.bits else b


def parse_number(text: str) -> Value:
    if "'" in text:
        bits, _, rest = text.partition("'")
        kind = {"U": "u", "I": "i", "F": "f", "B": "u"}.get(rest[-1], "") if not rest.startswith("0x") else ""
        digits = rest[:-1] if kind else rest
        if "." in digits:
            return Value("const", Type("f", int(bits)), (), float(digits))
        type = Type(kind or "u", int(bits))
        if type.kind == "f":
            return Value("const", type, (), float(digits))
        return constant(int(digits, 0), type)
    if "." in text:
        if text.endswith("F"):
            return Value("const", F32, (), float(text[:-1]))
        return Value("const", Type("f", 64, weak=True), (), float(text))
    for suffix, type in (("ULL", Type("u", 64)), ("LL", I64), ("U", U32), ("L", I64)):
        if text.endswith(suffix):
            return constant(int(text.removesuffix(suffix), 0), type)
    if text.endswith("F") and not text.startswith("0x"):
        return Value("const", F32, (), float(text[:-1]))
    number = int(text, 0)
    return constant(number, Type("i", 32 if number < 1 << 31 else 64, weak=True))


_FOLDS: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "&": lambda a, b: a & b,
    "|": lambda a, b: a | b, "^": lambda a, b: a ^ b, "<<": lambda a, b: a << b, ">>": lambda a, b: a >> b,
    "==": lambda a, b: int(a == b), "!=": lambda a, b: int(a != b), "<": lambda a, b: int(a < b), ">": lambda a, b: int(a > b),
    "<=": lambda a, b: int(a <= b), ">=": lambda a, b: int(a >= b), "&&": lambda a, b: int(a and b), "||": lambda a, b: int(a or b),
    "/": lambda a, b: a // b, "%": lambda a, b: a % b,
}  # fmt: skip


def fold_constants(value: Value) -> Value:
    """A number where both sides are integers that are known."""
    if all(part.op == "const" and isinstance(part.data, int) for part in value.parts) and value.op in _FOLDS:
        a, b = (int(part.data) for part in value.parts)
        return constant(_FOLDS[value.op](a, b), value.type)
    return value
