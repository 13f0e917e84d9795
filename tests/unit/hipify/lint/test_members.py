"""Arithmetic with members and objects that HIP declares otherwise."""

from __future__ import annotations

import pytest

from support.lint_samples import rule_severities


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("__device__ uint2 f(cudaTextureObject_t o) {\n  return make_uint2(o & 1, o >> 32);\n}\n", [2, 2]),
        ("x = ((cudaTextureObject_t)v.x) | ((cudaTextureObject_t)v.y) << 32;\n", [1, 1]),
        ("void f(cudaTextureObject_t o) {}\nvoid g(float* o) {\n  o += 1;\n}\nvoid h(cudaTextureObject_t o) {\n  o += 1;\n}\n", [6]),
        ("void f(cudaTextureObject_t o) {\n  g(o, o ? 1 : 2);\n  if (o && p) h(&o);\n  q->o + 1;\n}\n", []),
    ],
)
def test_arithmetic_with_texture_objects(text: str, lines: list[int]) -> None:
    assert [line for rule, line, _ in rule_severities(text) if rule == "LINT-TEXTURE-NUMBER"] == lines
