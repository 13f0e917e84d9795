from __future__ import annotations

import pytest

from stackbuild.hipify.lint.ladders.shuffles import reach
from stackbuild.hipify.model import Target
from stackbuild.model.findings import Severity
from support.hipify import hip


def found(text: str, target: Target | None = None) -> list[tuple[str, int]]:
    made = hip(text, target=target)
    return [(f.rule, f.place.line) for f in made.findings if f.rule.startswith("LINT") and f.place]


def ladder(head: str, call: str = "__shfl_xor_sync(m, v, o)") -> str:
    return f"__device__ float r(float v) {{\n  for ({head}) {{\n    v += {call};\n  }}\n  return v;\n}}\n"


@pytest.mark.parametrize(
    ("head", "call", "expected"),
    [
        ("int o = 16; o >= 16; o >>= 1", "__shfl_xor_sync(m, v, o)", "LINT-LADDER-INCOMPLETE"),  # lc0 pull request 2375
        ("int o = 16; o >= 1; o >>= 1", "__shfl_xor_sync(m, v, o)", "LINT-LADDER-32"),
        ("int o = 16; o > 0; o /= 2", "__shfl_down_sync(m, v, o)", "LINT-LADDER-32"),
        ("int o = 16; o > 1; o /= 2", "__shfl_down(v, o)", "LINT-LADDER-INCOMPLETE"),
        ("int o = 16; o; o >>= 1", "__shfl_down(v, o)", "LINT-LADDER-32"),
        ("int o = 16; o > 0; o = o / 2", "__shfl_xor(v, o)", "LINT-LADDER-32"),
        ("int o = 16; o > 0; o /= 4", "__shfl_xor(v, o)", "LINT-LADDER-INCOMPLETE"),
        ("int o = 1; o < 32; o *= 2", "__shfl_up_sync(m, v, o)", "LINT-LADDER-32"),
        ("int o = 1; o < 32; o <<= 1", "__shfl_up_sync(m, v, o)", "LINT-LADDER-32"),
        ("int o = 1; o <= 16; o *= 2", "__shfl_up_sync(m, v, o)", "LINT-LADDER-32"),
        ("unsigned int o = 32 / 2; o > 0; o >>= 1", "__shfl_xor_sync(m, v, o)", "LINT-LADDER-32"),
        ("int o = 32; o > 0; o >>= 1", "__shfl_xor_sync(m, v, o)", "LINT-LADDER-64"),
        ("int o = WARP_SIZE / 2; o >= WARP_SIZE / 2; o >>= 1", "__shfl_xor_sync(m, v, o)", "LINT-LADDER-INCOMPLETE"),
        ("int o = WARP_SIZE / 2; o > 0; o >>= 1", "__shfl_xor_sync(m, v, o)", None),
        ("int o = warpSize >> 1; o > 0; o >>= 1", "__shfl_xor_sync(m, v, o)", None),
        ("int o = 1; o < warpSize; o *= 2", "__shfl_up_sync(m, v, o)", None),
        ("int o = 8; o > 0; o >>= 1", "__shfl_xor_sync(m, v, o)", None),
        ("int o = 16; o > 0; o >>= 1", "__shfl_xor_sync(m, v, o, 32)", None),
        ("int o = 16; o > 0; o >>= 1", "f(o)", None),
        ("int o = n * k / 2; o >= k; o >>= 1", "__shfl_xor_sync(m, v, o)", None),
        ("int o = 16; o > 0; o >>= 1", "max(v, WARP_SHFL_XOR(v, o))", "LINT-LADDER-32"),
        ("int o = 16; o > 0; --o", "__shfl_xor_sync(m, v, o)", None),
        ("int o = 16; o > 0; o *= 2", "__shfl_xor_sync(m, v, o)", "LINT-LADDER-UNREAD"),
    ],
)  # fmt: skip
def test_ladders_are_evaluated(head: str, call: str, expected: str | None) -> None:
    ladders = [entry for entry in found(ladder(head, call)) if "LADDER" in entry[0]]
    assert ladders == ([(expected, 2)] if expected else [])


def test_a_ladder_of_32_matters_only_where_a_wavefront_has_64_lanes() -> None:
    text = ladder("int o = 16; o > 0; o >>= 1")
    assert found(text, Target(wavefronts=(32,))) == []
    assert found(text, Target(wavefronts=(64,))) == [("LINT-LADDER-32", 2)]


def test_an_incomplete_ladder_is_an_error_for_any_wavefront() -> None:
    made = hip(ladder("int o = 16; o >= 16; o >>= 1"), target=Target(wavefronts=(32,)))
    (finding,) = made.findings
    assert finding.severity is Severity.ERROR and "steps 16 does not reach every lane of a group of 32" in finding.found


