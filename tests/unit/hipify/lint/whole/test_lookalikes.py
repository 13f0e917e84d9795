"""What a second attacker found that lint let pass, each with a lookalike that is right.

A row is a rule, a text that must be told by it, and a text that must not.
"""

from __future__ import annotations

import pytest

from stackbuild.hipify.model import Target
from support.hipify import hip

XOR = "#define SH(v, o) __shfl_xor_sync(0xffffffff, v, o)\n"
LADDERS = [
    ("LINT-LADDER-INCOMPLETE", XOR + "void f(float v) { for (int o = 16; o >= 16; o >>= 1) v += SH(v, o); }",
     XOR + "void f(float v) { for (int o = warpSize / 2; o > 0; o >>= 1) v += SH(v, o); }"),
    ("LINT-LADDER-32", XOR + "void f(float v) { for (int o = 16; o > 0; o >>= 1) v += SH(v, o); }",
     XOR + "void f(float v) { for (int o = 16; o > 0; o >>= 1) v += other(v, o); }"),
    ("LINT-LADDER-32", "#define SHFL(v, d) \\\n  __shfl_down_sync(~0u, (v), (d))\nvoid f(int v) { " + "".join(f"v += SHFL(v, {o}); " for o in (16, 8, 4, 2, 1)) + "}",
     "#define SHFL(v, d) __shfl_down_sync(~0u, (v), (d), 32)\nvoid f(int v) { for (int o = 16; o > 0; o /= 2) v += SHFL(v, o); }"),
    ("LINT-LADDER-32", XOR + "#define ADD(v, o) v += SH(v, o)\nvoid f(int v) { for (int o = 16; o; o >>= 1) ADD(v, o); }",
     XOR + "#define ADD(v, o) v += o\nvoid f(int v) { for (int o = 16; o; o >>= 1) ADD(v, o); }"),
    ("LINT-LADDER-INCOMPLETE", "void f(int v) { for (int o = 16; o > 0; o -= 8) v += __shfl_down(v, o); }",
     "void f(int v) { for (int o = 2; o > 0; o--) v += __shfl_down(v, o); }"),
    ("LINT-LADDER-WIDTH", "void f(int v) { for (int o = 64; o > 0; o /= 2) v += __shfl_down(v, o); }",
     "void f(int v) { for (int o = 8; o > 0; o /= 2) v += __shfl_down(v, o); }"),
]  # fmt: skip

SIZES = [
    ("#define WARP_SZ 32", "#define WARP_SZ 64"),
    ("#define WARPSZ 32", "#define SWARPSZ_OF(x) 32"),
    ("#define WARP_THREADS (1<<5)", "#define WARP_THREADS (1<<6)"),
    ("#define LOG_WARP_SIZE 5", "#define LOG_WARP_SIZE 6"),
    ("#define WARP_SIZE_LOG2 5", "#define LOG_WARNINGS 5"),
    ("#define WARP_MASK 31", "#define WARP_MASK 0xffffffff"),
    ("constexpr int w1WarpSize{32};", "int warps{32};"),
    ("static const unsigned WARPSIZE(32);", "f(WARPSIZE(32), 1);"),
    ("inline constexpr size_t warp_sz = 32;", "size_t warp_sz = 32;"),
    ("template<int WarpSize = 32> struct Z {};", "template<int NumWarps = 32> struct Z {};"),
    ("template <typename T, int WARP_SIZE = 32> void f();", "template <typename T, int WARP_SIZE> void f();"),
    ("__device__ constexpr int warpSz() { return 32; }", "constexpr int warpSz() { return N; }"),
]  # fmt: skip


@pytest.mark.parametrize(("guilty", "innocent"), SIZES)
def test_names_of_a_warps_size(guilty: str, innocent: str) -> None:
    assert told(guilty + "\n") == ["LINT-WARP-SIZE-LITERAL"]
    assert told(innocent + "\n") == []


@pytest.mark.parametrize(
    ("guilty", "innocent"),
    [
        ("int n = blockDim.x / 32;", "int n = bytes / 32;"),
        ("int n = (blockDim.x + 31) >> 5;", "int n = (size + 31) >> 5;"),
        ("int n = blockSize / 32;", "int n = blockSize / 320;"),
        ("int l = threadIdx.x & (32 - 1);", "int l = hash & (32 - 1);"),
        ("if (p.warpSize != 32) return;", "if (p.warpSize != 32 && p.warpSize != 64) return;"),
    ],
)
def test_counts_of_warps(guilty: str, innocent: str) -> None:
    assert told(guilty + "\n") == ["LINT-LANE-ARITHMETIC"]
    assert told(innocent + "\n") == []


