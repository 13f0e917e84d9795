"""Typed statements → Python, for the plain interpreter. Integers are wrapped by type, floating point is rounded after each step.

This shares no code with the C back end (c_code.py, native/arithmetic.h): the two check each other.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from typing import Any

from stackbuild.emulator.typed_values import Assignment, Condition, Semantics, SemanticStatement, Type, Value

_FORMS = {16: "<e", 32: "<f", 64: "<d"}
_QUIET = {16: 0x7E00, 32: 0x7FC00000, 64: 0x7FF8000000000000}
_LARGEST = {16: 65520.0, 32: 3.4028235677973366e38}
Number = int | float


def round_to(number: float, bits: int) -> float:
    """A double rounded to the nearest number of `bits`, ties to even."""
    if bits == 64 or number != number or number in (math.inf, -math.inf):
        return number
    if abs(number) >= _LARGEST[bits]:
        return math.copysign(math.inf, number)
    return float(struct.unpack(_FORMS[bits], struct.pack(_FORMS[bits], number))[0])


def rounded_brain(number: float) -> float:
    """A double rounded to bfloat16."""
    if number != number or number in (math.inf, -math.inf):
        return number
    exact = Fraction(number)
    _, exponent = math.frexp(number)
    step = Fraction(2) ** max(exponent - 8, -133)
    value = round(exact / step) * step
    return math.copysign(math.inf, number) if abs(value) >= Fraction(2) ** 128 else math.copysign(float(value), number)


def float_bits(number: float, type: Type) -> int:
    """The bits of a number; those of every NaN are the same."""
    if type.kind == "g":
        return 0x7FC0 if number != number else int.from_bytes(struct.pack("<f", number), "little") >> 16
    if number != number:
        return _QUIET[type.bits]
    return int.from_bytes(struct.pack(_FORMS[type.bits], number), "little")


def bits_float(bits: int, type: Type) -> float:
    """The number of some bits."""
    if type.kind == "g":
        return float(struct.unpack("<f", struct.pack("<I", bits << 16))[0])
    return float(struct.unpack(_FORMS[type.bits], bits.to_bytes(type.bits // 8, "little"))[0])


def wrap_integer(number: int, type: Type) -> int:
    """An integer in a type's width."""
    number &= (1 << type.bits) - 1
    return number - (1 << type.bits) if type.kind == "i" and number >> type.bits - 1 else number


def fused_multiply_add(a: float, b: float, c: float, bits: int) -> float:
    """a·b + c with one rounding."""
    if not all(map(math.isfinite, (a, b, c))):
        return a * b + c if not (math.isinf(c) and math.isfinite(a * b)) else c
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        product_sign = math.copysign(1, a) * math.copysign(1, b)
        return (
            -0.0
            if (product_sign < 0 and math.copysign(1, c) < 0) and (a * b == 0 or Fraction(a) * Fraction(b) == 0)
            else 0.0
        )
    return _nearest(exact, bits)


def _nearest(exact: Fraction, bits: int) -> float:
    """A rational number rounded to the nearest of a floating-point format."""
    precision, least, most = {16: (11, -24, 16), 32: (24, -149, 128), 64: (53, -1074, 1024)}[bits]
    size = abs(exact)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if size < Fraction(2) ** exponent:
        exponent -= 1
    if exponent >= most:
        return math.inf if exact > 0 else -math.inf
    step = Fraction(2) ** max(exponent - precision + 1, least)
    value = round(size / step) * step  # Python's round is to even
    if value >= Fraction(2) ** most:
        return math.inf if exact > 0 else -math.inf
    return math.copysign(float(value), exact)


def _divide(a: float, b: float) -> float:
    if b == 0:
        return math.nan if a == 0 or a != a else math.copysign(math.inf, a) * math.copysign(1, b)
    return a / b


class Lane:
    """The registers of one lane, and of the wave, that statements read and set."""

    def __init__(self, registers: dict[str, Number]) -> None:
        self.names = registers

    def run(self, lines: Sequence[SemanticStatement]) -> None:
        """Run statements."""
        for line in lines:
            if isinstance(line, Assignment):
                self.names[line.name] = self.value(line.value)
            elif isinstance(line, Condition):
                self.run(line.then if self.value(line.value) else line.otherwise)

    def value(self, value: Value) -> Any:
        """A value as a Python number."""
        op, type, parts = value.op, value.type, value.parts
        if op == "const":
            return value.data
        if op == "read":
            return self.names[str(value.data)]
        if op == "choose":
            return self.value(parts[1] if self.value(parts[0]) else parts[2])
        if op == "bits" and parts[0].op == "float":  # a move: no rounding, and a NaN keeps its bits
            return self.value(parts[0].parts[0])
        arguments = [self.value(part) for part in parts]
        return _OPERATORS[op](value, type, arguments) if op in _OPERATORS else _binary(value, type, arguments)