@pytest.mark.parametrize(
    ("offsets", "lanes"), [((16, 8, 4, 2, 1), 32), ((16,), 2), ((16, 8, 4, 2), 16), ((1, 2, 4), 8), ((4, 4), 3)]
)
def test_reach(offsets: tuple[int, ...], lanes: int) -> None:
    assert reach(offsets) == lanes


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("#define WARP_SIZE 32\n", ["LINT-WARP-SIZE-LITERAL"]),
        ("constexpr int kWarpSize = 32;\n", ["LINT-WARP-SIZE-LITERAL"]),
        ("enum { WARP_THREADS = 32 };\n", ["LINT-WARP-SIZE-LITERAL"]),
        ("#define WARP_SIZE 64\n", []),
        ("int warps = 32;\n", []),
        ("constexpr int N = warpSize;\n", ["LINT-WARP-SIZE-CONSTANT"]),
        ("__shared__ int s[warpSize];\n", ["LINT-WARP-SIZE-CONSTANT"]),
        ("int n = warpSize;\n", []),
        ("int lane = threadIdx.x % 32;\n", ["LINT-LANE-ARITHMETIC"]),
        ("int w = tid >> 5;\n", ["LINT-LANE-ARITHMETIC"]),
        ("int x = size % 32;\n", []),
        ("int x = tid >> 50;\n", []),
        ("unsigned b = __ballot_sync(~0ull, p);\n", ["LINT-BALLOT-32"]),
        ("int n = __popc(__ballot_sync(~0ull, p));\n", ["LINT-BALLOT-32"]),
        ("unsigned long long b = __ballot_sync(~0ull, p); int n = __popcll(b);\n", []),
        ("v = __shfl_sync(0xffff, v, 0);\n", ["LINT-PARTIAL-MASK"]),
        ("v = __shfl_sync(0xffffffff, v, 0);\n", []),
        ("auto t = cg::tiled_partition<32>(b);\n", ["LINT-TILE-32"]),
        ("auto t = cg::tiled_partition<16>(b);\n", []),
        ('asm volatile("mov.u32 %0, %%laneid;" : "=r"(x));\n', ["LINT-PTX"]),
        ('asm("v_add_f32 %0, %1, %2" : "=v"(x));\n', []),
        ('// asm("mov.u32")\nconst char* s = "asm(\\"mov\\")";\n', []),
        ("texture<float, 1> tex;\n", ["LINT-TEXTURE-REFERENCE"]),
        ("v = tex1Dfetch<float>(tex, 0);\n", ["LINT-TEXTURE-FETCH"]),
        ("#include <mma.h>\nusing namespace nvcuda;\nwmma::fragment<int> f;\n", ["LINT-WMMA"] * 3),
        ("#include <cuda/std/atomic>\n", ["LINT-CUDA-STD"]),
        ("cuda::std::array<int, 2> a;\n", ["LINT-CUDA-STD"]),
        ("at::cuda::stream s;\n", []),
        ("__global__ void __launch_bounds__(256, 2) k();\n", ["LINT-LAUNCH-BOUNDS"]),
        ("__global__ void __launch_bounds__(256) k();\n", []),
        ("#if __CUDA_ARCH__ >= 800\n#endif\n", ["LINT-CUDA-ARCH"]),
        ("#if defined(__HIP_DEVICE_COMPILE__) || __CUDA_ARCH__ >= 800\n#endif\n", []),
        ("__pipeline_memcpy_async(a, b, 16);\n", ["LINT-ASYNC-COPY"]),
    ],
)  # fmt: skip
def test_lint(text: str, expected: list[str]) -> None:
    assert [rule for rule, _ in found(text)] == expected


def test_inline_ptx_comes_with_what_to_use_instead() -> None:
    made = hip('asm volatile("mov.u32 %0, %%laneid;" : "=r"(x));\n')
    (finding,) = [f for f in made.findings if f.rule == "LINT-PTX"]
    assert finding.fix == "use __lane_id()" and finding.severity is Severity.ERROR


def test_lint_can_be_left_out() -> None:
    assert hip("#define WARP_SIZE 32\n", target=Target(lint=False)).findings == ()