FORMS = [
    ("LINT-DEFAULTS", "cudaGraphInstantiate(&e, g);", "cudaGraphInstantiate(&e, g, nullptr, nullptr, 0);"),
    ("LINT-GROUPS", "namespace co = cooperative_groups; auto c = co::this_cluster();", "auto c = my::this_cluster();"),
    ("LINT-GROUPS", "using namespace cooperative_groups; auto l = labeled_partition(g, 3);", "using namespace cooperative_groups; auto l = x.labeled_partition(g);"),
    ("LINT-WARP-SIZE-CONSTANT", "constexpr int a = warpSize / 2;", "constexpr int warpSize = 32; constexpr int a = warpSize / 2;"),
    ("LINT-ASYNC-COPY", "cg::memcpy_async(g, a, b, n);", "inline void memcpy_async(void *a, int n) { f(a); } void g() { memcpy_async(p, 1); }"),
    (
        "LINT-BALLOT-32",
        "typedef unsigned int flags; __global__ void k() { flags f = __ballot_sync(~0u, 1); }",
        "#if A\ntypedef unsigned int flags;\n#else\ntypedef unsigned long long flags;\n#endif\n__global__ void k() { flags f = __ballot_sync(~0u, 1); }",
    ),
    ("LINT-COOPERATIVE", "#include <cooperative_groups/scan.h>", "#include <cooperative_groups/reduce.h>"),
    ("LINT-WARP-SIZE-CONSTANT", "int a[2][warpSize];", "int *q = table[i / warpSize]; return table[warpSize];"),
    ("LINT-BF16-SHUFFLE", "__nv_bfloat16 v = a[0]; v = __shfl_xor(v, 1);", "__nv_bfloat16 v = a[0]; float w = v; w = __shfl_xor_sync(~0u, w, 1);"),
    ("LINT-DEVICEPTR", "CUdeviceptr d = 0; d += 4;", "CUdeviceptr d = 0; int n = x + 4; f(d, &d);"),
    ("LINT-DEVICEPTR", "void g() { int *d; f(d + 1); } void h() { CUdeviceptr d = 0; f(d + 16); }", "void h() { CUdeviceptr d = 0; f(d); } void g() { int *d; f(d + 1); }"),
    ("LINT-DEVICEPTR", "CUdeviceptr d = 0; f(d + 16);", "CUdeviceptr* d = 0; f(d + 16);"),
    ("LINT-HEADER", "#include <cuda_egl_interop.h>", "#include <my/cuda_egl_interop.h>"),
    ("LINT-HEADER", "#include <helper_cuda.h>", "// #include <helper_cuda.h>"),
    ("LINT-HEADER", "#include <helper_functions.h>", "#include <cuda_fp16.h>"),
    ("LINT-DEVICE-NAME", "int x = __dp2a_lo(1, 2, 3);", "int x = a.__dp2a_lo(1, 2, 3);"),
    ("LINT-DEVICE-NAME", "int x = __vimax3_s32(1, 2, 3);", "int x = my___vimax3_s32(1, 2, 3);"),
    ("LINT-RUNTIME-NAME", 'h = dlopen("libcuda.so.1", 1);', '// dlopen("libcuda.so.1")'),
    ("LINT-RUNTIME-NAME", 's = dlsym(h, "cuMemAlloc_v2");', 's = dlsym(h, "custom_entry" + 1); t = dlsym(h, "malloc");'.replace("custom", "my")),
    ("LINT-RUNTIME-NAME", 'o[] = {"--gpu-architecture=compute_80"}; nvrtcCompileProgram(p, 1, o);', 'puts("compute_units"); nvrtcCompileProgram(p, 1, o);'),
    ("LINT-RUNTIME-NAME", 'cuModuleLoad(&m, "kernel.ptx");', 'puts("a.ptx is gone"); cuModuleLoad(&m, name);'),
    ("LINT-DEVICE-STRING", 's = R"(extern "C" __global__ void k() {})";', "/* __global__ */ __global__ void k();"),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "guilty", "innocent"), FORMS)
def test_what_hip_has_in_another_form(rule: str, guilty: str, innocent: str) -> None:
    assert told(guilty + "\n").count(rule) == 1
    assert rule not in told(innocent + "\n")


