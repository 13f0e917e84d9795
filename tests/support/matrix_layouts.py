"""Where AMD's ISA guides put the elements of a matrix instruction's operands, written out by hand.

CDNA3's guide, "Dense Matrix Layouts", of v_mfma_f32_16x16x16_f16: lane l holds A[l % 16][4 * (l / 16) + i] and B[4 * (l / 16) + i][l % 16], two
halves to a register; register i of the result holds D[4 * (l / 16) + i][l % 16]. Of v_mfma_f32_16x16x4_f32 lane l holds
A[l % 16][l / 16] and B[l / 16][l % 16]. RDNA3's guide, "WMMA", of v_wmma_f32_16x16x16_f16: lanes l and l + 16 both hold row l % 16 of A and
column l % 16 of B; register i of the result holds D[2 * i + l / 16][l % 16]. RDNA4's: lane l holds A[l % 16][k] and B[k][l % 16] of the
eight k from 8 * (l / 16) on; register i of the result holds D[8 * (l / 16) + i][l % 16].
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class MatrixLayout:
    """One instruction: its text, the depth of its product, and where element i of a lane lies.

    `inner(lane, i)` is k; the row of A and the column of B are `lane % 16`. `row(lane, register)` is the row of the result,
    whose column is `lane % 16`.
    """

    text: str
    targets: tuple[str, ...]
    lanes: int
    depth: int
    halves: bool
    values: int
    inner: Callable[[int, int], int]
    row: Callable[[int, int], int]
    results: int


LAYOUTS = (
    MatrixLayout("v_mfma_f32_16x16x16_f16 v[16:19], v[0:1], v[8:9], v[16:19]", ("gfx942", "gfx950"), 64, 16, True, 4,
                 lambda lane, i: 4 * (lane // 16) + i, lambda lane, r: 4 * (lane // 16) + r, 4),
    MatrixLayout("v_mfma_f32_16x16x16f16 v[16:19], v[0:1], v[8:9], v[16:19]", ("gfx90a",), 64, 16, True, 4,
                 lambda lane, i: 4 * (lane // 16) + i, lambda lane, r: 4 * (lane // 16) + r, 4),
    MatrixLayout("v_mfma_f32_16x16x4_f32 v[16:19], v0, v8, v[16:19]", ("gfx942", "gfx950"), 64, 4, False, 1,
                 lambda lane, i: lane // 16, lambda lane, r: 4 * (lane // 16) + r, 4),
    MatrixLayout("v_mfma_f32_16x16x4f32 v[16:19], v0, v8, v[16:19]", ("gfx90a",), 64, 4, False, 1,
                 lambda lane, i: lane // 16, lambda lane, r: 4 * (lane // 16) + r, 4),
    MatrixLayout("v_wmma_f32_16x16x16_f16 v[16:23], v[0:7], v[8:15], v[16:23]", ("gfx1100", "gfx1151"), 32, 16, True, 16,
                 lambda lane, i: i, lambda lane, r: 2 * r + lane // 16, 8),
    MatrixLayout("v_wmma_f32_16x16x16_f16 v[16:23], v[0:3], v[8:11], v[16:23]", ("gfx1201",), 32, 16, True, 8,
                 lambda lane, i: 8 * (lane // 16) + i, lambda lane, r: 8 * (lane // 16) + r, 8),
)  # fmt: skip


def a(row: int, k: int) -> int:
    """An element of A: small integers, so that every sum is exact."""
    return (3 * row + 5 * k) % 7 - 3


def b(k: int, column: int) -> int:
    """An element of B."""
    return (2 * k + 7 * column) % 5 - 2


def c(row: int, column: int) -> int:
    """An element of what is added."""
    return row - 2 * column


def operands(layout: MatrixLayout) -> list[list[int]]:
    """The rows of registers v0 to v23 before the instruction."""
    v = [[0] * layout.lanes for _ in range(24)]
    for lane in range(layout.lanes):
        for i in range(layout.values):
            k = layout.inner(lane, i)
            for first, value in ((0, a(lane % 16, k)), (8, b(k, lane % 16))):
                if layout.halves:
                    v[first + i // 2][lane] |= int.from_bytes(struct.pack("<e", value), "little") << 16 * (i % 2)
                else:
                    v[first][lane] = int.from_bytes(struct.pack("<f", value), "little")
        for r in range(layout.results):
            v[16 + r][lane] = int.from_bytes(struct.pack("<f", c(layout.row(lane, r), lane % 16)), "little")
    return v


def results(layout: MatrixLayout) -> list[list[float]]:
    """What the registers from v16 on hold afterwards, by register and lane."""
    return [
        [
            float(c(row, column) + sum(a(row, k) * b(k, column) for k in range(layout.depth)))
            for lane in range(layout.lanes)
            for row, column in [(layout.row(lane, r), lane % 16)]
        ]
        for r in range(layout.results)
    ]
