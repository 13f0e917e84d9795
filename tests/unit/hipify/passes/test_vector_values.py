"""Values of vector types and of dim3 are made as HIP's types take them, and mean what they mean in CUDA."""

from __future__ import annotations

import pytest

from support.hipify import hip


@pytest.mark.parametrize(
    ("cuda", "converted"),
    [
        ("float4 v = {0};", "float4 v = {0, 0, 0, 0};"),
        ("const int2 v{1};", "const int2 v{1, 0};"),
        ("float3 v = {f(1, 2), 2 };", "float3 v = {f(1, 2), 2, 0 };"),
        ("float4 w; float4 v{w.x}; float s; float4 u{s};", "float4 w; float4 v{w.x, 0, 0, 0}; float s; float4 u{s, 0, 0, 0};"),
        ("float2 a = {1.f}, b = {2.f};", "float2 a = {1.f, 0}, b = {2.f, 0};"),
        ("int1 v = {1}, w{2};", "int1 v  {1}, w{2};"),
        ("float4 v[3] = {0.f};", "float4 v[3] = {};"),
        ("float4 v[2][2] = {0};", "float4 v[2][2] = {};"),
        ("return float4{1};", "return float4{1, 0, 0, 0};"),
        ("v = (uchar4){1, 2};", "v = (uchar4){1, 2, 0, 0};"),
        ("dim3 d = make_uint3(1, 2, 3);", "dim3 d = dim3(1, 2, 3);"),
        ("dim3 d(make_uint3(1, 2, 3));", "dim3 d(dim3(1, 2, 3));"),
        ("dim3 d; d = make_uint3(1, 2, 3);", "dim3 d; d = dim3(1, 2, 3);"),
        ("uint3 u = threadIdx;", "uint3 u = make_uint3(threadIdx.x, threadIdx.y, threadIdx.z);"),
        ("dim3 d; uint3 u = d;", "dim3 d; uint3 u = make_uint3(d.x, d.y, d.z);"),
        ("uint3 g; k<<<g, 32>>>();", "uint3 g; k<<<dim3(g.x, g.y, g.z), 32>>>();"),
        ("uint3 b; k<<<1, b, 0, s>>>();", "uint3 b; k<<<1, dim3(b.x, b.y, b.z), 0, s>>>();"),
        ("uint3 g; k<<<g, g>>>();", "uint3 g; k<<<dim3(g.x, g.y, g.z), dim3(g.x, g.y, g.z)>>>();"),
        ("uint3 v; f(dim3(v));", "uint3 v; f(dim3(v.x, v.y, v.z));"),
        ("uint3 v; dim3 d = v;", "uint3 v; dim3 d = dim3(v.x, v.y, v.z);"),
    ],
)
def test_values_that_hip_makes_otherwise(cuda: str, converted: str) -> None:
    text = f"__global__ void q() {{ {cuda} }}\n"
    made = hip(text)
    assert made.text.endswith(f"__global__ void q() {{ {converted} }}\n")
    assert hip(made.text).text == made.text


@pytest.mark.parametrize(
    "same",
    [
        "float4 v = {1, 2, 3, 4};",
        "float4 v = {};",
        "int4 v{*reinterpret_cast<int4 const*>(&a[i])};",
        "float4 v{make_float4(1, 2, 3, 4)};",
        "float4 const* p = q; float4 v{p[i + 1]}; float4 w{*p};",
        "float4 v[2] = {{1, 2, 3, 4}};",
        "float4 v[1] = {x};",
        "myfloat4 v = {0};",
        "float4x v = {0};",
        "int4 f() { return a; }",
        "uint3 u = make_uint3(1, 2, 3);",
        "uint3 u; u = make_uint3(1, 2, 3); o.grid = make_uint3(1, 1, 1);",
        "dim3 d = blockDim;",
        "uint3 u = v;",
        "dim3 g; k<<<g, 32>>>();",
    ],
)
def test_other_values_stay(same: str) -> None:
    assert hip(f"__global__ void q() {{ {same} }}\n").text.endswith(f"{{ {same} }}\n")
