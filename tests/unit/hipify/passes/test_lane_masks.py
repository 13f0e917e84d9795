"""Masks of lanes."""

from __future__ import annotations

import pytest

from support.hipify import hip


@pytest.mark.parametrize(
    ("cuda", "expected"),
    [
        ("__shfl_xor_sync(0xffffffff, v, 1)", "__shfl_xor_sync(0xffffffffffffffffULL, v, 1)"),
        ("__shfl_sync(0xFFFFFFFFu, v, 1)", "__shfl_sync(0xffffffffffffffffULL, v, 1)"),
        ("__any_sync(~0, p)", "__any_sync(0xffffffffffffffffULL, p)"),
        ("__any_sync(-1, p)", "__any_sync(0xffffffffffffffffULL, p)"),
        ("__all_sync(-1, p)", "__all_sync(stackbuild_hip::lane_mask(-1), p)"),
        ("__shfl_sync(m, v, 1)", "__shfl_sync(stackbuild_hip::lane_mask(m), v, 1)"),
        ("__shfl_sync(__activemask(), v, 1)", "__shfl_sync(__activemask(), v, 1)"),
        ("__shfl_sync(0xffffffffffffffffULL, v, 1)", "__shfl_sync(0xffffffffffffffffULL, v, 1)"),
        ("__shfl_sync((unsigned long long)(m), v, 1)", "__shfl_sync((unsigned long long)(m), v, 1)"),
        ("#define FULL_MASK 0xffffffff\n__shfl_sync(FULL_MASK, v, 1)", "#define FULL_MASK 0xffffffffffffffffULL\n__shfl_sync(FULL_MASK, v, 1)"),
        ("#define SHFL(v) \\\n  __shfl_sync(0xffffffff, v, 0)\n", "#define SHFL(v) \\\n  __shfl_sync(0xffffffffffffffffULL, v, 0)\n"),
        ("#define SIZE_MAX_32 0xffffffff\n", "#define SIZE_MAX_32 0xffffffff\n"),
        ("T __shfl_sync(unsigned mask, T v, int l);", "T __shfl_sync(unsigned mask, T v, int l);"),
        ("__syncwarp();", "__syncwarp();"),
        ("my::__shfl_sync(0xffffffff, v, 1)", "my::__shfl_sync(0xffffffff, v, 1)"),
    ],
)  # fmt: skip
def test_lane_masks_become_64_bits_wide(cuda: str, expected: str) -> None:
    text = hip(cuda, "k.cu").text
    assert (
        text.replace('#include "stackbuild_hip_compat.h"\n', "").replace("#include <hip/hip_runtime.h>\n", "")
        == expected
    )