VOTES = [
    ("LINT-VOTE-32", "bool b = __any_sync(0xffffffff, x[threadIdx.y]);", "bool b = __any_sync(__activemask(), x[threadIdx.y]);"),
    ("LINT-VOTE-32", "int w = threadIdx.x / 32; int s = __reduce_add_sync(~0u, v);", "int w = threadIdx.x / 32; int s = my::__reduce_add_sync(~0u, v);"),
    ("LINT-VOTE-32", "dim3 b(32, 8); int s = __all(v);", "dim3 b(32, 8); /* __all(v) */"),
    ("LINT-VOTE", "bool b = __any_sync(0xffffffff, x);", "bool b = __any_sync(mask, x);"),
    ("LINT-VOTE", "#define FULL 0xffffffffu\nint s = __reduce_max_sync(FULL, v);", "#define FULL 0xffu\nint s = __reduce_max_sync(FULL, v);"),
    ("LINT-LAST-LANE", "v = __shfl_sync(0xffffffff, v, 31);", "v = __shfl_sync(0xffffffff, v, 31, 32);"),
    ("LINT-LAST-LANE", "v = __shfl(v, (31));", "v = __shfl(31, v);"),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "guilty", "innocent"), VOTES)
def test_what_asks_all_lanes(rule: str, guilty: str, innocent: str) -> None:
    assert told(guilty).count(rule) == 1
    assert not [r for r in told(innocent) if "VOTE" in r or "LAST" in r]


def test_votes_do_not_flood() -> None:
    rules = told("bool a = __any_sync(~0u, x) || __all_sync(~0u, x) || __any_sync(~0u, y);\n")
    assert [r for r in rules if "VOTE" in r] == ["LINT-VOTE"]
    assert not hip("bool a = __any_sync(~0u, x);", target=Target(wavefronts=(32,))).findings


