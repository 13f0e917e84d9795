"""Structured bindings of CUDA's vectors, which HIP's do not take."""

from __future__ import annotations

import pytest

from support.lint_samples import rule_severities


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("__global__ void k(int2 *q) {\n  auto [x, y] = q[0];\n}\n", [2]),
        ("__global__ void k(const uchar4 *__restrict__ u) {\n  const auto &[r, g, b, a] = u[threadIdx.x];\n}\n", [2]),
        ("__device__ void f() {\n  for (auto [i, j] = make_int2(0, 1); i < 3; ++i) {}\n}\n", [2]),
        ("__device__ void f() { float3 v;\n  auto [a, b, c] = v;\n}\n", [2]),
        ("__device__ void f() {\n  auto [a, b] = float2{1, 2};\n}\n", [2]),
        ("__device__ void f(float *p) {\n  auto [a, b] = *reinterpret_cast<const float2 *>(p);\n}\n", [2]),
        ("__device__ void f(float2 *p) {\n  auto [a, b] = __ldg(p + 1);\n}\n", [2]),
        ("__device__ void f(std::vector<float2> &all) {\n  for (auto [a, b] : all) {}\n}\n", []),
        ("struct P { int a, b; };\n__device__ void f(P v) {\n  auto [a, b] = v;\n}\n", []),
        ("__device__ void f(int2 *v) {}\n__device__ void g(P *v) {\n  auto [a, b] = v[0];\n}\n", []),
        ("__device__ void f() {\n  auto [a, b] = std::make_pair(1, 2);\n}\n", []),
    ],
)
def test_bindings_of_vectors_by_their_initializer(text: str, lines: list[int]) -> None:
    assert [line for rule, line, severity in rule_severities(text) if (rule, severity) == ("LINT-VECTOR-BINDING", "error")] == lines
