"""Pseudocode of integer operations whose clamp bit is set: the result in 64 bits, then the nearest number of its type."""

from __future__ import annotations

import re

_DOT = re.compile(r"v_dot[248]_([iu])32_")
_SUM = re.compile(r"v_(pk_)?(add|sub|subrev)(?:_nc)?_([iu])(16|32)$")
_MAD = re.compile(r"v_mad_([iu])32_([iu])24$")


def saturated_code(name: str, code: str) -> str:
    """The pseudocode with a clamp, "" where an operation is not a known one of integers. `code` is that without."""
    if match := _DOT.match(name):
        sign = match[1]
        wide = re.sub(rf"^tmp = (\S+\.{sign}32)", r"tmp = 64'I(\1)", code, flags=re.MULTILINE)
        return wide.replace(f"D0.{sign}32 = tmp", f"D0.{sign}32 = {_nearest('tmp', sign, 32)}")
    if match := _MAD.match(name):
        sign, factor = match[1], f"{match[2]}24"
        total = f"total = 64'I(S0.{factor}) * 64'I(S1.{factor}) + 64'I(S2.{sign}32);\n"
        return f"{total}D0.{sign}32 = {_nearest('total', sign, 32)}"
    if match := _SUM.match(name):
        halves, verb, sign, bits = match[1], match[2], match[3], int(match[4])
        first, second = ("S1", "S0") if verb == "subrev" else ("S0", "S1")
        operator = "+" if verb == "add" else "-"
        lines = []
        for i, part in enumerate(("[15 : 0]", "[31 : 16]") if halves else ("",)):
            terms = [f"64'I({each}{part}.{sign}{bits})" for each in (first, second)]
            lines += [
                f"total{i} = {terms[0]} {operator} {terms[1]}",
                f"D0{part}.{sign}{bits} = {_nearest(f'total{i}', sign, bits)}",
            ]
        return ";\n".join(lines)
    return ""


def _nearest(value: str, sign: str, bits: int) -> str:
    """The nearest number of `bits` bits to a signed value of 64."""
    high = (1 << bits - (sign == "i")) - 1
    low = -high - 1 if sign == "i" else 0
    return f"{bits}'{sign.upper()}(({value} > {high}LL) ? {high}LL : (({value} < {low}LL) ? {low}LL : {value}))"
