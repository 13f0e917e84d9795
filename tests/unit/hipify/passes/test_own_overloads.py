"""Operators and atomics that HIP's headers have too are left out for HIP; others by the same signs are told."""

from __future__ import annotations

import pytest

from support.hipify import hip

GUARD = "#ifndef __HIP_PLATFORM_AMD__\n"


@pytest.mark.parametrize(
    "definition",
    [
        "inline __host__ __device__ float4 operator*(float4 a, float4 b)\n{\n    return make_float4(a.x * b.x, a.y * b.y, a.z * b.z,  a.w * b.w);\n}",
        "static int2 operator / (const int2 &p, const int2 &q) { return {p.x / q.x, p.y / q.y}; }",
        "inline __device__ void operator+=(float3 &a, float3 b) { a.x += b.x; a.y += b.y; a.z += b.z; }",
        "__device__ float2 &operator-=(float2 &a, const float2 b) { a.x -= b.x; a.y -= b.y; return a; }",
        "inline void operator*=(uint2 &a, uint2 b) { a = a * b; }",
        "typedef float3 Vec;\nVec operator*(const Vec& a, const Vec& b) { return make_float3(a.x * b.x, a.y * b.y, a.z * b.z); }",
        "using Vec = float2;\ninline Vec operator/(Vec a, Vec b) { return Vec{a.x / b.x, a.y / b.y}; }",
        "float2 operator*(float2 a, float2 b) { float2 c; c.x = a.x * b.x; c.y = a.y * b.y; return c; }",
        "__device__ __forceinline__\ndouble atomicMax(double *address, double val)\n{\n  return f(address, val);\n}",
        "static __inline__ __device__ double atomicAdd(double* p, const double v) { return g(p); }",
        "DEVICE INLINE\nstd::uint64_t atomicCAS(\n    std::uint64_t* p,\n    std::uint64_t compare,\n    std::uint64_t v)\n{\n  return f(p);\n}",
        "__device__ unsigned long atomicExch(unsigned long *p, unsigned long v) { return f(p); }",
        "__device__ size_t atomicAdd(size_t *p, size_t v) { return f(p); }",
        "__device__ double atomicCAS(double *p, double compare, double v) { return f(p); }",
    ],
)  # fmt: skip
def test_a_function_that_hip_has_is_left_out_for_hip(definition: str) -> None:
    text = f"#include <cuda_runtime.h>\nint before;\n{definition}\nint after;\n"
    made = hip(text)
    alias, _, own = definition.rpartition(";\n") if definition.startswith(("typedef", "using")) else ("", "", definition)
    before = f"{alias};\n" if alias else ""
    assert f"\nint before;\n{before}{GUARD}{own}\n#endif\nint after;\n" in made.text
    assert [f for f in made.findings if f.rule == "LINT-VECTOR-OPERATOR"] == []
    assert made.rules["generic-own-overloads"] == 1
    assert hip(made.text).text == made.text


@pytest.mark.parametrize(
    ("operands", "body", "is_constant"),
    [
        ("float4 &a, float s", "return make_float4(a.x * s, a.y * s, a.z * s, a.w * s);", True),
        ("const float s, float4& a", "return make_float4(a.x * s, a.y * s, a.z * s, a.w * s);", True),
        ("float4 &a, float s", "a.x *= s; return a;", False),
        ("float4 &a, float s", "return scale(&a, s);", False),
        ("const float4 &a, float s", "return scale(a, s);", False),
        ("float4 a, float s", "return scale(a, s);", False),
        ("float4 &a, float4 &b", "return add(a, b);", False),
    ],
)
def test_a_vector_beside_a_number_is_taken_by_constant_reference(operands: str, body: str, is_constant: bool) -> None:
    text = f"inline __host__ __device__ float4 operator*({operands}) {{ {body} }}\n"
    made = hip(text).text
    by_itself = text.removeprefix("inline ")
    assert hip(by_itself).text.endswith(by_itself)
    assert ("const float4" in made and "const float4" not in text) is is_constant
    assert hip(made).text == made


