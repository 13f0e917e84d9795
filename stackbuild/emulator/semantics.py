"""Pseudocode → typed statements, the one source of the translator's C and of the tests' interpreter.

Every value has a type: unsigned, signed or floating point, and a width in bits. Loops are unrolled, lambdas put in
place. What an operation reads and writes has fixed names: `S0`, `S1`, `S2` (raw bits of the operands, modifiers
applied), `D0` (the destination), `VCC` and `EXEC` (masks), `VCCL`, `D0L`, `EXECL` (the bit of this lane in a mask), `SCC`,
`SIMM16`, `SIMM32`, `LANE`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from stackbuild.emulator.pseudocode import Node, PseudocodeError, parse
from stackbuild.emulator.pseudocode_names import (
    BUILTINS,
    COMPARISONS,
    CONVERSION,
    LANE_BITS,
    REGISTERS,
    SPECIAL_FLOATS,
    SPELLINGS,
)
from stackbuild.emulator.typed_values import (
    BOOL,
    I32,
    I64,
    U32,
    Assignment,
    Condition,
    Semantics,
    SemanticStatement,
    Type,
    Value,
    bit_slice,
    bits_of,
    common_type,
    constant,
    convert,
    fold_constants,
    parse_number,
    stored_value,
    strong_type,
    truth,
    view,
    view_type,
)


@dataclass
class _OperationScope:
    """Names of one operation while its tree is walked."""

    lanes: int
    source_bits: Sequence[int]
    variables: dict[str, Type] = field(default_factory=dict)
    arrays: dict[str, tuple[Type, int]] = field(default_factory=dict)
    constants: dict[str, Value] = field(default_factory=dict)
    lambdas: dict[str, Node] = field(default_factory=dict)
    reads: set[str] = field(default_factory=set)
    writes: set[str] = field(default_factory=set)
    result: Type = U32
    full: bool = False
    """Whether the upper half of `D0` is written."""
    loops: int = 0

    # --- expressions

    def value(self, node: Node) -> Value:
        kind = node.kind
        if kind == "number":
            return parse_number(node.text)
        if kind == "name":
            return self.name(node.text)
        if kind == "view":
            return self.view_node(node)
        if kind in ("slice", "piece", "element"):
            return self.part(node)
        if kind == "cast":
            return self.cast(node)
        if kind == "binary":
            return self.binary(node.text, self.value(node.parts[0]), self.value(node.parts[1]), node)
        if kind == "unary":
            return self.unary(node)
        if kind == "choose":
            condition, yes, no = (self.value(part) for part in node.parts)
            condition = truth(condition)
            if condition.op == "const":
                return yes if condition.data else no
            type = common_type(yes, no)
            return Value("choose", type, (condition, convert(yes, type), convert(no, type)))
        if kind == "join":
            return self.join([self.value(part) for part in node.parts])
        if kind == "function":
            return self.function(node)
        raise PseudocodeError(f"a {kind} is not a value")

    def name(self, text: str) -> Value:
        text = SPELLINGS.get(text, text)
        if text in self.constants:
            return self.constants[text]
        if text in self.variables:
            return Value("read", self.variables[text], (), text)
        if text in REGISTERS:
            self.reads.add(text)
            type = REGISTERS[text]
            if text in ("S0", "S1", "S2"):
                type = Type("u", self.source_bits[int(text[1])])
            elif text == "D0":
                type = Type("u", self.source_bits[3])
            return Value("read", type, (), text)
        if text in ("WAVE32", "WAVE64"):
            return constant(int(self.lanes == int(text[4:])), BOOL)
        if text == "INF":
            return Value("const", Type("f", 64, weak=True), (), float("inf"))
        if text == "PI":
            return Value("const", Type("f", 64, weak=True), (), 3.141592653589793)
        raise PseudocodeError(f"{text} is not known")

    def view_node(self, node: Node) -> Value:
        base = node.parts[0]
        if base.kind == "name" and base.text in ("INF", "NAN"):
            type = view_type(node.text)
            return Value("float", type, (constant(SPECIAL_FLOATS[base.text, type.bits], Type("u", type.bits)),))
        if base.kind == "name" and base.text == "WAVE_MODE":
            return constant(0, BOOL)  # IEEE: minimum and maximum, which ask for it, have text of their own
        if base.kind == "element" and base.parts[0].kind == "name" and base.parts[0].text == "S":
            return view(self.value(Node("name", (), f"S{int(self.value(base.parts[1]).data)}")), view_type(node.text))
        return view(self.value(base), view_type(node.text))

    def part(self, node: Node) -> Value:
        base, first = node.parts[0], self.index(node.parts[1])
        root = base.parts[0] if base.kind == "view" else base
        if root.kind == "name" and root.text in self.arrays and node.kind == "element":
            return self.name(f"{root.text}_{self.constant_index(first)}")
        if root.kind == "name" and root.text == "S" and node.kind == "element":
            return self.name(f"S{self.constant_index(first)}")
        if node.kind == "element" and root.kind == "name" and first.op == "read" and first.data == "LANE":
            if root.text not in LANE_BITS:
                raise PseudocodeError(f"{root.text}[laneId] is not known")
            self.reads.add(LANE_BITS[root.text])
            return Value("read", BOOL, (), LANE_BITS[root.text])
        value = bits_of(self.value(base))
        if node.kind == "element":
            return bit_slice(value, first, 1)
        if node.kind == "piece":
            return bit_slice(value, first, self.constant_index(self.index(node.parts[2])))
        last = self.index(node.parts[2])
        if first.op != "const":  # S0.u32[n * 32 + 31 : n * 32]
            width = self.width(node.parts[1], node.parts[2])
            return bit_slice(value, last, width)
        high, low = self.constant_index(first), self.constant_index(last)
        if high < low:  # [0 : 31]: reversed
            return Value("call", value.type, (value,), "reverse")
        return bit_slice(value, last, high - low + 1)

    def index(self, node: Node) -> Value:
        return self.value(node)

    def width(self, high: Node, low: Node) -> int:
        """Of `[n * 32 + 31 : n * 32]`, whose upper end is the lower one plus a number."""
        if high.kind == "binary" and high.text == "+" and high.parts[0] == low:
            return self.constant_index(self.value(high.parts[1])) + 1
        raise PseudocodeError("a slice has no fixed width")

    def constant_index(self, value: Value) -> int:
        if value.op != "const":
            raise PseudocodeError("an index is not a constant")
        return int(value.data)

    def cast(self, node: Node) -> Value:
        bits, _, kind = node.text.partition("'")
        value = self.value(node.parts[0])
        type = Type({"U": "u", "I": "i", "F": "f", "B": "u"}[kind], int(bits))
        if type.kind == "f" and value.op == "const" and node.parts[0].text.startswith("0x"):
            return view(convert(value, Type("u", type.bits)), type)
        if type.kind in "ui" and value.type.kind in "fg":
            if kind != "B":
                return convert(value, type)
            return view(value, type)
        return convert(value, type)

    def unary(self, node: Node) -> Value:
        value = self.value(node.parts[0])
        sign = node.text
        if sign == "+":
            return value
        if sign == "!":
            value = truth(value)
            return constant(1 - int(value.data), BOOL) if value.op == "const" else Value("not", BOOL, (value,))
        if value.op == "const" and sign == "-":
            number = -value.data if isinstance(value.data, int | float) else 0
            type = Type("i", value.type.bits, value.type.weak) if value.type.kind == "u" else value.type
            return Value("const", type, (), number)
        if sign == "~" and value.op == "const":
            return constant(~int(value.data), Type(value.type.kind, max(value.type.bits, 32), value.type.weak))
        return Value("negative" if sign == "-" else "invert", value.type, (value,))

    def binary(self, sign: str, left: Value, right: Value, node: Node | None = None) -> Value:
        if sign in ("&&", "||"):
            left, right = truth(left), truth(right)
            return fold_constants(Value(sign, BOOL, (left, right)))
        if sign == "**":
            if right.type.kind in "ui":
                one = Value("const", left.type, (), 1.0)
                if not (left.op == "const" and left.data == 2.0):
                    raise PseudocodeError("a power of something else than two")
                return Value("call", left.type, (one, convert(right, I32)), "ldexp")
            raise PseudocodeError("a power that is not an integer")
        if sign in ("<<", ">>"):
            if left.type.weak:
                left = convert(left, I32)
            return fold_constants(Value(sign, left.type, (left, convert(right, U32))))
        type = common_type(left, right)
        left, right = convert(left, type), convert(right, type)
        if sign == "<>" and type.kind in "fg":  # less or greater: false where one is a NaN
            less, greater = (Value(each, BOOL, (left, right)) for each in "<>")
            return Value("||", BOOL, (less, greater))
        if sign in COMPARISONS:
            return fold_constants(Value({"<>": "!="}.get(sign, sign), BOOL, (left, right)))
        if sign in ("+", "-", "*") and type == BOOL:
            type = U32
            left, right = convert(left, type), convert(right, type)
        return fold_constants(Value(sign, type, (left, right)))

    def join(self, parts: list[Value]) -> Value:
        raw = [bits_of(part) for part in parts]
        width = sum(part.type.bits for part in raw)
        type = Type("u", width)
        whole = constant(0, type)
        at = width
        for part in raw:
            at -= part.type.bits
            moved_value = Value("<<", type, (convert(part, type), constant(at, U32)))
            whole = moved_value if whole.op == "const" else Value("|", type, (whole, moved_value))
        return whole

    def function(self, node: Node) -> Value:
        name = node.text
        if name in self.lambdas:
            return self.inline(self.lambdas[name], [self.value(part) for part in node.parts])
        values = [self.value(part) for part in node.parts]
        if name == "signext":
            return convert(Value(values[0].op, values[0].type, values[0].parts, values[0].data), I64)
        if name == "signext_from_bit":
            return self.sign_from_bit(values[0], values[1])
        if name == "pow" and values[0].op == "const" and values[0].data == 2.0:
            return Value("call", values[1].type, (values[1],), "exp2")
        match = CONVERSION.match(name)
        if match and match[1] not in ("snorm", "unorm"):
            return convert(values[0], view_type(match[3] + match[4]))
        three = re.match(r"v_(max|min)3(?:_num)?_(\w+)$", name)
        if three:
            inner, _ = _known_function(f"v_{three[1]}_{three[2]}", values)
            type = strong_type(values[0].type)
            return Value("call", type, (Value("call", type, (values[0], values[1]), inner), values[2]), inner)
        name, arguments = _known_function(name, values)
        if name not in BUILTINS:
            raise PseudocodeError(f"the function {name} is not known")
        rule = BUILTINS[name]
        type = Type(*rule) if rule else strong_type(arguments[0].type)
        return Value("call", type, tuple(arguments), name)

    def sign_from_bit(self, value: Value, width: Value) -> Value:
        """The value's low bits, sign extended from bit `width - 1`; 0 where width is 0."""
        bits = value.type.bits
        signed_type = Type("i", bits)
        value = convert(value, signed_type)
        shift = self.binary("-", constant(bits, U32), convert(width, U32))
        moved_value = Value(">>", signed_type, (Value("<<", signed_type, (value, shift)), shift))
        return Value("choose", signed_type, (truth(width), moved_value, constant(0, signed_type)))

    def inline(self, function: Node, arguments: list[Value]) -> Value:
        names, body = function.parts
        saved_constants = dict(self.constants)
        self.constants.update({name.text: value for name, value in zip(names.parts, arguments, strict=True)})
        try:
            return self.return_value(list(body.parts))
        finally:
            self.constants = saved_constants

    def return_value(self, statements: list[Node]) -> Value:
        """The value of a lambda's body: an expression, or `if`s that end in `return`."""
        first = statements[0]
        if first.kind == "return" or first.kind == "call":
            return self.value(first.parts[0])
        if first.kind == "if" and len(statements) == 1:
            yes, no = self.return_value(list(first.parts[1].parts)), self.return_value(list(first.parts[2].parts))
            type = common_type(yes, no)
            return Value("choose", type, (truth(self.value(first.parts[0])), convert(yes, type), convert(no, type)))
        raise PseudocodeError(f"a lambda with a {first.kind} is not known")

    # --- statements

    def block(self, nodes: Sequence[Node]) -> tuple[SemanticStatement, ...]:
        statements: list[SemanticStatement] = []
        for node in nodes:
            statements += self.statement(node)
        return tuple(statements)

    def statement(self, node: Node) -> Sequence[SemanticStatement]:
        if node.kind == "assign":
            return self.assign(node.parts[0], self.value(node.parts[1]))
        if node.kind == "block":
            return self.block(node.parts)
        if node.kind == "if":
            condition = truth(self.value(node.parts[0]))
            if condition.op == "const":
                return self.block(node.parts[1 if condition.data else 2].parts)
            return [Condition(condition, self.block(node.parts[1].parts), self.block(node.parts[2].parts))]
        if node.kind == "for":
            return self.loop(node)
        if node.kind == "declare":
            self.declare(node)
            return []
        if node.kind == "lambda":
            self.lambdas[node.text] = node
            return []
        raise PseudocodeError(f"the statement {node.kind} is not known")

    def declare(self, node: Node) -> None:
        kind, count = node.parts
        if node.text in ("OFFSET", "DATA0", "VDST", "S"):
            return
        bits, _, letter = kind.text.partition("'")
        type = Type({"U": "u", "I": "i", "F": "f", "B": "u"}[letter], int(bits))
        if count.text:
            self.arrays[node.text] = (type, int(count.text))
            for i in range(int(count.text)):
                self.variables[f"{node.text}_{i}"] = type
        else:
            self.variables[node.text] = type

    def loop(self, node: Node) -> Sequence[SemanticStatement]:
        first, last = (self.constant_index(self.value(part)) for part in node.parts[:2])
        if last - first > 64:
            raise PseudocodeError("a loop of more than 64 turns")
        saved_constants = self.constants.get(node.text)
        guard = ""
        if _has_break(node.parts[2]):
            self.loops += 1
            guard = f"broken{self.loops}"
            self.variables[guard] = BOOL
        statements: list[SemanticStatement] = [Assignment(guard, constant(0, BOOL))] if guard else []
        for i in range(first, last + 1):
            self.constants[node.text] = constant(i, I32)
            body = self.guarded_statements(node.parts[2].parts, guard)
            if guard:
                statements.append(Condition(Value("not", BOOL, (Value("read", BOOL, (), guard),)), tuple(body), ()))
            else:
                statements += body
        self.constants.pop(node.text)
        if saved_constants:
            self.constants[node.text] = saved_constants
        return statements

    def guarded_statements(self, nodes: Sequence[Node], guard: str) -> list[SemanticStatement]:
        statements: list[SemanticStatement] = []
        for node in nodes:
            if node.kind == "break":
                statements.append(Assignment(guard, constant(1, BOOL)))
            elif node.kind == "if" and guard:
                condition = truth(self.value(node.parts[0]))
                then, otherwise = (tuple(self.guarded_statements(part.parts, guard)) for part in node.parts[1:])
                statements.append(Condition(condition, then, otherwise))
            else:
                statements += self.statement(node)
        return statements

    def assign(self, target: Node, value: Value) -> Sequence[SemanticStatement]:
        if target.kind == "join":
            return self.scatter(target, value)
        type, base = None, target
        if target.kind == "view":
            type, base = view_type(target.text), target.parts[0]
        if base.kind == "name":
            return self.whole(SPELLINGS.get(base.text, base.text), type, value)
        root = base.parts[0]
        if root.kind == "view":
            root = root.parts[0]
        if root.kind != "name":
            raise PseudocodeError("a part of a part cannot be set")
        first = self.index(base.parts[1])
        if base.kind == "element" and first.op == "read" and first.data == "LANE" and root.text in LANE_BITS:
            name = LANE_BITS[root.text]
            self.writes.add(name)
            return [Assignment(name, truth(value))]
        if base.kind == "element" and root.text in self.arrays:
            name = f"{root.text}_{self.constant_index(first)}"
            return [Assignment(name, stored_value(value, type or self.variables[name], self.variables[name]))]
        low = first if base.kind == "element" else self.index(base.parts[2])
        width = 1 if base.kind == "element" else self.constant_index(first) - self.constant_index(low) + 1
        if width <= 0:
            if root.text != "D0":
                raise PseudocodeError("a reversed slice is set")
            return self.whole("D0", Type("u", 1 - width), value)
        return self.insert(SPELLINGS.get(root.text, root.text), self.constant_index(low), width, type, value)

    def scatter(self, target: Node, value: Value) -> Sequence[SemanticStatement]:
        """`{ D1.u1, D0.u64 } = value`: a carry into VCC and the rest."""
        names = [part.parts[0].text for part in target.parts]
        if names != ["D1", "D0"]:
            raise PseudocodeError("a join that is set is not known")
        bits = view_type(target.parts[1].text).bits
        self.variables["wide"] = value.type
        whole = Value("read", value.type, (), "wide")
        self.writes.add("VCCL")
        carry = bit_slice(bits_of(whole), constant(bits, U32), 1)
        return [
            Assignment("wide", value),
            Assignment("VCCL", carry),
            *self.whole("D0", Type("u", bits), convert(bits_of(whole), Type("u", bits))),
        ]

    def whole(self, name: str, type: Type | None, value: Value) -> Sequence[SemanticStatement]:
        if name in REGISTERS:
            self.writes.add(name)
            if name == "SCC":
                return [Assignment("SCC", truth(value))]
            if name == "VCC" and value.op == "const":
                self.writes.add("VCCL")
                return [Assignment("VCCL", truth(value))]
            if name == "D0":
                self.result = type or strong_type(value.type)
                return [Assignment("D0", bits_of(stored_value(value, self.result, self.result)))]
            return [
                Assignment(
                    name, convert(bits_of(stored_value(value, type or value.type, type or value.type)), REGISTERS[name])
                )
            ]
        if name not in self.variables:
            self.variables[name] = strong_type(type or value.type)
        have = self.variables[name]
        return [Assignment(name, stored_value(value, type or have, have))]

    def insert(self, name: str, low: int, width: int, type: Type | None, value: Value) -> Sequence[SemanticStatement]:
        """Sets bits of a variable or register."""
        if name in REGISTERS:
            self.writes.add(name)
            whole = self.name(name)
            if name == "D0":
                if low + width == self.source_bits[3] and low:
                    self.result = Type("u", self.source_bits[3])
                    self.full = True
                elif not low and not self.full:
                    self.result = Type(type.kind, width) if type else Type("u", width)
        else:
            if name not in self.variables:
                self.variables[name] = Type("u", max(self.source_bits[3], 32))
            whole = Value("read", self.variables[name], (), name)
        have = Type("u", whole.type.bits)
        part = bits_of(stored_value(value, type or Type("u", width), Type(type.kind if type else "u", width)))
        moved_value = fold_constants(
            Value("<<", have, (convert(convert(part, Type("u", width)), have), constant(low, U32)))
        )
        rest = Value("&", have, (bits_of(whole), constant(~((1 << width) - 1 << low), have)))
        return [Assignment(name, convert(Value("|", have, (rest, moved_value)), whole.type))]


def _known_function(name: str, arguments: list[Value]) -> tuple[str, list[Value]]:
    """The function both back ends have for one of the guides' names."""
    match = re.match(r"v_(max|min)(?:_num)?_(f|u|i)(\d+)$", name)
    if match:
        return (match[1] + "num") if match[2] == "f" else match[1] + "int", arguments
    if name in ("s_ff1_i32_b32", "s_ff1_i32_b64"):
        return "ctz", arguments
    return name, arguments


def _has_break(node: Node) -> bool:
    return node.kind == "break" or any(_has_break(part) for part in node.parts)


def semantics(code: str, lanes: int, source_bits: Sequence[int], constants: dict[str, int] | None = None) -> Semantics:
    """The statements of an operation whose sources and destination (last) have `source_bits`. Raises PseudocodeError."""
    scope = _OperationScope(lanes, source_bits)
    for name, number in (constants or {}).items():
        scope.constants[name] = constant(number, U32)
    statements = scope.block(parse(code).parts)
    return Semantics(statements, scope.variables, frozenset(scope.reads), frozenset(scope.writes), scope.result)
