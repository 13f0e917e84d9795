"""Shapes of matrix instructions, from their names: `v_mfma_f32_16x16x4_4b_bf16`, `v_wmma_i32_16x16x16_iu8`.

A and B of a block are `rows` × `depth` elements each, C and D `rows` × `rows` results.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_MFMA = re.compile(
    r"v_mfma_(f32|f64|i32)_(4|16|32)x\2x(\d+)(?:_(\d+)b)?_(f16|bf16|f32|f64|i8|xf32|fp8|bf8)(?:_(fp8|bf8)|_1k)?$"
)
_WMMA = re.compile(r"v_wmma_(f32|f16|bf16|i32)_16x16x(16|32)_(f16|bf16|iu8|iu4)$")
_BITS = {
    "f64": 64,
    "f32": 32,
    "i32": 32,
    "f16": 16,
    "bf16": 16,
    "i8": 8,
    "iu8": 8,
    "iu4": 4,
    "xf32": 32,
    "fp8": 8,
    "bf8": 8,
}


@dataclass(frozen=True)
class MatrixShape:
    """One operation: the size of its matrices and the types of their elements, by the guides' names ("f16", "iu8")."""

    rows: int
    depth: int
    blocks: int
    element: str
    result: str
    second: str = ""
    """The type of B's elements where it is not that of A's."""

    def operand_bits(self, lanes: int) -> int:
        """Bits of A, or of B, in a lane, where each element is held once."""
        return self.rows * self.depth * self.blocks * _BITS[self.element] // lanes

    def result_bits(self, lanes: int) -> int:
        """Bits of C, or of D, in a lane, where each element is held once."""
        return self.rows * self.rows * self.blocks * _BITS[self.result] // lanes


def mfma_shape(name: str) -> MatrixShape | None:
    """The shape of an MFMA of dense matrices. None for other operations, and for types that are not emulated."""
    match = _MFMA.match(name)
    if not match or (match[5] in ("fp8", "bf8")) != bool(match[6]):
        return None
    return MatrixShape(int(match[2]), int(match[3]), int(match[4] or 1), match[5], match[1], match[6] or "")


def wmma_shape(name: str) -> MatrixShape | None:
    """The shape of a WMMA of dense matrices. None for other operations, and for types that are not emulated."""
    match = _WMMA.match(name)
    return MatrixShape(16, int(match[2]), 1, match[3], match[1]) if match else None
