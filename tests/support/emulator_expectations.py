"""Instructions of gfx1100 with a result written out by hand from AMD's RDNA3 ISA guide: the check of interpreter and translator.

Words are what LLVM's assembler makes of the text. Registers: lanes of v0 and v1, scalars s4 and s5; `target` after the run.
"""

from __future__ import annotations

from typing import NamedTuple


class Expectation(NamedTuple):
    """One instruction and the register that it changes; floats are given by their bits."""

    text: str
    code: str
    v0: int
    v1: int
    target: str
    value: int
    s4: int = 0
    s5: int = 0


ONE, TWO, HALF, NAN, INF = 0x3F800000, 0x40000000, 0x3F000000, 0x7FC00000, 0x7F800000

EXPECTATIONS = (
    Expectation("v_add_f32 v2, v0, v1", "00030406", ONE, TWO, "v2", 0x40400000),
    Expectation("v_add_f32 v2, v0, v1", "00030406", INF, 0xFF800000, "v2", NAN),
    Expectation("v_add_f32 v2, v0, v1", "00030406", 0x00000001, 0x00000001, "v2", 0x00000002),  # denormals are kept
    Expectation("v_add_f32 v2, v0, v1", "00030406", 0x4B800000, ONE, "v2", 0x4B800000),  # 2^24 + 1: to even
    Expectation("v_mul_f32_e64 v2, -v0, |v1|", "020208d500030220", TWO, 0xC0400000, "v2", 0xC0C00000),
    Expectation("v_fma_f32 v2, v0, v1, 1.0", "020013d60003ca03", 0x3F800001, 0x3F7FFFFF, "v2", 0x40000000),
    Expectation("v_max_f32 v2, v0, v1", "00030420", 0x80000000, 0x00000000, "v2", 0x00000000),
    Expectation("v_max_f32 v2, v0, v1", "00030420", NAN, ONE, "v2", ONE),
    Expectation("v_rndne_f32 v2, v0", "0047047e", 0x40200000, 0, "v2", TWO),  # 2.5 → 2
    Expectation("v_rndne_f32 v2, v0", "0047047e", 0x4B000001, 0, "v2", 0x4B000001),  # 2^23 + 1 is whole
    Expectation("v_fract_f32 v2, v0", "0041047e", 0xB0800000, 0, "v2", 0x3F7FFFFF),  # never 1
    Expectation("v_ldexp_f32 v2, v0, 3", "02001cd700070100", ONE, 0, "v2", 0x41000000),
    Expectation("v_med3_f32 v2, v0, v1, 0", "02001fd600030202", ONE, TWO, "v2", ONE),
    Expectation("v_cvt_f16_f32 v2, v0", "0015047e", 0x477FF000, 0, "v2", 0x7C00),  # 65520 rounds to infinity
    Expectation("v_cvt_f16_f32 v2, v0", "0015047e", 0x33000000, 0, "v2", 0x0000),  # 2^-25: half of the least, to even
    Expectation("v_cvt_f16_f32 v2, v0", "0015047e", 0x33000001, 0, "v2", 0x0001),
    Expectation("v_cvt_i32_f32 v2, v0", "0011047e", 0xCF000001, 0, "v2", 0x80000000),  # saturates
    Expectation("v_cvt_i32_f32 v2, v0", "0011047e", NAN, 0, "v2", 0),
    Expectation("v_cvt_u32_f32 v2, v0", "000f047e", 0xBF800000, 0, "v2", 0),
    Expectation("v_pk_add_f16 v2, v0, v1", "02400fcc00030218", 0x3C004000, 0x40003C00, "v2", 0x42004200),
    Expectation("v_pack_b32_f16 v2, v0, v1", "020011d700030200", 0x12343C00, 0x56784000, "v2", 0x40003C00),
    Expectation("v_fma_mixlo_f16 v2, v0, v1, 0", "020021cc00030202", TWO, HALF, "v2", 0x3C00),
    Expectation("v_perm_b32 v2, v0, v1, s4", "020044d600031200", 0x11223344, 0xAABBCCDD, "v2", 0xDD44FF00, s4=0x00040D0C),
    Expectation("v_bfe_i32 v2, v0, 4, 8", "020011d600092102", 0x00000F70, 0, "v2", 0xFFFFFFF7),
    Expectation("v_alignbit_b32 v2, v0, v1, 8", "020016d600032202", 0x11223344, 0xAABBCCDD, "v2", 0x44AABBCC),
    Expectation("v_mul_hi_u32 v2, v0, v1", "02002dd700030200", 0xFFFFFFFF, 0xFFFFFFFF, "v2", 0xFFFFFFFE),
    Expectation("v_xor_b32 v2, v0, v1", "0003043a", 0xF0F0F0F0, 0xFFFF0000, "v2", 0x0F0FF0F0),
    Expectation("v_sub_nc_u32_e64 v2, v0, v1 clamp", "028026d500030200", 3, 5, "v2", 0),
    Expectation("v_add_co_u32 v2, vcc_lo, v0, v1", "026a00d700030200", 0xFFFFFFFF, 2, "v2", 1),
    Expectation("v_add_co_u32 v2, vcc_lo, v0, v1", "026a00d700030200", 0xFFFFFFFF, 2, "vcc", 0xFFFFFFFF),
    Expectation("v_cmp_lt_f32 vcc_lo, v0, v1", "0003227c", NAN, ONE, "vcc", 0),
    Expectation("v_cmp_class_f32 vcc_lo, v0, 0x200", "6a007ed400ff010000020000", INF, 0, "vcc", 0xFFFFFFFF),
    Expectation("v_lshlrev_b64 v[2:3], 4, v[0:1]", "02003cd784000200", 0xF0000001, 1, "v3", 0x1F),
    Expectation("v_mad_u64_u32 v[2:3], vcc_lo, v0, v1, v[0:1]", "026afed600030204", 0xFFFFFFFF, 0xFFFFFFFF, "vcc", 0xFFFFFFFF),
    Expectation("v_readlane_b32 s6, v0, 3", "060060d700070100", 7, 0, "s6", 7),
    Expectation("s_add_u32 s6, s4, s5", "04050680", 0, 0, "s6", 1, s4=0xFFFFFFFF, s5=2),
    Expectation("s_add_u32 s6, s4, s5", "04050680", 0, 0, "scc", 1, s4=0xFFFFFFFF, s5=2),
    Expectation("s_bfe_u32 s6, s4, 0x80004", "04ff069304000800", 0, 0, "s6", 0x67, s4=0x12345678),
    Expectation("s_cls_i32 s6, s4", "040c86be", 0, 0, "s6", 4, s4=0xF7FFFFFF),
    Expectation("s_cls_i32 s6, s4", "040c86be", 0, 0, "s6", 0xFFFFFFFF, s4=0),
    Expectation("s_brev_b32 s6, s4", "040486be", 0, 0, "s6", 0x80000000, s4=1),
    Expectation("s_and_saveexec_b32 s6, s4", "042086be", 0, 0, "exec", 0x0000FFFF, s4=0x0000FFFF),
)  # fmt: skip