def warp(body: str) -> str:
    return f"__device__ float r(float v) {{\n{body}\n  return v;\n}}\n"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("int o = 16;\nwhile (o > 0) { v += __shfl_down(v, o); o >>= 1; }", ("LINT-LADDER-32", 3)),
        ("int o = 16;\nwhile (o >= 16) { v += __shfl_down(v, o); o >>= 1; }", ("LINT-LADDER-INCOMPLETE", 3)),
        ("int o = 32;\nwhile (o > 1) { o /= 2; v += __shfl_xor_sync(m, v, o); }", ("LINT-LADDER-32", 3)),
        ("int o = 32;\nwhile (o >>= 1) v += __shfl_xor_sync(m, v, o);", ("LINT-LADDER-32", 3)),
        ("int o = warpSize / 2;\nwhile (o) { v += __shfl_xor(v, o); o = o / 2; }", None),
        ("int o = 1;\nwhile (o < 32) { v += __shfl_up(v, o); o <<= 1; }", ("LINT-LADDER-32", 3)),
        ("int o = 16;\nf();\n{\n  while (o > 0) { v += __shfl_down(v, o); o >>= 1; } }", ("LINT-LADDER-32", 5)),
        ("int o = 16;\ndo { v += __shfl_xor(v, o); o >>= 1; } while (o > 0);", ("LINT-LADDER-32", 3)),
        ("int o = 16;\ndo { v += __shfl_xor(v, o); o >>= 1; } while (o > 2);", ("LINT-LADDER-INCOMPLETE", 3)),
        ("while (x > 0) { v += __shfl_down(v, 16); --x; }", None),
        ("".join(f"v += __shfl_xor_sync(m, v, {o});\n" for o in (16, 8, 4, 2, 1)), ("LINT-LADDER-32", 2)),
        ("".join(f"v += __shfl_down(v, {o});\n" for o in (1, 2, 4, 8, 16)), ("LINT-LADDER-32", 2)),
        ("".join(f"v += __shfl_xor(v, {o});\n" for o in (16, 8, 2, 1)), ("LINT-LADDER-INCOMPLETE", 2)),
        ("".join(f"v += __shfl_xor(v, {o});\n" for o in (32, 16, 8, 4, 2, 1)), ("LINT-LADDER-64", 2)),
        ("".join(f"v += __shfl_xor(v, {o});\n" for o in (16, 8, 4)), None),  # rows of a tile: on purpose
        ("".join(f"v += __shfl_xor(v, {o});\n" for o in (2, 1)), None),
        ("".join(f"v += __shfl_xor(v, {o}, 32);\n" for o in (16, 8, 4, 2, 1)), None),
        ("".join(f"v += __shfl_xor(v, {o}); w += __shfl_xor(w, {o});\n" for o in (8, 2, 1)), ("LINT-LADDER-INCOMPLETE", 2)),
        ("v += __shfl(v, 4); v += __shfl(v, 2);\nif (x) { v += __shfl(v, 1); }", None),
        ("v = __shfl(v, 1); v = __shfl(v, 8); v = __shfl(v, 2);", None),
    ],
)  # fmt: skip
def test_ladders_in_other_forms_are_evaluated(body: str, expected: tuple[str, int] | None) -> None:
    ladders = [entry for entry in found(warp(body)) if "LADDER" in entry[0]]
    assert ladders[:1] == ([expected] if expected else [])


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("for (int o = 16; 16 <= o; o >>= 1) v += __shfl_down(v, o);", "INCOMPLETE"),
        ("for (int o = 16; 0 < o; o >>= 1) v += __shfl_down(v, o);", "32"),
        ("for (int o{16}; o > 0; o >>= 1) v += __shfl_down(v, o);", "32"),
        ("for (int o(16); o > 0; o >>= 1) v += __shfl_down(v, o);", "32"),
        ("for (int i = 4; i >= 1; --i) v += __shfl_xor(v, 1 << i);", "INCOMPLETE"),
        ("for (int i = 0; i < 5; i++) v += __shfl_xor(v, 1 << i);", "32"),
        ("for (int o = 16, n = 0; o >= 16; o /= 2, ++n) v += __shfl_down(v, o);", "INCOMPLETE"),
        ("for (int i = 0, o = 16; i < 5; ++i, o >>= 1) v += __shfl_down(v, o);", "32"),
        ("for (int i = 0, o = 16; i < 4; ++i, o >>= 1) v += __shfl_down(v, o);", "INCOMPLETE"),
        ("for (int i = 4; i >= 0; i--) { const int o = 1 << i; v += __shfl_xor(v, o); }", "32"),
        ("int o = 16; for (; o >= 16; o >>= 1) v += __shfl_down(v, o);", "INCOMPLETE"),
        ("int o; for (o = 16; o; o /= 2) v += __shfl_down(v, o);", "32"),
        ("for (int o = 16; o >= 16 && o; o /= 2) v += __shfl_down(v, o);", "INCOMPLETE"),
        ("for (unsigned o = 16u; o >= 16u; o /= 2u) { float t = __shfl_down(v, (unsigned)o); v += t; }", "INCOMPLETE"),
        ("for (int o = 1; o < 32; o += o) v += __shfl_up(v, o);", "32"),
        ("for (int o = 16; o >= 16; o -= o / 2) v += __shfl_down(v, o);", "INCOMPLETE"),
        ("constexpr int kStart = 16; for (int o = kStart; o > 0; o /= 2) v += __shfl_down(v, o);", "32"),
        ("const int half = warpSize / 2; for (int o = half; o > 0; o /= 2) v += __shfl_down(v, o);", None),
        ("for (int o = WARP_SIZE; o > 0; o /= 2) v += __shfl_down(v, o);", "WIDTH"),
        ("for (int o = 16; o > 0; o /= 2) v += __shfl_xor(v, o, 16);", "WIDTH"),
        ("for (int o = 16;;) { v += __shfl_xor(v, o); if (o == 1) break; o >>= 1; }", "32"),
        ("for (int o = 16; o > 0; o >>= 1) { if (lane + o < n) v += __shfl_down(v, o); }", "32"),
        ("for (int o = 16; o > 0; o >>= 1) { if (lane < n) o >>= 1; v += __shfl_down(v, o); }", "UNREAD"),
        ("for (int o = 16; o > 0; o = next(o) / 2) v += __shfl_down(v, o);", "UNREAD"),
        ("for (int o = 16; o > 0; o /= 2) v += __shfl_down(v, o - 1);", "UNREAD"),
        ("for (int i = 0; i < 32; ++i) v += __shfl(v, i);", "32"),
        ("for (int i = 0; i < 16; ++i) v += __shfl(v, i);", None),
        ("for (int i = 0; i < n; ++i) v += __shfl(v, i);", None),
        ("for (int o = 16; o > 0; o >>= 1) v += __shfl(v, lane ^ o);", "32"),
        ("v += __shfl_xor(v, 16);\nv += __shfl_xor(v, 8);\nv += __shfl_xor(v, 4);\nv += __shfl_xor(v, 2);", "INCOMPLETE"),
        ("float a = v + __shfl_xor(v, 16); float b = a + __shfl_xor(a, 8); float c = b + __shfl_xor(b, 4);\n"
         "float d = c + __shfl_xor(c, 2); v = d + __shfl_xor(d, 1);", "32"),
        ("for (int o = 16; o > 0; o >>= 1) {\n#if A\n v += __shfl_down(v, o);\n#else\n v += __shfl_xor(v, o);\n#endif\n}", "32"),
        ("for (int o = 16; o > 0; o >>= 1) for (int i = 0; i < N; ++i) w[i] += __shfl_xor(w[i], o);", "32"),
        ("cg::coalesced_group g; for (int o = 16; o > 0; o >>= 1) v += g.shfl_down(v, o);", "32"),
        ("cg::thread_block_tile<16> g; for (int o = 8; o > 0; o >>= 1) v += g.shfl_down(v, o);", None),
        ("for (int o = g.size() / 2; o > 0; o /= 2) v += g.shfl_down(v, o);", None),
        ("for (int i = 0; i < 4; ++i) std::shuffle(v.begin(), v.end(), g);", None),
    ],
)  # fmt: skip
def test_ladders_are_run_not_matched(body: str, expected: str | None) -> None:
    ladders = [rule for rule, _ in found(warp(body)) if "LADDER" in rule]
    assert ladders == ([f"LINT-LADDER-{expected}"] if expected else [])