def _convert(value: Value, type: Type, arguments: list[Any]) -> Number:
    number = arguments[0]
    if type.kind in "ui":
        if number != number:
            return 0
        low, high = (0, (1 << type.bits) - 1) if type.kind == "u" else (-(1 << type.bits - 1), (1 << type.bits - 1) - 1)
        return high if number >= high else low if number <= low else int(number)
    if type.kind == "g":
        return rounded_brain(float(number))
    if isinstance(number, int):
        return _nearest(Fraction(number), type.bits) if number else 0.0
    return round_to(float(number), type.bits)


def _rounded_result(number: float, type: Type) -> float:
    return rounded_brain(number) if type.kind == "g" else round_to(number, type.bits)


def _shift(value: Value, type: Type, arguments: list[Any]) -> int:
    number, count = arguments
    if value.op == "<<":
        return wrap_integer(number << count, type) if count < type.bits else 0
    return int(number >> count) if count < type.bits else (-1 if number < 0 else 0)


def _binary(value: Value, type: Type, arguments: list[Any]) -> Number:
    left, right = arguments
    op = value.op
    if op in _COMPARISONS:
        return int(_COMPARISONS[op](left, right))
    if op in ("&&", "||"):
        return int(bool(left and right) if op == "&&" else bool(left or right))
    if type.kind in "fg":
        exact: Callable[[Any, Any], Any] = {
            "+": lambda a, b: a + b,
            "-": lambda a, b: a - b,
            "*": lambda a, b: a * b,
            "/": _divide,
        }[op]
        return _rounded_result(exact(left, right), type)
    whole: dict[str, Callable[[int, int], int]] = {
        "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "&": lambda a, b: a & b, "|": lambda a, b: a | b,
        "^": lambda a, b: a ^ b, "/": lambda a, b: int(Fraction(a, b)) if b else 0, "%": lambda a, b: a - b * int(Fraction(a, b)) if b else 0,
    }  # fmt: skip
    return wrap_integer(whole[op](left, right), type)


_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": lambda a, b: a == b, "!=": lambda a, b: a != b, "<": lambda a, b: a < b, ">": lambda a, b: a > b,
    "<=": lambda a, b: a <= b, ">=": lambda a, b: a >= b,
}  # fmt: skip


def _call(value: Value, type: Type, arguments: list[Any]) -> Number:
    name, first = str(value.data), value.parts[0].type
    if name == "fma":
        return fused_multiply_add(float(arguments[0]), float(arguments[1]), float(arguments[2]), type.bits)
    if name == "reverse":
        return int(f"{arguments[0]:0{first.bits}b}"[::-1], 2)
    if name in ("countbits",):
        return int(arguments[0]).bit_count()
    if name == "ctz":
        return (int(arguments[0]) & -int(arguments[0])).bit_length() - 1
    if name == "clz":
        return first.bits - int(arguments[0]).bit_length() if arguments[0] else -1
    if name in ("maxint", "minint"):
        return int(max(arguments) if name == "maxint" else min(arguments))
    if name == "perm":
        return _permuted_byte(int(arguments[0]), int(arguments[1]))
    if name.startswith("wide_"):
        return _eight_bit_numbers(name.removeprefix("wide_"))[int(arguments[0]) & 255]
    if name.startswith("narrow_"):
        return _eight_bit_code(name.removeprefix("narrow_"), float(arguments[0]))
    return _float_call(
        name,
        type,
        first,
        [float(number) if i == 0 or name != "ldexp" else number for i, number in enumerate(arguments)],
    )


