"""Snippets written against lint by somebody who ports to wavefronts of 64, before lint had seen them.

Each has the rule it must be told by, or the family of rules that must stay silent: the second half looks alike and is right.
"""

from __future__ import annotations

import pytest

from support.hipify import hip

GUILTY = [
    ("LINT-LADDER-INCOMPLETE", "for (auto d = 16u; d != 1; d >>= 1) x = min(x, __shfl_xor_sync(FULL, x, d));"),
    ("LINT-LADDER-INCOMPLETE", "int s = 32; while ((s /= 2) > 1) { x += __shfl_down_sync(FULL, x, s); }"),
    ("LINT-LADDER-INCOMPLETE", "for (int k = 0; k < 4; ++k) { int d = 16 >> k; x += __shfl_xor_sync(FULL, x, d); }"),
    ("LINT-LADDER-INCOMPLETE", "for (int i = 1; i <= 8; i <<= 2) x += __shfl_up_sync(FULL, x, i);"),
    ("LINT-LADDER-INCOMPLETE", "static const int H = 32 / 2; for (int o = H; o >= H; o >>= 1) x += __shfl_down_sync(FULL, x, o);"),
    ("LINT-LADDER-32", "#pragma unroll 5\n for (uint32_t m = 0x10; m; m >>= 1) x = fmaxf(x, __shfl_xor_sync(0xffffffff, x, m));"),
    ("LINT-LADDER-32", "int d = 1; do { int y = __shfl_up_sync(FULL, x, d); if (lane >= d) x += y; d *= 2; } while (d < 32);"),
    ("LINT-LADDER-32", "for (int m = 1; m < 32; m = m << 1) { float y = __shfl_xor_sync(FULL, x, m, 64 / 1); x += y; }"),
    ("LINT-LADDER-32", "x = max(x, __shfl_xor_sync(FULL, x, 1)); x = max(x, __shfl_xor_sync(FULL, x, 2)); x = max(x, __shfl_xor_sync(FULL, x, 4));"
     " x = max(x, __shfl_xor_sync(FULL, x, 8)); x = max(x, __shfl_xor_sync(FULL, x, 16));"),
    ("LINT-LADDER-32", "for (int r = 5; r-- > 0;) x ^= __shfl_xor_sync(FULL, x, 1 << r);"),
    ("LINT-BALLOT-32", "const auto votes = __ballot_sync(FULL, x > 0); if (lane == 0) n = __popc(votes);"),
    ("LINT-BALLOT-32", "unsigned int ballot, other = 0; ballot = __ballot_sync(FULL, x > 0);"),
    ("LINT-BALLOT-32", "int leader = __ffs(__match_any_sync(__activemask(), key)) - 1;"),
    ("LINT-BALLOT-32", "uint32_t peers = __match_any_sync(FULL, key) & ~me;"),
    ("LINT-BALLOT-32", "bool all = __ballot_sync(FULL, x > 0) == 0xFFFFFFFFu;"),
    ("LINT-BALLOT-32", "uint32_t parts[2]; parts[0] = __ballot_sync(FULL, x & 1); parts[1] = 0;"),
    ("LINT-BALLOT-32", "int last = 31 - __clz(__ballot_sync(FULL, x > 0));"),
    ("LINT-LANE-MASK-32", "unsigned below = (1u << (threadIdx.x & 31)) - 1u;"),
    ("LINT-LANE-MASK-32", "if (votes & (1 << laneid)) n++;"),
    ("LINT-PARTIAL-MASK", "constexpr unsigned LOWER = 0x0000ffff; x += __shfl_down_sync(LOWER, x, 8);"),
    ("LINT-PTX", 'asm __volatile__("{ .reg .u32 t; mov.u32 t, %%lanemask_lt; mov.u32 %0, t; }" : "=r"(n));'),
    ("LINT-PTX", 'asm volatile\n(\n "cp.async.cg.shared.global [%0], [%1], 16;"\n :: "r"(a), "l"(b));'),
    ("LINT-PTX", 'asm volatile("@!p bra DONE;\\n");'),
    ("LINT-CUDA-ARCH", "if constexpr (__CUDA_ARCH__ >= 900) { x = 1; }"),
    ("LINT-CUDA-ARCH", "\n#if !defined(X) || \\\n    (__CUDA_ARCH__ < 700)\n#endif\n"),
    ("LINT-CUDA-STD", "cuda::atomic_ref<int, cuda::thread_scope_block> r(n);"),
    ("LINT-DEVICE-LAUNCH", "child<<<1, 32>>>(n);"),
    ("LINT-DEVICE-NAME", "n = __cvta_generic_to_shared(&x);"),
    ("LINT-WARP-SIZE-CONSTANT", "__shared__ float part[1024 / warpSize];"),
    ("LINT-LANE-ARITHMETIC", "const int wid = threadIdx.x >> 5, lid = threadIdx.x & 31;"),
]  # fmt: skip