def test_definitions_on_one_line_are_each_left_out() -> None:
    one = "float2 operator*(float2 a, float2 b) { return make_float2(a.x * b.x, a.y * b.y); }"
    two = "float2 operator/(float2 a, float2 b) { return make_float2(a.x / b.x, a.y / b.y); }"
    text = hip(f"{one} {two} int x;\n").text
    assert "".join(f"{GUARD}{definition}\n#endif\n" for definition in (one, two)) in text.replace(
        "\n \n", "\n"
    ).replace(" \n#if", "\n#if")
    assert hip(text).text == text


@pytest.mark.parametrize(
    "definition",
    [
        "float2 operator*(float2 a, float2 b) { return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }",
        "float2 operator*(const float2& a, const float2& b) { return make_float2(b.x * a.x, a.y * b.y); }",
        "typedef float3 Vec; float operator*(const Vec& a, const Vec& b) { return a.x * b.x + a.y * b.y + a.z * b.z; }",
        "float2 operator*(float2 a, float2 b) { float2 c; c.x = a.x * b.x; c.y = a.y * b.x; return c; }",
    ],
)
def test_an_operator_that_does_something_else_is_told_where_it_stands(definition: str) -> None:
    made = hip(f"int x;\n{definition}\n")
    assert definition in made.text and "ifndef" not in made.text
    assert [f.place.line for f in made.findings if f.rule == "LINT-VECTOR-OPERATOR" and f.place] == [2]


def test_each_use_of_an_operator_that_does_something_else_is_told() -> None:
    text = (
        "typedef float3 Vec;\n__device__ float operator*(Vec a, Vec b) { return a.x * b.x + a.y * b.y + a.z * b.z; }\n"
        "__device__ float f(Vec v, float3 w, float s) {\n  float r = v * w;\n  Vec u = s * v;\n  u = make_float3(s * s, s, s);\n"
        "  return (v + u) * w;\n}\n"
    )
    uses = [(f.place.line, f.severity.value) for f in hip(text).findings if f.rule == "LINT-VECTOR-OPERATOR-USE" and f.place]
    assert uses == [(4, "note"), (7, "note")]


@pytest.mark.parametrize(
    "text",
    [
        "float2 operator+(float2 a, float2 b) { return make_float2(a.x + b.x, a.y + b.y); }",
        "float2 operator*(float2 a, float s) { return make_float2(a.x * s, a.y * s); }",
        "uint4 operator^(uint4 a, uint4 b) { return make_uint4(a.x ^ b.x, a.y ^ b.y, a.z ^ b.z, a.w ^ b.w); }",
        "namespace own { __device__ double atomicAdd(double *p, double v) { return g(p); } }",
        "__device__ unsigned atomicMax(unsigned *p, unsigned v, int scope) { return g(p); }",
        "double x = atomicAdd(p, 1.0);",
        "__device__ short atomicCAS(short *p, short compare, short v) { return f(p); }",
        "__device__ uint64_t atomicCAS(uint64_t *p, int64_t compare, uint64_t v) { return f(p); }",
        "__device__ double atomicAnd(double *p, double v) { return f(p); }",
    ],
)
def test_what_hip_s_does_not_clash_with_stays(text: str) -> None:
    made = hip(text + "\n")
    assert "ifndef" not in made.text
    assert [f for f in made.findings if f.rule == "LINT-VECTOR-OPERATOR"] == []


def test_a_question_for_nvcc_becomes_one_for_hipcc_unless_hip_is_asked_for_too() -> None:
    assert hip("#ifdef __NVCC__\n#endif\n").text == "#ifdef __HIPCC__\n#endif\n"
    for other in ("__HIPCC__", "__HIP_PLATFORM_AMD__", "__clang__"):
        text = f"#if defined(__NVCC__)\n#elif defined({other})\n#endif\n"
        assert hip(text).text == text


def test_a_cuda_file_that_includes_its_project_s_files_has_the_runtime_as_with_nvcc() -> None:
    assert hip('#include "common.h"\n', name="a.cu").text == '#include <hip/hip_runtime.h>\n#include "common.h"\n'
    for text, name in (("#include <vector>\n", "a.cu"), ('#include "common.h"\n', "a.cpp")):
        assert hip(text, name=name).text == text


def test_ffsll_is_called_with_a_type_that_hip_has() -> None:
    text = hip("int f(uint64_t mask) { return __ffsll(mask & 3); }\n").text
    assert "__ffsll(static_cast<unsigned long long>(mask & 3))" in text
    assert hip(text).text == text
