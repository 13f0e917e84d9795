"""Pseudocode where the shipped text is incomplete, differs from what the guides say beside it, or is slow as written.

The key is an operation's name; a name with a family before it, "cdna/v_mad_mix_f32", holds there alone.
"""

from __future__ import annotations

_FLOATS = {"f16": "f16", "f32": "f32", "f64": "f64"}

CODE: dict[str, str] = {
    # Rounding to the nearest even: floor(x + 0.5), as written, rounds the sum first.
    **{f"v_rndne_{t}": f"D0.{t} = rint(S0.{t})" for t in _FLOATS},
    **{f"v_fract_{t}": f"D0.{t} = fract(S0.{t})" for t in _FLOATS},
    # −0 orders before +0, which the text's comparisons of floating point do not say.
    **{f"v_{m}_{t}": f"D0.{t} = v_{m}_{t}(S0.{t}, S1.{t})" for m in ("max", "min") for t in _FLOATS},
    **{f"v_{m}_num_{t}": f"D0.{t} = v_{m}_{t}(S0.{t}, S1.{t})" for m in ("max", "min") for t in _FLOATS},
    **{f"v_{m}3_{t}": f"D0.{t} = v_{m}_{t}(v_{m}_{t}(S0.{t}, S1.{t}), S2.{t})" for m in ("max", "min") for t in ("f16", "f32")},
    **{f"v_{m}3_num_{t}": f"D0.{t} = v_{m}_{t}(v_{m}_{t}(S0.{t}, S1.{t}), S2.{t})" for m in ("max", "min") for t in ("f16", "f32")},
    **{f"v_{m}3_{t}": f"D0.{t} = v_{m}_{t}(v_{m}_{t}(S0.{t}, S1.{t}), S2.{t})"
       for m in ("max", "min") for t in ("i32", "u32", "i16", "u16")},
    **{f"v_rcp_{t}": f"D0.{t} = rcp(S0.{t})" for t in _FLOATS},
    "v_rcp_iflag_f32": "D0.f32 = rcp(S0.f32)",
    **{f"v_rsq_{t}": f"D0.{t} = rsq(S0.{t})" for t in _FLOATS},
    **{f"v_sqrt_{t}": f"D0.{t} = sqrt(S0.{t})" for t in _FLOATS},
    **{f"v_exp_{t}": f"D0.{t} = exp2(S0.{t})" for t in ("f16", "f32")},
    "v_exp_legacy_f32": "D0.f32 = exp2(S0.f32)",
    "v_log_legacy_f32": "D0.f32 = log2(S0.f32)",
    **{f"v_log_{t}": f"D0.{t} = log2(S0.{t})" for t in ("f16", "f32")},
    **{f"v_ldexp_{t}": f"D0.{t} = ldexp(S0.{t}, {s})" for t, s in (("f32", "S1.i32"), ("f16", "32'I(S1.i16)"), ("f64", "S1.i32"))},
    "v_cvt_pk_f16_f32": "D0[15 : 0].f16 = f32_to_f16(S0.f32);\nD0[31 : 16].f16 = f32_to_f16(S1.f32)",
    # Rounds to the nearest even; the text sets the mode.
    "v_cvt_pk_bf16_f32": "D0[15 : 0].bf16 = f32_to_bf16(S0.f32);\nD0[31 : 16].bf16 = f32_to_bf16(S1.f32)",
    **{f"v_frexp_exp_i32_{t}": f"D0.i32 = frexp_exp(S0.{t})" for t in ("f32", "f64")},
    **{f"v_frexp_mant_{t}": f"D0.{t} = frexp_mant(S0.{t})" for t in ("f32", "f64")},
    # Divisions: the text leaves out that D0 is S0 where nothing is scaled.
    **{f"v_div_scale_{t}": f"D0.{t} = div_scale(S0.{t}, S1.{t}, S2.{t});\nVCC.u64[laneId] = div_scale_vcc(S0.{t}, S1.{t}, S2.{t})"
       for t in ("f32", "f64")},
    **{f"v_div_fixup_{t}": f"D0.{t} = div_fixup(S0.{t}, S1.{t}, S2.{t})" for t in _FLOATS},
    # The text says 2³² and 2⁶⁴, which undo no v_div_scale: that scales by 2⁶⁴ (float64: 2¹²⁸) a large quotient's denominator or a
    # tiny one's numerator.
    **{f"v_div_fmas_{t}": f"D0.{t} = VCC.u64[laneId] ? ldexp(fma(S0.{t}, S1.{t}, S2.{t}), "
       f"((S2.{t} >= {two}) || (S2.{t} <= -{two})) ? {n} : -{n}) : fma(S0.{t}, S1.{t}, S2.{t})"
       for t, two, n in (("f32", "2.0F", 64), ("f64", "2.0", 128))},
    "v_perm_b32": "D0.u32 = { perm({ S0.u32, S1.u32 }, S2.u32[31 : 24]), perm({ S0.u32, S1.u32 }, S2.u32[23 : 16]), "
    "perm({ S0.u32, S1.u32 }, S2.u32[15 : 8]), perm({ S0.u32, S1.u32 }, S2.u32[7 : 0]) }",
    "v_mbcnt_lo_u32_b32": "D0.u32 = S1.u32 + countbits(S0.u32 & 32'U((1LL << laneId.u32) - 1LL))",
    "v_mbcnt_hi_u32_b32": "D0.u32 = S1.u32 + countbits(S0.u32 & 32'U(((1LL << laneId.u32) - 1LL) >> 32U))",
    "v_bcnt_u32_b32": "D0.u32 = S1.u32 + countbits(S0.u32)",
    "v_madmk_f32": "D0.f32 = flush(flush(flush(S0.f32) * flush(SIMM32.f32)) + flush(S1.f32))",
    "v_madak_f32": "D0.f32 = flush(flush(flush(S0.f32) * flush(S1.f32)) + flush(SIMM32.f32))",
    # As in the text, with the truth table as one number.
    **{f"v_bitop3_b{n}": f"D0.u{n} = " + " | ".join(
        f"((TTBL & {1 << 4 * a + 2 * b + c}U) != 0U ? "
        f"({'' if a else '~'}S0.u{n} & {'' if b else '~'}S1.u{n} & {'' if c else '~'}S2.u{n}) : {n}'0U)"
        for a in (0, 1) for b in (0, 1) for c in (0, 1)
    ) for n in (16, 32)},
    # The text takes 32 bits of a source before it picks one of the two words.
    "v_pk_mov_b32": "D0.u64 = { S1.u64[OPSEL[1].i32 * 32 + 31 : OPSEL[1].i32 * 32], S0.u64[OPSEL[0].i32 * 32 + 31 : OPSEL[0].i32 * 32] }",
    "v_accvgpr_write": "D0.b32 = S0.b32",
    "v_accvgpr_read": "D0.b32 = S0.b32",
    "v_accvgpr_mov_b32": "D0.b32 = S0.b32",
    # Rounds twice and has no denormals, whatever the mode says (LLVM's SITargetLowering::isFMADLegal).
    "v_mac_f32": "D0.f32 = flush(flush(flush(S0.f32) * flush(S1.f32)) + flush(D0.f32))",
    "v_mul_legacy_f32": "D0.f32 = ((S0.f32 == 0.0F) || (S1.f32 == 0.0F)) ? 0.0F : S0.f32 * S1.f32",
    "v_mul_dx9_zero_f32": "D0.f32 = ((S0.f32 == 0.0F) || (S1.f32 == 0.0F)) ? 0.0F : S0.f32 * S1.f32",
    "s_movk_i32": "D0.i32 = 32'I(signext(SIMM16.i16))",
    "s_addk_i32": "tmp = D0.i32;\nD0.i32 = D0.i32 + 32'I(signext(SIMM16.i16));\n"
    "SCC = ((tmp.u32[31] == SIMM16.u16[15]) && (tmp.u32[31] != D0.u32[31]))",
    "s_addk_co_i32": "tmp = D0.i32;\nD0.i32 = D0.i32 + 32'I(signext(SIMM16.i16));\n"
    "SCC = ((tmp.u32[31] == SIMM16.u16[15]) && (tmp.u32[31] != D0.u32[31]))",
    **{f"s_{m}_num_f32": f"D0.f32 = v_{m}_f32(S0.f32, S1.f32)" for m in ("max", "min")},
    **{f"s_{m}_{t}": f"D0.{t} = v_{m}_{t}(S0.{t}, S1.{t})" for m in ("max", "min") for t in ("f16", "f32")},
    "s_mulk_i32": "D0.i32 = D0.i32 * 32'I(signext(SIMM16.i16))",
    "s_cmovk_i32": "D0.i32 = SCC ? 32'I(signext(SIMM16.i16)) : D0.i32",
    "s_bitset0_b32": "D0.u32 = D0.u32 & ~(1U << S0.u32[4 : 0].u32)",
    "s_bitset1_b32": "D0.u32 = D0.u32 | (1U << S0.u32[4 : 0].u32)",
    "s_nop": "",
    **{f"s_cmpk_{c}_i32": f"SCC = S0.i32 {s} 32'I(signext(SIMM16.i16))"
       for c, s in (("eq", "=="), ("lg", "!="), ("gt", ">"), ("ge", ">="), ("lt", "<"), ("le", "<="))},
    **{f"s_cmpk_{c}_u32": f"SCC = S0.u32 {s} 32'U(SIMM16.u16)"
       for c, s in (("eq", "=="), ("lg", "!="), ("gt", ">"), ("ge", ">="), ("lt", "<"), ("le", "<="))},
    # The text chooses halves by OPSEL, which the older forms do not have.
    **{f"v_mad_legacy_{t}": f"D0.{t} = S0.{t} * S1.{t} + S2.{t}" for t in ("u16", "i16")},
    "v_dual_mov_b32": "D0.b32 = S0.b32",
    "v_dual_add_f32": "D0.f32 = S0.f32 + S1.f32",
    "v_dual_sub_f32": "D0.f32 = S0.f32 - S1.f32",
    "v_dual_subrev_f32": "D0.f32 = S1.f32 - S0.f32",
    "v_dual_mul_f32": "D0.f32 = S0.f32 * S1.f32",
    "v_dual_mul_dx9_zero_f32": "D0.f32 = ((S0.f32 == 0.0F) || (S1.f32 == 0.0F)) ? 0.0F : S0.f32 * S1.f32",
    "v_dual_fmac_f32": "D0.f32 = fma(S0.f32, S1.f32, D0.f32)",
    "v_dual_fmaak_f32": "D0.f32 = fma(S0.f32, S1.f32, SIMM32.f32)",
    "v_dual_fmamk_f32": "D0.f32 = fma(S0.f32, SIMM32.f32, S1.f32)",
    "v_dual_max_f32": "D0.f32 = v_max_f32(S0.f32, S1.f32)",
    "v_dual_min_f32": "D0.f32 = v_min_f32(S0.f32, S1.f32)",
    "v_dual_max_num_f32": "D0.f32 = v_max_f32(S0.f32, S1.f32)",
    "v_dual_min_num_f32": "D0.f32 = v_min_f32(S0.f32, S1.f32)",
    "v_dual_cndmask_b32": "D0.u32 = VCC.u64[laneId] ? S1.u32 : S0.u32",
    "v_dual_add_nc_u32": "D0.u32 = S0.u32 + S1.u32",
    "v_dual_lshlrev_b32": "D0.u32 = S1.u32 << S0[4 : 0].u32",
    "v_dual_and_b32": "D0.u32 = S0.u32 & S1.u32",
    "v_swap_b32": "",
    "v_fmac_dx9_zero_f32": "D0.f32 = ((S0.f32 == 0.0F) || (S1.f32 == 0.0F)) ? D0.f32 : fma(S0.f32, S1.f32, D0.f32)",
}  # fmt: skip

