"""Kernels that each do one thing that no kernel may do, beside the same kernel done right: the check of the sanitizer.

They are for gfx1100, those of loads into LDS for gfx942. A kernel has the address of 512 bytes as its argument, and v0 holds the work-item. It is assembled with the rows of
`instruction_rows.py`.
"""

from __future__ import annotations

from typing import NamedTuple

_ARGUMENT = "s_load_b64 s[2:3], s[0:1], 0x0; s_waitcnt lgkmcnt(0); "
_END = "; s_endpgm"


def _buffer(bytes: int) -> str:
    """The argument as a raw buffer of so many bytes in s[4:7], a byte offset in v1 that lies just behind 512, a value in v2."""
    return (
        f"{_ARGUMENT}s_mov_b32 s4, s2; s_mov_b32 s5, s3; s_mov_b32 s6, {bytes:#x}; s_mov_b32 s7, 0x31004000; s_mov_b32 s8, 0; "
        "v_mov_b32 v1, 0x200; v_mov_b32 v2, 0; "
    )


_GROUP = f"v_mov_b32 v3, s2; {_ARGUMENT}"
"""The number of the workgroup in v3, where a dispatch has several."""
_OFFSET = "s_add_u32 s4, s2, s9; s_addc_u32 s5, s3, 0; v_mov_b32 v1, 0; global_load_b32 v2, v1, s[4:5]"
_SWIZZLED = "s_or_b32 s5, s5, 0x40000000; "
_CDNA = "s_load_dwordx2 s[2:3], s[0:1], 0x0; s_waitcnt lgkmcnt(0); v_lshlrev_b32 v1, 2, v0; "
_INTO_LDS = f"{_CDNA}s_nop 0; v_readfirstlane_b32 s5, v1; s_mov_b32 m0, s5; s_nop 0; global_load_lds_dword v1, s[2:3]; "
"""Each lane's word of the memory into its word of LDS, a wave's from its first lane's place on."""
_INTO_LDS_BY_BUFFER = (
    f"{_CDNA}s_mov_b32 s4, s2; s_mov_b32 s5, s3; s_mov_b32 s6, 0x200; s_mov_b32 s7, 0x20000; s_mov_b32 m0, 0; s_nop 0; "
    "buffer_load_dword v1, s[4:7], 0 offen lds; "
)
_EXCHANGED = "v_lshlrev_b32 v1, 2, v0; ds_store_b32 v1, v0; "
_OTHERS = "v_xor_b32 v2, 0x80, v1; ds_load_b32 v3, v2; "
"""Two waves: each has words of its own in LDS, and reads the other's."""
_LOADED = f"{_ARGUMENT}v_mov_b32 v1, 0; global_load_b32 v2, v1, s[2:3]; "
_ROUND = "s_sub_u32 s4, s4, 1; s_cmp_lg_u32 s4, 0; "
_STORED_BEHIND = f"{_CDNA}global_load_dword v2, v1, s[2:3]; global_store_dword v1, v1, s[2:3]; "
_FIRST_LANES = (
    f"{_CDNA}v_mov_b32 v2, s2; v_mov_b32 v3, s3; s_nop 0; v_readfirstlane_b32 s4, v2; v_readfirstlane_b32 s5, v3; "
)
"""The argument in s[4:5], where the vector ALU put it."""
_MASKED = "v_cmpx_le_u32 vcc, 0, v0; "
_DPP = "v_mov_b32_dpp v2, v{} quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf"