GUARDS = [
    ("LINT-CUDA-VERSION", "#if CUDART_VERSION >= 11000\n#endif\n", "#if defined(__HIP_PLATFORM_AMD__) || CUDART_VERSION >= 11000\n#endif\n"),
    ("LINT-CUDA-VERSION", "#if defined(CUDA_VERSION) && CUDA_VERSION >= 12000\n#endif\n", "// CUDA_VERSION\nint MY_CUDA_VERSION;\n"),
    ("LINT-CUDA-VERSION", "#ifndef CUDART_VERSION\n#error no\n#endif\n", "#ifndef CUDART_VERSION\n#define CUDART_VERSION 12000\n#endif\n"),
    ("LINT-CUDA-VERSION", "#if __CUDACC_VER_MAJOR__ < 11\n#endif\n", "#error CUDA_VERSION is wrong\n"),
    ("LINT-CUDA-VERSION", "#ifdef __NVCC__\n#elif defined(__clang__)\n#endif\n", "#if defined(__NVCC__) || defined(__HIPCC__)\n#endif\n"),
    ("LINT-CUDA-VERSION", "#if defined(__NVCC__) && defined(__clang__) && __CUDACC_VER_MAJOR__ == 11\n#endif\n", "#if defined __GNUC__ && !defined __NVCOMPILER\n#endif\n"),
    ("LINT-CUDA-VERSION", "int v = CUDART_VERSION;\n", "int v = HIP_VERSION;\n"),
    ("LINT-CUDA-VERSION", "#if CUB_VERSION > 101500\n#endif\n", "#if HIPCUB_VERSION > 301500\n#endif\n"),
    ("LINT-LIBRARY-VERSION", "#if THRUST_VERSION > 100000\n#endif\n", "#if MY_VERSION > 100000\n#endif\n"),
    ("LINT-CUDA-VERSION", "#if CUDA_VERSION > 9\n#elif X\n#endif\n#ifdef __HIP__\n#endif\n", "#if CUDA_VERSION > 9\n#elif defined(__HIP__)\n#endif\n"),
    ("LINT-CUDA-ARCH", "#if defined(__CUDA_ARCH__)\n#else\n#ifdef __HIP__\n#endif\n#endif\n", "#if defined(__CUDA_ARCH__)\n#elif defined(__HIP_DEVICE_COMPILE__)\n#endif\n"),
    ("LINT-CUDA-ARCH", "#ifdef MINE\n#elif defined(__CUDA_ARCH__)\n#endif\n", "#ifdef __HIP__\n#elif defined(__CUDA_ARCH__)\n#endif\n"),
    ("LINT-CUDA-ARCH", "#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ < 200\n#endif\n", "#if ! defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 200\n#endif\n"),
    ("LINT-CUDA-ARCH", "#if A && (__CUDA_ARCH__ >= 6 || !defined(MINE))\n#endif\n", "#if A && (__CUDA_ARCH__ >= 6 || !defined(__CUDA_ARCH__))\n#endif\n"),
    ("LINT-CUDA-ARCH", "#ifdef A\n#elif defined(__CUDA_ARCH__)\n#endif\n", "#if A && __CUDA_ARCH__ > 6\n#elif A && defined(__HIP_DEVICE_COMPILE__)\n#endif\n"),
    ("LINT-CUDA-ARCH", "#if __CUDA_ARCH__ < 600\n#endif\n", "#if A && defined(__CUDA_ARCH__) && (__CUDA_ARCH__ < 600)\n#endif\n"),
    ("LINT-CUDA-ARCH", "#if !defined(__CUDA_ARCH__) && (__CUDA_ARCH__ < 600)\n#endif\n", "#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ <= 600\n#endif\n"),
    ("LINT-CAPABILITY-READ", "x = CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR;\n", "enum A { CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75, B };\n"),
    ("LINT-DEVICE-STRING", 'auto s = "__global__ void k() {}";\n', 'auto s = "functions are __host__ or __global__ ones";\n'),
    ("LINT-CUDA-ARCH", "#ifdef __CUDA_ARCH__\n#pragma unroll\nf();\n#endif\n", "#ifdef __CUDA_ARCH__\n#pragma diagnostic pop\n#endif\n"),
    ("LINT-CUDA-ARCH", "#ifdef __CUDA_ARCH__\n#pragma unroll\n#else\nf();\n#endif\n", "#ifdef __CUDA_ARCH__\n#pragma unroll\n#else\n#pragma omp simd\n#endif\n"),
    ("LINT-CUDA-VERSION", "#if CUDA_VERSION < 12000\n#endif\n", "#if defined(CUDA_VERSION) && CUDA_VERSION < 12000\n#endif\n"),
    ("LINT-CUDA-ARCH", "#ifndef __CUDA_ARCH_LIST__\n#endif\n", "#ifndef __CUDA_ARCH_LIST__\n#define __CUDA_ARCH_LIST__ 0\n#endif\n"),
    ("LINT-WARP-SIZE-LITERAL", "const int threads_per_warp = 32;\n", "const int segment_size_per_warp = 32;\n"),
    ("LINT-WARP-SIZE-LITERAL", "constexpr int WARP_SIZE_X{32};\n", "constexpr int WARP_TILE_SIZE_X{32};\n"),
    ("LINT-CUDA-STD", "#include <cuda/atomic>\n", '#include "cuda/DeviceTensor.cuh"\n'),
    ("LINT-CUDA-STD", "#include <cuda/std/detail/libcxx/x.h>\n", "#include <cuda/helpers/x.h>\n"),
    ("LINT-WMMA", "#include <mma.h>\n", '#include "mma.hpp"\n'),
    ("LINT-WMMA", "using M = nvcuda::wmma::matrix_a;\n", "using M = mtk::wmma::matrix_a; int nvcuda;\n"),
    ("LINT-CAPABILITY", "cudaDeviceProp p; bool b = p.major >= 8;\n", 'cudaDeviceProp p; printf("%d.%d", p.major, p.minor);\n'),
    ("LINT-CAPABILITY-READ", "cudaDeviceProp *p; int c = p->major * 10 + p->minor;\n", "struct V { int major; } v; bool b = v.major >= 8;\n"),
    ("LINT-CAPABILITY-READ", "cudaDeviceProp p; int c = 10 * p.major;\n", "cudaDeviceProp p; int major = 10; bool b = major * 8 > 1;\n"),
    ("LINT-CAPABILITY", "cudaDeviceProp p; bool b = p.major<8;\n", "cudaDeviceProp p; cout << p.major << p.minor;\n"),
    ("LINT-CAPABILITY", "cudaDeviceProp p; bool a = p.major < 2, b = p.major==9;\n", "cudaDeviceProp p; bool a = p.major < 2, b = p.major != 9999;\n"),
    ("LINT-CAPABILITY-READ", "cudaDeviceProp p; bool a = p.major < 2;\n", "cudaDeviceProp p; bool a = p.major < 8;\n"),
    ("LINT-CUDA-VERSION", "#ifndef CUDA_VERSION\nf();\n#endif\n", "#ifndef CUDA_VERSION\n#include <cuda.h>\n#endif\n"),
    ("LINT-SAME-OVERLOAD-IF", "#ifdef A\nvoid f(CUresult r) {}\n#endif\n#ifdef B\nvoid f(cudaError_t r) {}\n#endif\n",
     "#ifndef H\n#define H\nvoid f(CUresult r) {}\n#ifdef B\nvoid f(cudaError_t r) {}\n#endif\n#endif\n"),
    ("LINT-RUNTIME-NAME", 'cuModuleLoad(&m, (name + ".ptx").c_str());\n', 'cuModuleLoad(&m, (name + ".fatbin").c_str());\n'),
    ("LINT-WARP-SIZE-CONSTANT", "int a[warpSize];\n", "int a[mine::warpSize];\n"),
    ("LINT-TEMPLATE-KEYWORD", "template <class T> void f() { A<T>::g<1>(); }\n", "template <class T> bool A<T>::operator<(const A& a) { return b > c; }\n"),
    ("LINT-CAPABILITY-READ", "f(&x, cudaDevAttrComputeCapabilityMajor, 0);\n", "f(&x, cudaDevAttrWarpSize, 0);\n"),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "guilty", "innocent"), GUARDS)