OTHERS: dict[str, dict[str, tuple[str, str]]] = {"gfx90a": {
    "v_dot2c_f32_bf16": ("v_mac_f32", "v_fmac_f32"), "v_fmamk_f32": ("v_madmk_f32", "v_fmamk_f32"),
    "v_fmaak_f32": ("v_madak_f32", "v_fmaak_f32"),
}}  # fmt: skip
"""Of a target, an operation of its family's table that is another one there: its name, and whose operands it has."""

CACHES: dict[str, dict[int, str]] = {"gfx90a": {62: "buffer_wbinvl1", 63: "buffer_wbinvl1_vol"}}
"""Operations of caches that a target has and its family's table has not, by their number in MUBUF: fences make them."""

MATRICES: dict[str, dict[int, str]] = {"gfx90a": {
    64: "v_mfma_f32_32x32x1_2b_f32", 65: "v_mfma_f32_16x16x1_4b_f32", 66: "v_mfma_f32_4x4x1_16b_f32", 68: "v_mfma_f32_32x32x2_f32",
    69: "v_mfma_f32_16x16x4_f32", 72: "v_mfma_f32_32x32x4_2b_f16", 73: "v_mfma_f32_16x16x4_4b_f16", 74: "v_mfma_f32_4x4x4_16b_f16",
    76: "v_mfma_f32_32x32x8_f16", 77: "v_mfma_f32_16x16x16_f16", 80: "v_mfma_i32_32x32x4_2b_i8", 81: "v_mfma_i32_16x16x4_4b_i8",
    82: "v_mfma_i32_4x4x4_16b_i8", 84: "v_mfma_i32_32x32x8_i8", 85: "v_mfma_i32_16x16x16_i8", 99: "v_mfma_f32_32x32x4_2b_bf16_1k",
    100: "v_mfma_f32_16x16x4_4b_bf16_1k", 101: "v_mfma_f32_4x4x4_16b_bf16_1k", 102: "v_mfma_f32_32x32x8_bf16_1k",
    103: "v_mfma_f32_16x16x16_bf16_1k", 104: "v_mfma_f32_32x32x2_2b_bf16", 105: "v_mfma_f32_16x16x2_4b_bf16", 107: "v_mfma_f32_4x4x2_16b_bf16",
    108: "v_mfma_f32_32x32x4_bf16", 109: "v_mfma_f32_16x16x8_bf16", 110: "v_mfma_f64_16x16x4_f64", 111: "v_mfma_f64_4x4x4_4b_f64",
}}  # fmt: skip
"""The matrix instructions of a target whose numbers differ from those of its family's table, all of them (CDNA2's guide, "VOP3P-MAI")."""


