"""Addresses that code makes of its own place, and what forgets them."""

from __future__ import annotations

import pytest

pytest.importorskip("tinygrad")

from stackbuild.emulator.control_flow import KernelCode, reached_code
from stackbuild.emulator.decoder import DecodeError
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


SWAPPC = "06499ebe"  # s_swappc_b64 s[30:31], s[6:7]
BACK = "1e4880be"  # s_setpc_b64 s[30:31]


def test_a_function_of_the_code_object_is_reached_by_its_address() -> None:
    """The kernel is the first 20 bytes; the function, at 24, returns behind the call."""
    code = bytes.fromhex("".join((GETPC, ADD, ADDC, SWAPPC, END, END, NOP, BACK)))
    kernel = KernelCode(code, family("rdna3"), 0, 20, (0, len(code)))
    reached = reached_code(kernel)
    assert reached.addresses == {16, 24}
    assert sorted(reached.instructions) == [0, 4, 8, 12, 16, 24, 28]
    assert addresses(GETPC, ADD, ADDC, SWAPPC, END) == {16}


def test_a_function_is_reached_by_a_pointer_of_the_image() -> None:
    load = "830104f4000000f8"  # s_load_b64 s[6:7], s[6:7], 0x0
    code = bytes.fromhex("".join((GETPC, ADD, ADDC, load, SWAPPC, END, NOP, BACK)))
    kernel = KernelCode(code, family("rdna3"), 0, 28, (0, len(code)), {24: 28})
    assert reached_code(kernel).addresses >= {24, 28}
    assert 32 in reached_code(kernel).instructions


def test_code_behind_the_kernel_is_not_run_into() -> None:
    code = bytes.fromhex("".join((NOP, NOP, END)))
    assert sorted(reached_code(KernelCode(code, family("rdna3"), 0, 4, (0, len(code)))).instructions) == [0]


def test_padding_behind_the_call_of_a_function_that_does_not_return_is_no_code() -> None:
    """Kernels of llama.cpp that trap on this GPU end in such a call; zeros fill up the place to the next kernel."""
    code = bytes.fromhex("".join((GETPC, ADD, ADDC, SWAPPC, "00000000", "00000000", NOP, END)))
    reached = reached_code(KernelCode(code, family("rdna3"), 0, 16, (0, len(code))))
    assert reached.addresses == {24}
    assert sorted(reached.instructions) == [0, 4, 8, 12, 24, 28]
    with pytest.raises(DecodeError):  # without the call they are
        addresses(GETPC, ADD, ADDC, "00000000")


def test_nothing_runs_behind_a_trap() -> None:
    """The compiler puts a message to the host and an endless loop there, which only a debugger would reach."""
    code = bytes.fromhex("".join((NOP, "020090bf", "00000000")))  # s_trap 2
    assert sorted(reached_code(KernelCode(code, family("rdna3"), 0, len(code))).instructions) == [0, 4]