_CDNA_LOADED = f"{_CDNA}global_load_dword v2, v1, s[2:3]; "
_FORMS = {
    "a dual instruction's first source": "v_dual_add_f32 v4, v2, v3 :: v_dual_mov_b32 v5, v7",
    "a dual instruction's second source": "v_dual_add_f32 v4, v3, v2 :: v_dual_mov_b32 v5, v6",
    "the second half's first source": "v_dual_mov_b32 v5, v7 :: v_dual_add_f32 v4, v2, v3",
    "the second half's second source": "v_dual_mov_b32 v5, v6 :: v_dual_add_f32 v4, v3, v2",
    "a dual instruction's target": "v_dual_mov_b32 v2, v3 :: v_dual_mov_b32 v5, v6",
    "the second half's target": "v_dual_mov_b32 v5, v6 :: v_dual_mov_b32 v2, v3",
    "a dual instruction's sum": "v_dual_fmac_f32 v2, v3, v5 :: v_dual_mov_b32 v7, v6",
    "DPP's source": "v_mov_b32_dpp v4, v2 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf",
    "DPP8's source": "v_mov_b32_dpp v4, v2 dpp8:[1,0,3,2,5,4,7,6]",
    "the source of a long instruction with DPP": "v_add_f32_e64_dpp v4, v2, v3 row_shl:1 row_mask:0xf bank_mask:0xf",
}
"""Instructions that read or write v2, by where they name it."""
_CDNA_FORMS = {
    "CDNA's source of DPP": _DPP.format(2).replace("dpp v2", "dpp v4"),
    "SDWA's first source": "v_add_u32_sdwa v4, v2, v3 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_1 src1_sel:DWORD",
    "SDWA's second source": "v_add_u32_sdwa v4, v3, v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_1 src1_sel:DWORD",
}
_SCALAR_LOADED = f"{_ARGUMENT}s_load_b32 s4, s[2:3], 0x0; "
_DUAL_SCALAR = "v_dual_add_f32 v4, s4, v3 :: v_dual_mov_b32 v5, v7"
_SDWA_SCALAR = "v_add_u32_sdwa v4, s4, v3 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_1 src1_sel:DWORD"
_IDS_LOADED = f"{_ARGUMENT}v_lshlrev_b32 v1, 2, v0; v_mov_b32 v3, 0; global_load_b32 v0, v1, s[2:3]; "
_CDNA_IDS_LOADED = f"{_CDNA}v_mov_b32 v3, 0; global_load_dword v0, v1, s[2:3]; "
"""A load into v0 is under way: the register that a field of zeros would name."""


class SeededDefect(NamedTuple):
    """A kernel with a defect, the kind that is reported, and the kernel without it.

    `group` and `private` are bytes of LDS of a workgroup and of scratch of a lane, `items` the work-items of a workgroup, `groups` the workgroups.
    """

    name: str
    kind: str
    wrong: str
    right: str
    group: int = 0
    private: int = 0
    items: int = 32
    flushes: bool = False
    groups: int = 1
    target: str = "gfx1100"