def test_a_ladder_in_a_macro_is_found() -> None:
    text = "#define SUM(v) \\\n  for (int o = 16; o >= 16; o >>= 1) \\\n    v += __shfl_xor_sync(m, v, o)\nint f();\n"
    assert [entry for entry in found(text) if "LADDER" in entry[0]] == [("LINT-LADDER-INCOMPLETE", 2)]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("unsigned m; m = __ballot_sync(~0ull, p);", 1),
        ("unsigned a = 1, m = __ballot_sync(~0ull, p);", 1),
        ("const uint32_t m{__ballot_sync(~0ull, p)};", 1),
        ("uint32_t m(__ballot_sync(~0ull, p));", 1),
        ("std::uint32_t m = __match_all_sync(~0ull, p, &x);", 1),
        ("__shared__ unsigned s[32]; s[w] = __ballot(p);", 1),
        ("unsigned m = 0; m |= __ballot(p);", 1),
        ("unsigned m = full ? __ballot(p) : 0;", 1),
        ("using mask_t = unsigned; mask_t m = __ballot(p);", 1),
        ("return (int)__ballot(p);", 1),
        ("x = static_cast<uint32_t>(__ballot(p));", 1),
        ("x = unsigned(__ballot(p));", 1),
        ("if (__ballot(p) == 0xffffffff) x = 1;", 1),
        ("auto m = __ballot(p); int n = __popc(m); int f = __ffs(m) - 1;", 2),
        ("int n = __popc(__ballot(p) & __lanemask_lt());", 1),
        ("unsigned m = cg::coalesced_threads().ballot(p);", 1),
        ("auto g = cg::coalesced_threads(); unsigned m = g.ballot(p);", 1),
        ("__shared__ unsigned s; atomicOr(&s, __ballot(p));", 1),
        ("auto f = [&]() -> unsigned { return __ballot(p); };", 1),
        ("unsigned m = ~__activemask();", 1),
        ("unsigned long long m = __ballot(p); int n = __popcll(m);", 0),
        ("uint64_t m; m = __ballot(p);", 0),
        ("auto m = __ballot(p);", 0),
        ("bool b = __ballot(p);", 0),
        ("bool b = __ballot(p) != 0;", 0),
        ("int b = __ballot(p) != 0;", 0),
        ("int bit = (__ballot(p) >> lane) & 1;", 0),
        ("if (__ballot(p)) x = 1;", 0),
        ("int n = __popcll(__ballot(p));", 0),
        ("unsigned r = __shfl_sync(__activemask(), v, 0);", 0),
        ("int n = f(__ballot(p));", 0),
        ("unsigned m = my.ballot(p);", 0),
        ("auto t = cg::tiled_partition<32>(b); unsigned m = t.ballot(p);", 0),
        ("int first = __ffsll(__ballot(p)) - 1;", 0),
        ("while (!__ballot(p)) x++;", 0),
    ],
)  # fmt: skip
def test_ballots_are_followed_to_what_takes_them(body: str, expected: int) -> None:
    assert [rule for rule, _ in found(warp(body))].count("LINT-BALLOT-32") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("__device__ unsigned f(bool p) { return __ballot(p); }\n", True),
        ("template <int N> __device__ __forceinline__ uint32_t f(bool p) {\n  if (p) { return __ballot(p); }\n  return 0;\n}\n", True),
        ("__device__ unsigned long long f(bool p) { return __ballot(p); }\n", False),
        ("__device__ auto f(bool p) { return __ballot(p); }\n", False),
        ("__device__ bool f(bool p) { return __ballot(p); }\n", False),
        ("__device__ int rank(unsigned m, int lane) { return 0; }\n__device__ int g(bool p) { return rank(__ballot(p), 1); }\n", True),
        ("__device__ int rank(uint64_t m, int lane) { return 0; }\n__device__ int g(bool p) { return rank(__ballot(p), 1); }\n", False),
        ("typedef unsigned int mask_t;\n__device__ mask_t f(bool p) { return __ballot(p); }\n", True),
        ("struct S { unsigned m; };\n__device__ void f(S& s, bool p) { s.m = __ballot(p); }\n", True),
    ],
)  # fmt: skip
def test_ballots_are_followed_out_of_functions(text: str, expected: bool) -> None:
    assert ("LINT-BALLOT-32" in [rule for rule, _ in found(text)]) is expected


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
        ("int bit = (m >> lane) & 1;", []),
        ("v = __shfl_sync((1u << 16) - 1, v, 0);", ["LINT-PARTIAL-MASK"]),
        ("const unsigned half = 0xffff; v = __shfl_sync(half, v, 0);", ["LINT-PARTIAL-MASK"]),
        ("constexpr unsigned kFull = 0xffffffff; v = __shfl_sync(kFull, v, 0);", []),
        ("v = __shfl_sync(0xffffffffull, v, 0);", []),
        ("if (lane == 31) x = v;", ["LINT-LANE-ARITHMETIC"]),
        ("int w = lane_id() >> 5;", ["LINT-LANE-ARITHMETIC"]),
        ("if (count == 31) x = v;", []),
    ],
)  # fmt: skip
def test_masks_of_lanes(body: str, rules: list[str]) -> None:
    assert [rule for rule, _ in found(warp(body))] == rules


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ('asm volatile("membar.gl;" ::: "memory");\n', "__threadfence_block"),
        ('asm inline volatile("membar.gl;");\n', "__threadfence_block"),
        ('asm __volatile__ ("membar.gl;");\n', "__threadfence_block"),
        ('__asm__ __volatile__("mov.u32 %0, %%laneid;" : "=r"(x));\n', "__lane_id"),
        ('asm volatile(R"(\n  mov.u32 %0, %laneid;\n)" : "=r"(x));\n', "__lane_id"),
        ('asm volatile(R"ptx({ .reg .pred p;\n @p bra L; })ptx");\n', "C++"),
        ('asm("{\\n\\t" ".reg .b32 t;\\n\\t" "cvta.to.shared.u64 %0, %1;}" : "=l"(a) : "l"(p));\n', "generic"),
        ('#define FENCE "membar.gl;"\nvoid f() { asm volatile(FENCE ::: "memory"); }\n', "__threadfence_block"),
        ('void f() { asm volatile(OTHER_TEXT : "=r"(x)); }\n', "see what the macro has"),
        ('#define LD(T) asm volatile("ld.global.nc." #T " %0, [%1];" : "=r"(x) : "l"(p))\n', "__ldg"),
        ('asm("@p atom.add.u32 %0, [%1], 1; cvt.rn.f16.f32 %2, %3;");\n', "atomicAdd"),
        ('asm("trap;");\n', "__builtin_trap"),
        ('asm volatile("wgmma.fence.sync.aligned;\\n" ::: "memory");\n', "matrix instructions"),
        ('asm volatile("bar.sync %0, %1;" :: "r"(1), "r"(64));\n', "named barriers"),
        ('asm volatile("" : "+r"(x));\n', None),
        ('asm volatile("pause" ::: "memory");\n', None),
        ('asm volatile("mfence" ::: "memory");\n', None),
        ('asm("s_sleep 1");\n', None),
        ('asm volatile("rdtsc" : "=a"(lo), "=d"(hi));\n', None),
        ('asm volatile("mov %%eax, %0" : "=r"(x));\n', None),
    ],
)  # fmt: skip
def test_inline_ptx_in_every_spelling(text: str, fix: str | None) -> None:
    fixes = [f.fix for f in hip(text).findings if f.rule == "LINT-PTX"]
    assert (fixes == []) if fix is None else (len(fixes) == 1 and fix in fixes[0])


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ('"pause" ::: "memory"', False),
        ('"cpuid" : "=a"(a) : "a"(0)', False),
        ('"mrs %0, cntvct_el0" : "=r"(t)', False),
        ('"lock; cmpxchg %1, %2" : "+m"(x)', False),
        ('"fmla v0.4s, v1.4s, v2.4s"', False),
        ('".symver memcpy,memcpy@GLIBC_2.2.5"', False),
        ('"add %0, %1, %2" : "=r"(x)', False),
        ('HOST_TEXT ::: "memory"', False),
        ('"mov.u32 %0, %%smid;" : "=r"(x)', True),
        ('"ld.global.cg.f32 %0, [%1];" : "=f"(v) : "l"(p)', True),
        ('"prmt.b32 %0, %1, %2, %3;" : "=r"(x)', True),
    ],
)  # fmt: skip
def test_assembly_in_host_files_is_ptx_only_where_it_is(template: str, expected: bool) -> None:
    rules = [f.rule for f in hip(f"inline void f() {{ asm volatile({template}); }}\n", "a.cpp").findings]
    assert (rules == ["LINT-PTX"]) is expected


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("__device__ void f() {\n  if (cudaFree(p)) { g(); }\n}\n", 2),
        ("template <int N>\n__global__ void k(int *p) { int *q;\n\n  cudaMalloc(&q, 4); }\n", 4),
        ("__host__ __device__ void f() { cudaDeviceSynchronize(); }\n", 0),
        ("void f() { cudaMalloc(&p, 4); }\n__device__ void g() {}\n", 0),
        ("__device__ void g(cudaStream_t s) { own::cudaFree(s); }\n", 0),
        (
            "__global__\n#if A\nvoid f(int a) {\n#else\nvoid f(int b) {\n#endif\n  g();\n}\nvoid h() {\n  cudaFree(p);\n}\n",
            0,
        ),
    ],
)
def test_calls_of_the_runtime_in_device_code_are_told(text: str, line: int) -> None:
    found = [f.place.line for f in hip(text).findings if f.rule == "LINT-DEVICE-CALL" and f.place]
    assert found == ([line] if line else [])


