"""Where AMD's ISA guides put the elements of a matrix instruction's operands, written out by hand.

CDNA3's guide, "Dense Matrix Layouts", of v_mfma_f32_16x16x16_f16: lane l holds A[l % 16][4 * (l / 16) + i] and B[4 * (l / 16) + i][l % 16], two
halves to a register; register i of the result holds D[4 * (l / 16) + i][l % 16]. Of v_mfma_f32_16x16x4_f32 lane l holds
A[l % 16][l / 16] and B[l / 16][l % 16]. Of 32 rows register i of the result holds D[8 * (i / 4) + 4 * (l / 32) + i % 4][l % 32], of
4 rows and 16 blocks D[i][l % 4] of block l / 4. Of float64 a pair i holds D[4 * i + l / 16][l % 16]. RDNA3's guide, "WMMA", of
v_wmma_f32_16x16x16_f16: lanes l and l + 16 both hold row l % 16 of A and column l % 16 of B; register i of the result holds
D[2 * i + l / 16][l % 16]. RDNA4's: lane l holds A[l % 16][k] and B[k][l % 16] of four k from 4 * (l / 16) on and four
from 8 + 4 * (l / 16) on, of bytes of the eight from 8 * (l / 16) on; register i of the result holds D[8 * (l / 16) + i][l % 16].

`ci/matrix_calculator.py` compares them with AMD's matrix instruction calculator.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass

A, B, C = 0, 8, 16
"""The first registers of the operands; what is added is where the result goes."""
_CODES = {"f16": "<e", "f32": "<f", "f64": "<d"}
TYPE_BITS = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64, "i8": 8, "u8": 8, "i4": 4, "u4": 4, **dict.fromkeys(("fp8", "bf8", "fp8fnuz", "bf8fnuz"), 8)}
_SMALL = {
    "fp8": (0, 0x38, 0x40, 0x44), "bf8": (0, 0x3C, 0x40, 0x42), "fp8fnuz": (0, 0x40, 0x48, 0x4C), "bf8fnuz": (0, 0x40, 0x44, 0x46),
}  # fmt: skip
"""The codes of 0 to 3 in floats of eight bits."""


def _plain(lane: int, register: int) -> int:
    del lane, register
    return 0


@dataclass(frozen=True)
class MatrixLayout:
    """One instruction: its text, the depth of its product, and where element i of a lane lies.

    `forms` are the types of A and of B. A lane has `values` of them. `inner(lane, i)` is k; the row of A and the column of B are
    `lane % rows`. `row(lane, register)` is the row of the result, whose column is `lane % rows`, `results` how many a lane has.
    `block(lane, register)` is the block of a result, `block(lane, -1)` that of A and B.
    """

    text: str
    targets: tuple[str, ...]
    lanes: int
    depth: int
    forms: tuple[str, str]
    values: int
    inner: Callable[[int, int], int]
    row: Callable[[int, int], int]
    results: int
    rows: int = 16
    block: Callable[[int, int], int] = _plain

    @property
    def result(self) -> str:
        """The type of the results."""
        return self.text.split("_")[2]


_HALF, _WORD, _BYTE, _DOUBLE = ("f16", "f16"), ("f32", "f32"), ("i8", "i8"), ("f64", "f64")
_CDNA3 = ("gfx942", "gfx950")

LAYOUTS = (
    MatrixLayout("v_mfma_f32_16x16x16_f16 v[16:19], v[0:1], v[8:9], v[16:19]", _CDNA3, 64, 16, _HALF, 4,
                 lambda lane, i: 4 * (lane // 16) + i, lambda lane, r: 4 * (lane // 16) + r, 4),
    MatrixLayout("v_mfma_f32_16x16x16f16 v[16:19], v[0:1], v[8:9], v[16:19]", ("gfx90a",), 64, 16, _HALF, 4,
                 lambda lane, i: 4 * (lane // 16) + i, lambda lane, r: 4 * (lane // 16) + r, 4),
    MatrixLayout("v_mfma_f32_16x16x16bf16_1k v[16:19], v[0:1], v[8:9], v[16:19]", ("gfx90a",), 64, 16, ("bf16", "bf16"), 4,
                 lambda lane, i: 4 * (lane // 16) + i, lambda lane, r: 4 * (lane // 16) + r, 4),
    MatrixLayout("v_mfma_f32_16x16x8bf16 v[16:19], v0, v8, v[16:19]", ("gfx90a",), 64, 8, ("bf16", "bf16"), 2,
                 lambda lane, i: 2 * (lane // 16) + i, lambda lane, r: 4 * (lane // 16) + r, 4),
    MatrixLayout("v_mfma_f32_16x16x32_f16 v[16:19], v[0:3], v[8:11], v[16:19]", ("gfx950",), 64, 32, _HALF, 8,
                 lambda lane, i: 8 * (lane // 16) + i, lambda lane, r: 4 * (lane // 16) + r, 4),
    MatrixLayout("v_mfma_f32_16x16x4_f32 v[16:19], v0, v8, v[16:19]", _CDNA3, 64, 4, _WORD, 1,
                 lambda lane, i: lane // 16, lambda lane, r: 4 * (lane // 16) + r, 4),
    MatrixLayout("v_mfma_f32_16x16x4f32 v[16:19], v0, v8, v[16:19]", ("gfx90a",), 64, 4, _WORD, 1,
                 lambda lane, i: lane // 16, lambda lane, r: 4 * (lane // 16) + r, 4),
    MatrixLayout("v_mfma_f32_32x32x2_f32 v[16:31], v0, v8, v[16:31]", _CDNA3, 64, 2, _WORD, 1,
                 lambda lane, i: lane // 32, lambda lane, r: 8 * (r // 4) + 4 * (lane // 32) + r % 4, 16, 32),
    MatrixLayout("v_mfma_f32_4x4x1_16b_f32 v[16:19], v0, v8, v[16:19]", _CDNA3, 64, 1, _WORD, 1,
                 lambda lane, i: 0, lambda lane, r: r, 4, 4, lambda lane, r: lane // 4),
    MatrixLayout("v_mfma_f32_16x16x4_4b_f16 v[16:31], v[0:1], v[8:9], v[16:31]", _CDNA3, 64, 4, _HALF, 4,
                 lambda lane, i: i, lambda lane, r: 4 * (lane // 16) + r % 4, 16, 16, lambda lane, r: lane // 16 if r < 0 else r // 4),
    MatrixLayout("v_mfma_f64_16x16x4_f64 v[16:23], v[0:1], v[8:9], v[16:23]", _CDNA3, 64, 4, _DOUBLE, 1,
                 lambda lane, i: lane // 16, lambda lane, r: 4 * r + lane // 16, 4),
    MatrixLayout("v_mfma_f64_16x16x4f64 v[16:23], v[0:1], v[8:9], v[16:23]", ("gfx90a",), 64, 4, _DOUBLE, 1,
                 lambda lane, i: lane // 16, lambda lane, r: 4 * r + lane // 16, 4),
    MatrixLayout("v_mfma_f64_4x4x4_4b_f64 v[16:17], v[0:1], v[8:9], v[16:17]", _CDNA3, 64, 4, _DOUBLE, 1,
                 lambda lane, i: lane // 16, lambda lane, r: lane // 16, 1, 4, lambda lane, r: lane // 4 % 4),
    MatrixLayout("v_mfma_i32_16x16x32_i8 v[16:19], v[0:1], v[8:9], v[16:19]", _CDNA3, 64, 32, _BYTE, 8,
                 lambda lane, i: 8 * (lane // 16) + i, lambda lane, r: 4 * (lane // 16) + r, 4),
    MatrixLayout("v_mfma_i32_32x32x16_i8 v[16:31], v[0:1], v[8:9], v[16:31]", _CDNA3, 64, 16, _BYTE, 8,
                 lambda lane, i: 8 * (lane // 32) + i, lambda lane, r: 8 * (r // 4) + 4 * (lane // 32) + r % 4, 16, 32),
    MatrixLayout("v_mfma_i32_4x4x4_16b_i8 v[16:19], v0, v8, v[16:19]", _CDNA3, 64, 4, _BYTE, 4,
                 lambda lane, i: i, lambda lane, r: r, 4, 4, lambda lane, r: lane // 4),
    MatrixLayout("v_mfma_i32_16x16x16i8 v[16:19], v0, v8, v[16:19]", ("gfx90a",), 64, 16, _BYTE, 4,
                 lambda lane, i: 4 * (lane // 16) + i, lambda lane, r: 4 * (lane // 16) + r, 4),
    MatrixLayout("v_mfma_i32_32x32x8i8 v[16:31], v0, v8, v[16:31]", ("gfx90a",), 64, 8, _BYTE, 4,
                 lambda lane, i: 4 * (lane // 32) + i, lambda lane, r: 8 * (r // 4) + 4 * (lane // 32) + r % 4, 16, 32),
    MatrixLayout("v_mfma_i32_16x16x64_i8 v[16:19], v[0:3], v[8:11], v[16:19]", ("gfx950",), 64, 64, _BYTE, 16,
                 lambda lane, i: 16 * (lane // 16) + i, lambda lane, r: 4 * (lane // 16) + r, 4),
    MatrixLayout("v_mfma_f32_16x16x32_fp8_fp8 v[16:19], v[0:1], v[8:9], v[16:19]", ("gfx942",), 64, 32, ("fp8fnuz", "fp8fnuz"), 8,
                 lambda lane, i: 8 * (lane // 16) + i, lambda lane, r: 4 * (lane // 16) + r, 4),
    MatrixLayout("v_mfma_f32_16x16x32_bf8_fp8 v[16:19], v[0:1], v[8:9], v[16:19]", ("gfx942",), 64, 32, ("bf8fnuz", "fp8fnuz"), 8,
                 lambda lane, i: 8 * (lane // 16) + i, lambda lane, r: 4 * (lane // 16) + r, 4),
    MatrixLayout("v_mfma_f32_32x32x16_fp8_bf8 v[16:31], v[0:1], v[8:9], v[16:31]", ("gfx942",), 64, 16, ("fp8fnuz", "bf8fnuz"), 8,
                 lambda lane, i: 8 * (lane // 32) + i, lambda lane, r: 8 * (r // 4) + 4 * (lane // 32) + r % 4, 16, 32),
    MatrixLayout("v_mfma_f32_16x16x32_fp8_fp8 v[16:19], v[0:1], v[8:9], v[16:19]", ("gfx950",), 64, 32, ("fp8", "fp8"), 8,
                 lambda lane, i: 8 * (lane // 16) + i, lambda lane, r: 4 * (lane // 16) + r, 4),
    MatrixLayout("v_mfma_f32_16x16x32_bf8_fp8 v[16:19], v[0:1], v[8:9], v[16:19]", ("gfx950",), 64, 32, ("bf8", "fp8"), 8,
                 lambda lane, i: 8 * (lane // 16) + i, lambda lane, r: 4 * (lane // 16) + r, 4),
    MatrixLayout("v_mfma_f32_32x32x16_fp8_bf8 v[16:31], v[0:1], v[8:9], v[16:31]", ("gfx950",), 64, 16, ("fp8", "bf8"), 8,
                 lambda lane, i: 8 * (lane // 32) + i, lambda lane, r: 8 * (r // 4) + 4 * (lane // 32) + r % 4, 16, 32),
    MatrixLayout("v_mfma_f32_16x16x8_xf32 v[16:19], v[0:1], v[8:9], v[16:19]", ("gfx942",), 64, 8, _WORD, 2,
                 lambda lane, i: 2 * (lane // 16) + i, lambda lane, r: 4 * (lane // 16) + r, 4),
    MatrixLayout("v_mfma_f32_32x32x4_xf32 v[16:31], v[0:1], v[8:9], v[16:31]", ("gfx942",), 64, 4, _WORD, 2,
                 lambda lane, i: 2 * (lane // 32) + i, lambda lane, r: 8 * (r // 4) + 4 * (lane // 32) + r % 4, 16, 32),
    MatrixLayout("v_wmma_f32_16x16x16_f16 v[16:23], v[0:7], v[8:15], v[16:23]", ("gfx1100", "gfx1151"), 32, 16, _HALF, 16,
                 lambda lane, i: i, lambda lane, r: 2 * r + lane // 16, 8),
    MatrixLayout("v_wmma_f32_16x16x16_f16 v[16:23], v[0:3], v[8:11], v[16:23]", ("gfx1201",), 32, 16, _HALF, 8,
                 lambda lane, i: 8 * (i // 4) + 4 * (lane // 16) + i % 4, lambda lane, r: 8 * (lane // 16) + r, 8),
    *(MatrixLayout(f"v_wmma_i32_16x16x16_iu8 v[16:23], v[0:3], v[8:11], v[16:23]{signs}", ("gfx1100", "gfx1151"), 32, 16, forms, 16,
                   lambda lane, i: i, lambda lane, r: 2 * r + lane // 16, 8)
      for signs, forms in (("", ("u8", "u8")), (" neg_lo:[1,1,0]", _BYTE), (" neg_lo:[1,0,0]", ("i8", "u8")), (" neg_lo:[0,1,0]", ("u8", "i8")))),
    MatrixLayout("v_wmma_i32_16x16x16_iu4 v[16:23], v[0:1], v[8:9], v[16:23] neg_lo:[0,1,0]", ("gfx1100", "gfx1151"), 32, 16, ("u4", "i4"), 16,
                 lambda lane, i: i, lambda lane, r: 2 * r + lane // 16, 8),
    MatrixLayout("v_wmma_i32_16x16x16_iu8 v[16:23], v[0:1], v[8:9], v[16:23] neg_lo:[1,0,0]", ("gfx1201",), 32, 16, ("i8", "u8"), 8,
                 lambda lane, i: 8 * (lane // 16) + i, lambda lane, r: 8 * (lane // 16) + r, 8),
    MatrixLayout("v_wmma_i32_16x16x16_iu4 v[16:23], v0, v8, v[16:23] neg_lo:[1,1,0]", ("gfx1201",), 32, 16, ("i4", "i4"), 8,
                 lambda lane, i: 8 * (lane // 16) + i, lambda lane, r: 8 * (lane // 16) + r, 8),
    MatrixLayout("v_wmma_i32_16x16x32_iu4 v[16:23], v[0:1], v[8:9], v[16:23] neg_lo:[1,0,0]", ("gfx1201",), 32, 32, ("i4", "u4"), 16,
                 lambda lane, i: 16 * (lane // 16) + i, lambda lane, r: 8 * (lane // 16) + r, 8),
)  # fmt: skip


def a(row: int, k: int, block: int = 0) -> int:
    """An element of A: small integers, so that every sum is exact."""
    return (3 * row + 5 * k + block) % 7 - 3


def b(k: int, column: int, block: int = 0) -> int:
    """An element of B."""
    return (2 * k + 7 * column + 3 * block) % 5 - 2


def c(row: int, column: int, block: int = 0) -> int:
    """An element of what is added."""
    return row - 2 * column + 5 * block


def bits_of(value: int, form: str) -> int:
    """The bits of a number in a type."""
    if form in _SMALL:
        return _SMALL[form][abs(value)] | (0x80 if value < 0 else 0)
    if form == "bf16":
        return int.from_bytes(struct.pack("<f", value), "little") >> 16
    if form in _CODES:
        return int.from_bytes(struct.pack(_CODES[form], value), "little")
    return value & (1 << (32 if form == "i32" else TYPE_BITS[form])) - 1


def number_of(value: int, form: str) -> int:
    """What an instruction takes a small number for: those without a sign wrap."""
    return value & (1 << TYPE_BITS[form]) - 1 if form.startswith("u") else value


def operands(layout: MatrixLayout) -> list[list[int]]:
    """The rows of registers before the instruction."""
    v = [[0] * layout.lanes for _ in range(48)]
    words = 2 if layout.result == "f64" else 1
    for lane in range(layout.lanes):
        at = lane % layout.rows
        for i in range(layout.values):
            k, block = layout.inner(lane, i), layout.block(lane, -1)
            for first, value, form in ((A, a(at, k, block), layout.forms[0]), (B, b(k, at, block), layout.forms[1])):
                _place(v, first, lane, i * TYPE_BITS[form], bits_of(value, form))
        for r in range(layout.results):
            value = c(layout.row(lane, r), at, layout.block(lane, r))
            _place(v, C, lane, 32 * words * r, bits_of(value, layout.result))
    return v


def _place(v: list[list[int]], first: int, lane: int, at: int, bits: int) -> None:
    """Put bits into a lane's registers from `first` on, `at` bits behind their start."""
    while bits:
        v[first + at // 32][lane] |= bits << at % 32 & 0xFFFFFFFF
        bits >>= 32 - at % 32
        at += 32 - at % 32


def results(layout: MatrixLayout) -> list[list[int]]:
    """The bits of the results afterwards, by their number in a lane, and by lane."""
    return [
        [
            bits_of(c(row, column, block) + sum(
                number_of(a(row, k, block), layout.forms[0]) * number_of(b(k, column, block), layout.forms[1])
                for k in range(layout.depth)
            ), layout.result)
            for lane in range(layout.lanes)
            for row, column, block in [(layout.row(lane, r), lane % layout.rows, layout.block(lane, r))]
        ]
        for r in range(layout.results)
    ]  # fmt: skip
