"""What vector instructions do to registers, and which of their fields are refused."""

from __future__ import annotations

import pytest

pytest.importorskip("tinygrad")

from stackbuild.emulator.decoder import decode
from stackbuild.emulator.encodings import target_tables
from stackbuild.emulator.operands import UnknownInstruction
from stackbuild.emulator.vectors import vector_calls

TARGETS = ("gfx942", "gfx950")


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("code", "problem"),
    [
        ("f9ae1c7e120d8b33", "v_cvt_pk_f32_bf8 with src0_sext = 1"),  # a random one, which two back ends ran differently
        ("f9ae047e03058500", "v_cvt_pk_f32_bf8 with dst_sel = 5"),
        ("f9ae047e03068d00", "v_cvt_pk_f32_bf8 with src0_sext = 1"),
        ("f9ae047e03069500", "v_cvt_pk_f32_bf8 with src0_neg = 1"),
        ("f9ae047e0306a500", "v_cvt_pk_f32_bf8 with src0_abs = 1"),
        ("f9ac047e03068100", "v_cvt_pk_f32_fp8 with src0_sel = 1"),  # BYTE_1, by the pseudocode the upper word
        ("f9ac047e03068700", "v_cvt_pk_f32_fp8 with src0_sel = 7"),
        ("f9a8027e03008100", "v_cvt_f32_fp8 with dst_sel = 0"),
        ("f9aa027e03068500", "v_cvt_f32_bf8 with src0_sel = 5"),  # WORD_1, by the pseudocode byte 0
    ],
)
def test_a_field_that_conversions_from_eight_bits_lack_is_refused(target: str, code: str, problem: str) -> None:
    inst = decode(bytes.fromhex(code), target_tables(target))
    with pytest.raises(UnknownInstruction, match=f"{problem} is not known"):
        vector_calls(inst, 64)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("code", "part"),
    [
        ("f9ae047e03068500", 5),  # v_cvt_pk_f32_bf8_sdwa v[2:3], s3 src0_sel:WORD_1
        ("f9ac047e03068400", 4),
        ("f9ac047e03068600", 6),
        ("f9a8027e03068100", 1),  # v_cvt_f32_fp8_sdwa v1, s3 src0_sel:BYTE_1
        ("f9aa027e03068300", 3),
        ("f9aa027e03668300", 3),  # with clamp and mul:2, which LLVM has
    ],
)
def test_a_byte_or_word_of_eight_bits_is_selected(target: str, code: str, part: int) -> None:
    (call,) = vector_calls(decode(bytes.fromhex(code), target_tables(target)), 64)
    assert (call.sources[0].select, call.form.select) == (part, 6)