def severities(text: str, rocm: str = "6.4") -> list[tuple[str, int, str]]:
    made = hip(text, target=Target(rocm=rocm))
    return [(f.rule, f.place.line, f.severity.value) for f in made.findings if f.rule.startswith("LINT") and f.place]


def test_each_later_use_of_what_does_not_compile_is_a_note() -> None:
    text = "v = tex1Dfetch<float>(t, 0);\nw = tex1Dfetch<float>(t, 1);\nx = tex2D<float>(t, 0, 1);\n"
    assert severities(text) == [
        ("LINT-TEXTURE-FETCH", 1, "warning"),
        ("LINT-TEXTURE-FETCH", 2, "note"),
        ("LINT-TEXTURE-FETCH", 3, "warning"),
    ]


def test_the_use_of_a_macro_with_a_finding_in_its_body_is_a_note() -> None:
    text = (
        "#define LOAD(i) \\\n  tex1Dfetch<float>(t, i)\nv = LOAD(1);\n#define OTHER(i) i\nw = OTHER(2);\n#undef LOAD\n"
    )
    assert severities(text) == [("LINT-TEXTURE-FETCH", 2, "warning"), ("LINT-TEXTURE-FETCH", 3, "note")]


def test_members_that_hips_struct_lacks_by_version() -> None:
    text = "cudaDeviceProp p;\nint a = p.asyncEngineCount;\nint b = p.major;\nint asyncEngineCount = 1;\n"
    assert severities(text, "5.7") == [("LINT-MEMBER", 2, "error")]
    assert severities(text, "6.4") == []
    gone = "cudaLaunchAttribute a;\na.val.clusterDim.x = 2;\n"
    assert severities(gone) == [("LINT-MEMBER", 2, "error")]
    assert severities(gone.replace("cudaLaunchAttribute", "mine")) == []


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("__device__ uint2 f(cudaTextureObject_t o) {\n  return make_uint2(o & 1, o >> 32);\n}\n", [2, 2]),
        ("x = ((cudaTextureObject_t)v.x) | ((cudaTextureObject_t)v.y) << 32;\n", [1, 1]),
        ("void f(cudaTextureObject_t o) {\n  g(o, o ? 1 : 2);\n  if (o && p) h(&o);\n  q->o + 1;\n}\n", []),
    ],
)
def test_arithmetic_with_texture_objects(text: str, lines: list[int]) -> None:
    assert [line for rule, line, _ in severities(text) if rule == "LINT-TEXTURE-NUMBER"] == lines


