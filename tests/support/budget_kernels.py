"""A kernel for gfx1100 with a hot loop, and the same kernel with defects that cost time and change no result: the check of budgets.

They are assembled with the rows of `instruction_rows.py`. The argument is the address of 512 bytes; the loop runs 100 times.
"""

from __future__ import annotations

_HEAD = "s_load_b64 s[2:3], s[0:1], 0x0; s_waitcnt lgkmcnt(0); v_mov_b32 v1, s2; v_mov_b32 v2, s3; v_mov_b32 v3, 0; s_movk_i32 s4, 0x64; "
_SUMS = "v_add_f32 v4, v4, v5; " * 12
_LOOP = "s_addk_i32 s4, 0xffff; s_cmp_lg_u32 s4, 0; s_cbranch_scc1 {back}; s_endpgm"


def _kernel(load: str, words: int, more: str = "") -> str:
    """The loop: a load, a wait, 12 sums and what is added; `words` of four bytes jump back over all of it."""
    return f"{_HEAD}{load}; s_waitcnt vmcnt(0) lgkmcnt(0); {_SUMS}{more}{_LOOP.format(back=65536 - words)}"


HOT_LOOP = _kernel("global_load_b32 v5, v3, s[2:3]", 18)
ONE_MORE = _kernel("global_load_b32 v5, v3, s[2:3]", 19, "v_mov_b32 v6, v4; ")
"""One instruction more among 17 of the loop."""
FLAT = _kernel("flat_load_b32 v5, v[1:2]", 18)
"""The load as a FLAT access."""
KERNELS = (HOT_LOOP, ONE_MORE, FLAT)