@cache
def _eight_bit_numbers(kind: str) -> tuple[float, ...]:
    """The number of each code: sign, exponent, and the rest of two bits (bf8) or three."""
    is_fnuz, digits = kind.endswith("fnuz"), 2 if kind.startswith("bf8") else 3
    bias = {("fp8", False): 7, ("fp8", True): 8, ("bf8", False): 15, ("bf8", True): 16}[kind[:3], is_fnuz]
    numbers = []
    for code in range(256):
        low = code & 127
        exponent, rest = divmod(low, 1 << digits)
        number = math.ldexp(rest, 1 - bias - digits) if exponent == 0 else math.ldexp((1 << digits) + rest, exponent - bias - digits)
        if is_fnuz:
            number = math.nan if code == 128 else number
        elif digits == 3:
            number = math.nan if low == 127 else number
        elif low >= 124:
            number = math.inf if low == 124 else math.nan
        numbers.append(-number if code > 127 else number)
    return tuple(numbers)


def _eight_bit_code(kind: str, x: float) -> int:
    """The code of the nearest number; of two as near, the even one."""
    is_fnuz = kind.endswith("fnuz")
    sign = 128 if math.copysign(1, x) < 0 else 0
    nothing = 128 if is_fnuz else 127
    if x != x:
        return nothing
    numbers = [number for number in _eight_bit_numbers(kind)[:128] if math.isfinite(number)]
    top = numbers[-1]
    if abs(x) >= top + (top - numbers[-2]) / 2 and not (abs(x) == top + (top - numbers[-2]) / 2 and (len(numbers) - 1) % 2 == 0):
        return nothing if is_fnuz else sign | (0x7C if kind == "bf8" else 0x7F)
    code = min(range(len(numbers)), key=lambda i: (abs(numbers[i] - abs(x)), i % 2))
    return code if is_fnuz and code == 0 else sign | code


def _permuted_byte(data: int, select: int) -> int:
    if select >= 13:
        return 0xFF
    if select == 12:
        return 0
    if select >= 8:
        return 0xFF if data >> ((select & 3) * 16 + 15) & 1 else 0
    return data >> select * 8 & 0xFF


def _float_call(name: str, type: Type, first: Type, arguments: list[Any]) -> Number:
    x = arguments[0]
    if name == "isNAN":
        return int(x != x)
    if name in ("isQuietNAN", "isSignalNAN"):  # float64's alone are asked for: struct makes others quiet
        is_quiet = struct.pack("<d", x)[6] & 8 != 0
        return int(x != x and is_quiet == (name == "isQuietNAN"))
    if name == "sign":
        return int(math.copysign(1, x) < 0)
    if name == "exponent":
        return float_bits(x, first) >> {16: 10, 32: 23, 64: 52}[first.bits] & {16: 31, 32: 255, 64: 2047}[first.bits]
    if name == "isEven":
        return int(math.isfinite(x) and math.floor(x / 2) * 2 == x)
    if name == "frexp_exp":
        return math.frexp(x)[1] if math.isfinite(x) else 0
    if name in ("maxnum", "minnum"):
        return _extreme(name, float(arguments[0]), float(arguments[1]))
    if name == "abs":
        return abs(float(x))
    if name == "cvtToQuietNAN":
        return float(x)
    if name in ("div_scale", "div_scale_vcc"):
        return _div_scale(name, first.bits, *arguments)
    if name == "div_fixup":
        return _div_fixup(first.bits, *arguments)
    return _rounded_result(_function(name, x, arguments, type.bits), type)


def _extreme(name: str, a: float, b: float) -> float:
    if a != a:
        return b
    if b != b:
        return a
    if a == b:
        positive = math.copysign(1, a) > 0
        return a if positive == (name == "maxnum") else b
    return max(a, b) if name == "maxnum" else min(a, b)


def _function(name: str, x: float, arguments: list[Any], bits: int) -> float:
    finite = math.isfinite(x)
    if name in ("floor", "trunc", "ceil", "rint"):
        if not finite:
            return x
        whole: dict[str, Callable[[float], int]] = {
            "floor": math.floor,
            "trunc": math.trunc,
            "ceil": math.ceil,
            "rint": round,
        }
        return math.copysign(float(whole[name](x)), x)
    if name == "flush":
        return math.copysign(0.0, x) if finite and abs(x) < 2.0**-126 else x
    if name == "fract":
        part = x - math.copysign(math.floor(x), x) if finite else math.nan
        return part if part != part else min(part, 1.0 - 2.0 ** -{16: 11, 32: 24, 64: 53}[bits])  # never 1
    if name == "sqrt":
        return math.nan if x < 0 or x != x else math.sqrt(x) if x else x
    if name == "rcp":
        return _divide(1.0, x)
    if name == "rsq":
        return (
            math.nan
            if x < 0 or x != x
            else math.copysign(math.inf, x)
            if x == 0
            else 0.0
            if x == math.inf
            else 1.0 / math.sqrt(x)
        )
    if name == "exp2":
        return math.nan if x != x else math.inf if x > 1023 else 0.0 if x < -1074 else 2.0**x
    if name == "log2":
        return math.nan if x != x or x < 0 else -math.inf if x == 0 else math.inf if x == math.inf else math.log2(x)
    if name in ("sin", "cos"):
        return math.nan if not finite else math.sin(x) if name == "sin" else math.cos(x)
    if name == "ldexp":
        try:
            return math.ldexp(x, max(-3000, min(3000, int(arguments[1])))) if finite else x
        except OverflowError:
            return math.copysign(math.inf, x)
    if name == "frexp_mant":
        return math.frexp(x)[0] if finite else x
    raise KeyError(name)