MORE_MATRICES: dict[str, dict[int, str]] = {"gfx942": {62: "v_mfma_f32_16x16x8_xf32", 63: "v_mfma_f32_32x32x4_xf32"}}
"""Matrix instructions of a target that its family's table has without operands, or under another format."""

EIGHT_BITS: dict[str, str] = {
    **{f"v_cvt_f32_{t}": f"D0.f32 = wide_{t}(S0.u32[7 : 0])" for t in ("fp8", "bf8")},
    **{f"v_cvt_pk_f32_{t}": f"D0[31 : 0].f32 = wide_{t}(S0.u32[7 : 0]);\nD0[63 : 32].f32 = wide_{t}(S0.u32[15 : 8])" for t in ("fp8", "bf8")},
    **{f"v_cvt_pk_{t}_f32": f"D0.b16 = {{ narrow_{t}(S1.f32), narrow_{t}(S0.f32) }}" for t in ("fp8", "bf8")},
}  # fmt: skip
"""Conversions of floats of eight bits. The operand's select says which byte or word it is, which the text says again."""

UNSIGNED_ZERO = ("gfx942",)
"""Targets whose floats of eight bits have one zero, one NaN (0x80) and no infinity, with a bias of one more ("fnuz"). Others have OCP's."""


_NAN_TESTS = {
    f"is{kind}NAN(64'F(S0.{t}))": f"(((S0.u32 & {digits}U) > {infinity}U) && ((S0.u32 & {quiet}U) {sign} 0U))"
    for t, digits, infinity, quiet in (("f32", 0x7FFFFFFF, 0x7F800000, 0x400000), ("f16", 0x7FFF, 0x7C00, 0x200))
    for kind, sign in (("Signal", "=="), ("Quiet", "!="))
}
"""Tests of a NaN after a conversion to float64, which makes each a quiet one; and the same of the bits that are converted."""


def code_of(name: str, shipped_code: str) -> str:
    """The pseudocode by which an operation runs."""
    code = CODE.get(name, shipped_code)
    if "_class_" in name:
        for test, bits in _NAN_TESTS.items():
            code = code.replace(test, bits)
    return code
