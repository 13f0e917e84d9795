"""What instructions do, written out by hand from AMD's ISA guides (CDNA2, CDNA3, RDNA3, RDNA4): the check of the emulator.

Nothing here comes from the emulator or from its tables. A row is assembled by LLVM for every target that has the instruction
(`instruction_codes.txt`, written by `tests/support/instruction_codes.py`).

In a row's text VCC and EXEC stand for the pairs of waves of 64 lanes and the low halves of waves of 32, M6 and M8 for a mask
in s[6:7] or s6, in s[8:9] or s8; `.l` and `.h` of a register are left out where the target has no halves by name. Several
instructions are divided by semicolons.

Registers hold the same in all lanes unless said otherwise: `1.5` is a float32, `1.5h` a float16, `LANE` the lane's number,
`ALL` a mask of all lanes, `MEM` the address of 512 bytes of which byte i holds i modulo 256. LDS holds the same 512 bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

Expected = str | Callable[[int], int]


class InstructionRow(NamedTuple):
    """Instructions, the registers before, and those after: by text, or for a vector register a function of the lane.

    `only` are the beginnings of the targets that it holds for, all where it is "".
    """

    text: str
    given: str
    gives: str | dict[str, Expected]
    only: str = ""


NAN, INF, MINUS_INF = "0x7fc00000", "0x7f800000", "0xff800000"
_R = InstructionRow

SCALAR = (
    _R("s_add_i32 s6, s4, s5", "s4=0x7fffffff s5=1", "s6=0x80000000 scc=1"),
    _R("s_add_i32 s6, s4, s5", "s4=0xffffffff s5=1", "s6=0 scc=0"),
    _R("s_add_u32 s6, s4, s5", "s4=0xffffffff s5=2", "s6=1 scc=1"),
    _R("s_addc_u32 s6, s4, s5", "s4=0xffffffff s5=0 scc=1", "s6=0 scc=1"),
    _R("s_addc_u32 s6, s4, s5", "s4=7 s5=1 scc=0", "s6=8 scc=0"),
    _R("s_sub_i32 s6, s4, s5", "s4=0x80000000 s5=1", "s6=0x7fffffff scc=1"),
    _R("s_sub_u32 s6, s4, s5", "s4=3 s5=5", "s6=0xfffffffe scc=1"),
    _R("s_subb_u32 s6, s4, s5", "s4=5 s5=5 scc=1", "s6=0xffffffff scc=1"),
    _R("s_subb_u32 s6, s4, s5", "s4=5 s5=3 scc=1", "s6=1 scc=0"),
    _R("s_getreg_b32 s6, hwreg(HW_REG_MODE)", "", "s6=0x2f0"),  # the mode of a test: IEEE, all denormals, to the nearest even
    _R("s_getreg_b32 s6, hwreg(HW_REG_MODE, 4, 4)", "", "s6=15"),
    _R("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 4), 15; s_getreg_b32 s6, hwreg(HW_REG_MODE, 4, 4)", "", "s6=15"),
    _R("s_setreg_b32 hwreg(HW_REG_MODE, 12, 2), s4; s_getreg_b32 s6, hwreg(HW_REG_MODE)", "s4=2", "s6=0x22f0"),  # an exception's bit
    _R("s_addk_i32 s6, 0x8000", "s6=1", "s6=0xffff8001 scc=0"),
    _R("s_addk_i32 s6, 0x1", "s6=0x7fffffff", "s6=0x80000000 scc=1"),
    _R("s_movk_i32 s6, 0xfffe", "s6=9", "s6=0xfffffffe"),
    _R("s_mulk_i32 s6, 0xfffd", "s6=5", "s6=0xfffffff1"),
    _R("s_cmovk_i32 s6, 0x7", "s6=1 scc=1", "s6=7"),
    _R("s_and_b32 s6, s4, s5", "s4=0xff00ff00 s5=0x0ff00ff0", "s6=0x0f000f00 scc=1"),
    _R("s_and_b32 s6, s4, s5", "s4=0xf0 s5=0x0f", "s6=0 scc=0"),
    _R("s_and_b64 s[6:7], s[4:5], s[8:9]", "s4=1 s5=0x80000000 s8=2 s9=0xffffffff", "s6=0 s7=0x80000000 scc=1"),
    _R("s_or_b32 s6, s4, s5", "s4=0xf0 s5=0x0f", "s6=0xff scc=1"),
    _R("s_or_b64 s[6:7], s[4:5], s[8:9]", "s4=0 s5=0 s8=0 s9=0", "s6=0 s7=0 scc=0"),
    _R("s_xor_b32 s6, s4, s5", "s4=0xff s5=0xf0", "s6=0x0f scc=1"),
    _R("s_xor_b64 s[6:7], s[4:5], -1", "s4=0xffff0000 s5=1", "s6=0xffff s7=0xfffffffe scc=1"),
    _R("s_not_b32 s6, s4", "s4=0xffffffff", "s6=0 scc=0"),
    _R("s_not_b64 s[6:7], s[4:5]", "s4=0xffffffff s5=0", "s6=0 s7=0xffffffff scc=1"),
    _R("s_andn2_b64 s[6:7], s[4:5], s[8:9]", "s4=0xff s5=0xf s8=0xf s9=0xf", "s6=0xf0 s7=0 scc=1", "gfx9"),
    _R("s_andn2_b32 s6, s4, s5", "s4=0xff s5=0xf", "s6=0xf0 scc=1", "gfx9"),
    _R("s_and_not1_b32 s6, s4, s5", "s4=0xff s5=0xf", "s6=0xf0 scc=1", "gfx1"),
    _R("s_and_not1_b64 s[6:7], s[4:5], s[8:9]", "s4=0xff s5=0xf s8=0xf s9=0xf", "s6=0xf0 s7=0 scc=1", "gfx1"),
    _R("s_orn2_b64 s[6:7], s[4:5], s[8:9]", "s4=1 s5=0 s8=0xffffffff s9=0xfffffffe", "s6=1 s7=1 scc=1", "gfx9"),
    _R("s_or_not1_b32 s6, s4, s5", "s4=1 s5=0xfffffff0", "s6=0xf scc=1", "gfx1"),
    _R("s_nand_b32 s6, s4, s5", "s4=0xff s5=0xf", "s6=0xfffffff0 scc=1"),
    _R("s_nor_b32 s6, s4, s5", "s4=0xff s5=0xf00", "s6=0xfffff000 scc=1"),
    _R("s_xnor_b32 s6, s4, s5", "s4=0xff s5=0xf0", "s6=0xfffffff0 scc=1"),
    _R("s_ashr_i32 s6, s4, s5", "s4=0x80000000 s5=36", "s6=0xf8000000 scc=1"),  # the low five bits of the count
    _R("s_ashr_i64 s[6:7], s[4:5], s8", "s4=0 s5=0x80000000 s8=33", "s6=0xc0000000 s7=0xffffffff scc=1"),
    _R("s_lshl_b32 s6, s4, s5", "s4=3 s5=31", "s6=0x80000000 scc=1"),
    _R("s_lshl_b64 s[6:7], s[4:5], s8", "s4=0xf0000000 s5=0 s8=4", "s6=0 s7=0xf scc=1"),
    _R("s_lshr_b32 s6, s4, s5", "s4=0x80000000 s5=31", "s6=1 scc=1"),
    _R("s_lshr_b64 s[6:7], s[4:5], s8", "s4=0 s5=0xf s8=32", "s6=0xf s7=0 scc=1"),
    _R("s_lshl1_add_u32 s6, s4, s5", "s4=0x80000000 s5=1", "s6=1 scc=1"),
    _R("s_lshl2_add_u32 s6, s4, s5", "s4=3 s5=1", "s6=13 scc=0"),
    _R("s_lshl3_add_u32 s6, s4, s5", "s4=3 s5=1", "s6=25 scc=0"),
    _R("s_lshl4_add_u32 s6, s4, s5", "s4=3 s5=1", "s6=49 scc=0"),
    _R("s_bfe_i32 s6, s4, 0x80004", "s4=0xf70", "s6=0xfffffff7 scc=1"),
    _R("s_bfe_u32 s6, s4, 0x80004", "s4=0x12345678", "s6=0x67 scc=1"),
    _R("s_bfe_i64 s[6:7], s[4:5], 0x200000", "s4=0x80000001 s5=0", "s6=0x80000001 s7=0xffffffff scc=1"),
    _R("s_bfe_u64 s[6:7], s[4:5], 0x200010", "s4=0x12345678 s5=0x9abcdef0", "s6=0xdef01234 s7=0 scc=1"),
    _R("s_bfm_b32 s6, s4, s5", "s4=4 s5=8", "s6=0xf00"),
    _R("s_bitcmp0_b32 s4, 3", "s4=0xf7", "scc=1"),
    _R("s_bitcmp0_b32 s4, 3", "s4=8", "scc=0"),
    _R("s_bitcmp1_b32 s4, 3", "s4=8", "scc=1"),
    _R("s_bitcmp1_b32 s4, 3", "s4=0xf7", "scc=0"),
    _R("s_bitcmp1_b64 s[4:5], 33", "s4=0 s5=2", "scc=1"),
    _R("s_bitset0_b32 s6, 4", "s6=0xff", "s6=0xef"),
    _R("s_bitset1_b32 s6, s4", "s4=0x24 s6=0", "s6=0x10"),
    _R("s_nor_b64 s[6:7], s[4:5], s[8:9]", "s4=0xff s5=0 s8=0xf00 s9=0", "s6=0xfffff000 s7=0xffffffff scc=1"),
    _R("s_brev_b32 s6, s4", "s4=0x00000005", "s6=0xa0000000"),
    _R("s_brev_b64 s[6:7], s[4:5]", "s4=1 s5=0", "s6=0 s7=0x80000000"),
    _R("s_flbit_i32 s6, s4", "s4=0xf7ffffff", "s6=4", "gfx9"),
    _R("s_flbit_i32 s6, s4", "s4=0xffffffff", "s6=0xffffffff", "gfx9"),
    _R("s_flbit_i32_b32 s6, s4", "s4=0x00ffffff", "s6=8", "gfx9"),
    _R("s_cls_i32 s6, s4", "s4=0xf7ffffff", "s6=4", "gfx1"),
    _R("s_cls_i32 s6, s4", "s4=0", "s6=0xffffffff", "gfx1"),
    _R("s_clz_i32_u32 s6, s4", "s4=0x00ffffff", "s6=8", "gfx1"),
    _R("s_clz_i32_u32 s6, s4", "s4=0", "s6=0xffffffff", "gfx1"),
    _R("s_ctz_i32_b32 s6, s4", "s4=0x00000100", "s6=8", "gfx1"),
    _R("s_ff1_i32_b32 s6, s4", "s4=0x00000100", "s6=8", "gfx9"),
    _R("s_bcnt1_i32_b32 s6, s4", "s4=0xf00f0001", "s6=9 scc=1"),
    _R("s_bcnt1_i32_b64 s6, s[4:5]", "s4=0xffffffff s5=0xffffffff", "s6=64 scc=1"),
    _R("s_abs_i32 s6, s4", "s4=0xfffffffb", "s6=5 scc=1"),
    _R("s_sext_i32_i8 s6, s4", "s4=0x1280", "s6=0xffffff80"),
    _R("s_sext_i32_i16 s6, s4", "s4=0x18000", "s6=0xffff8000"),
    _R("s_pack_ll_b32_b16 s6, s4, s5", "s4=0x11112222 s5=0x33334444", "s6=0x44442222"),
    _R("s_pack_lh_b32_b16 s6, s4, s5", "s4=0x11112222 s5=0x33334444", "s6=0x33332222"),
    _R("s_pack_hh_b32_b16 s6, s4, s5", "s4=0x11112222 s5=0x33334444", "s6=0x33331111"),
    _R("s_cselect_b32 s6, s4, s5", "s4=1 s5=2 scc=1", "s6=1"),
    _R("s_cselect_b32 s6, s4, s5", "s4=1 s5=2 scc=0", "s6=2"),
    _R("s_cselect_b64 s[6:7], -1, 0", "scc=0", "s6=0 s7=0"),
    _R("s_cselect_b64 s[6:7], -1, 0", "scc=1", "s6=0xffffffff s7=0xffffffff"),
    _R("s_cmov_b32 s6, s4", "s4=3 s6=9 scc=0", "s6=9"),
    _R("s_max_i32 s6, s4, s5", "s4=0xffffffff s5=1", "s6=1 scc=0"),
    _R("s_max_i32 s6, s4, s5", "s4=5 s5=1", "s6=5 scc=1"),
    _R("s_max_u32 s6, s4, s5", "s4=0xffffffff s5=1", "s6=0xffffffff scc=1"),
    _R("s_min_i32 s6, s4, s5", "s4=0xffffffff s5=1", "s6=0xffffffff scc=1"),
    _R("s_min_u32 s6, s4, s5", "s4=0xffffffff s5=1", "s6=1 scc=0"),
    _R("s_mov_b32 s6, s4", "s4=0x12345678", "s6=0x12345678"),
    _R("s_mov_b32 s6, -16", "s4=1", "s6=0xfffffff0"),
    _R("s_mov_b32 s6, 0.5", "s4=1", "s6=0x3f000000"),
    _R("s_mov_b64 s[6:7], s[4:5]", "s4=1 s5=2", "s6=1 s7=2"),
    _R("s_mov_b64 s[6:7], -2", "s4=1", "s6=0xfffffffe s7=0xffffffff"),
    _R("s_mul_hi_i32 s6, s4, s5", "s4=0xffffffff s5=0x7fffffff", "s6=0xffffffff"),
    _R("s_mul_hi_u32 s6, s4, s5", "s4=0xffffffff s5=0xffffffff", "s6=0xfffffffe"),
    _R("s_mul_i32 s6, s4, s5", "s4=0xffffffff s5=7", "s6=0xfffffff9"),
    _R("s_cmp_eq_u32 s4, s5", "s4=1 s5=1", "scc=1"),
    _R("s_cmp_eq_u32 s4, s5", "s4=1 s5=2", "scc=0"),
    _R("s_cmp_eq_i32 s4, s5", "s4=1 s5=2", "scc=0"),
    _R("s_cmp_lg_i32 s4, s5", "s4=1 s5=2", "scc=1"),
    _R("s_cmp_eq_u64 s[4:5], s[8:9]", "s4=1 s5=1 s8=1 s9=2", "scc=0"),
    _R("s_cmp_eq_u64 s[4:5], s[8:9]", "s4=1 s5=2 s8=1 s9=2", "scc=1"),
    _R("s_cmp_lg_u64 s[4:5], s[8:9]", "s4=1 s5=1 s8=1 s9=2", "scc=1"),
    _R("s_cmp_lg_u32 s4, s5", "s4=1 s5=1", "scc=0"),
    _R("s_cmp_lg_u32 s4, s5", "s4=1 s5=2", "scc=1"),
    _R("s_cmp_ge_i32 s4, s5", "s4=0xffffffff s5=0", "scc=0"),
    _R("s_cmp_ge_u32 s4, s5", "s4=0xffffffff s5=0", "scc=1"),
    _R("s_cmp_gt_i32 s4, s5", "s4=0xffffffff s5=0", "scc=0"),
    _R("s_cmp_gt_i32 s4, s5", "s4=1 s5=0xffffffff", "scc=1"),
    _R("s_cmp_gt_u32 s4, s5", "s4=0xffffffff s5=0", "scc=1"),
    _R("s_cmp_le_i32 s4, s5", "s4=0xffffffff s5=0", "scc=1"),
    _R("s_cmp_le_u32 s4, s5", "s4=0xffffffff s5=0", "scc=0"),
    _R("s_cmp_lt_i32 s4, s5", "s4=0xffffffff s5=0", "scc=1"),
    _R("s_cmp_lt_i32 s4, s5", "s4=0 s5=0", "scc=0"),
    _R("s_cmp_lt_u32 s4, s5", "s4=0xffffffff s5=0", "scc=0"),
    _R("s_cmp_lt_u32 s4, s5", "s4=0 s5=0xffffffff", "scc=1"),
    *(_R(f"s_cmpk_{name} s4, {value}", f"s4={before}", f"scc={scc}", "gfx9 gfx11") for name, value, before, scc in (
        ("eq_i32", "0xffff", "0xffffffff", 1), ("eq_i32", "0x1200", "0x11200", 0), ("lg_i32", "0x200", "0x201", 1),
        ("lg_i32", "0x200", "0x200", 0), ("gt_i32", "0xffff", "0", 1), ("ge_i32", "0x1", "0xffffffff", 0), ("lt_i32", "0x1", "0xffffffff", 1),
        ("le_i32", "0x8000", "0", 0), ("eq_u32", "0xffff", "0xffff", 1), ("lg_u32", "0xffff", "0xffffffff", 1), ("gt_u32", "0x7c", "0x7d", 1),
        ("ge_u32", "0x7c", "0x7b", 0), ("lt_u32", "0x7c", "0x7b", 1), ("lt_u32", "0x7c", "0xffffffff", 0), ("le_u32", "0x7c", "0x7c", 1),
    )),
    _R("s_and_saveexec_b32 s6, s4", "s4=0x0000ffff", "s6=0xffffffff exec=0xffff scc=1", "gfx1"),
    _R("s_or_saveexec_b32 s6, s4", "s4=1 exec=6", "s6=6 exec=7 scc=1", "gfx1"),
    _R("s_xor_saveexec_b32 s6, s4", "s4=3 exec=6", "s6=6 exec=5 scc=1", "gfx1"),
    _R("s_and_not1_saveexec_b32 s6, s4", "s4=7 exec=2", "s6=2 exec=5 scc=1", "gfx1"),
    _R("s_and_saveexec_b64 s[6:7], s[4:5]", "s4=3 s5=0 exec=0x100000002", "s6=2 s7=1 exec=2 scc=1", "gfx9"),
    _R("s_or_saveexec_b64 s[6:7], s[4:5]", "s4=1 s5=1 exec=2", "s6=2 s7=0 exec=0x100000003 scc=1", "gfx9"),
    _R("s_andn2_saveexec_b64 s[6:7], s[4:5]", "s4=7 s5=1 exec=2", "s6=2 s7=0 exec=0x100000005 scc=1", "gfx9"),
    # GFX12, and floating point of scalars from GFX11.5 on
    _R("s_add_co_i32 s6, s4, s5", "s4=0x7fffffff s5=1", "s6=0x80000000 scc=1", "gfx12"),
    _R("s_sub_co_i32 s6, s4, s5", "s4=0x80000000 s5=1", "s6=0x7fffffff scc=1", "gfx12"),
    _R("s_add_co_u32 s6, s4, s5", "s4=0xffffffff s5=2", "s6=1 scc=1", "gfx12"),
    _R("s_sub_co_u32 s6, s4, s5", "s4=3 s5=5", "s6=0xfffffffe scc=1", "gfx12"),
    _R("s_add_co_ci_u32 s6, s4, s5", "s4=0xffffffff s5=0 scc=1", "s6=0 scc=1", "gfx12"),
    _R("s_sub_co_ci_u32 s6, s4, s5", "s4=5 s5=5 scc=1", "s6=0xffffffff scc=1", "gfx12"),
    _R("s_addk_co_i32 s6, 0x1", "s6=0x7fffffff", "s6=0x80000000 scc=1", "gfx12"),
    _R("s_add_nc_u64 s[6:7], s[4:5], s[8:9]", "s4=0xffffffff s5=1 s8=1 s9=2", "s6=0 s7=4", "gfx12"),
    _R("s_sub_nc_u64 s[6:7], s[4:5], s[8:9]", "s4=0 s5=1 s8=1 s9=0", "s6=0xffffffff s7=0", "gfx12"),
    _R("s_mul_u64 s[6:7], s[4:5], s[8:9]", "s4=0xffffffff s5=0 s8=0xffffffff s9=1", "s6=1 s7=0xfffffffd", "gfx12"),
    _R("s_add_f32 s6, s4, s5", "s4=1.0 s5=2.0", "s6=3.0", "gfx1151 gfx12"),
    _R("s_sub_f32 s6, s4, s5", "s4=1.0 s5=2.0", "s6=-1.0", "gfx1151 gfx12"),
    _R("s_mul_f32 s6, s4, s5", "s4=1.5 s5=-2.0", "s6=-3.0", "gfx1151 gfx12"),
    _R("s_fmac_f32 s6, s4, s5", "s4=1.5 s5=2.0 s6=1.0", "s6=4.0", "gfx1151 gfx12"),
    _R("s_fmaak_f32 s6, s4, s5, 0x41200000", "s4=1.5 s5=2.0", "s6=13.0", "gfx1151 gfx12"),
    _R("s_fmamk_f32 s6, s4, 0x41200000, s5", "s4=1.5 s5=2.0", "s6=17.0", "gfx1151 gfx12"),
    _R("s_trunc_f32 s6, s4", "s4=-1.5", "s6=-1.0", "gfx1151 gfx12"),
    _R("s_rndne_f32 s6, s4", "s4=2.5", "s6=2.0", "gfx1151 gfx12"),
    _R("s_floor_f32 s6, s4", "s4=-1.5", "s6=-2.0", "gfx1151 gfx12"),
    _R("s_ceil_f32 s6, s4", "s4=-1.5", "s6=-1.0", "gfx1151 gfx12"),
    _R("s_cvt_f32_u32 s6, s4", "s4=0xffffffff", "s6=0x4f800000", "gfx1151 gfx12"),
    _R("s_cvt_f32_i32 s6, s4", "s4=0xffffffff", "s6=-1.0", "gfx1151 gfx12"),
    _R("s_cvt_u32_f32 s6, s4", "s4=-1.0", "s6=0", "gfx1151 gfx12"),
    _R("s_cvt_i32_f32 s6, s4", "s4=-1.5", "s6=0xffffffff", "gfx1151 gfx12"),
    _R("s_max_f32 s6, s4, s5", "s4=1.0 s5=2.0", "s6=2.0", "gfx1151"),
    _R("s_min_f32 s6, s4, s5", "s4=1.0 s5=2.0", "s6=1.0", "gfx1151"),
    _R("s_max_num_f32 s6, s4, s5", f"s4=1.0 s5={NAN}", "s6=1.0", "gfx12"),
    _R("s_min_num_f32 s6, s4, s5", f"s4=1.0 s5={NAN}", "s6=1.0", "gfx12"),
    *(_R(f"s_cmp_{name}_f32 s4, s5", f"s4={a} s5={b}", f"scc={scc}", "gfx1151 gfx12") for name, a, b, scc in (
        ("lt", "1.0", "2.0", 1), ("lt", "2.0", "1.0", 0), ("gt", "2.0", "1.0", 1), ("eq", "1.0", "1.0", 1), ("eq", NAN, NAN, 0),
        ("lg", "1.0", "2.0", 1), ("le", "1.0", "1.0", 1), ("ge", "1.0", "2.0", 0), ("neq", NAN, "1.0", 1), ("nlt", NAN, "1.0", 1),
        ("ngt", "2.0", "1.0", 0), ("nge", "1.0", "2.0", 1), ("nle", "1.0", "2.0", 0), ("nlg", "1.0", "1.0", 1), ("o", "1.0", NAN, 0),
        ("u", "1.0", NAN, 1),
    )),
)  # fmt: skip

#: Transcendentals of scalars, GFX12.
SCALAR_FLOAT = tuple(
    _R(f"v_s_{name}_f32 s6, s4", f"s4={given}", f"s6={gives}", "gfx12")
    for name, given, gives in (("rcp", "4.0", "0.25"), ("rsq", "4.0", "0.5"), ("sqrt", "9.0", "3.0"), ("exp", "3.0", "8.0"), ("log", "8.0", "3.0"))
)  # fmt: skip

#: Jumps: s6 becomes 1 where the next instruction runs, s7 is 1 in the end.
_JUMP = "; s_mov_b32 s6, 1; s_mov_b32 s7, 1"
FLOW = (
    # A long jump: to 20 bytes behind the first instruction, and back to the fourth byte of a row.
    _R("s_getpc_b64 s[6:7]; s_add_u32 s6, s6, 20; s_addc_u32 s7, s7, 0; s_setpc_b64 s[6:7]; s_mov_b32 s8, 1; s_nop 0; s_mov_b32 s9, 2", "", "s8=0 s9=2"),
    _R("s_getpc_b64 s[6:7]; s_add_i32 s5, 28, 4; s_cmp_ge_i32 s5, 0; s_cbranch_scc1 1; s_trap 2; s_add_u32 s6, s6, s5; s_addc_u32 s7, s7, 0; "
       "s_setpc_b64 s[6:7]; s_mov_b32 s8, 1; s_mov_b32 s9, 2", "", "s8=0 s9=2"),
    # A call of a function that adds 1 to s8, between the call and the end; s9 shows that it came back.
    _R("s_getpc_b64 s[6:7]; s_add_u32 s6, s6, 24; s_addc_u32 s7, s7, 0; s_swappc_b64 s[4:5], s[6:7]; s_mov_b32 s9, s8; s_branch 3; s_nop 0; "
       "s_add_u32 s8, s8, 1; s_setpc_b64 s[4:5]", "s8=5", "s8=6 s9=6"),
    _R("s_branch 1" + _JUMP, "", "s6=0 s7=1"),
    _R("s_cbranch_scc0 1" + _JUMP, "scc=0", "s6=0 s7=1"),
    _R("s_cbranch_scc0 1" + _JUMP, "scc=1", "s6=1 s7=1"),
    _R("s_cbranch_scc1 1" + _JUMP, "scc=1", "s6=0 s7=1"),
    _R("s_cbranch_scc1 1" + _JUMP, "scc=0", "s6=1 s7=1"),
    _R("s_cbranch_vccz 1" + _JUMP, "vcc=0", "s6=0 s7=1"),
    _R("s_cbranch_vccz 1" + _JUMP, "vcc=2", "s6=1 s7=1"),
    _R("s_cbranch_vccnz 1" + _JUMP, "vcc=2", "s6=0 s7=1"),
    _R("s_cbranch_vccnz 1" + _JUMP, "vcc=0", "s6=1 s7=1"),
    _R("s_cbranch_execz 1" + _JUMP, "exec=0", "s6=0 s7=1"),
    _R("s_cbranch_execz 1" + _JUMP, "exec=1", "s6=1 s7=1"),
    _R("s_cbranch_execnz 1" + _JUMP, "exec=1", "s6=0 s7=1"),
    _R("s_cbranch_execnz 1" + _JUMP, "exec=0", "s6=1 s7=1"),
    _R("s_mov_b32 s6, 1; s_endpgm; s_mov_b32 s7, 1", "", "s6=1 s7=0"),
    # Backwards: three rounds of adding 5.
    _R("s_mov_b32 s8, 3; s_addk_i32 s6, 0x5; s_addk_i32 s8, 0xffff; s_cmp_lg_u32 s8, 0; s_cbranch_scc1 65532", "", "s6=15 s8=0", "gfx9 gfx11"),
)  # fmt: skip

#: Of one wave alone these change nothing that it sees.
IDLE = tuple(
    _R(text, "v0=7 s4=7", "v0=7 s4=7 scc=0", only)
    for text, only in (
        ("s_nop 0", ""), ("s_waitcnt vmcnt(0)", "gfx9 gfx11"), ("s_waitcnt_vscnt null, 0x0", "gfx11"), ("s_clause 0x1", "gfx1"),
        ("s_delay_alu instid0(VALU_DEP_1)", "gfx1"), ("s_waitcnt_depctr 0xfff", "gfx11"), ("s_set_inst_prefetch_distance 0x1", "gfx11"),
        ("buffer_gl0_inv", "gfx11"), ("s_sendmsg sendmsg(MSG_DEALLOC_VGPRS)", "gfx1"), ("s_sleep 1", ""), ("s_setprio 1", ""),
        ("buffer_wbinvl1", "gfx90a"), ("buffer_wbinvl1_vol", "gfx90a"), ("buffer_inv sc1", "gfx94 gfx95"), ("buffer_wbl2 sc1", "gfx94 gfx95"),
        *((f"s_wait_{name} 0x0", "gfx12") for name in ("loadcnt", "storecnt", "dscnt", "kmcnt", "loadcnt_dscnt", "storecnt_dscnt", "samplecnt", "bvhcnt", "expcnt")),
        ("s_wait_alu 0xfffe", "gfx12"), ("global_inv scope:SCOPE_SE", "gfx12"), ("global_wb scope:SCOPE_SE", "gfx12"), ("v_nop", ""),
        ("s_wait_idle", "gfx12"),
    )
)  # fmt: skip

VECTOR = (
    _R("v_mov_b32 v2, v0", "v0=0x12345678", "v2=0x12345678"),
    _R("v_mov_b32 v2, -4.0", "v0=0", "v2=-4.0"),
    _R("v_mov_b64 v[2:3], v[0:1]", "v0=1 v1=2", "v2=1 v3=2", "gfx94 gfx95"),
    _R("v_not_b32 v2, v0", "v0=0xf0", "v2=0xffffff0f"),
    _R("v_bfrev_b32 v2, v0", "v0=5", "v2=0xa0000000"),
    _R("v_and_b32 v2, v0, v1", "v0=0xff00 v1=0x0ff0", "v2=0x0f00"),
    _R("v_or_b32 v2, v0, v1", "v0=0xff00 v1=0x0ff0", "v2=0xfff0"),
    _R("v_xor_b32 v2, v0, v1", "v0=0xff00 v1=0x0ff0", "v2=0xf0f0"),
    _R("v_xnor_b32 v2, v0, v1", "v0=0xff00 v1=0x0ff0", "v2=0xffff0f0f"),
    _R("v_or3_b32 v2, v0, v1, s4", "v0=1 v1=2 s4=0x80000000", "v2=0x80000003"),
    _R("v_and_or_b32 v2, v0, v1, s4", "v0=0xff v1=0x3c s4=0x100", "v2=0x13c"),
    _R("v_bitop3_b32 v2, v0, v1, v4 bitop3:0x80", "v0=0xff v1=0x3c v4=0x18", "v2=0x18", "gfx95"),
    _R("v_bitop3_b32 v2, v0, v1, v4 bitop3:0x2d", "v0=0xf0 v1=0xcc v4=0xaa", "v2=0xffffff2d", "gfx95"),
    _R("v_xad_u32 v2, v0, v1, s4", "v0=0xff v1=0xf0 s4=1", "v2=0x10"),
    _R("v_bfi_b32 v2, v0, v1, s4", "v0=0xffff0000 v1=0x12345678 s4=0x9abcdef0", "v2=0x1234def0"),
    _R("v_bfe_u32 v2, v0, 4, 8", "v0=0x12345678", "v2=0x67"),
    _R("v_bfe_i32 v2, v0, 4, 8", "v0=0xf70", "v2=0xfffffff7"),
    _R("v_bfm_b32 v2, v0, v1", "v0=4 v1=8", "v2=0xf00"),
    _R("v_lshlrev_b32 v2, v0, v1", "v0=33 v1=0xc0000001", "v2=0x80000002"),
    _R("v_lshrrev_b32 v2, v0, v1", "v0=36 v1=0xf0", "v2=0xf"),
    _R("v_ashrrev_i32 v2, v0, v1", "v0=4 v1=0x80000000", "v2=0xf8000000"),
    _R("v_lshlrev_b64 v[2:3], 4, v[0:1]", "v0=0xf0000001 v1=1", "v2=0x10 v3=0x1f"),
    _R("v_lshrrev_b64 v[2:3], 4, v[0:1]", "v0=0x10 v1=0x1f", "v2=0xf0000001 v3=1"),
    _R("v_ashrrev_i64 v[2:3], 4, v[0:1]", "v0=0x10 v1=0x80000000", "v2=1 v3=0xf8000000"),
    _R("v_lshl_add_u32 v2, v0, 2, v1", "v0=0x40000001 v1=3", "v2=7"),
    _R("v_lshl_add_u64 v[2:3], v[0:1], 3, v[4:5]", "v0=0xe0000000 v1=0 v4=1 v5=2", "v2=1 v3=9", "gfx94 gfx95"),
    _R("v_add_lshl_u32 v2, v0, v1, 4", "v0=0xffffffff v1=3", "v2=0x20"),
    _R("v_lshl_or_b32 v2, v0, 4, v1", "v0=0x12 v1=0xf", "v2=0x12f"),
    _R("v_alignbit_b32 v2, v0, v1, 8", "v0=0x11223344 v1=0xaabbccdd", "v2=0x44aabbcc"),
    _R("v_alignbyte_b32 v2, v0, v1, 3", "v0=0x11223344 v1=0xaabbccdd", "v2=0x223344aa"),
    _R("v_perm_b32 v2, v0, v1, s4", "v0=0x11223344 v1=0xaabbccdd s4=0x00040d0c", "v2=0xdd44ff00"),
    _R("v_perm_b32 v2, v0, v1, s4", "v0=0x11223344 v1=0xaabbccdd s4=0x05040100", "v2=0x3344ccdd"),
    _R("v_add_u32 v2, v0, v1", "v0=0xffffffff v1=2", "v2=1", "gfx9"),
    _R("v_sub_u32 v2, v0, v1", "v0=3 v1=5", "v2=0xfffffffe", "gfx9"),
    _R("v_sub_u32_e64 v2, v0, v1 clamp", "v0=3 v1=5", "v2=0", "gfx9"),
    _R("v_subrev_u32 v2, v0, v1", "v0=3 v1=5", "v2=2", "gfx9"),
    _R("v_add_nc_u32 v2, v0, v1", "v0=0xffffffff v1=2", "v2=1", "gfx1"),
    _R("v_sub_nc_u32 v2, v0, v1", "v0=3 v1=5", "v2=0xfffffffe", "gfx1"),
    _R("v_sub_nc_u32_e64 v2, v0, v1 clamp", "v0=3 v1=5", "v2=0", "gfx1"),
    _R("v_subrev_nc_u32 v2, v0, v1", "v0=3 v1=5", "v2=2", "gfx1"),
    _R("v_add3_u32 v2, v0, v1, s4", "v0=0xffffffff v1=2 s4=5", "v2=6"),
    _R("v_add_u16 v2, v0, v1", "v0=0x1fffe v1=0x30003 v2=0xaaaabbbb", "v2=1", "gfx9"),
    _R("v_sub_u16 v2, v0, v1", "v0=3 v1=5", "v2=0xfffe", "gfx9"),
    _R("v_subrev_u16 v2, v0, v1", "v0=3 v1=5", "v2=2", "gfx9"),
    _R("v_mul_lo_u16 v2, v0, v1", "v0=0x1234 v1=0x10", "v2=0x2340", "gfx9"),
    _R("v_lshrrev_b16 v2, v0, v1", "v0=20 v1=0x8000", "v2=0x800", "gfx9"),
    _R("v_lshlrev_b16 v2, v0, v1", "v0=4 v1=0xffff", "v2=0xfff0", "gfx9"),
    _R("v_add_nc_u16 v2.l, v0.l, v1.h", "v0=0x1fffe v1=0x30009 v2=0xaaaabbbb", "v2=0xaaaa0001", "gfx1"),
    _R("v_sub_nc_u16 v2.h, v0.l, v1.l", "v0=3 v1=5 v2=0xaaaabbbb", "v2=0xfffebbbb", "gfx1"),
    _R("v_add_nc_u16 v2.l, v0.l, v1.l", "v0=0x1fffe v1=0x30009 v2=0xaaaabbbb", "v2=0xaaaa0007", "gfx1"),
    _R("v_sub_nc_u16 v2.l, v0.l, v1.l", "v0=3 v1=5 v2=0xaaaabbbb", "v2=0xaaaafffe", "gfx1"),
    _R("v_mul_lo_u16 v2.l, v0.l, v1.l", "v0=0x1234 v1=0x10 v2=0xaaaabbbb", "v2=0xaaaa2340", "gfx1"),
    _R("v_lshrrev_b16 v2.l, v0.l, v1.l", "v0=20 v1=0x8000 v2=0xaaaabbbb", "v2=0xaaaa0800", "gfx1"),
    _R("v_lshlrev_b16 v2.l, v0.l, v1.l", "v0=4 v1=0xffff v2=0", "v2=0xfff0", "gfx1"),
    _R("v_and_b16 v2.l, v0.l, v1.h", "v0=0xff v1=0x3c0000 v2=0", "v2=0x3c", "gfx1"),
    _R("v_xor_b16 v2.l, v0.l, v1.l", "v0=0xf0f0 v1=0xff00 v2=0xaaaa0000", "v2=0xaaaa0ff0", "gfx1"),
    _R("v_or_b16 v2.l, v0.l, v1.l", "v0=0xf0 v1=0x0f v2=0", "v2=0xff", "gfx1"),
    _R("v_mov_b16 v2.h, v0.l", "v0=0x1234 v2=0x5678", "v2=0x12345678", "gfx1"),
    _R("v_add_co_u32 v2, VCC, v0, v1", "v0=0xffffffff v1=2", "v2=1 vcc=ALL"),
    _R("v_add_co_u32 v2, M6, v0, s4", "v0=1 s4=2 s6=5", "v2=3 M6=0"),
    _R("v_sub_co_u32 v2, VCC, v0, v1", "v0=3 v1=5", "v2=0xfffffffe vcc=ALL"),
    _R("v_subrev_co_u32 v2, VCC, v0, v1", "v0=3 v1=5", "v2=2 vcc=0"),
    _R("v_addc_co_u32 v2, VCC, v0, v1, VCC", "v0=0xffffffff v1=0 vcc=ALL", "v2=0 vcc=ALL", "gfx9"),
    _R("v_addc_co_u32_e64 v2, M6, v0, v1, M8", "v0=1 v1=2 M8=ALL", "v2=4 M6=0", "gfx9"),
    _R("v_subb_co_u32 v2, VCC, v0, v1, VCC", "v0=5 v1=5 vcc=ALL", "v2=0xffffffff vcc=ALL", "gfx9"),
    _R("v_subbrev_co_u32 v2, VCC, v0, v1, VCC", "v0=5 v1=7 vcc=ALL", "v2=1 vcc=0", "gfx9"),
    _R("v_add_co_ci_u32 v2, VCC, v0, v1, VCC", "v0=0xffffffff v1=0 vcc=ALL", "v2=0 vcc=ALL", "gfx1"),
    _R("v_add_co_ci_u32_e64 v2, M6, v0, v1, M8", "v0=1 v1=2 M8=ALL", "v2=4 M6=0", "gfx1"),
    _R("v_sub_co_ci_u32 v2, VCC, v0, v1, VCC", "v0=5 v1=5 vcc=ALL", "v2=0xffffffff vcc=ALL", "gfx1"),
    _R("v_subrev_co_ci_u32 v2, VCC, v0, v1, VCC", "v0=5 v1=7 vcc=ALL", "v2=1 vcc=0", "gfx1"),
    _R("v_mul_lo_u32 v2, v0, v1", "v0=0xffffffff v1=7", "v2=0xfffffff9"),
    _R("v_mul_hi_u32 v2, v0, v1", "v0=0xffffffff v1=0xffffffff", "v2=0xfffffffe"),
    _R("v_mul_hi_i32 v2, v0, v1", "v0=0xffffffff v1=0x7fffffff", "v2=0xffffffff"),
    _R("v_mul_u32_u24 v2, v0, v1", "v0=0xff000003 v1=0xff000005", "v2=15"),
    _R("v_mul_i32_i24 v2, v0, v1", "v0=0x00ffffff v1=5", "v2=0xfffffffb"),
    _R("v_mad_u32_u24 v2, v0, v1, s4", "v0=0xff000003 v1=5 s4=1", "v2=16"),
    _R("v_mad_i32_i24 v2, v0, v1, s4", "v0=0x00ffffff v1=5 s4=1", "v2=0xfffffffc"),
    _R("v_mad_u64_u32 v[2:3], M6, v0, v1, v[4:5]", "v0=0xffffffff v1=0xffffffff v4=0xffffffff v5=0xffffffff", "v2=0 v3=0xfffffffe M6=ALL"),
    _R("v_mad_i64_i32 v[2:3], M6, v0, v1, v[4:5]", "v0=0xffffffff v1=3 v4=1 v5=0", "v2=0xfffffffe v3=0xffffffff M6=ALL"),
    _R("v_mad_co_u64_u32 v[2:3], M6, v0, v1, v[4:5]", "v0=0xffffffff v1=0xffffffff v4=1 v5=0", "v2=2 v3=0xfffffffe M6=0", "gfx12"),
    _R("v_mad_co_i64_i32 v[2:3], M6, v0, v1, v[4:5]", "v0=0xffffffff v1=3 v4=1 v5=0", "v2=0xfffffffe v3=0xffffffff M6=ALL", "gfx12"),
    _R("v_mad_u16 v2.l, v0.l, v1.l, v4.l", "v0=3 v1=5 v4=1 v2=0xaaaa0000", "v2=0xaaaa0010", "gfx1"),
    _R("v_min_i32 v2, v0, v1", "v0=0xffffffff v1=1", "v2=0xffffffff"),
    _R("v_max_i32 v2, v0, v1", "v0=0xffffffff v1=1", "v2=1"),
    _R("v_min_u32 v2, v0, v1", "v0=0xffffffff v1=1", "v2=1"),
    _R("v_max_u32 v2, v0, v1", "v0=0xffffffff v1=1", "v2=0xffffffff"),
    _R("v_med3_i32 v2, v0, v1, s4", "v0=0xffffffff v1=1 s4=5", "v2=1"),
    _R("v_mbcnt_lo_u32_b32 v2, -1, 3", "v0=0", {"v2": lambda lane: 3 + min(lane, 32)}),
    _R("v_mbcnt_hi_u32_b32 v2, -1, 3", "v0=0", {"v2": lambda lane: 3 + max(lane - 32, 0)}),
    _R("v_bcnt_u32_b32 v2, v0, v1", "v0=0xf0f v1=1", "v2=9"),
    _R("v_cndmask_b32 v2, v0, v1, VCC", "v0=1 v1=2 vcc=0x5", {"v2": lambda lane: 2 if lane in (0, 2) else 1}),
    _R("v_cndmask_b32_e64 v2, 0, -1, M6", "M6=0x6", {"v2": lambda lane: 0xFFFFFFFF if lane in (1, 2) else 0}),
    _R("v_cndmask_b32_e64 v2, -v0, |v1|, M6", "v0=1.0 v1=-2.0 M6=0x1", {"v2": lambda lane: 0x40000000 if lane == 0 else 0xBF800000}),
    _R("v_cndmask_b16 v2.l, v0.l, v1.l, M6", "v0=1 v1=2 v2=0 M6=0x1", {"v2": lambda lane: 2 if lane == 0 else 1}, "gfx1"),
    _R("v_readfirstlane_b32 s6, v0", "v0=LANE exec=0xc", "s6=2"),
    _R("v_readlane_b32 s6, v0, 7", "v0=LANE exec=1", "s6=7"),
    _R("v_writelane_b32 v2, s4, 5", "s4=9 v2=LANE exec=1", {"v2": lambda lane: 9 if lane == 5 else lane}),
    _R("v_swap_b32 v0, v1", "v0=1 v1=2", "v0=2 v1=1"),
    _R("v_accvgpr_write_b32 a1, v0; v_accvgpr_read_b32 v2, a1", "v0=7", "v2=7", "gfx9"),
    _R("v_accvgpr_write_b32 a1, v0; v_accvgpr_mov_b32 a2, a1; v_accvgpr_read_b32 v2, a2", "v0=7", "v2=7", "gfx9"),
)  # fmt: skip

#: Float32 and float16, to the last bit.
FLOAT = (
    _R("v_add_f32 v2, v0, v1", "v0=1.0 v1=2.0", "v2=3.0"),
    _R("v_add_f32 v2, v0, v1", "v0=1 v1=1", "v2=2"),  # denormals are kept
    _R("v_add_f32 v2, v0, v1", "v0=0x4b800000 v1=1.0", "v2=0x4b800000"),  # 2²⁴ + 1: to even
    _R("v_add_f32 v2, v0, v1", "v0=0x4b800000 v1=0x40400000", "v2=0x4b800002"),  # 2²⁴ + 3: to even
    _R("v_add_f32 v2, v0, v1", f"v0={INF} v1={MINUS_INF}", f"v2={NAN}"),
    _R("v_add_f32_e64 v2, |v0|, -v1 clamp", "v0=-3.0 v1=1.0", "v2=1.0"),
    _R("v_add_f32_e64 v2, v0, v1 mul:4", "v0=1.0 v1=2.0", "v2=3.0", "gfx9 gfx11"),
    _R("v_add_f32_e64 v2, v0, v1 mul:4", "v0=1.0 v1=2.0", "v2=12.0", "gfx12"),
    _R("v_sub_f32 v2, v0, v1", "v0=1.0 v1=2.0", "v2=-1.0"),
    _R("v_subrev_f32 v2, v0, v1", "v0=1.0 v1=2.0", "v2=1.0"),
    _R("v_mul_f32 v2, v0, v1", "v0=0x3f800001 v1=0x3f800001", "v2=0x3f800002"),  # 1 + 2⁻²² + 2⁻⁴⁶
    _R("v_mul_f32_e64 v2, -v0, |v1|", "v0=2.0 v1=-3.0", "v2=-6.0"),
    _R("v_mul_f32 v2, v0, v1", "v0=0x00800000 v1=0.5", "v2=0x00400000"),  # a denormal
    _R("v_mac_f32 v2, v0, v1", "v0=2.0 v1=3.0 v2=1.0", "v2=7.0", "gfx90a"),
    _R("v_mac_f32 v2, v0, v1", "v0=0x3f800001 v1=0x3f800001 v2=0xbf800002", "v2=0", "gfx90a"),  # rounds the product
    _R("v_mac_f32 v2, v0, v1", "v0=0x00800000 v1=0.5 v2=0x00000001", "v2=0", "gfx90a"),  # and has no denormals
    _R("v_madmk_f32 v2, v0, 0x41200000, v1", "v0=1.5 v1=2.0", "v2=17.0", "gfx90a"),
    _R("v_madmk_f32 v2, v0, 0x3f800001, v1", "v0=0x3f800001 v1=0xbf800002", "v2=0", "gfx90a"),  # rounds the product
    _R("v_madak_f32 v2, v0, v1, 0x41200000", "v0=1.5 v1=2.0", "v2=13.0", "gfx90a"),
    _R("v_fma_f32 v2, v0, v1, v4", "v0=0x3f800001 v1=0x3f800001 v4=0xbf800002", "v2=0x28800000"),  # 2⁻⁴⁶: one rounding
    _R("v_fma_f32 v2, -v0, v1, 1.0", "v0=2.0 v1=3.0", "v2=-5.0"),
    _R("v_fmac_f32 v2, v0, v1", "v0=0x3f800001 v1=0x3f800001 v2=0xbf800002", "v2=0x28800000"),
    _R("v_fmaak_f32 v2, v0, v1, 0x41200000", "v0=1.5 v1=2.0", "v2=13.0"),
    _R("v_fmamk_f32 v2, v0, 0x41200000, v1", "v0=1.5 v1=2.0", "v2=17.0"),
    _R("v_max_f32 v2, v0, v1", f"v0={NAN} v1=1.0", "v2=1.0", "gfx9 gfx11"),
    _R("v_max_f32 v2, v0, v1", "v0=0x80000000 v1=0", "v2=0", "gfx9 gfx11"),
    _R("v_min_f32 v2, v0, v1", "v0=-1.0 v1=1.0", "v2=-1.0", "gfx9 gfx11"),
    _R("v_max3_f32 v2, v0, v1, v4", f"v0=1.0 v1={NAN} v4=5.0", "v2=5.0", "gfx9 gfx11"),
    _R("v_min3_f32 v2, v0, v1, v4", "v0=1.0 v1=-3.0 v4=5.0", "v2=-3.0", "gfx9 gfx11"),
    _R("v_max_num_f32 v2, v0, v1", f"v0={NAN} v1=1.0", "v2=1.0", "gfx12"),
    _R("v_min_num_f32 v2, v0, v1", "v0=-1.0 v1=1.0", "v2=-1.0", "gfx12"),
    _R("v_max3_num_f32 v2, v0, v1, v4", f"v0=1.0 v1={NAN} v4=5.0", "v2=5.0", "gfx12"),
    _R("v_min3_num_f32 v2, v0, v1, v4", "v0=1.0 v1=-3.0 v4=5.0", "v2=-3.0", "gfx12"),
    _R("v_maxmin_num_f32 v2, v0, v1, v4", "v0=1.0 v1=7.0 v4=5.0", "v2=5.0", "gfx12"),
    _R("v_minmax_num_f32 v2, v0, v1, v4", "v0=1.0 v1=7.0 v4=5.0", "v2=5.0", "gfx12"),
    _R("v_med3_f32 v2, v0, v1, 0", "v0=1.0 v1=2.0", "v2=1.0", "gfx9 gfx11"),
    _R("v_med3_num_f32 v2, v0, v1, 0", "v0=1.0 v1=2.0", "v2=1.0", "gfx12"),
    _R("v_rndne_f32 v2, v0", "v0=2.5", "v2=2.0"),
    _R("v_rndne_f32 v2, v0", "v0=0x4b000001", "v2=0x4b000001"),
    _R("v_trunc_f32 v2, v0", "v0=-1.75", "v2=-1.0"),
    _R("v_floor_f32 v2, v0", "v0=-1.25", "v2=-2.0"),
    _R("v_ceil_f32 v2, v0", "v0=1.25", "v2=2.0"),
    _R("v_fract_f32 v2, v0", "v0=0xb0800000", "v2=0x3f7fffff"),
    _R("v_ldexp_f32 v2, v0, 3", "v0=1.0", "v2=8.0"),
    _R("v_ldexp_f32 v2, v0, -1", "v0=1", "v2=0"),  # 2⁻¹⁵⁰: half of the least, to even
    _R("v_rcp_f32 v2, v0", "v0=4.0", "v2=0.25"),
    _R("v_rcp_f32 v2, v0", "v0=0x80000000", f"v2={MINUS_INF}"),
    _R("v_rcp_iflag_f32 v2, v0", "v0=-0.5", "v2=-2.0"),
    _R("v_rsq_f32 v2, v0", "v0=4.0", "v2=0.5"),
    _R("v_sqrt_f32 v2, v0", "v0=9.0", "v2=3.0"),
    _R("v_sqrt_f32 v2, v0", "v0=-1.0", f"v2={NAN}"),
    _R("v_exp_f32 v2, v0", "v0=3.0", "v2=8.0"),
    _R("v_exp_f32 v2, v0", f"v0={MINUS_INF}", "v2=0"),
    _R("v_log_f32 v2, v0", "v0=8.0", "v2=3.0"),
    _R("v_log_f32 v2, v0", "v0=0", f"v2={MINUS_INF}"),
    _R("v_frexp_exp_i32_f32 v2, v0", "v0=8.0", "v2=4"),
    _R("v_frexp_mant_f32 v2, v0", "v0=12.0", "v2=0.75"),
    _R("v_frexp_exp_i32_f64 v2, v[0:1]", "v0=0 v1=0x40280000", "v2=4"),  # 12
    _R("v_frexp_mant_f64 v[2:3], v[0:1]", "v0=0 v1=0x40280000", "v2=0 v3=0x3fe80000"),  # 0.75
    _R("v_frexp_mant_f64 v[2:3], v[0:1]", "v0=0 v1=0x7ff00000", "v2=0 v3=0x7ff00000"),
    _R("v_cvt_f32_i32 v2, v0", "v0=0xffffffff", "v2=-1.0"),
    _R("v_cvt_f32_i32 v2, v0", "v0=0x01000001", "v2=0x4b800000"),  # 2²⁴ + 1: to even
    _R("v_cvt_f32_u32 v2, v0", "v0=0xffffffff", "v2=0x4f800000"),
    _R("v_cvt_i32_f32 v2, v0", "v0=0xcf000001", "v2=0x80000000"),
    _R("v_cvt_i32_f32 v2, v0", f"v0={NAN}", "v2=0"),
    _R("v_cvt_i32_f32 v2, v0", "v0=-1.75", "v2=0xffffffff"),
    _R("v_cvt_u32_f32 v2, v0", "v0=-1.0", "v2=0"),
    _R("v_cvt_u32_f32 v2, v0", "v0=0x4f800000", "v2=0xffffffff"),
    _R("v_cvt_f32_ubyte0 v2, v0", "v0=0x01020304", "v2=4.0"),
    _R("v_cvt_f32_ubyte1 v2, v0", "v0=0x01020304", "v2=3.0"),
    _R("v_cvt_f32_ubyte2 v2, v0", "v0=0x01020304", "v2=2.0"),
    _R("v_cvt_f32_ubyte3 v2, v0", "v0=0xff020304", "v2=255.0"),
    _R("v_ffbh_i32 v2, v0", "v0=0xf7ffffff", "v2=4", "gfx9"),  # leading bits that are as the sign
    _R("v_ffbh_i32 v2, v0", "v0=0x00ffffff", "v2=8", "gfx9"),
    _R("v_ffbh_i32 v2, v0", "v0=0xffffffff", "v2=0xffffffff", "gfx9"),
    _R("v_cls_i32 v2, v0", "v0=0xf7ffffff", "v2=4", "gfx1"),
    _R("v_cls_i32 v2, v0", "v0=0", "v2=0xffffffff", "gfx1"),
    _R("v_cvt_f16_f32 v2.l, v0", "v0=0x477ff000 v2=0", "v2=0x7c00"),  # 65520 rounds to infinity
    _R("v_cvt_f16_f32 v2.l, v0", "v0=0x33000000 v2=0", "v2=0"),  # 2⁻²⁵: half of the least, to even
    _R("v_cvt_f16_f32 v2.l, v0", "v0=0x33000001 v2=0", "v2=1"),
    _R("v_cvt_f32_f16 v2, v0.l", "v0=1", "v2=0x33800000"),  # 2⁻²⁴
    _R("v_cvt_f32_f16 v2, v0.h", "v0=0x3c000000", "v2=1.0", "gfx1"),
    _R("v_cvt_pk_f16_f32 v2, v0, v1", "v0=0x477ff000 v1=-1.5", "v2=0xbe007c00", "gfx95"),
    *(_R(f"v_cmp_{name}_f32 VCC, v0, v1", f"v0={a} v1=1.0", f"vcc={mask}") for name, a, mask in (
        ("u", NAN, "ALL"), ("u", "1.0", "0"), ("o", NAN, "0"), ("o", "1.0", "ALL"))),
    _R("v_pack_b32_f16 v2, v0.l, v1.l", "v0=0x12343c00 v1=0x56784000", "v2=0x40003c00"),
    _R("v_cmp_class_f32 VCC, v0, v1", f"v0={INF} v1=0x200", "vcc=ALL"),
    _R("v_cmp_class_f32 VCC, v0, v1", "v0=1.0 v1=0x2ff", "vcc=0"),
    _R("v_cmp_class_f32 VCC, v0, v1", "v0=0x80000000 v1=0x20", "vcc=ALL"),
    # A signalling NaN is no quiet one, whatever the sign.
    _R("v_cmp_class_f32 VCC, v0, v1", "v0=0x7f800001 v1=0x1", "vcc=ALL"),
    _R("v_cmp_class_f32 VCC, v0, v1", "v0=0xff800001 v1=0x3fe", "vcc=0"),
    _R("v_cmp_class_f32 VCC, v0, v1", "v0=0xffc00000 v1=0x2", "vcc=ALL"),
    _R("v_cmp_class_f32 VCC, v0, v1", "v0=0x7fc00001 v1=0x3fd", "vcc=0"),
    _R("v_cmp_class_f16 VCC, v0.l, v1.l", "v0=0xfc01 v1=0x1", "vcc=ALL"),
    _R("v_cmp_class_f16 VCC, v0.l, v1.l", "v0=0x7c01 v1=0x3fe", "vcc=0"),
    _R("v_cmp_class_f16 VCC, v0.l, v1.l", "v0=0x7e00 v1=0x2", "vcc=ALL"),
    _R("v_cmp_class_f64 VCC, v[0:1], v2", "v0=0x1 v1=0x7ff00000 v2=0x1", "vcc=ALL"),
    _R("v_cmp_class_f64 VCC, v[0:1], v2", "v0=0x0 v1=0xfff80000 v2=0x2", "vcc=ALL"),
    _R("v_cmp_class_f64 VCC, v[0:1], v2", "v0=0x1 v1=0xfff00000 v2=0x3fe", "vcc=0"),
    _R("v_div_scale_f32 v2, VCC, v0, v1, v4", "v0=1.0 v1=1.0 v4=2.0", "v2=1.0 vcc=0"),
    # A numerator 2¹⁰⁰ above the denominator: the denominator is scaled by 2⁶⁴ and VCC asks div_fmas to undo it.
    _R("v_div_scale_f32 v2, VCC, v0, v1, v4", "v0=1.0 v1=1.0 v4=0x71800000", "v2=0x5f800000 vcc=ALL"),
    _R("v_div_fmas_f32 v2, v0, v1, v4", "v0=2.0 v1=3.0 v4=1.0 vcc=0", "v2=7.0"),
    # Undone: 2⁶⁴ for a quotient of 2 and more, 2⁻⁶⁴ for a lesser one, whatever its sign.
    _R("v_div_fmas_f32 v2, v0, v1, v4", "v0=0.0 v1=0.0 v4=4.0 vcc=ALL", "v2=0x60800000"),
    _R("v_div_fmas_f32 v2, v0, v1, v4", "v0=0.0 v1=0.0 v4=-4.0 vcc=ALL", "v2=0xe0800000"),
    _R("v_div_fmas_f32 v2, v0, v1, v4", "v0=0.0 v1=0.0 v4=0.5 vcc=ALL", "v2=0x1f000000"),
    _R("v_div_fixup_f32 v2, v0, v1, v4", "v0=9.0 v1=0 v4=1.0", f"v2={INF}"),
    _R("v_div_fixup_f32 v2, v0, v1, v4", "v0=9.0 v1=0 v4=0", f"v2={NAN}"),
    _R("v_div_fixup_f32 v2, v0, v1, v4", "v0=0.5 v1=2.0 v4=-1.0", "v2=-0.5"),
    # The same in float64: 2¹²⁸.
    _R("v_div_scale_f64 v[2:3], VCC, v[0:1], v[0:1], v[4:5]", "v0=0 v1=0x3ff00000 v4=0 v5=0x40000000", "v2=0 v3=0x3ff00000 vcc=0"),
    _R("v_div_scale_f64 v[2:3], VCC, v[0:1], v[0:1], v[4:5]", "v0=0 v1=0x3ff00000 v4=0 v5=0x71800000", "v2=0 v3=0x47f00000 vcc=ALL"),
    _R("v_div_scale_f64 v[2:3], VCC, v[4:5], v[0:1], v[4:5]", "v0=0 v1=0x3ff00000 v4=0 v5=0x71800000", "v2=0 v3=0x71800000 vcc=ALL"),
    _R("v_div_scale_f64 v[2:3], VCC, v[4:5], v[0:1], v[4:5]", "v0=0 v1=0x3ff00000 v4=0 v5=0x00100000", "v2=0 v3=0x08100000 vcc=0"),
    _R("v_div_fmas_f64 v[2:3], v[0:1], v[0:1], v[4:5]", "v0=0 v1=0 v4=0 v5=0x40100000 vcc=ALL", "v2=0 v3=0x48100000"),
    _R("v_div_fmas_f64 v[2:3], v[0:1], v[0:1], v[4:5]", "v0=0 v1=0 v4=0 v5=0xbfe00000 vcc=ALL", "v2=0 v3=0xb7e00000"),
    _R("v_div_fmas_f64 v[2:3], v[0:1], v[0:1], v[4:5]", "v0=0 v1=0x40000000 v4=0 v5=0x3ff00000 vcc=0", "v2=0 v3=0x40140000"),
    _R("v_div_fixup_f64 v[2:3], v[0:1], v[4:5], v[6:7]", "v0=9 v1=9 v4=0 v5=0 v6=0 v7=0x3ff00000", "v2=0 v3=0x7ff00000"),
    _R("v_div_fixup_f64 v[2:3], v[0:1], v[4:5], v[6:7]", "v0=0 v1=0x3fe00000 v4=0 v5=0x40000000 v6=0 v7=0xbff00000", "v2=0 v3=0xbfe00000"),
    _R("v_div_fixup_f64 v[2:3], v[0:1], v[4:5], v[6:7]", "v0=0 v1=0x3fe00000 v4=0 v5=0x7ff00000 v6=0 v7=0xbff00000", "v2=0 v3=0x80000000"),
    # Long encodings, whose tables have no text of their own.
    _R("v_cvt_f64_f32 v[2:3], |v0|", "v0=-2.0 v2=7 v3=7", "v2=0 v3=0x40000000"),
    _R("v_cvt_f64_i32_e64 v[2:3], v0 mul:2", "v0=-3 v2=7 v3=7", "v2=0 v3=0xc0080000", "gfx9 gfx11"),
    _R("v_cvt_f64_i32_e64 v[2:3], v0 mul:2", "v0=-3 v2=7 v3=7", "v2=0 v3=0xc0180000", "gfx12"),
    _R("v_cvt_f32_i32_e64 v2, v0 mul:4", "v0=3 v2=7", "v2=3.0", "gfx9 gfx11"),
    _R("v_cvt_f32_i32_e64 v2, v0 mul:4", "v0=3 v2=7", "v2=12.0", "gfx12"),
    # A product makes the one NaN, that of an output modifier too.
    _R("v_cubetc_f32 v2, v0, v1, -13 div:2", "v0=1.0 v1=2.0", "v2=0x7fc00000", "gfx12"),
    # Floats of eight bits: "fnuz" of CDNA3 (bias 8 and 16, one zero, 0x80 is NaN), OCP's of CDNA4 and RDNA4 (7 and 15).
    _R("v_cvt_f32_fp8 v2, v0", "v0=0x40", "v2=1.0", "gfx942"),
    _R("v_cvt_f32_fp8 v2, v0", "v0=0x80", "v2=0x7fc00000", "gfx942"),
    _R("v_cvt_f32_fp8 v2, v0", "v0=0x7f", "v2=240.0", "gfx942"),
    _R("v_cvt_f32_fp8 v2, v0", "v0=0x01", "v2=0.0009765625", "gfx942"),
    _R("v_cvt_f32_fp8 v2, v0", "v0=0xc8", "v2=-2.0", "gfx942"),
    _R("v_cvt_f32_fp8 v2, v0", "v0=0", "v2=0", "gfx942"),
    _R("v_cvt_f32_fp8 v2, v0", "v0=0x38", "v2=1.0", "gfx95 gfx12"),
    _R("v_cvt_f32_fp8 v2, v0", "v0=0x80", "v2=0x80000000", "gfx95 gfx12"),
    _R("v_cvt_f32_fp8 v2, v0", "v0=0x7e", "v2=448.0", "gfx95 gfx12"),
    _R("v_cvt_f32_fp8 v2, v0", "v0=0x7f", "v2=0x7fc00000", "gfx95 gfx12"),
    _R("v_cvt_f32_fp8 v2, v0", "v0=0xff", "v2=0x7fc00000", "gfx95 gfx12"),
    _R("v_cvt_f32_fp8 v2, v0", "v0=0x01", "v2=0.001953125", "gfx95 gfx12"),
    _R("v_cvt_f32_fp8 v2, v0", "v0=0xc0", "v2=-2.0", "gfx95 gfx12"),
    _R("v_cvt_f32_bf8 v2, v0", "v0=0x40", "v2=1.0", "gfx942"),
    _R("v_cvt_f32_bf8 v2, v0", "v0=0x7f", "v2=57344.0", "gfx942"),
    _R("v_cvt_f32_bf8 v2, v0", "v0=0x01", "v2=0x37000000", "gfx942"),
    _R("v_cvt_f32_bf8 v2, v0", "v0=0x80", "v2=0x7fc00000", "gfx942"),
    _R("v_cvt_f32_bf8 v2, v0", "v0=0xc6", "v2=-3.0", "gfx942"),
    _R("v_cvt_f32_bf8 v2, v0", "v0=0x3c", "v2=1.0", "gfx95 gfx12"),
    _R("v_cvt_f32_bf8 v2, v0", "v0=0x7b", "v2=57344.0", "gfx95 gfx12"),
    _R("v_cvt_f32_bf8 v2, v0", "v0=0x7c", "v2=0x7f800000", "gfx95 gfx12"),
    _R("v_cvt_f32_bf8 v2, v0", "v0=0xfc", "v2=0xff800000", "gfx95 gfx12"),
    _R("v_cvt_f32_bf8 v2, v0", "v0=0x7d", "v2=0x7fc00000", "gfx95 gfx12"),
    _R("v_cvt_f32_bf8 v2, v0", "v0=0x01", "v2=0x37800000", "gfx95 gfx12"),
    _R("v_cvt_f32_bf8 v2, v0", "v0=0xc2", "v2=-3.0", "gfx95 gfx12"),
    _R("v_cvt_f32_fp8_sdwa v2, v0 src0_sel:BYTE_2", "v0=0x00480000", "v2=2.0", "gfx942"),
    _R("v_cvt_f32_bf8_sdwa v2, v0 src0_sel:BYTE_3", "v0=0x48000000", "v2=4.0", "gfx942"),
    _R("v_cvt_f32_fp8_sdwa v2, v0 src0_sel:BYTE_1", "v0=0x4000", "v2=2.0", "gfx95"),
    _R("v_cvt_pk_f32_fp8 v[2:3], v0", "v0=0xffff4840", "v2=1.0 v3=2.0", "gfx942"),
    _R("v_cvt_pk_f32_fp8_sdwa v[2:3], v0 src0_sel:WORD_1", "v0=0x4840ffff", "v2=1.0 v3=2.0", "gfx942"),
    _R("v_cvt_pk_f32_fp8_sdwa v[2:3], v0 src0_sel:WORD_0", "v0=0xffff4840", "v2=1.0 v3=2.0", "gfx942"),
    _R("v_cvt_pk_f32_fp8_sdwa v[2:3], v0 src0_sel:DWORD", "v0=0xffff4840", "v2=1.0 v3=2.0", "gfx942"),
    _R("v_cvt_pk_f32_fp8_sdwa v[2:3], v0 mul:2 src0_sel:WORD_1", "v0=0x4840ffff", "v2=1.0 v3=2.0", "gfx942"),
    _R("v_cvt_pk_f32_bf8 v[2:3], v0", "v0=0xc440", "v2=1.0 v3=-2.0", "gfx942"),
    _R("v_cvt_pk_f32_fp8 v[2:3], v0.l", "v0=0xc038", "v2=1.0 v3=-2.0", "gfx12"),
    _R("v_cvt_pk_f32_bf8_sdwa v[2:3], v0 src0_sel:WORD_1", "v0=0x403c0000", "v2=1.0 v3=2.0", "gfx95"),
    _R("v_cvt_pk_fp8_f32 v2, v0, v1", "v0=1.0 v1=-2.0 v2=0x12345678", "v2=0x1234c840", "gfx942"),
    _R("v_cvt_pk_fp8_f32 v2, v0, v1 op_sel:[0,0,1]", "v0=1.0 v1=-2.0 v2=0x12345678", "v2=0xc8405678", "gfx942"),
    _R("v_cvt_pk_bf8_f32 v2, v0, v1", "v0=1.0 v1=-2.0 v2=0x12345678", "v2=0x1234c440", "gfx942"),
    _R("v_cvt_pk_fp8_f32 v2, v0, v1", "v0=1.0 v1=-2.0 v2=0x12345678", "v2=0x1234c038", "gfx95 gfx12"),
    _R("v_cvt_pk_fp8_f32 v2, v0, v1 op_sel:[0,0,1]", "v0=1.0 v1=-2.0 v2=0x12345678", "v2=0xc0385678", "gfx95 gfx12"),
    _R("v_cvt_pk_bf8_f32 v2, v0, v1", "v0=1.0 v1=-2.0 v2=0x12345678", "v2=0x1234c03c", "gfx95 gfx12"),
    _R("v_cvt_pk_fp8_f32 v2, v0, v1", "v0=1.0625 v1=1.1875 v2=0", "v2=0x4240", "gfx942"),
    _R("v_cvt_pk_fp8_f32 v2, v0, v1", "v0=1.0625 v1=1.1875 v2=0", "v2=0x3a38", "gfx95 gfx12"),
    _R("v_cvt_pk_bf8_f32 v2, v0, v1", "v0=1.125 v1=1.375 v2=0", "v2=0x4240", "gfx942"),
    _R("v_cvt_pk_fp8_f32 v2, v0, v1", "v0=-0.00048828125 v1=0.0014648438 v2=0", "v2=0x0200", "gfx942"),
    _R("v_cvt_pk_fp8_f32 v2, v0, v1", "v0=-0.0009765625 v1=0.0029296875 v2=0", "v2=0x0280", "gfx95 gfx12"),
    _R("v_cvt_pk_fp8_f32 v2, v0, v1", "v0=247.9 v1=-248.0 v2=0", "v2=0x807f", "gfx942"),
    _R("v_cvt_pk_fp8_f32 v2, v0, v1", "v0=464.0 v1=-465.0 v2=0", "v2=0xff7e", "gfx95 gfx12"),
    _R("v_cvt_pk_bf8_f32 v2, v0, v1", "v0=61439.0 v1=-61440.0 v2=0", "v2=0xfc7b", "gfx95 gfx12"),
    _R("v_cvt_pk_bf8_f32 v2, v0, v1", "v0=0x7f800000 v1=0x7fc00000 v2=0", "v2=0x8080", "gfx942"),
    _R("v_cvt_pk_bf8_f32 v2, v0, v1", "v0=0xff800000 v1=0x7fc00000 v2=0", "v2=0x7ffc", "gfx95 gfx12"),
    _R("v_cvt_pk_bf16_f32 v2, v0, v1", "v0=1.0 v1=0x3f808000", "v2=0x3f803f80", "gfx95"),  # half of the least: to even
    _R("v_cvt_pk_bf16_f32 v2, v0, v1", "v0=0x3f818000 v1=-2.0", "v2=0xc0003f82", "gfx95"),
    _R("v_bitop3_b16 v2, v0, v1, v4 bitop3:0x96", "v0=0xff00 v1=0xf0f0 v4=0xcccc v2=0xaaaa0000", "v2=0xaaaac33c", "gfx95"),
    _R("v_add_nc_i16 v2.l, v0.l, v1.l clamp", "v0=0x7000 v1=0x7000 v2=0", "v2=0x7fff", "gfx1"),
    _R("v_sub_nc_i16 v2.l, v0.l, v1.l clamp", "v0=0x9000 v1=0x7000 v2=0", "v2=0x8000", "gfx1"),
    _R("v_add_nc_u16 v2.l, v0.l, v1.l clamp", "v0=0xf000 v1=0x1001 v2=0", "v2=0xffff", "gfx1"),
    _R("v_sub_nc_u16 v2.l, v0.l, v1.l clamp", "v0=3 v1=5 v2=9", "v2=0", "gfx1"),
    _R("v_add_nc_i32 v2, v0, v1 clamp", "v0=0x7fffffff v1=1", "v2=0x7fffffff", "gfx1"),
    _R("v_sub_nc_i32 v2, v0, v1 clamp", "v0=0x80000000 v1=1", "v2=0x80000000", "gfx1"),
    _R("v_add_i32 v2, v0, v1 clamp", "v0=0x7fffffff v1=1", "v2=0x7fffffff", "gfx9"),
    _R("v_mad_legacy_u16 v2, v0, v1, v4", "v0=3 v1=5 v4=7 v2=0xffff0000", "v2=22", "gfx9"),  # the upper half is cleared
    _R("v_mad_u16 v2, v0, v1, v4", "v0=3 v1=5 v4=7 v2=0xffff0000", "v2=0xffff0016", "gfx9"),
    _R("v_add_i16 v2, v0, v1 clamp", "v0=0x7000 v1=0x7000", "v2=0x7fff", "gfx9"),
    _R("v_subrev_u32 v2, v0, v1 clamp", "v0=5 v1=3", "v2=0", "gfx9"),
    _R("v_pk_add_i16 v2, v0, v1 clamp", "v0=0x70008001 v1=0x7000ffff", "v2=0x7fff8000"),
    _R("v_pk_sub_u16 v2, v0, v1 clamp", "v0=0x00050003 v1=0x00030005", "v2=0x00020000"),
    _R("v_mad_u32_u24 v2, v0, v1, v4 clamp", "v0=0xffffff v1=0xffffff v4=1", "v2=0xffffffff"),
    _R("v_mad_i32_i24 v2, v0, v1, v4 clamp", "v0=0x800000 v1=0x7fffff v4=1", "v2=0x80000000"),  # -2²³ × (2²³ - 1)
    _R("v_dot4_i32_i8 v2, v0, v1, v4", "v0=0xff02fe80 v1=0x017f0203 v4=10", "v2=0xffffff83", "gfx9"),  # -384 - 4 + 254 - 1 + 10
    _R("v_dot4_i32_i8 v2, v0, v1, v4 clamp", "v0=0x7f7f7f7f v1=0x7f7f7f7f v4=0x7fffffff", "v2=0x7fffffff", "gfx9"),
    _R("v_dot4_i32_i8 v2, v0, v1, v4", "v0=0x01000000 v1=0x01000000 v4=0x7fffffff", "v2=0x80000000", "gfx9"),
    _R("v_dot4_u32_u8 v2, v0, v1, v4", "v0=0xff02fe80 v1=0x017f0203 v4=10", "v2=1411"),  # 384 + 508 + 254 + 255 + 10
    _R("v_dot4_u32_u8 v2, v0, v1, v4 clamp", "v0=0x000000ff v1=0x000000ff v4=0xffffffff", "v2=0xffffffff"),
    _R("v_dot4c_i32_i8 v2, v0, v1", "v0=0xff02fe80 v1=0x017f0203 v2=10", "v2=0xffffff83", "gfx9"),
    _R("v_dot4_i32_iu8 v2, v0, v1, v4", "v0=0x00000080 v1=0x000000ff v4=1", "v2=32641", "gfx1"),  # 128 × 255 + 1
    _R("v_dot4_i32_iu8 v2, v0, v1, v4 neg_lo:[1,0,0]", "v0=0x00000080 v1=0x000000ff v4=1", "v2=0xffff8081", "gfx1"),  # -128 × 255 + 1
    _R("v_dot4_i32_iu8 v2, v0, v1, v4 neg_lo:[0,1,0]", "v0=0x00000080 v1=0x000000ff v4=1", "v2=0xffffff81", "gfx1"),  # 128 × -1 + 1
    _R("v_dot4_i32_iu8 v2, v0, v1, v4 neg_lo:[1,1,0]", "v0=0xff02fe80 v1=0x017f0203 v4=10", "v2=0xffffff83", "gfx1"),
    _R("v_dot4_i32_iu8 v2, v0, v1, v4 neg_lo:[1,1,0] clamp", "v0=0x80808080 v1=0x7f7f7f7f v4=0x80000000", "v2=0x80000000", "gfx1"),
    _R("v_dot8_i32_i4 v2, v0, v1, v4", "v0=0x8000000f v1=0x70000002 v4=1", "v2=0xffffffc7", "gfx9"),  # -8 × 7 + -1 × 2 + 1
    _R("v_dot8_u32_u4 v2, v0, v1, v4", "v0=0x8000000f v1=0x70000002 v4=1", "v2=87"),  # 8 × 7 + 15 × 2 + 1
    _R("v_dot8_i32_iu4 v2, v0, v1, v4 neg_lo:[0,1,0]", "v0=0x8000000f v1=0xf0000002 v4=1", "v2=23", "gfx1"),  # 8 × -1 + 15 × 2 + 1
    _R("v_dot2_i32_i16 v2, v0, v1, v4", "v0=0xffff8000 v1=0x00020003 v4=5", "v2=0xfffe8003", "gfx9"),  # -98304 - 2 + 5
    _R("v_dot2_u32_u16 v2, v0, v1, v4", "v0=0xffff0002 v1=0xffff0003 v4=5", "v2=0xfffe000c", "gfx9"),  # 65535² + 6 + 5
    # Its clamp bit has no effect: bitsandbytes sets it on sums beyond 1, and is right on a gfx1100.
    _R("v_dot2_f32_f16 v2, v0, v1, v4 clamp", "v0=0x3c004000 v1=0x42004400 v4=1.0", "v2=12.0"),
    _R("v_dot2_f32_bf16 v2, v0, v1, v4", "v0=0x3f804000 v1=0x40404080 v4=1.0", "v2=12.0"),  # 2×4 + 1×3 + 1
    # Mixed precision: halves as op_sel and op_sel_hi say.
    _R("v_fma_mix_f32 v2, v0, v1, v4 op_sel:[0,1,0] op_sel_hi:[1,1,0]", "v0=0x3c004000 v1=0x42000000 v4=1.0", "v2=7.0"),
    _R("v_fma_mix_f32 v2, -v0, |v1|, v4", "v0=2.0 v1=-3.0 v4=1.0", "v2=-5.0"),
    _R("v_fma_mixlo_f16 v2, v0, v1, 0", "v0=2.0 v1=0.5 v2=0xaaaabbbb", "v2=0xaaaa3c00"),
    _R("v_fma_mixhi_f16 v2, v0, v1, v4", "v0=2.0 v1=0.5 v4=1.0 v2=0xaaaabbbb", "v2=0x4000bbbb"),
    # Packed
    _R("v_pk_add_f16 v2, v0, v1", "v0=0x3c004000 v1=0x40003c00", "v2=0x42004200"),
    _R("v_pk_mul_f16 v2, v0, v1", "v0=0x3c004000 v1=0x40003c00", "v2=0x40004000"),
    _R("v_pk_fma_f16 v2, v0, v1, v4", "v0=0x3c004000 v1=0x40003c00 v4=0x3c003c00", "v2=0x42004200"),
    _R("v_pk_max_f16 v2, v0, v1", "v0=0x3c004000 v1=0x40003c00", "v2=0x40004000", "gfx9 gfx11"),
    _R("v_pk_max_num_f16 v2, v0, v1", "v0=0x3c004000 v1=0x40003c00", "v2=0x40004000", "gfx12"),
    _R("v_pk_add_f32 v[2:3], v[0:1], v[4:5]", "v0=1.0 v1=2.0 v4=3.0 v5=5.0", "v2=4.0 v3=7.0", "gfx9"),
    _R("v_pk_add_f32 v[2:3], v[0:1], v[4:5] op_sel_hi:[1,0] neg_lo:[0,1]", "v0=1.0 v1=2.0 v4=3.0 v5=5.0", "v2=-2.0 v3=5.0", "gfx9"),
    _R("v_pk_mul_f32 v[2:3], v[0:1], v[4:5]", "v0=1.0 v1=2.0 v4=3.0 v5=5.0", "v2=3.0 v3=10.0", "gfx9"),
    _R("v_pk_mul_f32 v[2:3], v[0:1], v[4:5] op_sel:[1,0]", "v0=1.0 v1=2.0 v4=3.0 v5=5.0", "v2=6.0 v3=10.0", "gfx9"),
    _R("v_pk_fma_f32 v[2:3], v[0:1], v[4:5], v[6:7]", "v0=1.0 v1=2.0 v4=3.0 v5=5.0 v6=1.0 v7=-1.0", "v2=4.0 v3=9.0", "gfx9"),
    _R("v_pk_mov_b32 v[2:3], v[0:1], v[4:5] op_sel:[0,1]", "v0=1 v1=2 v4=3 v5=4", "v2=1 v3=4", "gfx9"),
    _R("v_pk_mov_b32 v[2:3], v[0:1], v[4:5] op_sel:[1,0]", "v0=1 v1=2 v4=3 v5=4", "v2=2 v3=3", "gfx9"),
    # SDWA
    _R("v_cvt_f32_f16_sdwa v2, v0 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1", "v0=0x3c000000", "v2=1.0", "gfx9"),
    _R("v_or_b32_sdwa v2, v0, v1 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_2 src1_sel:WORD_0", "v0=0x00120000 v1=0xffff3400", "v2=0x3412", "gfx9"),
    _R("v_lshlrev_b32_sdwa v2, v0, v1 dst_sel:BYTE_3 dst_unused:UNUSED_PRESERVE src0_sel:DWORD src1_sel:BYTE_0", "v0=4 v1=0x1f v2=0x11223344", "v2=0xf0223344", "gfx9"),
    _R("v_mul_lo_u16_sdwa v2, v0, v1 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_0 src1_sel:DWORD", "v0=0xff03 v1=5", "v2=15", "gfx9"),
)  # fmt: skip


def _comparisons() -> list[InstructionRow]:
    """Comparisons, with operands on both sides of the relation: less, equal, greater, and a NaN of floating point."""
    holds = {"lt": "1 0 0", "eq": "0 1 0", "le": "1 1 0", "gt": "0 0 1", "ne": "1 0 1", "lg": "1 0 1", "ge": "0 1 1"}
    opposite = {"nge": "lt", "nlg": "eq", "ngt": "le", "nle": "gt", "neq": "lg", "nlt": "ge"}
    ordered = [name for name in holds if name != "ne"]
    pairs = {
        "f32": ("-1.0", "2.0"), "f16": ("0xbc00", "0x4000"), "i32": ("0xffffffff", "2"), "u32": ("2", "0xffffffff"),
        "i16": ("0xffff", "2"), "u16": ("2", "0xffff"), "i64": ("0xffffffff 0xffffffff", "2 0"), "u64": ("2 0", "0 0xffffffff"),
    }  # fmt: skip
    rows = []
    for kind, (small, large) in pairs.items():
        floats = kind[0] == "f"
        names = [*ordered, *opposite] if floats else [name for name in holds if name != "lg"]
        for name in names:
            answers = holds[opposite.get(name, name)].split()
            cases = [(small, large, answers[0]), (small, small, answers[1]), (large, small, answers[2])]
            if floats:
                cases.append((NAN if kind == "f32" else "0x7e00", large, str(int(name in opposite))))
            for a, b, answer in cases:
                rows += _comparison(name, kind, a, b, answer)
    return rows


def _comparison(name: str, kind: str, a: str, b: str, answer: str) -> list[InstructionRow]:
    mask = "ALL" if answer == "1" else "0"
    if kind[1:] == "64":
        given = " ".join(f"v{i}={word}" for i, word in enumerate([*a.split(), *b.split()]))
        operands = "v[0:1], v[2:3]"
    else:
        half = ".l" if kind[1:] == "16" else ""
        given, operands = f"v0={a} v1={b}", f"v0{half}, v1{half}"
    return [
        _R(f"v_cmp_{name}_{kind} VCC, {operands}", given, f"vcc={mask}"),
        _R(f"v_cmp_{name}_{kind}_e64 M6, {operands}", given, f"M6={mask}"),
        _R(f"v_cmpx_{name}_{kind}_e64 {operands}", given, f"exec={mask}", "gfx1"),
        _R(f"v_cmpx_{name}_{kind} VCC, {operands}", given, f"exec={mask} vcc={mask}", "gfx9"),
        _R(f"v_cmpx_{name}_{kind}_e64 M6, {operands}", given, f"exec={mask} M6={mask}", "gfx9"),
    ]


COMPARISONS = tuple(_comparisons())

#: Both halves read before either writes; the second destination's lowest bit is the opposite of the first's.
DUAL = (
    *(_R(text, given, gives, "gfx1")
    for text, given, gives in (
        ("v_dual_mov_b32 v2, v1 :: v_dual_mov_b32 v3, v0", "v0=1 v1=2", "v2=2 v3=1"),
        ("v_dual_mov_b32 v0, v1 :: v_dual_mov_b32 v1, v0", "v0=1 v1=2", "v0=2 v1=1"),
        ("v_dual_add_f32 v2, v0, v1 :: v_dual_mul_f32 v3, v1, v4", "v0=1.0 v1=2.0 v4=3.0", "v2=3.0 v3=6.0"),
        ("v_dual_sub_f32 v2, v0, v1 :: v_dual_subrev_f32 v3, v1, v4", "v0=1.0 v1=2.0 v4=3.0", "v2=-1.0 v3=1.0"),
        ("v_dual_fmac_f32 v2, v0, v1 :: v_dual_fmac_f32 v3, v1, v4", "v0=1.0 v1=2.0 v4=3.0 v2=1.0 v3=2.0", "v2=3.0 v3=8.0"),
        ("v_dual_fmaak_f32 v2, v0, v1, 0x41200000 :: v_dual_mov_b32 v3, v5", "v0=1.0 v1=2.0 v5=3.0", "v2=12.0 v3=3.0"),
        ("v_dual_fmamk_f32 v2, v0, 0x41200000, v1 :: v_dual_mov_b32 v3, v5", "v0=1.0 v1=2.0 v5=3.0", "v2=12.0 v3=3.0"),
        ("v_dual_cndmask_b32 v2, v0, v1 :: v_dual_cndmask_b32 v3, v1, v4", "v0=1 v1=2 v4=3 vcc=ALL", "v2=2 v3=3"),
        ("v_dual_mov_b32 v2, v1 :: v_dual_add_nc_u32 v3, v0, v5", "v0=0xffffffff v1=2 v5=2", "v2=2 v3=1"),
        ("v_dual_mov_b32 v2, v1 :: v_dual_lshlrev_b32 v3, v0, v5", "v0=33 v1=2 v5=3", "v2=2 v3=6"),
        ("v_dual_mov_b32 v2, v1 :: v_dual_and_b32 v3, v0, v5", "v0=0xff v1=2 v5=0x3c", "v2=2 v3=0x3c"),
    )),
    _R("v_dual_max_f32 v2, v0, v1 :: v_dual_min_f32 v3, v1, v4", "v0=1.0 v1=2.0 v4=3.0", "v2=2.0 v3=2.0", "gfx11"),
    _R("v_dual_max_num_f32 v2, v0, v1 :: v_dual_min_num_f32 v3, v1, v4", "v0=1.0 v1=2.0 v4=3.0", "v2=2.0 v3=2.0", "gfx12"),
)  # fmt: skip


def _words(at: int, count: int, first: int = 2) -> str:
    """The registers of a load of `count` words from byte `at` of the memory."""
    return " ".join(
        f"v{first + i}={int.from_bytes(bytes((at + 4 * i + k) % 256 for k in range(4)), 'little'):#x}"
        for i in range(count)
    )


def _scalars(count: int) -> str:
    """The registers of a scalar load of `count` words from byte 16 on: from s6, of more than two from s8."""
    first = 8 if count > 2 else 6
    return " ".join(f"s{first + i}={_words(16 + 4 * i, 1).partition('=')[2]}" for i in range(count))


_STORED = "v4=0x11121314 v5=0x21222324 v6=0x31323334 v7=0x41424344"
_BYTES = ("14131211", "24232221", "34333231", "44434241")


def _vector_memory() -> list[InstructionRow]:
    rows, sizes = [], (("b32", "dword", 1), ("b64", "dwordx2", 2), ("b96", "dwordx3", 3), ("b128", "dwordx4", 4))
    for new, old, count in sizes:
        target = "v2" if count == 1 else f"v[2:{1 + count}]"
        data = "v4" if count == 1 else f"v[4:{3 + count}]"
        local = {"v2": target, "v4": data}
        for suffix, only in ((new, "gfx1"), (old, "gfx9")):
            for space, end in (("global", ", off"), ("flat", "")):
                offset = " offset:8" if space == "global" or only == "gfx9" else ""
                at = 24 if offset else 16
                rows.append(
                    _R(f"{space}_load_{suffix} {target}, v[0:1]{end}{offset}", "v[0:1]=MEM+16", _words(at, count), only)
                )
                rows.append(
                    _R(
                        f"{space}_store_{suffix} v[0:1], {data}{end}{offset}",
                        f"v[0:1]=MEM+16 {_STORED}",
                        f"mem[{at}]={''.join(_BYTES[:count])}",
                        only,
                    )
                )
        rows.append(_R(f"ds_load_{new} {local['v2']}, v0 offset:8", "v0=16", _words(24, count), "gfx1"))
        rows.append(
            _R(
                f"ds_store_{new} v0, {local['v4']} offset:8",
                f"v0=16 {_STORED}",
                f"lds[24]={''.join(_BYTES[:count])}",
                "gfx1",
            )
        )
        rows.append(_R(f"ds_read_{new} {local['v2']}, v0 offset:8", "v0=16", _words(24, count), "gfx9"))
        rows.append(
            _R(
                f"ds_write_{new} v0, {local['v4']} offset:8",
                f"v0=16 {_STORED}",
                f"lds[24]={''.join(_BYTES[:count])}",
                "gfx9",
            )
        )
    return rows


MEMORY = (
    *_vector_memory(),
    _R("ds_add_u32 v0, v4", "v0=4 v4=3 exec=1", "lds[4]=07050607"),
    _R("global_load_b32 v2, v0, s[4:5] offset:-4", "v0=20 s[4:5]=MEM", _words(16, 1), "gfx1"),
    _R("global_load_dword v2, v0, s[4:5] offset:-4", "v0=20 s[4:5]=MEM", _words(16, 1), "gfx9"),
    _R("global_store_b32 v0, v4, s[4:5]", f"v0=20 s[4:5]=MEM {_STORED}", "mem[20]=14131211", "gfx1"),
    _R("global_load_b32 v2, v[0:1], off", "v[0:1]=MEM+17", "v2=0x14131211"),  # any address is right for plain loads
    *(_R(f"{name} v2, v[0:1], off", "v[0:1]=MEM+200 v2=0xaaaabbbb", f"v2={value}", only) for name, value, only in (
        ("global_load_u8", "0xc8", "gfx1"), ("global_load_i8", "0xffffffc8", "gfx1"), ("global_load_u16", "0xc9c8", "gfx1"),
        ("global_load_i16", "0xffffc9c8", "gfx1"), ("global_load_d16_b16", "0xaaaac9c8", "gfx1"), ("global_load_d16_hi_b16", "0xc9c8bbbb", "gfx1"),
        ("global_load_d16_u8", "0xaaaa00c8", "gfx1"), ("global_load_d16_i8", "0xaaaaffc8", "gfx1"), ("global_load_d16_hi_u8", "0x00c8bbbb", "gfx1"), ("global_load_ubyte", "0xc8", "gfx9"), ("global_load_sbyte", "0xffffffc8", "gfx9"),
        ("global_load_ushort", "0xc9c8", "gfx9"), ("global_load_sshort", "0xffffc9c8", "gfx9"), ("global_load_short_d16", "0xaaaac9c8", "gfx9"),
        ("global_load_short_d16_hi", "0xc9c8bbbb", "gfx9"), ("flat_load_u8", "0xc8", "gfx1"), ("flat_load_u16", "0xc9c8", "gfx1"),
    ) if not name.startswith("flat")),
    *(_R(f"{name} v[0:1], v4, off", f"v[0:1]=MEM+17 {_STORED}", f"mem[17]={value}", only) for name, value, only in (
        ("global_store_b8", "14", "gfx1"), ("global_store_b16", "1413", "gfx1"), ("global_store_d16_hi_b16", "1211", "gfx1"),
        ("global_store_byte", "14", "gfx9"), ("global_store_short", "1413", "gfx9"), ("global_store_short_d16_hi", "1211", "gfx9"),
    )),
    *(_R(f"{name} v[0:1], v4", f"v[0:1]=MEM+17 {_STORED}", f"mem[17]={value}", only) for name, value, only in (
        ("flat_store_b16", "1413", "gfx1"), ("flat_store_short", "1413", "gfx9"), ("flat_store_d16_hi_b16", "1211", "gfx1"),
        ("flat_store_short_d16_hi", "1211", "gfx9"),
    )),
    *(_R(f"{name} v2, v0", "v0=200 v2=0xaaaabbbb", f"v2={value}", only) for name, value, only in (
        ("ds_load_u8", "0xc8", "gfx1"), ("ds_load_u16", "0xc9c8", "gfx1"), ("ds_load_u16_d16", "0xaaaac9c8", "gfx1"),
        ("ds_load_u16_d16_hi", "0xc9c8bbbb", "gfx1"), ("ds_load_i8", "0xffffffc8", "gfx1"), ("ds_load_u8_d16", "0xaaaa00c8", "gfx1"), ("ds_load_u8_d16_hi", "0x00c8bbbb", "gfx1"), ("ds_read_u8", "0xc8", "gfx9"),
        ("ds_read_u16", "0xc9c8", "gfx9"), ("ds_read_u16_d16", "0xaaaac9c8", "gfx9"), ("ds_read_u16_d16_hi", "0xc9c8bbbb", "gfx9"),
    )),
    *(_R(f"{name} v0, v4", f"v0=18 {_STORED}", f"lds[18]={value}", only) for name, value, only in (
        ("ds_store_b8", "14", "gfx1"), ("ds_store_b16", "1413", "gfx1"), ("ds_store_b16_d16_hi", "1211", "gfx1"), ("ds_write_b8", "14", "gfx9"),
        ("ds_write_b16", "1413", "gfx9"), ("ds_write_b16_d16_hi", "1211", "gfx9"),
    )),
    *(_R(f"ds_{load}2{more}_b32 v[2:3], v0 offset0:1 offset1:3", "v0=16", f"{_words(20, 1)} {_words(28, 1, 3)}", only)
      for load, more, only in (("load_", "addr", "gfx1"), ("read", "", "gfx9"))),
    *(_R(f"ds_{load}2{more}_b64 v[2:5], v0 offset0:1 offset1:3", "v0=16", f"{_words(24, 2)} {_words(40, 2, 4)}", only)
      for load, more, only in (("load_", "addr", "gfx1"), ("read", "", "gfx9"))),
    *(_R(f"ds_{load}2{more}_b32 v[2:3], v0 offset1:1", "v0=16", f"{_words(16, 1)} {_words(272, 1, 3)}", only)
      for load, more, only in (("load_", "addr_stride64", "gfx1"), ("read", "st64", "gfx9"))),
    *(_R(f"ds_{store}2{more}_b32 v0, v4, v5 offset0:1 offset1:3", f"v0=16 {_STORED}", "lds[20]=14131211 lds[28]=24232221", only)
      for store, more, only in (("store_", "addr", "gfx1"), ("write", "", "gfx9"))),
    *(_R(f"ds_{store}2{more}_b64 v0, v[4:5], v[6:7] offset1:2", f"v0=16 {_STORED}", "lds[16]=1413121124232221 lds[32]=3433323144434241", only)
      for store, more, only in (("store_", "addr", "gfx1"), ("write", "", "gfx9"))),
    *(_R(f"ds_{store}2{more}_b32 v0, v4, v5 offset1:1", f"v0=16 {_STORED}", "lds[16]=14131211 lds[272]=24232221", only)
      for store, more, only in (("store_", "addr_stride64", "gfx1"), ("write", "st64", "gfx9"))),
    *(_R(f"s_load_{name} s{registers}, s[4:5], 0x10", "s[4:5]=MEM", _scalars(count), only)
      for name, registers, count, only in (
        ("b32", "6", 1, "gfx1"), ("b64", "[6:7]", 2, "gfx1"), ("b128", "[8:11]", 4, "gfx1"), ("b256", "[8:15]", 8, "gfx1"), ("b512", "[8:23]", 16, "gfx1"),
        ("b96", "[8:10]", 3, "gfx12"), ("dword", "6", 1, "gfx9"), ("dwordx2", "[6:7]", 2, "gfx9"), ("dwordx4", "[8:11]", 4, "gfx9"), ("dwordx8", "[8:15]", 8, "gfx9"),
        ("dwordx16", "[8:23]", 16, "gfx9"),
    )),
)  # fmt: skip

#: Values that move between lanes. A row is 16 lanes.
LANES = (
    _R("ds_bpermute_b32 v2, v0, v1", "v0=LANE*4+128 v1=LANE", {"v2": lambda lane: lane}, "gfx1"),
    _R("ds_permute_b32 v2, v0, v1", "v0=LANE*4+128 v1=LANE", {"v2": lambda lane: lane}, "gfx1"),
    _R("ds_bpermute_b32 v2, v0, v1", "v0=LANE*4+128 v1=LANE", {"v2": lambda lane: (lane + 32) % 64}, "gfx9"),
    _R("ds_permute_b32 v2, v0, v1", "v0=LANE*4+128 v1=LANE", {"v2": lambda lane: (lane + 32) % 64}, "gfx9"),
    _R("ds_bpermute_b32 v2, v0, v1", "v0=LANE*4+4 v1=LANE", {"v2": lambda lane: lane + 1 if lane % 32 < 31 else -1}),
    _R("ds_swizzle_b32 v2, v1 offset:0x41f", "v1=LANE", {"v2": lambda lane: lane ^ 1}),
    _R("ds_swizzle_b32 v2, v1 offset:0x8000", "v1=LANE", {"v2": lambda lane: lane // 4 * 4}),
    _R("v_permlanex16_b32 v2, v1, s4, s5", "v1=LANE s4=0x76543210 s5=0xfedcba98", {"v2": lambda lane: lane ^ 16}, "gfx1"),
    _R("v_permlane16_b32 v2, v1, s4, s5", "v1=LANE s4=0x01234567 s5=0x89abcdef", {"v2": lambda lane: lane // 8 * 8 + 7 - lane % 8}, "gfx1"),
    *(_R(f"v_mov_b32_dpp v2, v0 {control} row_mask:0xf bank_mask:0xf", "v0=LANE v2=99", {"v2": source}, only) for control, source, only in (
        ("quad_perm:[1,0,3,2]", lambda lane: lane ^ 1, ""), ("quad_perm:[2,3,0,1]", lambda lane: lane ^ 2, ""),
        ("row_ror:8", lambda lane: lane // 16 * 16 + (lane - 8) % 16, ""), ("row_ror:4", lambda lane: lane // 16 * 16 + (lane - 4) % 16, ""),
        ("row_ror:2", lambda lane: lane // 16 * 16 + (lane - 2) % 16, ""), ("row_ror:1", lambda lane: lane // 16 * 16 + (lane - 1) % 16, ""),
        ("row_shr:1", lambda lane: lane - 1 if lane % 16 else 99, ""), ("row_shl:3", lambda lane: lane + 3 if lane % 16 < 13 else 99, ""),
        ("row_mirror", lambda lane: lane // 16 * 16 + 15 - lane % 16, ""), ("row_half_mirror", lambda lane: lane // 8 * 8 + 7 - lane % 8, ""),
        ("row_bcast:15", lambda lane: lane // 16 * 16 - 1 if lane >= 16 else 99, "gfx9"), ("row_bcast:31", lambda lane: 31 if lane >= 32 else 99, "gfx9"),
        ("wave_shr:1", lambda lane: lane - 1 if lane else 99, "gfx90"), ("row_share:3", lambda lane: lane // 16 * 16 + 3, "gfx1"),
        ("row_xmask:5", lambda lane: lane ^ 5, "gfx1"), ("row_newbcast:3", lambda lane: lane // 16 * 16 + 3, "gfx9"),
    )),
    _R("v_mov_b32_dpp v2, v0 row_shr:1 row_mask:0xf bank_mask:0xf bound_ctrl:1", "v0=LANE v2=99", {"v2": lambda lane: lane - 1 if lane % 16 else 0}),
    _R("v_mov_b32_dpp v2, v0 row_ror:1 row_mask:0x1 bank_mask:0x3", "v0=LANE v2=99", {"v2": lambda lane: (lane - 1) % 16 if lane < 8 else 99}),
    _R("v_add_u32_dpp v2, v0, v1 row_ror:8 row_mask:0xf bank_mask:0xf", "v0=LANE v1=100", {"v2": lambda lane: 100 + lane // 16 * 16 + (lane - 8) % 16}, "gfx9"),
    _R("v_add_nc_u32_dpp v2, v0, v1 row_ror:8 row_mask:0xf bank_mask:0xf", "v0=LANE v1=100", {"v2": lambda lane: 100 + lane // 16 * 16 + (lane - 8) % 16}, "gfx1"),
    _R("v_mov_b32_dpp v2, v0 dpp8:[7,6,5,4,3,2,1,0]", "v0=LANE", {"v2": lambda lane: lane // 8 * 8 + 7 - lane % 8}, "gfx1"),
)  # fmt: skip

NARROW = tuple(
    _R(f"s_load_{name} s6, s[4:5], 0xc8", "s[4:5]=MEM", f"s6={value}", "gfx12")
    for name, value in (("u8", "0xc8"), ("i8", "0xffffffc8"), ("u16", "0xc9c8"), ("i16", "0xffffc9c8"))
)  # fmt: skip

RELATIVE = (
    _R("s_mov_b32 m0, s4; v_movrels_b32 v2, v0", "s4=3 v2=9 v3=7", "v2=7", "gfx1"),
    _R("s_mov_b32 m0, s4; v_movreld_b32 v0, v5", "s4=3 v3=9 v5=7", "v3=7 v0=0", "gfx1"),
    _R("s_mov_b32 m0, s4; v_movreld_b32 v0, s5", "s4=3 s5=6 v3=9", "v3=6 v0=0", "gfx1"),
    _R("s_mov_b32 m0, s4; v_movrelsd_b32 v1, v4", "s4=1 v2=9 v5=7", "v2=7 v1=0", "gfx1"),
    _R("s_mov_b32 m0, s4; v_movrelsd_2_b32 v1, v4", "s4=0x20001 v3=9 v5=7", "v3=7 v1=0", "gfx1"),
    _R("s_mov_b32 m0, s4; s_movrels_b32 s6, s4", "s4=1 s5=8", "s6=8"),
    _R("s_mov_b32 m0, s4; s_movrels_b64 s[6:7], s[8:9]", "s4=2 s10=8 s11=5", "s6=8 s7=5"),
    _R("s_mov_b32 m0, s4; s_movreld_b32 s6, s5", "s4=1 s5=8", "s7=8 s6=0"),
    _R("s_mov_b32 m0, s4; s_movreld_b32 s6, 0x12345", "s4=1", "s7=0x12345 s6=0"),
    _R("s_mov_b32 m0, s4; s_movreld_b64 s[6:7], -2", "s4=2", "s8=0xfffffffe s9=0xffffffff s6=0 s7=0"),
    _R("s_mov_b32 m0, s4; v_movreld_b32 v0, 0x12345", "s4=3 v3=9", "v3=0x12345 v0=0", "gfx1"),
    _R("s_set_gpr_idx_on s4, gpr_idx(SRC0); v_mov_b32 v2, v0; s_set_gpr_idx_off; v_mov_b32 v4, v0", "s4=3 v0=1 v3=7", "v2=7 v4=1", "gfx9"),
    _R("s_set_gpr_idx_on s4, gpr_idx(DST); v_mov_b32 v0, v5; s_set_gpr_idx_off", "s4=3 v0=1 v5=7", "v3=7 v0=1", "gfx9"),
    _R("s_set_gpr_idx_on s4, gpr_idx(DST); v_mov_b32 v0, 5; s_set_gpr_idx_off", "s4=2 v0=1", "v2=5 v0=1", "gfx9"),
)  # fmt: skip
"""Registers that M0 counts from."""

ROWS = (*SCALAR, *SCALAR_FLOAT, *FLOW, *IDLE, *VECTOR, *FLOAT, *COMPARISONS, *DUAL, *MEMORY, *NARROW, *LANES, *RELATIVE)