DEFECTS = (
    SeededDefect("a store behind the memory", "out of bounds (global)", f"{_ARGUMENT}v_mov_b32 v1, 0x200; v_mov_b32 v2, 0; global_store_b32 v1, v2, s[2:3]{_END}",
           f"{_ARGUMENT}v_mov_b32 v1, 0x1fc; v_mov_b32 v2, 0; global_store_b32 v1, v2, s[2:3]{_END}"),
    SeededDefect("a load before the memory", "out of bounds (global)", f"{_ARGUMENT}v_mov_b32 v1, 0; global_load_b32 v2, v1, s[2:3] offset:-4{_END}",
           f"{_ARGUMENT}v_mov_b32 v1, 0; global_load_b32 v2, v1, s[2:3]{_END}"),
    SeededDefect("a load across the end", "out of bounds (global)", f"{_ARGUMENT}v_mov_b32 v1, 0x1f8; global_load_b128 v[2:5], v1, s[2:3]{_END}",
           f"{_ARGUMENT}v_mov_b32 v1, 0x1f0; global_load_b128 v[2:5], v1, s[2:3]{_END}"),
    SeededDefect("a scalar load behind the memory", "out of bounds (global)", f"{_ARGUMENT}s_load_b64 s[4:5], s[2:3], 0x1fc{_END}",
           f"{_ARGUMENT}s_load_b64 s[4:5], s[2:3], 0x1f8{_END}"),
    SeededDefect("a buffer longer than its memory, read", "out of bounds (global)", f"{_buffer(0x400)}buffer_load_b32 v3, v1, s[4:7], s8 offen{_END}",
           f"{_buffer(0x200)}buffer_load_b32 v3, v1, s[4:7], s8 offen{_END}"),  # behind the buffer's end a load gives 0
    SeededDefect("a buffer longer than its memory, written", "out of bounds (global)", f"{_buffer(0x400)}buffer_store_b32 v2, v1, s[4:7], s8 offen{_END}",
           f"{_buffer(0x200)}buffer_store_b32 v2, v1, s[4:7], s8 offen{_END}"),
    SeededDefect("a buffer's offset that nobody wrote", "uninitialised", f"{_buffer(0x200)}buffer_load_b32 v3, v5, s[4:7], s8 offen{_END}",
           f"{_buffer(0x200)}buffer_load_b32 v3, off, s[4:7], s8{_END}"),
    SeededDefect("a buffer load that is not waited for", "missing wait", f"{_buffer(0x200)}buffer_load_b32 v3, off, s[4:7], s8; v_add_f32 v4, v3, v3{_END}",
           f"{_buffer(0x200)}buffer_load_b32 v3, off, s[4:7], s8; s_waitcnt vmcnt(0); v_add_f32 v4, v3, v3{_END}"),
    SeededDefect("a buffer with swizzled records", "trap", f"{_buffer(0x200)}{_SWIZZLED}buffer_load_b32 v3, off, s[4:7], s8{_END}",
           f"{_buffer(0x200)}buffer_load_b32 v3, off, s[4:7], s8{_END}"),
    SeededDefect("LDS behind the group's", "out of bounds (LDS)", f"v_mov_b32 v1, 64; v_mov_b32 v2, 0; ds_store_b32 v1, v2{_END}",
           f"v_mov_b32 v1, 60; v_mov_b32 v2, 0; ds_store_b32 v1, v2{_END}", group=64),
    SeededDefect("scratch behind the lane's", "out of bounds (scratch)", f"v_mov_b32 v1, 16; v_mov_b32 v2, 0; scratch_store_b32 v1, v2, off{_END}",
           f"v_mov_b32 v1, 12; v_mov_b32 v2, 0; scratch_store_b32 v1, v2, off{_END}", private=16),
    SeededDefect("an atomic off its boundary", "misaligned", f"{_ARGUMENT}v_mov_b32 v1, 2; v_mov_b32 v2, 1; global_atomic_add_u32 v1, v2, s[2:3]{_END}",
           f"{_ARGUMENT}v_mov_b32 v1, 4; v_mov_b32 v2, 1; global_atomic_add_u32 v1, v2, s[2:3]{_END}"),
    SeededDefect("a scalar load off its boundary", "misaligned", f"{_ARGUMENT}s_load_b32 s4, s[2:3], 0x2{_END}", f"{_ARGUMENT}s_load_b32 s4, s[2:3], 0x4{_END}"),
    SeededDefect("LDS that nobody wrote", "uninitialised", f"v_mov_b32 v1, 0; ds_load_b32 v2, v1{_END}",
           f"v_mov_b32 v1, 0; v_mov_b32 v3, 0; ds_store_b32 v1, v3; ds_load_b32 v2, v1{_END}", group=64),
    SeededDefect("a half of LDS that nobody wrote", "uninitialised", f"v_mov_b32 v1, 0; v_mov_b32 v3, 0; ds_store_b16 v1, v3; ds_load_u16 v2, v1 offset:2{_END}",
           f"v_mov_b32 v1, 0; v_mov_b32 v3, 0; ds_store_b16 v1, v3; ds_load_b32 v2, v1{_END}", group=64),  # what fills up a structure may be read
    SeededDefect("an address that nobody wrote", "uninitialised", f"{_ARGUMENT}global_load_b32 v2, v5, s[2:3]{_END}",
           f"{_ARGUMENT}v_mov_b32 v5, 0; global_load_b32 v2, v5, s[2:3]{_END}"),
    SeededDefect("a value that nobody wrote", "uninitialised", f"{_ARGUMENT}v_mov_b32 v1, 0; global_store_b32 v1, v5, s[2:3]{_END}",
           f"{_ARGUMENT}v_mov_b32 v1, 0; v_mov_b32 v5, 1; global_store_b32 v1, v5, s[2:3]{_END}"),
    SeededDefect("a scalar address that nobody wrote", "uninitialised", f"{_ARGUMENT}{_OFFSET}{_END}", f"{_ARGUMENT}s_mov_b32 s9, 0; {_OFFSET}{_END}"),
    SeededDefect("a scalar offset that nobody wrote", "uninitialised", f"{_buffer(0x200)}buffer_load_b32 v3, off, s[4:7], s9{_END}",
           f"{_buffer(0x200)}buffer_load_b32 v3, off, s[4:7], s8{_END}"),
    SeededDefect("two workgroups write one place", "race", f"{_GROUP}v_mov_b32 v1, 0; global_store_b32 v1, v3, s[2:3]{_END}",
           f"{_GROUP}v_mov_b32 v1, 0; global_store_b32 v1, v1, s[2:3]{_END}", groups=3),  # the same value by all is none
    SeededDefect("a workgroup reads what another writes", "race",
           f"{_GROUP}v_lshlrev_b32 v1, 2, v3; v_xor_b32 v2, 4, v1; v_add_nc_u32 v4, 7, v3; global_store_b32 v1, v4, s[2:3]; global_load_b32 v5, v2, s[2:3]{_END}",
           f"{_GROUP}v_lshlrev_b32 v1, 2, v3; v_xor_b32 v2, 4, v1; v_add_nc_u32 v4, 7, v3; global_store_b32 v1, v4, s[2:3]; global_load_b32 v5, v1, s[2:3]{_END}", groups=2),
    SeededDefect("workgroups that cannot wait for each other", "race", f"{_GROUP}v_mov_b32 v1, 0; global_store_b32 v1, v3, s[2:3]{_END}",
           f"{_GROUP}v_mov_b32 v1, 0; global_store_b32 v1, v3, s[2:3]; global_atomic_add_u32 v1, v3, s[2:3] offset:8{_END}", groups=2),
    SeededDefect("two waves write one place", "race", f"v_mov_b32 v1, 0; v_mov_b32 v2, 1; ds_store_b32 v1, v2{_END}",
           f"v_lshlrev_b32 v1, 2, v0; v_mov_b32 v2, 1; ds_store_b32 v1, v2{_END}", group=256, items=64),
    SeededDefect("no barrier between a write and a read", "race", f"v_lshlrev_b32 v1, 2, v0; ds_store_b32 v1, v0; v_xor_b32 v2, 0x80, v1; ds_load_b32 v3, v2{_END}",
           f"v_lshlrev_b32 v1, 2, v0; ds_store_b32 v1, v0; s_waitcnt lgkmcnt(0); s_barrier; v_xor_b32 v2, 0x80, v1; ds_load_b32 v3, v2{_END}", group=256, items=64),
    SeededDefect("no barrier between a read and a write", "race",
           f"v_lshlrev_b32 v1, 2, v0; ds_store_b32 v1, v0; s_waitcnt lgkmcnt(0); s_barrier; v_xor_b32 v2, 0x80, v1; ds_load_b32 v3, v2; s_waitcnt lgkmcnt(0); ds_store_b32 v1, v3{_END}",
           f"v_lshlrev_b32 v1, 2, v0; ds_store_b32 v1, v0; s_waitcnt lgkmcnt(0); s_barrier; v_xor_b32 v2, 0x80, v1; ds_load_b32 v3, v2; s_waitcnt lgkmcnt(0); s_barrier; ds_store_b32 v1, v3{_END}",
           group=256, items=64),
    SeededDefect("a global load that is not waited for", "missing wait", f"{_ARGUMENT}v_mov_b32 v1, 0; global_load_b32 v2, v1, s[2:3]; v_add_f32 v3, v2, v2{_END}",
           f"{_ARGUMENT}v_mov_b32 v1, 0; global_load_b32 v2, v1, s[2:3]; s_waitcnt vmcnt(0); v_add_f32 v3, v2, v2{_END}"),
    SeededDefect("a wait for the first of two loads", "missing wait",
           f"{_ARGUMENT}v_mov_b32 v1, 0; global_load_b32 v2, v1, s[2:3]; global_load_b32 v4, v1, s[2:3]; s_waitcnt vmcnt(1); v_add_f32 v3, v4, v4{_END}",
           f"{_ARGUMENT}v_mov_b32 v1, 0; global_load_b32 v2, v1, s[2:3]; global_load_b32 v4, v1, s[2:3]; s_waitcnt vmcnt(1); v_add_f32 v3, v2, v2{_END}"),
    SeededDefect("a second load into a register that is not waited for", "missing wait",
           f"{_LOADED}s_waitcnt vmcnt(0); v_add_f32 v3, v2, v2; global_load_b32 v2, v1, s[2:3]; v_add_f32 v4, v2, v2{_END}",
           f"{_LOADED}s_waitcnt vmcnt(0); v_add_f32 v3, v2, v2; global_load_b32 v2, v1, s[2:3]; s_waitcnt vmcnt(0); v_add_f32 v4, v2, v2{_END}"),
    SeededDefect("a load that the next round of a loop does not wait for", "missing wait",
           f"{_ARGUMENT}v_mov_b32 v1, 0; s_mov_b32 s4, 2; v_add_f32 v3, v2, v2; global_load_b32 v2, v1, s[2:3]; {_ROUND}s_cbranch_scc1 65530{_END}",
           f"{_ARGUMENT}v_mov_b32 v1, 0; s_mov_b32 s4, 2; v_add_f32 v3, v2, v2; global_load_b32 v2, v1, s[2:3]; s_waitcnt vmcnt(0); {_ROUND}s_cbranch_scc1 65529{_END}"),
    SeededDefect("a second scalar load that is not waited for", "missing wait",
           f"{_ARGUMENT}s_add_u32 s5, s2, s2; s_load_b32 s2, s[2:3], 0x0; s_add_u32 s6, s2, s2{_END}",
           f"{_ARGUMENT}s_add_u32 s5, s2, s2; s_load_b32 s2, s[2:3], 0x0; s_waitcnt lgkmcnt(0); s_add_u32 s6, s2, s2{_END}"),
    SeededDefect("a half that is not waited for",  "missing wait",
           f"{_ARGUMENT}v_mov_b32 v1, 0; global_load_d16_b16 v2, v1, s[2:3]; global_load_d16_hi_b16 v2, v1, s[2:3]; v_add_f32 v3, v2, v2{_END}",
           f"{_ARGUMENT}v_mov_b32 v1, 0; global_load_d16_b16 v2, v1, s[2:3]; global_load_d16_hi_b16 v2, v1, s[2:3]; s_waitcnt vmcnt(0); v_add_f32 v3, v2, v2{_END}"),
    SeededDefect("an LDS load that is not waited for", "missing wait", f"v_mov_b32 v1, 0; ds_store_b32 v1, v1; ds_load_b32 v2, v1; v_add_f32 v3, v2, v2{_END}",
           f"v_mov_b32 v1, 0; ds_store_b32 v1, v1; ds_load_b32 v2, v1; s_waitcnt lgkmcnt(0); v_add_f32 v3, v2, v2{_END}", group=64),
    SeededDefect("a scalar load that is not waited for", "missing wait", f"{_ARGUMENT}s_load_b32 s4, s[2:3], 0x0; s_add_u32 s5, s4, s4{_END}",
           f"{_ARGUMENT}s_load_b32 s4, s[2:3], 0x0; s_waitcnt lgkmcnt(0); s_add_u32 s5, s4, s4{_END}"),
    SeededDefect("CDNA's offset register that is not waited for", "missing wait",
           f"{_CDNA}s_load_dword s4, s[2:3], 0x0; s_load_dword s6, s[2:3], s4{_END}",  # s0 is no offset where the field has a number
           f"{_CDNA}s_load_dword s0, s[2:3], 0x0; s_load_dword s6, s[2:3], 0x4{_END}", items=64, target="gfx942"),
    SeededDefect("a load into LDS that is not waited for", "missing wait", f"{_INTO_LDS}ds_read_b32 v2, v1{_END}",
           f"{_INTO_LDS}s_waitcnt vmcnt(0); ds_read_b32 v2, v1{_END}", group=256, items=64, target="gfx942"),
    SeededDefect("a buffer's load into LDS that is not waited for", "missing wait", f"{_INTO_LDS_BY_BUFFER}s_waitcnt lgkmcnt(0); ds_read_b32 v2, v1{_END}",
           f"{_INTO_LDS_BY_BUFFER}s_waitcnt vmcnt(0); ds_read_b32 v2, v1{_END}", group=256, items=64, target="gfx942"),
    SeededDefect("a barrier before a load into LDS has arrived", "missing wait", f"{_INTO_LDS}s_barrier; v_xor_b32 v2, 0x100, v1; ds_read_b32 v3, v2{_END}",
           f"{_INTO_LDS}s_waitcnt vmcnt(0); s_barrier; v_xor_b32 v2, 0x100, v1; ds_read_b32 v3, v2{_END}", group=512, items=128, target="gfx942"),
    SeededDefect("a word that a load into LDS still writes", "missing wait", f"{_INTO_LDS}ds_write_b32 v1, v0{_END}",
           f"{_INTO_LDS}s_waitcnt vmcnt(0); ds_write_b32 v1, v0{_END}", group=256, items=64, target="gfx942"),
    SeededDefect("CDNA's count of a load before a store", "missing wait", f"{_STORED_BEHIND}s_waitcnt vmcnt(2); v_add_f32 v3, v2, v2{_END}",
           f"{_STORED_BEHIND}s_waitcnt vmcnt(1); v_add_f32 v3, v2, v2{_END}", items=64, target="gfx942"),
    SeededDefect("a barrier before a store into LDS is done", "missing wait", f"{_EXCHANGED}s_barrier; v_xor_b32 v2, 0x80, v1; ds_load_b32 v3, v2{_END}",
           f"{_EXCHANGED}s_waitcnt lgkmcnt(0); s_barrier; v_xor_b32 v2, 0x80, v1; ds_load_b32 v3, v2{_END}", group=256, items=64),
    SeededDefect("a wait behind the barrier for a store before it", "missing wait",
           f"{_EXCHANGED}s_barrier; s_waitcnt lgkmcnt(0); v_xor_b32 v2, 0x80, v1; ds_load_b32 v3, v2{_END}",
           f"{_EXCHANGED}s_barrier; ds_load_b32 v3, v1{_END}", group=256, items=64),  # a wave's own are in order
    SeededDefect("a barrier before a load of what is overwritten is done", "missing wait",
           f"{_EXCHANGED}s_waitcnt lgkmcnt(0); s_barrier; {_OTHERS}s_barrier; ds_store_b32 v1, v0{_END}",
           f"{_EXCHANGED}s_waitcnt lgkmcnt(0); s_barrier; {_OTHERS}s_waitcnt lgkmcnt(0); s_barrier; ds_store_b32 v1, v0{_END}", group=256, items=64),
    SeededDefect("a memory access too early behind its scalar address", "missing wait", f"{_FIRST_LANES}s_nop 3; global_load_dword v6, v1, s[4:5]{_END}",
           f"{_FIRST_LANES}s_nop 4; global_load_dword v6, v1, s[4:5]{_END}", group=256, items=64, target="gfx942"),
    SeededDefect("v_div_fmas too early behind VCC", "missing wait", f"v_mov_b32 v1, 1.0; v_cmp_gt_f32 vcc, 1.0, v1; s_nop 2; v_div_fmas_f32 v2, v1, v1, v1{_END}",
           f"v_mov_b32 v1, 1.0; v_cmp_gt_f32 vcc, 1.0, v1; s_nop 3; v_div_fmas_f32 v2, v1, v1, v1{_END}", group=256, items=64, target="gfx942"),
    SeededDefect("a lane's number too early behind the vector ALU", "missing wait", f"v_mov_b32 v1, 0; s_nop 0; v_readfirstlane_b32 s4, v1; s_nop 2; v_readlane_b32 s5, v0, s4{_END}",
           f"v_mov_b32 v1, 0; s_nop 0; v_readfirstlane_b32 s4, v1; s_nop 3; v_readlane_b32 s5, v0, s4{_END}", group=256, items=64, target="gfx942"),
    SeededDefect("DPP too early behind its register", "missing wait", f"v_mov_b32 v1, v0; s_nop 0; {_DPP.format(1)}{_END}",
           f"v_mov_b32 v1, v0; s_nop 1; {_DPP.format(1)}{_END}", group=256, items=64, target="gfx942"),
    SeededDefect("DPP too early behind EXEC", "missing wait", f"{_MASKED}s_nop 3; {_DPP.format(0)}{_END}",
           f"{_MASKED}s_nop 4; {_DPP.format(0)}{_END}", group=256, items=64, target="gfx942"),
    SeededDefect("vccz too early behind VCC", "missing wait", f"v_cmp_gt_u32 vcc, 32, v0; s_nop 3; v_mov_b32 v1, src_vccz{_END}",
           f"v_cmp_gt_u32 vcc, 32, v0; s_nop 4; v_mov_b32 v1, src_vccz{_END}", group=256, items=64, target="gfx942"),
    SeededDefect("a load into LDS too early behind M0", "missing wait", f"{_CDNA}s_mov_b32 m0, 0; global_load_lds_dword v1, s[2:3]{_END}",
           f"{_CDNA}s_mov_b32 m0, 0; s_nop 0; global_load_lds_dword v1, s[2:3]{_END}", group=256, items=64, target="gfx942"),
    SeededDefect("the vector ALU too early behind its scalar", "missing wait", f"v_readlane_b32 s4, v0, 0; s_nop 0; v_add_u32 v1, s4, v0{_END}",
           f"v_readlane_b32 s4, v0, 0; s_nop 1; v_add_u32 v1, s4, v0{_END}", group=256, items=64, target="gfx942"),
    SeededDefect("a lane's value too early behind EXEC", "missing wait", f"{_MASKED}s_nop 2; v_readfirstlane_b32 s4, v0{_END}",
           f"{_MASKED}s_nop 3; v_readfirstlane_b32 s4, v0{_END}", group=256, items=64, target="gfx942"),
    SeededDefect("a lane's value too early behind its register", "missing wait", f"v_mov_b32 v1, 0; v_readfirstlane_b32 s4, v1{_END}",
           f"v_mov_b32 v1, 0; s_nop 0; v_readfirstlane_b32 s4, v1{_END}", group=256, items=64, target="gfx942"),
    SeededDefect("a reciprocal that is read too early", "missing wait", f"v_rcp_f32 v1, v0; v_add_f32 v2, v1, v1{_END}",
           f"v_rcp_f32 v1, v0; s_nop 0; v_add_f32 v2, v1, v1{_END}", group=256, items=64, target="gfx942"),
    SeededDefect("waves at two barriers", "divergent barrier", f"v_cmp_gt_u32 VCC, 32, v0; s_cbranch_vccz 2; s_barrier; s_branch 1; s_barrier{_END}",
           f"v_cmp_gt_u32 VCC, 32, v0; s_cbranch_vccz 1; s_nop 0; s_barrier{_END}", items=64),
    SeededDefect("a lane that is not active", "inactive lane", f"v_mov_b32 v1, 4; s_mov_b32 exec_lo, 1; ds_bpermute_b32 v2, v1, v0{_END}",
           f"v_mov_b32 v1, 4; s_mov_b32 exec_lo, 3; ds_bpermute_b32 v2, v1, v0{_END}"),
    SeededDefect("a swizzle from a lane that is not active", "inactive lane", f"s_mov_b32 exec_lo, 5; ds_swizzle_b32 v2, v0 offset:0x041f{_END}",
           f"s_mov_b32 exec_lo, 3; ds_swizzle_b32 v2, v0 offset:0x041f{_END}"),  # each with its neighbour's value
    SeededDefect("a descriptor that flushes denormals", "denormal mode", "s_endpgm", "s_endpgm", flushes=True),
    SeededDefect("another rounding", "trap", f"s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 15{_END}", f"s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 0{_END}"),
    SeededDefect("no end", "end of code", "s_nop 0; s_nop 0", "s_nop 0; s_endpgm"),
    SeededDefect("no way out", "time limit", f"s_branch 65535{_END}", f"s_branch 0{_END}"),
    *(SeededDefect(f"{name} is not waited for", "missing wait", f"{_LOADED}{text}{_END}", f"{_LOADED}s_waitcnt vmcnt(0); {text}{_END}")
      for name, text in _FORMS.items()),
    *(SeededDefect(f"{name} is not waited for", "missing wait", f"{_CDNA_LOADED}{text}{_END}", f"{_CDNA_LOADED}s_waitcnt vmcnt(0); {text}{_END}",
                   items=64, target="gfx942") for name, text in _CDNA_FORMS.items()),
    SeededDefect("a dual instruction's scalar is not waited for", "missing wait", f"{_SCALAR_LOADED}{_DUAL_SCALAR}{_END}",
           f"{_SCALAR_LOADED}s_waitcnt lgkmcnt(0); {_DUAL_SCALAR}{_END}"),
    SeededDefect("SDWA's scalar is not waited for", "missing wait", f"{_CDNA}s_load_dword s4, s[2:3], 0x0; {_SDWA_SCALAR}{_END}",
           f"{_CDNA}s_load_dword s4, s[2:3], 0x0; s_waitcnt lgkmcnt(0); {_SDWA_SCALAR}{_END}", items=64, target="gfx942"),
    SeededDefect("an address in scratch that is not waited for", "missing wait", f"{_IDS_LOADED}scratch_store_b32 v0, v3, off{_END}",
           f"{_IDS_LOADED}scratch_store_b32 off, v3, off{_END}", private=16),  # a field of zeros is not v0
    SeededDefect("CDNA's address in scratch that is not waited for", "missing wait", f"{_CDNA_IDS_LOADED}scratch_store_dword v0, v3, off{_END}",
           f"{_CDNA_IDS_LOADED}scratch_store_dword off, v3, off{_END}", private=16, items=64, target="gfx942"),
    SeededDefect("an atomic's old value over a load under way", "missing wait", f"{_IDS_LOADED}global_atomic_add_u32 v0, v1, v3, s[2:3] glc{_END}",
           f"{_IDS_LOADED}global_atomic_add_u32 v1, v3, s[2:3]{_END}"),
    SeededDefect("an old value of LDS over a load under way", "missing wait", f"{_IDS_LOADED}ds_store_b32 v1, v3; ds_add_rtn_u32 v0, v1, v3{_END}",
           f"{_IDS_LOADED}ds_store_b32 v1, v3; ds_add_u32 v1, v3{_END}", group=128),
    SeededDefect("RDNA3's wait of its own for one load of one", "missing wait", f"{_LOADED}s_waitcnt_vmcnt null, 0x1; v_add_f32 v3, v2, v2{_END}",
           f"{_LOADED}s_waitcnt_vmcnt null, 0x0; v_add_f32 v3, v2, v2{_END}"),
    SeededDefect("RDNA3's wait of its own for one scalar load of one", "missing wait", f"{_SCALAR_LOADED}s_waitcnt_lgkmcnt null, 0x1; s_add_u32 s5, s4, s4{_END}",
           f"{_SCALAR_LOADED}s_waitcnt_lgkmcnt null, 0x0; s_add_u32 s5, s4, s4{_END}"),
    SeededDefect("a trap", "trap", f"s_trap 2{_END}", f"s_nop 0{_END}"),
)  # fmt: skip
