"""Addresses that code makes of its own place, and what forgets them."""

from __future__ import annotations

import pytest

pytest.importorskip("tinygrad")

from stackbuild.emulator.control_flow import KernelCode, reached_code
from stackbuild.emulator.encodings import family

GETPC = "004786be"  # s_getpc_b64 s[6:7]
ADD = "06940680"  # s_add_u32 s6, s6, 20
ADDC = "07800782"  # s_addc_u32 s7, s7, 0
SETPC = "064880be"  # s_setpc_b64 s[6:7]
END, NOP = "0000b0bf", "000080bf"


def addresses(*words: str) -> frozenset[int]:
    code = bytes.fromhex("".join(words))
    return reached_code(KernelCode(code, family("rdna3"), 0, len(code))).addresses


def test_a_long_jump_reaches_code_that_nothing_else_reaches() -> None:
    code = bytes.fromhex("".join((GETPC, ADD, ADDC, SETPC, END, END, NOP, END)))
    reached = reached_code(KernelCode(code, family("rdna3"), 0, len(code)))
    assert reached.addresses == {24}
    assert sorted(reached.instructions) == [0, 4, 8, 12, 24, 28]
    assert reached.leaders(0) == [0, 24]


def test_an_address_outside_of_the_kernel_is_none() -> None:
    assert addresses(GETPC, ADD, ADDC, SETPC, END) == frozenset()


def test_constants_are_forgotten_when_they_are_far() -> None:
    assert addresses(GETPC, *[NOP] * 12, ADD, ADDC, SETPC, *[NOP] * 20, END) == frozenset()
