from __future__ import annotations

import pytest

from stackbuild.hipify.convert import convert
from stackbuild.hipify.model import Target
from stackbuild.hipify.rules import rule_files
from stackbuild.hipify.tables import bundled_tables
from support.hipify import bundled_rules, hip
from support.lint_samples import found_rules, rule_severities


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
        ("surface<void, 2> surf;\n", ["LINT-SURFACE-REFERENCE"]),
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
    assert [rule for rule, _ in found_rules(text)] == expected


def test_lint_can_be_left_out() -> None:
    assert hip("#define WARP_SIZE 32\n", target=Target(lint=False)).findings == ()


def test_each_later_use_of_what_does_not_compile_is_a_note() -> None:
    text = "v = tex1Dfetch<float>(t, 0);\nw = tex1Dfetch<float>(t, 1);\nx = tex2D<float>(t, 0, 1);\n"
    assert rule_severities(text) == [
        ("LINT-TEXTURE-FETCH", 1, "warning"),
        ("LINT-TEXTURE-FETCH", 2, "note"),
        ("LINT-TEXTURE-FETCH", 3, "warning"),
    ]


def test_members_that_hips_struct_lacks_by_version() -> None:
    text = "cudaDeviceProp p;\nint a = p.asyncEngineCount;\nint b = p.major;\nint asyncEngineCount = 1;\n"
    assert rule_severities(text, "5.7") == [("LINT-MEMBER", 2, "error")]
    assert rule_severities(text, "6.4") == []
    gone = "cudaLaunchAttribute a;\na.val.clusterDim.x = 2;\n"
    assert rule_severities(gone) == [("LINT-MEMBER", 2, "error")]
    assert rule_severities(gone.replace("cudaLaunchAttribute", "mine")) == []


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("a.c", "#include <curand.h>\n", True),
        ("a.h", '#include <curand.h>\n#ifdef __cplusplus\nextern "C" {\n#endif\n', True),
        ("a.h", "#include <curand.h>\n", False),
        ("a.h", "#include <curand.h>\n#if __cplusplus > 201103L\n#endif\nnamespace n {}\n", False),
        ("a.cpp", "#include <curand.h>\n", False),
        ("a.c", "#include <cublas_v2.h>\n", False),
    ],
)
def test_headers_that_c_cannot_include(name: str, text: str, told: bool) -> None:
    assert ("LINT-C-HEADER" in [f.rule for f in hip(text, name).findings]) is told


def test_surface_functions_lose_the_boundary_mode() -> None:
    text = "surf2Dwrite(v, s, x * 4, y, cudaBoundaryModeTrap);\nsurf2Dwrite(v, s, x * 4, y);\n"
    assert hip(text, "a.h").text == "surf2Dwrite(v, s, x * 4, y);\n" * 2


def test_members_of_groups_and_atomics_that_hip_lacks() -> None:
    text = "namespace cg = cooperative_groups;\nint n = block.num_threads();\nint m = grid.size();\natomicInc_system(p, 3);\n"
    assert rule_severities(text) == [("LINT-GROUPS", 2, "error"), ("LINT-DEVICE-NAME", 4, "error")]
    assert rule_severities("int n = pool.num_threads();\n") == []


def test_types_that_only_cudas_headers_name() -> None:
    text = "cuuint32_t a;\nstruct __builtin_align__(16) S {\n  nv_half h;\n};\n"
    assert hip(text, "a.h").text == "uint32_t a;\nstruct __align__(16) S {\n  __half h;\n};\n"


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
    lines = [at for rule, at, _ in rule_severities(text) if rule == "LINT-NO-OVERLOAD"]
    assert lines == ([line] if line else [])


def test_names_of_cub_that_hipcub_has_not() -> None:
    text = "void f() {\n  cub::DeviceFor::Bulk(n, op);\n  hipcub::DeviceFor x;\n  cub::DispatchScan<a> d;\n  cub::DeviceScan::Sum(a, b);\n}\n"
    assert rule_severities(text) == [("LINT-CUB-NAME", 2, "error"), ("LINT-CUB-NAME", 4, "error")]


def test_declarations_of_built_in_variables() -> None:
    text = "#ifndef __CUDA_ARCH__\nextern const dim3  blockDim;\nextern uint3 const threadIdx;\n#endif\nextern int n;\n"
    built_in = [(line, severity) for rule, line, severity in rule_severities(text) if rule == "LINT-BUILT-IN"]
    assert built_in == [(2, "error"), (3, "error")]
    assert rule_severities("extern dim3 block;\nvoid f(dim3 blockDim);\n") == []


def test_positions_that_are_handed_on_where_there_is_a_uint3() -> None:
    text = "__device__ int f(uint3 t);\n__global__ void k() {\n  f(threadIdx);\n  dim3 d(threadIdx);\n  uint3 u = dim3(1);\n  u = dim3(2);\n}\n"
    assert rule_severities(text) == [("LINT-DIM3", line, "warning") for line in (3, 5, 6)]
    assert rule_severities(text.replace("uint3", "dim3")) == []


@pytest.mark.parametrize(
    ("target", "type_name", "told"),
    [
        (Target(rocm="6.4"), "__hip_fp8_e4m3", ("LINT-FP8-OCP", "note")),
        (Target(rocm="6.4", wavefronts=(32,)), "__hip_fp8_e4m3", None),
        (Target(rocm="6.2"), "__hip_fp8_e4m3_fnuz", ("LINT-FP8", "warning")),
        (Target(), "__hip_fp8_e4m3", ("LINT-FP8-OCP", "note")),
    ],
)
def test_eight_bit_floats_keep_cudas_format_or_are_told(target: Target, type_name: str, told: tuple[str, str] | None) -> None:
    made = convert("__global__ void k(__nv_fp8_e4m3 *p) {}\n", bundled_tables.load(), bundled_rules(), target, "a.cu")
    assert made.text.count(f"{type_name} *p") == 1
    assert [(f.rule, f.severity.value) for f in made.findings if f.rule.startswith("LINT-FP8")] == ([told] if told else [])


def test_each_use_of_an_eight_bit_float_is_told_where_its_conversions_may_lack() -> None:
    text = "__global__ void k(__nv_fp8_e4m3 *p, float *q) {\n  q[0] = 1;\n  q[1] = float(p[0]);\n  p[1] = __nv_fp8_e4m3(q[2]);\n}\n"
    for lanes, lines in (((64,), [1, 3, 4]), ((32,), [])):
        made = convert(text, bundled_tables.load(), bundled_rules(), Target(rocm="6.4", wavefronts=lanes), "a.cu")
        places = sorted({f.place.line for f in made.findings if f.rule == "LINT-FP8-OCP" and f.place})
        assert places == lines and {f.severity.value for f in made.findings} <= {"note"}


def test_hipifys_own_text_keeps_its_format_of_eight_bits() -> None:
    target = Target(rocm="6.4", compat="hipify")
    made = convert("__global__ void k(__nv_fp8_e4m3 *p) {}\n", bundled_tables.load(), rule_files.load_compat(), target, "a.cu")
    assert "__hip_fp8_e4m3_fnuz *p" in made.text
    assert ("LINT-FP8", "warning") in [(f.rule, f.severity.value) for f in made.findings]