def test_questions_that_hip_answers_otherwise(rule: str, guilty: str, innocent: str) -> None:
    assert told(guilty).count(rule) == 1
    assert rule not in told(innocent)


def told(text: str) -> list[str]:
    return [f.rule for f in hip(text).findings]


@pytest.mark.parametrize(("rule", "guilty", "innocent"), LADDERS)
def test_ladders(rule: str, guilty: str, innocent: str) -> None:
    assert rule in told(guilty)
    assert not [r for r in told(innocent) if "LADDER" in r]


@pytest.mark.parametrize("start", ["stride", "4"])
def test_a_ladder_of_groups_that_are_reduced_apart_is_complete(start: str) -> None:
    text = "const int stride = 8;\nfor (int d = {}; d < 32; d <<= 1) x += __shfl_down_sync(m, x, d, 32);\n"
    assert "LINT-LADDER-INCOMPLETE" not in told(text.format(start))
    assert "LINT-LADDER-INCOMPLETE" in told(text.format("2"))


def test_a_ladder_that_begins_with_the_last_step_of_another_is_complete() -> None:
    steps = [f"t = __shfl_down_sync(m, v, {o});\n" for o in (16, 8, 4, 2, 1, 1, 2, 4, 8, 16)]
    assert [rule for rule in told("".join(steps)) if "LADDER" in rule] == ["LINT-LADDER-32"] * 2
    assert "LINT-LADDER-STEPS" in told("".join(steps[:5] + steps[6:]))


def test_a_project_s_own_macro_of_a_condition_is_no_library_s() -> None:
    assert told("#ifdef NVSHMEM_COMMS\n#endif\n") == []
    assert told("#ifdef NVSHMEM_COMMS\nint n = NVSHMEM_COMMS;\n#endif\n") == ["HIPIFY-NO-TABLE"]


def test_a_tree_s_own_copy_of_cub_has_what_hipcub_lacks() -> None:
    text = "cub::EmptyKernel<void>; cub::BlockLoad<int, 64, 4, cub::BLOCK_LOAD_WARP_TRANSPOSE> a;\n"
    rules = {f.rule for f in hip(text).findings}
    assert {"LINT-CUB-NAME", "LINT-WARP-TRANSPOSE"} <= rules
    for path in ("third/cub/cub.cuh", "third/my_cub/util_type.cuh"):
        assert not hip(text, target=Target(own_headers=frozenset((path,)))).findings
    for path in ("mine/cub.cuh", "cubes/cub.cuh"):  # a header that includes CUB's
        assert {f.rule for f in hip(text, target=Target(own_headers=frozenset((path,)))).findings} >= rules


def test_a_call_that_a_rule_gives_its_arguments_is_not_told() -> None:
    assert "LINT-DEFAULTS" not in told("void f() { cudaGraphInstantiate(&e, g, 0); }\n")
    assert "LINT-DEFAULTS" in told("void f() { cudaGraphInstantiate(&e, g); }\n")