def test_braces_for_half_precision_variables() -> None:
    text = "__device__ void f() {\n  half2 r;\n  r = {};\n  half2 s = {};\n  float g;\n  g = {};\n}\n"
    assert severities(text) == [("LINT-HALF-BRACES", 3, "error")]


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("a.c", "#include <curand.h>\n", True),
        ("a.h", '#include <curand.h>\n#ifdef __cplusplus\nextern "C" {\n#endif\n', True),
        ("a.h", "#include <curand.h>\n", False),
        ("a.cpp", "#include <curand.h>\n", False),
        ("a.c", "#include <cublas_v2.h>\n", False),
    ],
)
def test_headers_that_c_cannot_include(name: str, text: str, told: bool) -> None:
    assert ("LINT-C-HEADER" in [f.rule for f in hip(text, name).findings]) is told


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("const char* f(CUresult e) { return a; }\nconst char* f(cudaError_t e) { return b; }\n", [2]),
        (
            "template <> int f<CUresult>(int e) { return 1; }\ntemplate <> int f<cudaError_t>(int e) { return 2; }\n",
            [2],
        ),
        ("void f(CUresult e) {}\nvoid g(cudaError_t e) {}\n", []),
        ("void f(CUresult e, int n) {}\nvoid f(cudaError_t e) {}\n", []),
        ("void f(CUdeviceptr p) {}\nvoid f(void *p) {}\n", [2]),
        ("void f(CUdeviceptr p) {}\nvoid f() {}\nvoid f(float *p) {}\n", []),
    ],
)
def test_overloads_for_types_that_are_one_in_hip(text: str, lines: list[int]) -> None:
    assert [line for rule, line, _ in severities(text) if rule == "LINT-SAME-OVERLOAD"] == lines


