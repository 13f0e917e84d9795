"""A function that a source defines under a name of CUDA's: it keeps the name, and is told."""

from __future__ import annotations

import pytest

from stackbuild.hipify import Target, convert
from stackbuild.hipify.tables import bundled_tables
from support.hipify import bundled_rules, hip

OWN = "HIPIFY-OWN-NAME"


def made(text: str) -> tuple[str, list[str]]:
    """The converted text without the runtime's include, and the names that are told as the source's own."""
    result = hip(text)
    assert hip(result.text).text == result.text
    told = [f.found.split()[0] for f in result.findings if f.rule == OWN]
    return result.text.replace("#include <hip/hip_runtime.h>\n", "", 1), told


@pytest.mark.parametrize(
    ("cuda", "expected"),
    [
        # A hand-made header for AMD: renamed, the function would call itself.
        (
            "#ifdef __HIP_PLATFORM_AMD__\ninline cudaError_t cudaMalloc(void** p, size_t n) { return hipMalloc(p, n); }\n#endif\nint main() { return cudaMalloc(&p, 4); }",
            "#ifdef __HIP_PLATFORM_AMD__\ninline hipError_t cudaMalloc(void** p, size_t n) { return hipMalloc(p, n); }\n#endif\nint main() { return cudaMalloc(&p, 4); }",
        ),
        # One that is put before CUDA's own: what it calls is the real one.
        (
            'extern "C" cudaError_t cudaMalloc(void** p, size_t n) { return next("cudaMalloc")(p, n); }',
            'extern "C" hipError_t cudaMalloc(void** p, size_t n) { return next("cudaMalloc")(p, n); }',
        ),
        (
            "template <class T> cudaError_t cudaMalloc(T** p, size_t n) { return cudaMalloc((void**)p, n); }\nvoid f() { cudaMalloc(&q, 4); ::cudaMalloc(&r, 4); }",
            "template <class T> hipError_t cudaMalloc(T** p, size_t n) { return hipMalloc((void**)p, n); }\nvoid f() { cudaMalloc(&q, 4); ::cudaMalloc(&r, 4); }",
        ),
        (
            "namespace {\nauto cudaFree(A a) noexcept -> int { cudaFree(a.p); return 0; }\n}\nint x = cudaFree(A());",
            "namespace {\nauto cudaFree(A a) noexcept -> int { hipFree(a.p); return 0; }\n}\nint x = cudaFree(A());",
        ),
        # Two forms of one name, in branches: both bodies are outside of what the name means here.
        (
            "#if A\ncudaError_t cudaFree(int a) { return cudaFree(p); }\n#else\ncudaError_t cudaFree(long a) { return cudaFree(q); }\n#endif\nvoid f() { cudaFree(1); }",
            "#if A\nhipError_t cudaFree(int a) { return hipFree(p); }\n#else\nhipError_t cudaFree(long a) { return hipFree(q); }\n#endif\nvoid f() { cudaFree(1); }",
        ),
    ],
)  # fmt: skip
def test_a_function_of_the_source_stays_and_what_its_body_calls_is_hip(cuda: str, expected: str) -> None:
    text, told = made(cuda)
    assert text == expected
    assert set(told) <= {"cudaMalloc", "cudaFree"} and told


@pytest.mark.parametrize(
    ("cuda", "expected"),
    [
        ('extern "C" { int cudaMalloc(void**); }', 'extern "C" { int hipMalloc(void**); }'),
        ("void f() { cudaError_t e = cudaMalloc(&p, 4); { g(); } }", "void f() { hipError_t e = hipMalloc(&p, 4); { g(); } }"),
        ("void f() { if (cudaMalloc(&p, 4)) { g(); } else cudaFree(p); }", "void f() { if (hipMalloc(&p, 4)) { g(); } else hipFree(p); }"),
        ("cudaError_t my(cudaStream_t s) { return cudaFree(p); }", "hipError_t my(hipStream_t s) { return hipFree(p); }"),
    ],
)  # fmt: skip
def test_what_is_no_definition_of_the_name_is_renamed(cuda: str, expected: str) -> None:
    assert made(cuda) == (expected, [])


def test_an_own_warp_function_is_told_and_calls_of_it_get_their_masks() -> None:
    text, told = made(
        "#if CUDART_VERSION < 9000\ntemplate <class T> __device__ T __shfl_down_sync(unsigned mask, T v, int d, int w = 32) { return __shfl_down(v, d, w); }\n#endif\n"
        "__global__ void k(float* o) { o[0] = __shfl_down_sync(0xffffffff, o[1], 1); }"
    )
    assert told == ["__shfl_down_sync"]
    assert "__shfl_down_sync(unsigned mask, T v, int d, int w = 32) {" in text
    assert "__shfl_down_sync(0xffffffffffffffffULL, o[1], 1)" in text
    assert made("__global__ void k(float* o) { o[0] = __shfl_down_sync(0xffffffff, o[1], 1); }")[1] == []


def test_the_names_of_a_class_are_notes() -> None:
    found = [f for f in hip("struct Driver { int cudaMalloc(int); int cudaFree(int); };\n").findings if f.rule == OWN]
    assert sorted(f.severity for f in found) == ["note", "note"]


def test_a_member_that_only_frameworks_spell_so_is_a_note() -> None:
    text = "struct Handle { cudaStream_t cuda_stream = 0; };\n"
    findings = convert(text, bundled_tables.load(), bundled_rules("generic"), Target(), "a.cu").findings
    assert [(f.rule, f.severity) for f in findings] == [(OWN, "note")]


@pytest.mark.parametrize(("name", "severity"), [("umax", "note"), ("__vmaxu4", "note")])
def test_an_own_function_beside_a_support_header_s(name: str, severity: str) -> None:
    text = f"__device__ unsigned {name}(unsigned a, unsigned b) {{ return a < b ? b : a; }}\n"
    assert [f.severity for f in hip(text).findings if f.rule == OWN] == [severity]


def test_a_definition_of_hips_lane_function_is_told() -> None:
    text = "__device__ unsigned __lane_id() { return 1; }\n"
    assert [f.severity.value for f in hip(text).findings if f.rule == "HIPIFY-OWN-NAME"] == ["warning"]
    assert [f for f in hip("int x = __lane_id();\n").findings if f.rule == "HIPIFY-OWN-NAME"] == []