def _exponent(value: float, bits: int) -> int:
    """The exponent's bits of a float32 or float64."""
    shift, mask = (23, 255) if bits == 32 else (52, 2047)
    return float_bits(value, Type("f", bits)) >> shift & mask


def _div_scale(name: str, bits: int, value: float, denominator: float, numerator: float) -> Number:
    step, least, large, tiny_numerator = (64, 2.0**-126, 96, 23) if bits == 32 else (128, 2.0**-1022, 768, 53)
    e1, e2 = _exponent(denominator, bits), _exponent(numerator, bits)
    inverse = _divide(1.0, denominator)
    quotient = round_to(_divide(numerator, denominator), bits)
    tiny_inverse, tiny = abs(inverse) < least, 0 < abs(quotient) < least
    if name == "div_scale_vcc":
        if numerator == 0 or denominator == 0:
            return 0
        return 1 if e2 - e1 >= large else 0 if e1 == 0 else int(tiny)
    same = [float_bits(value, Type("f", bits)) == float_bits(x, Type("f", bits)) for x in (denominator, numerator)]
    up, down = (round_to(_function("ldexp", value, [value, n], bits), bits) for n in (step, -step))
    if numerator == 0 or denominator == 0:
        return math.nan
    if e2 - e1 >= large:
        return up if same[0] else value
    if e1 == 0:
        return up
    if tiny_inverse and tiny:
        return up if same[0] else value
    if tiny_inverse:
        return down
    if tiny:
        return up if same[1] else value
    return up if e2 <= tiny_numerator else value


def _div_fixup(bits: int, value: float, denominator: float, numerator: float) -> float:
    sign = math.copysign(1, denominator) * math.copysign(1, numerator)
    if numerator != numerator or denominator != denominator:
        return math.nan
    if (numerator == 0 and denominator == 0) or (math.isinf(numerator) and math.isinf(denominator)):
        return math.nan
    if denominator == 0 or math.isinf(numerator):
        return sign * math.inf
    if math.isinf(denominator) or numerator == 0:
        return sign * 0.0
    lowest = {32: -150, 64: -1075}.get(bits)
    small = lowest is not None and _exponent(numerator, bits) - _exponent(denominator, bits) < lowest
    return sign * (0.0 if small else abs(value))


_OPERATORS: dict[str, Callable[[Value, Type, list[Any]], Any]] = {
    "wrap": lambda value, type, arguments: wrap_integer(arguments[0], type),
    "convert": _convert,
    "bits": lambda value, type, arguments: float_bits(arguments[0], value.parts[0].type),
    "float": lambda value, type, arguments: bits_float(arguments[0], type),
    "slice": lambda value, type, arguments: arguments[0] >> int(value.data) & (1 << type.bits) - 1,
    "not": lambda value, type, arguments: int(not arguments[0]),
    "invert": lambda value, type, arguments: wrap_integer(~arguments[0], type),
    "negative": lambda value, type, arguments: (
        -arguments[0] if type.kind in "fg" else wrap_integer(-arguments[0], type)
    ),
    "call": _call,
    "<<": _shift,
    ">>": _shift,
}


def run_semantics(meaning: Semantics, registers: dict[str, Number]) -> dict[str, Number]:
    """Run an operation's statements on registers and return them and its own variables."""
    names: dict[str, Number] = {name: 0.0 if type.kind in "fg" else 0 for name, type in meaning.variables.items()}
    names.update(registers)
    Lane(names).run(meaning.statements)
    return names
