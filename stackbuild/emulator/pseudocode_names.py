"""Names that AMD's pseudocode uses: registers, special numbers, functions, and conversions."""

from __future__ import annotations

import re

from stackbuild.emulator.typed_values import BOOL, U32, Type

REGISTERS = {
    "S0": Type("u", 64),
    "S1": Type("u", 64),
    "S2": Type("u", 64),
    "D0": Type("u", 64),
    "VCC": Type("u", 64),
    "EXEC": Type("u", 64),
    "SCC": BOOL,
    "SIMM16": Type("u", 16),
    "SIMM32": U32,
    "LANE": U32,
    "M0": U32,
    "VCCL": BOOL,
    "D0L": BOOL,
    "EXECL": BOOL,
}
SPELLINGS = {"laneId": "LANE", "laneID": "LANE", "EXEC_LO": "EXEC", "SIMM": "SIMM16"}
LANE_BITS = {"VCC": "VCCL", "D0": "D0L", "EXEC": "EXECL"}
SPECIAL_FLOATS = {
    ("INF", 32): 0x7F800000,
    ("INF", 16): 0x7C00,
    ("INF", 64): 0x7FF0000000000000,
    ("NAN", 16): 0x7E00,
    ("NAN", 32): 0x7FC00000,
    ("NAN", 64): 0x7FF8000000000000,
}
COMPARISONS = ("==", "!=", "<>", "<", ">", "<=", ">=")
BUILTINS: dict[str, tuple[str, int] | None] = {
    "fma": None, "floor": None, "trunc": None, "ceil": None, "rint": None, "sqrt": None, "fract": None, "flush": None, "abs": None,
    "exp2": None, "log2": None, "sin": None, "cos": None, "ldexp": None, "rcp": None, "rsq": None, "maxnum": None,
    "minnum": None, "mantissa": None, "cvtToQuietNAN": None, "frexp_mant": None,
    "isNAN": ("u", 1), "isSignalNAN": ("u", 1), "isQuietNAN": ("u", 1), "sign": ("u", 1), "isEven": ("u", 1),
    "exponent": ("i", 32), "frexp_exp": ("i", 32), "countbits": ("u", 32), "ctz": ("i", 32), "clz": ("i", 32), "cls": ("i", 32),
    "div_scale": None, "div_scale_vcc": ("u", 1), "div_fixup": None, "div_fmas": None, "cvt_pkrtz": ("f", 16),
    **{f"wide_{t}": ("f", 32) for t in ("fp8", "bf8", "fp8fnuz", "bf8fnuz")},
    **{f"narrow_{t}": ("u", 8) for t in ("fp8", "bf8", "fp8fnuz", "bf8fnuz")},
    "reverse": None, "perm": ("u", 8), "maxint": None, "minint": None,
}  # fmt: skip
"""Functions that both back ends have. None: the result has the first argument's type."""

CONVERSION = re.compile(r"v?_?(?:cvt_)?(u|i|f|bf|snorm|unorm)(\d+)_to_(u|i|f|bf)(\d+)$")
