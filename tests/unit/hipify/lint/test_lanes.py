"""Masks of lanes, and arithmetic with a lane's number."""

from __future__ import annotations

import pytest

from support.lint_samples import found_rules, warp_function


@pytest.mark.parametrize(
    ("body", "rules"),
    [
        ("unsigned lt = (1u << lane) - 1;", ["LINT-LANE-MASK-32"]),
        ("unsigned bit = 1 << lane_id;", ["LINT-LANE-MASK-32"]),
        ("unsigned ge = 0xffffffffu << laneId;", ["LINT-LANE-MASK-32"]),
        ("unsigned long long lt = (1ull << lane) - 1;", []),
        ("int n = 1 << lane_bits;", []),
        ("auto lt = (config::mask_t(1) << lane) - 1;", []),
        ("auto lt = (uint32_t(1) << lane) - 1;", ["LINT-LANE-MASK-32"]),
        ("auto lt = (static_cast<uint32_t>(1u) << lane) - 1;", ["LINT-LANE-MASK-32"]),
        ("auto lt = (static_cast<decltype(mask)>(1u) << lane) - 1;", []),
        ("unsigned all = 0xffffffffu >> (WARP_SIZE - width);", []),
        ("unsigned le = 0xffffffffu >> (31 - lane);", ["LINT-LANE-MASK-32"]),
        ("int bit = (m >> lane) & 1;", []),
        ("v = __shfl_sync((1u << 16) - 1, v, 0);", ["LINT-PARTIAL-MASK"]),
        ("const unsigned half = 0xffff; v = __shfl_sync(half, v, 0);", ["LINT-PARTIAL-MASK"]),
        ("constexpr unsigned kFull = 0xffffffff; v = __shfl_sync(kFull, v, 0);", []),
        ("v = __shfl_sync(0xffffffffull, v, 0);", []),
        ("if (lane == 31) x = v;", ["LINT-LANE-ARITHMETIC"]),
        ("if (cub::LaneId() == 31) x = v;", ["LINT-LANE-ARITHMETIC"]),
        ("v = __shfl_sync(~0ull, v, (threadIdx.x + 1) % 32);", ["LINT-LANE-ARITHMETIC"]),
        ("v = __shfl_sync(~0ull, v, threadIdx.x & 24);", ["LINT-LANE-ARITHMETIC"]),
        ("v = __shfl_sync(~0ull, v, threadIdx.x & 24, 32);", []),
        ("v = __shfl_sync(~0ull, v, flags & 24);", []),
        ("int next = (slot + 1) % 32;", []),
        ("int w = lane_id() >> 5;", ["LINT-LANE-ARITHMETIC"]),
        ("if (count == 31) x = v;", []),
    ],
)  # fmt: skip
def test_masks_of_lanes(body: str, rules: list[str]) -> None:
    assert [rule for rule, _ in found_rules(warp_function(body))] == rules