INNOCENT = [
    ("LADDER", "for (int o = warpSize >> 1; o >= 1; o >>= 1) x += __shfl_xor(x, o);"),
    ("LADDER", "for (int o = 4; o > 0; o >>= 1) x += __shfl_xor_sync(FULL, x, o, 8);"),
    ("LADDER", "x += __shfl_xor_sync(FULL, x, 1); x += __shfl_xor_sync(FULL, x, 2);"),
    ("LADDER", "for (int i = 0; i < 8; ++i) v[i] = __shfl_sync(FULL, x, i, 8);"),
    ("LADDER", "for (int o = NT / 2; o > 0; o /= 2) { __syncthreads(); if (t < o) s[t] += s[t + o]; }"),
    ("LADDER", "for (int o = 16; o >= 16; o >>= 1) s[t] += s[t + o]; y = __shfl_sync(FULL, x, 0);"),
    ("LADDER", "for (int stage = 0; stage < n; ++stage) y = __shfl_sync(FULL, x, src[stage]);"),
    ("LADDER", "for (int o = GROUP / 2; o >= ROWS; o /= 2) x += __shfl_xor_sync(FULL, x, o);"),
    ("LADDER", "const int half = kWarpSize / 2; int o = half; while (o) { x += __shfl_down_sync(FULL, x, o); o >>= 1; }"),
    ("LADDER", "for (int o = 1; o < tile.size(); o *= 2) x += tile.shfl_up(x, o);"),
    ("LADDER", "for (int b = 16; b > 0; b >>= 1) { y ^= b; } z = __shfl_sync(FULL, y, 3);"),
    ("BALLOT", "unsigned long long votes = __ballot_sync(FULL, x > 0); n = __popcll(votes);"),
    ("BALLOT", "if (__ballot_sync(FULL, x > 0) != 0) n = 1;"),
    ("BALLOT", "int any = !!__ballot(x > 0);"),
    ("BALLOT", "bool mine = (__ballot(x > 0) >> lane) & 1ull;"),
    ("BALLOT", "uint64_t a = 0; a |= __ballot(x); lo = (uint32_t)(a & 0xffffffff);"),
    ("BALLOT", "auto t = cooperative_groups::tiled_partition<16>(b); unsigned m = t.ballot(x > 0);"),
    ("BALLOT", "size_t first = __ffsll((long long)__ballot(x > 0));"),
    ("MASK", "unsigned long long below = (1ull << lane) - 1;"),
    ("MASK", "int stride = 1 << level; int planes = 1 << nplanes;"),
    ("MASK", "x = __shfl_sync(~0ull, x, 0); x = __shfl_sync(0xffffffff, x, 0);"),
    ("PTX", 'asm volatile("s_waitcnt vmcnt(0)");'),
    ("PTX", 'asm volatile("" ::: "memory");'),
    ("PTX", 'const char* help = "asm(\\"mov.u32\\")"; int asm_count = 0;'),
    ("CUDA-ARCH", "\n#if defined(__HIP_DEVICE_COMPILE__) || defined(__CUDA_ARCH__)\n#endif\n"),
    ("CUDA-ARCH", 'const char* s = "__CUDA_ARCH__"; // __CUDA_ARCH__\n'),
    ("CUDA-STD", "at::cuda::CUDAStream s; c10::cuda::barrier b; my::cuda::std::thing t;"),
    ("DEVICE-LAUNCH", "} void host() { child<<<1, 32>>>(0); {"),
    ("WARP-SIZE", "int warps = 32; int n = warpSize * 2; extern __shared__ float s[];"),
    ("LANE-ARITHMETIC", "int q = size / 32, r = bytes % 32, h = hash & 31;"),
]  # fmt: skip


def rules(body: str) -> list[str]:
    text = f"__global__ void k(float x, int n, int lane) {{\n{body}\n}}\n"
    return [f.rule for f in hip(text).findings]


@pytest.mark.parametrize(("rule", "body"), GUILTY)
def test_what_is_wrong_is_told(rule: str, body: str) -> None:
    assert rule in rules(body)


@pytest.mark.parametrize(("family", "body"), INNOCENT)
def test_what_only_looks_alike_is_not(family: str, body: str) -> None:
    assert not [rule for rule in rules(body) if rule.startswith("LINT") and family in rule]