def test_surface_functions_lose_the_boundary_mode() -> None:
    text = "surf2Dwrite(v, s, x * 4, y, cudaBoundaryModeTrap);\nsurf2Dwrite(v, s, x * 4, y);\n"
    assert hip(text, "a.h").text == "surf2Dwrite(v, s, x * 4, y);\n" * 2


def test_members_of_groups_and_atomics_that_hip_lacks() -> None:
    text = "namespace cg = cooperative_groups;\nint n = block.num_threads();\nint m = grid.size();\natomicInc_system(p, 3);\n"
    assert severities(text) == [("LINT-GROUPS", 2, "error"), ("LINT-DEVICE-NAME", 4, "error")]
    assert severities("int n = pool.num_threads();\n") == []


def test_types_that_only_cudas_headers_name() -> None:
    text = "cuuint32_t a;\nstruct __builtin_align__(16) S {\n  nv_half h;\n};\n"
    assert hip(text, "a.h").text == "uint32_t a;\nstruct __align__(16) S {\n  __half h;\n};\n"


def test_member_templates_of_dependent_types() -> None:
    text = "template <typename T, size_t n>\nvoid f(T *p) {\n  cast<T, int>::apply<n>(p);\n  cast<float>::apply<n>(p);\n  cast<T>::template apply<n>(p);\n}\n"
    assert severities(text) == [("LINT-TEMPLATE-KEYWORD", 3, "warning")]
    assert severities("void f() {\n  cast<T, int>::apply<4>(p);\n}\n") == []
    text = "template <typename T>\nstruct S;\n#define MAKE(T) \\\ntemplate void alg<T, 3>::apply<float>(int); \\\n  extern template int alg<T>::apply<T>(T);\n"
    assert severities(text) == []


@pytest.mark.parametrize(
    ("declared", "call", "line"),
    [
        ("long long *p", "atomicOr(p, 1)", 2),
        ("unsigned long long *p", "atomicOr(p, 1)", 0),
        ("int *p", "atomicOr(&p[2], 1)", 0),
        ("long long *p", "atomicXor(&p[2], 1)", 2),
        ("long long *p", "atomicXor((unsigned long long *)p, 1)", 0),
        ("int *p", "atomicCAS((unsigned short *)p, a, b)", 2),
        ("unsigned short *p", "atomicCAS(p + 1, a, b)", 2),
        ("int *p", "atomicCAS(reinterpret_cast<unsigned short int *>(p), a, b)", 2),
        ("const __nv_bfloat16 *p", "__ldg(p)", 2),
        ("const float *p", "__ldg(&p[1])", 0),
        ("uint64_t p", "__ffs(p)", 2),
        ("uint64_t p", "__ffs((int)p)", 0),
        ("unsigned p", "__ffs(p)", 0),
        ("float p", "sincos(p, &s, &c)", 2),
        ("double p", "sincos(p, &s, &c)", 0),
    ],
)
def test_types_that_hip_has_no_overload_for(declared: str, call: str, line: int) -> None:
    text = f"__global__ void k({declared}) {{\n  {call};\n}}\n"
    lines = [at for rule, at, _ in severities(text) if rule == "LINT-NO-OVERLOAD"]
    assert lines == ([line] if line else [])


