"""Kernels whose answer depends on a mode of their descriptor. The argument is the address of 512 bytes."""

from __future__ import annotations

MAXIMUM = {
    "gfx1100": "s_load_b64 s[2:3], s[0:1], 0x0; s_waitcnt lgkmcnt(0); v_mov_b32 v1, 0; global_load_b32 v2, v1, s[2:3]; "
    "s_waitcnt vmcnt(0); v_max_f32 v3, 1.0, v2; global_store_b32 v1, v3, s[2:3]; s_endpgm",
    "gfx942": "s_load_dwordx2 s[2:3], s[0:1], 0x0; s_waitcnt lgkmcnt(0); v_mov_b32 v1, 0; global_load_dword v2, v1, s[2:3]; "
    "s_waitcnt vmcnt(0); v_max_f32 v3, 1.0, v2; global_store_dword v1, v3, s[2:3]; s_endpgm",
}
"""By target: the first word becomes the maximum of it and 1."""
PRELOADED = "v_mov_b32 v1, 0; v_mov_b32 v2, 7; global_store_dword v1, v2, s[2:3]; s_endpgm"
"""For gfx942: the first word becomes 7. The address is taken from the registers behind the pointer to the arguments."""
ROWS_OF_ITEMS = (
    "s_load_b64 s[2:3], s[0:1], 0x0; s_waitcnt lgkmcnt(0); v_bfe_u32 v1, v0, 10, 10; v_mov_b32 v2, 0; global_atomic_add_u32 v2, v1, s[2:3]; s_endpgm"
)
"""For gfx1100: the numbers of all work-items along y are added to the first word."""
