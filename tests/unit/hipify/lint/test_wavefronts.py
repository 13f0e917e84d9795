"""Whether a warp of 32 lanes matters in a text: then a ladder or a constant of 32 is a warning, else a note."""

from __future__ import annotations

import pytest

from support.lint_samples import rule_severities

LADDER = "for (int o = 16; o > 0; o /= 2) v += __shfl_down_sync(m, v, o);"


def severities(text: str, rule: str) -> list[str]:
    return [severity for name, _, severity in rule_severities(text) if name == rule]


@pytest.mark.parametrize(
    ("body", "severity"),
    [
        (LADDER, "note"),
        (f"if (threadIdx.x < 32) {{ {LADDER} }}", "note"),
        (f"int lane = threadIdx.x % 32; {LADDER} if (lane == 0) out[0] = v;", "note"),
        (f"{LADDER} return __shfl_sync(m, v, 0);", "warning"),
        (f"{LADDER} return __shfl_sync(m, v, 0, 32);", "note"),
        (f"{LADDER} std::shuffle(a, b, c);", "note"),
        (f"int lane = threadIdx.x % warpSize; {LADDER} if (lane == 0) out[0] = v;", "warning"),
        (f'int lane; asm("mov.u32 %0, %%laneid;" : "=r"(lane)); {LADDER}', "warning"),
        (f"dim3 warpSize = size(); {LADDER} if (t % warpSize.x == 0) out[0] = v;", "note"),
        ("for (int i = 0; i < 32; i++) r[i] = __shfl_sync(m, v, i);", "warning"),
        ("for (int i = 0; i < 32; i++) r[i] = SHFL_SYNC(m, v, i);", "warning"),
    ],
)
def test_a_ladder_matters_beside_what_is_of_the_whole_wavefront(body: str, severity: str) -> None:
    text = f"__device__ float r(float v, unsigned m) {{ {body} return v; }}\n"
    assert severities(text, "LINT-LADDER-32") == [severity]


@pytest.mark.parametrize(
    ("caller", "severity"),
    [
        ("float g(float v) { return r(v, 1); }", "note"),
        ("float g(float v) { return __shfl_sync(m, r(v, 1), 0); }", "warning"),
        ("float g(float v) { return __shfl_sync(m, v, 0); }", "note"),
        ("float g(float v) { return r(v, 1) + warpSize; }", "warning"),
    ],
)
def test_a_ladder_matters_where_its_caller_asks_lanes_by_number(caller: str, severity: str) -> None:
    text = f"__device__ float r(float v, unsigned m) {{ {LADDER} return v; }}\n__device__ {caller}\n"
    assert severities(text, "LINT-LADDER-32") == [severity]


@pytest.mark.parametrize(
    ("text", "severity"),
    [
        ("#define WARP_SIZE 32\n", "note"),
        ("#define WARP_SIZE 32\n__device__ int f(int t) { return t % WARP_SIZE; }\n", "note"),
        ("#define WARP_SIZE 32\n__device__ int f(int t) { return __ballot_sync(m, t % WARP_SIZE); }\n", "warning"),
        ("#define WARP_SIZE 32\n__device__ int f(int t) { return __ballot_sync(m, t); }\n", "note"),
        ("#define WARP_SIZE 32\n__device__ int f(int t) { return __shfl_sync(m, t, t % WARP_SIZE); }\n", "warning"),
        ("#define WARP_SIZE 32\n__device__ int f(int t) { return __shfl_sync(m, t, t % 4, WARP_SIZE); }\n", "note"),
        ("#define WARP_SIZE 32\nvoid f() { k<<<1, WARP_SIZE>>>(); }\n", "note"),
        ("void f() { const int warp_size = 32; k<<<1, warp_size>>>(); }\nvoid g() { __any(1); }\n", "note"),
        ("__device__ void f(int t) { const int warp_size = 32; if (t < warp_size) __any(1); }\n", "warning"),
    ],
)
def test_a_constant_matters_where_it_is_used_beside_what_asks_all_lanes(text: str, severity: str) -> None:
    assert severities(text, "LINT-WARP-SIZE-LITERAL") == [severity]