def test_names_of_cub_that_hipcub_has_not() -> None:
    text = "void f() {\n  cub::DeviceFor::Bulk(n, op);\n  hipcub::DeviceFor x;\n  cub::DispatchScan<a> d;\n  cub::DeviceScan::Sum(a, b);\n}\n"
    assert severities(text) == [("LINT-CUB-NAME", 2, "error"), ("LINT-CUB-NAME", 4, "error")]


def test_functions_that_hip_has_for_the_device_alone() -> None:
    text = "float f(float x) {\n  return erfinvf(x);\n}\n__host__ __device__ float g(float x) {\n  if (x) { return normcdff(x); }\n}\n__global__ void k() { erfinv(1.0); }\n"
    assert severities(text) == [("LINT-HOST-FUNCTION", 2, "warning"), ("LINT-HOST-AND-DEVICE", 5, "note")]
    assert severities("DEVICE_FUNC float f(float x) { return erfinvf(x); }\n") == []
    assert severities("float erfinv(float x);\nauto f = [] __device__ (float x) { return erfinv(x); };\n") == []


def test_functions_of_the_device_in_functions_for_both_sides() -> None:
    text = "{0} float f(float x) {{\n  return rcbrtf(x);\n}}\n"
    assert severities(text.format("__host__ __device__")) == [("LINT-HOST-AND-DEVICE", 2, "note")]
    assert severities(text.format("__device__")) == []


@pytest.mark.parametrize(
    ("rocm", "told"), [("5.7", True), ("6.4", False), ("7.0", False), ("", False)]
)
def test_functions_of_the_device_by_the_version_of_rocm(rocm: str, told: bool) -> None:
    rules = [rule for rule, _, _ in severities("__half f(__half x) {\n  return __hneg(x);\n}\n", rocm)]
    assert ("LINT-HOST-FUNCTION" in rules) is told


@pytest.mark.parametrize(
    ("operands", "lines"),
    [
        (': "=r"(y)\n    : "f"(x)', [("LINT-PTX", 2, "error"), ("LINT-PTX-OPERAND", 4, "note")]),
        (': "=l"(y)\n    : "f"(x)', [("LINT-PTX", 2, "error"), ("LINT-PTX-OPERAND", 3, "note")]),
        (': "=r"(y)\n    : "r"(x)', [("LINT-PTX", 2, "error")]),
    ],
)
def test_the_operand_of_ptx_that_the_compiler_names(operands: str, lines: list[tuple[str, int, str]]) -> None:
    assert severities(f'__device__ void f() {{\n  asm("add.f32 %0, %1;"\n    {operands});\n}}\n') == lines


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("struct S { float1 a; int b; };\nS s = {{1}, 2};\n", [2]),
        ("void g(char1 v);\nvoid f() { g({1}); }\n", [2]),
        ("float1 v[2] = {{1},\n  {2}};\n", []),
        ("float2 v = {1, 2};\ng({1});\n", []),
        ("float1 f();\nif (a) { b; }\ng({});\n", []),
    ],
)
def test_braces_of_one_value_beside_vectors_of_one_component(text: str, lines: list[int]) -> None:
    assert [line for rule, line, _ in severities(text) if rule == "LINT-ONE-VALUE"] == lines


def test_declarations_of_built_in_variables() -> None:
    text = "#ifndef __CUDA_ARCH__\nextern const dim3  blockDim;\nextern uint3 const threadIdx;\n#endif\nextern int n;\n"
    built_in = [(line, severity) for rule, line, severity in severities(text) if rule == "LINT-BUILT-IN"]
    assert built_in == [(2, "error"), (3, "error")]
    assert severities("extern dim3 block;\nvoid f(dim3 blockDim);\n") == []


def test_positions_that_are_handed_on_where_there_is_a_uint3() -> None:
    text = "__device__ int f(uint3 t);\n__global__ void k() {\n  f(threadIdx);\n  dim3 d(threadIdx);\n  uint3 u = dim3(1);\n  u = dim3(2);\n}\n"
    assert severities(text) == [("LINT-DIM3", line, "warning") for line in (3, 5, 6)]
    assert severities(text.replace("uint3", "dim3")) == []


def test_transposes_by_warps_matter_for_wavefronts_of_64() -> None:
    text = "typedef cub::BlockLoad<int, n, 4, cub::BLOCK_LOAD_WARP_TRANSPOSE> L;\n"
    assert severities(text) == [("LINT-WARP-TRANSPOSE", 1, "warning")]
    assert "LINT-WARP-TRANSPOSE" not in [rule for rule, _ in found(text, Target(wavefronts=(32,)))]
