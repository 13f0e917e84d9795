"""Typed statements → C. Numbers of up to 32 bits are in 32-bit variables; float16 and bfloat16 in float, rounded after each step."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path

from stackbuild.emulator.typed_values import Assignment, Condition, Semantics, SemanticStatement, Type, Value

_CALLED_NAME = re.compile(r"\b([a-z]\w*)\(")
_DEFINED_NAME = re.compile(r"^\s*PURE [\w ]+?(\w+)\(|PURE \w+ (\w+)##S\(|PURE T (\w+)##K##N\(", re.MULTILINE)
_OTHERS = frozenset(("if", "min", "max"))
_NATIVE = {32: "32", 64: "64", 128: "128"}


def c_type(type: Type) -> str:
    """The C type that holds a value."""
    kind, bits, _ = type
    if kind in "fg":
        return "double" if bits == 64 else "float"
    if bits > 64:
        return "unsigned __int128" if kind == "u" else "__int128"
    return ("uint" if kind == "u" else "int") + ("64_t" if bits > 32 else "32_t")


def _float_name(type: Type) -> str:
    return "bf16" if type.kind == "g" else f"f{type.bits}"


def _mask(text: str, type: Type) -> str:
    """A C integer wrapped to a width that C does not have."""
    kind, bits, _ = type
    if bits in _NATIVE:
        return f"({c_type(type)})({text})"
    room = 32 if bits < 32 else 64 if bits < 64 else 128
    unsigned_type = c_type(Type("u", room))
    if kind == "u":
        mask = (1 << bits) - 1
        literal = (
            f"{mask:#x}u" if bits < 32 else f"{mask:#x}ull" if bits < 64 else f"((({unsigned_type})1 << {bits}) - 1)"
        )
        return f"(({unsigned_type})({text}) & {literal})"
    signed_type = c_type(Type("i", room))
    return f"(({signed_type})(({unsigned_type})({text}) << {room - bits}) >> {room - bits})"


def expression(value: Value) -> str:
    """C text of a value."""
    op, type, parts, data = value.op, value.type, value.parts, value.data
    if op == "const":
        return _constant(type, data)
    if op == "read":
        return str(data)
    if op == "wrap":
        have = parts[0].type
        inner = expression(parts[0])
        if have.kind == "u" and type.bits >= have.bits and (type.bits > have.bits or type.kind == "u"):
            return f"({c_type(type)})({inner})"  # widening of a number that is wrapped already
        if have.kind == type.kind == "i" and type.bits >= have.bits:
            return f"({c_type(type)})({inner})"
        if type.bits > have.bits and have.kind == "i" and type.bits in _NATIVE:
            return f"({c_type(type)})({inner})"
        return _mask(inner, type)
    if op == "convert":
        return _conversion(parts[0], type)
    if op == "bits":
        name = _float_name(parts[0].type)
        if parts[0].op == "float":
            return expression(parts[0].parts[0])
        text = f"{name}_bits({expression(parts[0])})"
        return f"canonical_{name}({text})" if name in ("f32", "f64") else text
    if op == "float":
        return f"bits_{_float_name(type)}({expression(parts[0])})"
    if op == "slice":
        return _mask(f"{expression(parts[0])} >> {data}", type)
    if op == "choose":
        return f"({expression(parts[0])} ? {expression(parts[1])} : {expression(parts[2])})"
    if op == "not":
        return f"(!{expression(parts[0])})"
    if op == "invert":
        return _mask(f"~{expression(parts[0])}", type)
    if op == "negative":
        text = f"(-{expression(parts[0])})"
        return text if type.kind in "fg" else _mask(text, type)
    if op == "call":
        return _call(value)
    if op in ("<<", ">>"):
        return _shift(value)
    left, right = (expression(part) for part in parts)
    if op in ("&&", "||"):
        return f"({left} {op[0]} {right})"
    if op in ("==", "!=", "<", ">", "<=", ">="):
        return f"(uint32_t)({left} {op} {right})"
    text = f"({left} {op} {right})"
    if type.kind in "fg":
        return text if type.bits > 16 else f"round_{_float_name(type)}({text})"
    if op in ("/", "%"):
        text = f"({right} ? {left} {op} {right} : 0)"
    return text if type.bits in _NATIVE and op in "&|^" else _mask(text, type)


def _constant(type: Type, data: str | int | float) -> str:
    if type.kind in "fg":
        number = float(data)
        if number in (float("inf"), float("-inf")):
            return "INFINITY" if number > 0 else "(-INFINITY)"
        return number.hex() + ("" if type.bits == 64 else "f")
    number = int(data)
    if type.bits > 32:
        return f"(({c_type(type)}){number & 0xFFFFFFFFFFFFFFFF:#x}ull)"
    return f"{number:#x}u" if type.kind == "u" else f"(int32_t){number & 0xFFFFFFFF:#x}u"


def _conversion(value: Value, type: Type) -> str:
    have, text = value.type, expression(value)
    if have.kind in "ui":
        if type.bits == 16:
            return f"round_{_float_name(type)}_d((double)({text}))"
        return f"({c_type(type)})({text})"
    if type.kind in "ui":
        return _mask(f"saturate_{type.kind}({text}, {type.bits})", type) if type.bits not in (32, 64) else (
            f"{_float_name(Type('f', max(have.bits, 32)))}_to_{type.kind}{type.bits}({text})"
        )  # fmt: skip
    if type.bits == 16:
        return f"round_{_float_name(type)}{'_d' if have.bits == 64 else ''}({text})"
    return f"({c_type(type)})({text})"


def _call(value: Value) -> str:
    arguments = ", ".join(expression(part) for part in value.parts)
    type = value.parts[0].type
    suffix = _float_name(type) if type.kind in "fg" else f"{type.kind}{max(type.bits, 32)}"
    if value.data in ("maxint", "minint"):
        suffix = f"{type.kind}{64 if type.bits > 32 else 32}"
    if value.data == "reverse":
        return f"(reverse_u{64 if type.bits > 32 else 32}({arguments}) >> {(64 if type.bits > 32 else 32) - type.bits})"
    return f"{value.data}_{suffix}({arguments})"


def _shift(value: Value) -> str:
    operand, amount = value.parts
    type, text = value.type, expression(operand)
    if amount.op == "const":
        count = int(amount.data)
        if count >= type.bits:
            return _constant(type, 0) if type.kind == "u" or value.op == "<<" else f"({text} >> {type.bits - 1})"
        return _mask(f"{text} << {count}", type) if value.op == "<<" else f"({text} >> {count})"
    narrow = amount
    while narrow.op == "wrap" and narrow.parts[0].type.bits <= narrow.type.bits:
        narrow = narrow.parts[0]
    if narrow.type.kind == "u" and 1 << narrow.type.bits <= type.bits:
        text = f"({text} {value.op} {expression(amount)})"
        return _mask(text, type) if value.op == "<<" else text
    name = "left" if value.op == "<<" else "right"
    return _mask(
        f"shift_{name}_{type.kind}{128 if type.bits > 64 else 64 if type.bits > 32 else 32}({text}, {expression(amount)})",
        type,
    )


def statements(lines: Sequence[SemanticStatement], rename: Callable[[str], str] = str) -> list[str]:
    """C statements."""
    rows: list[str] = []
    for line in lines:
        if isinstance(line, Assignment):
            rows.append(f"{rename(line.name)} = {expression(line.value)};")
        elif isinstance(line, Condition):
            rows.append(f"if ({expression(line.value)}) {{")
            rows += statements(line.then, rename)
            if line.otherwise:
                rows.append("} else {")
                rows += statements(line.otherwise, rename)
            rows.append("}")
    return rows


def declarations(meaning: Semantics) -> list[str]:
    """Declarations of an operation's own variables, zero at first."""
    return [f"{c_type(type)} {name} = 0;" for name, type in meaning.variables.items()]


@cache
def defined_functions() -> frozenset[str]:
    """The functions of native/arithmetic.h, those that its macros make among them."""
    text = (Path(__file__).parent / "native" / "arithmetic.h").read_text("utf-8")
    names: set[str] = set(_OTHERS)
    for plain, floating, shift in _DEFINED_NAME.findall(text):
        names |= {plain} if plain else set()
        names |= {floating + suffix for suffix in ("f32", "f64")} if floating else set()
        names |= {shift + suffix for suffix in ("u32", "i32", "u64", "i64", "u128")} if shift else set()
    return frozenset(names)


def missing_functions(lines: Iterable[str]) -> set[str]:
    """Functions that C statements call and that native/arithmetic.h lacks."""
    return set(_CALLED_NAME.findall("\n".join(lines))) - defined_functions()
