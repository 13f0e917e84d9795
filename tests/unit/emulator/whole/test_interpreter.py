from __future__ import annotations

import pytest

pytest.importorskip("tinygrad")

from stackbuild.emulator.decoder import DecodeError, decode
from stackbuild.emulator.encodings import EncodingError, family, family_name
from stackbuild.emulator.operands import UnknownInstruction
from support.emulator_expectations import EXPECTATIONS, Expectation
from support.interpreted_wave import InterpretedWave, dpp_lane

RDNA3 = family("rdna3")


def register(wave: InterpretedWave, name: str) -> int:
    if name == "scc":
        return wave.scc
    if name in ("vcc", "exec"):
        return wave.s[{"vcc": 106, "exec": 126}[name]]
    return wave.s[int(name[1:])] if name[0] == "s" else wave.v[int(name[1:])][5]


@pytest.mark.parametrize("expected", EXPECTATIONS, ids=lambda e: f"{e.text} {e.v0:#x} {e.target}")
def test_an_instruction_gives_what_the_guide_says(expected: Expectation) -> None:
    wave = InterpretedWave(32, [[0] * 32 for _ in range(8)], [0] * 130)
    wave.v[0], wave.v[1] = [expected.v0] * 32, [expected.v1] * 32
    wave.s[4], wave.s[5], wave.s[126] = expected.s4, expected.s5, 0xFFFFFFFF
    inst = decode(bytes.fromhex(expected.code), RDNA3)
    assert inst.size == len(expected.code) // 2
    assert inst.name == expected.text.split()[0].removesuffix("_e64")
    wave.run(inst)
    assert hex(register(wave, expected.target)) == hex(expected.value)


def test_lanes_that_are_not_active_keep_their_registers() -> None:
    wave = InterpretedWave(32, [[1] * 32, [2] * 32, [9] * 32], [0] * 130)
    wave.s[126] = 0b101
    wave.run(decode(bytes.fromhex("0003043a"), RDNA3))  # v_xor_b32 v2, v0, v1
    assert wave.v[2][:4] == [3, 9, 3, 9]


def test_a_row_shift_keeps_what_has_no_source() -> None:
    wave = InterpretedWave(32, [list(range(32)), [0] * 32, [99] * 32], [0] * 130)
    wave.s[126] = 0xFFFFFFFF
    wave.run(decode(bytes.fromhex("fa02047e001101ff"), RDNA3))  # v_mov_b32_dpp v2, v0 row_shr:1
    assert wave.v[2] == [99, *range(15), 99, *range(16, 31)]


@pytest.mark.parametrize(("control", "sources"), [
    (0x1B, [3, 2, 1, 0]),  # quad_perm:[3,2,1,0]
    (0x101, [1, 2, 3, 4]),  # row_shl:1
    (0x121, [15, 0, 1, 2]),  # row_ror:1
    (0x140, [15, 14, 13, 12]),  # row_mirror
    (0x141, [7, 6, 5, 4]),  # row_half_mirror
])  # fmt: skip
def test_dpp_reads_the_lanes_of_the_guide(control: int, sources: list[int]) -> None:
    assert [dpp_lane(lane, control, 32) for lane in range(4)] == sources


def test_what_is_no_instruction_is_an_error() -> None:
    with pytest.raises(DecodeError, match="is not an instruction of rdna4"):
        decode(b"\xff\xff\xff\xff", family("rdna4"))
    with pytest.raises(DecodeError, match="ends"):
        decode(bytes.fromhex("020013d6"), RDNA3)


def test_an_unknown_target_is_an_error_that_names_it() -> None:
    with pytest.raises(EncodingError, match="gfx803"):
        family_name("gfx803")


def test_a_branch_is_not_interpreted() -> None:
    wave = InterpretedWave(32, [[0] * 32], [0] * 130)
    with pytest.raises(UnknownInstruction, match="s_branch"):
        wave.run(decode(bytes.fromhex("0000a0bf"), RDNA3))
