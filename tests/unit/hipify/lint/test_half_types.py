from __future__ import annotations

import pytest

from stackbuild.hipify.model import Target
from support.hipify import hip


def found(text: str, rocm: str = "6.4") -> list[tuple[str, int]]:
    made = hip(text, target=Target(rocm=rocm))
    return [(f.rule, f.place.line) for f in made.findings if f.rule.startswith("LINT") and f.place]


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("long a) {\n  __nv_bfloat16 h = a;\n}", True),
        ("unsigned long long a) {\n  return __nv_bfloat16(a);\n}", True),
        ("size_t a, __nv_bfloat16 b) {\n  b += a;\n}", True),
        ("int64_t a) {\n  return (__nv_bfloat16)a;\n}", True),
        ("int64_t a) {\n  return static_cast<__nv_bfloat16>(a);\n}", True),
        ("__half a) {\n  return __nv_bfloat16(a);\n}", True),
        ("__nv_bfloat16 a) {\n  __half h = a;\n}", True),
        ("int a) {\n  __nv_bfloat16 h = a;\n}", False),
        ("float a, long b) {\n  __nv_bfloat16 h = a;\n}", False),
        ("__nv_bfloat16 a) {\n  __nv_bfloat16 h = a;\n}", False),
        ("long* a) {\n  __nv_bfloat16 h = a[0];\n}", False),
    ],
)
def test_values_that_bfloat16_has_no_single_conversion_from(body: str, told: bool) -> None:
    lines = [line for rule, line in found(f"__device__ auto f({body}\n") if rule == "LINT-NO-OVERLOAD"]
    assert lines == ([2] if told else [])


@pytest.mark.parametrize("operation", ["a * b", "a <= b", "-a", "++a", "a++", "a /= b"])
@pytest.mark.parametrize("where", ["__host__ __device__", "", "static inline"])
def test_operators_of_halves_are_for_the_device_alone_before_rocm_6(where: str, operation: str) -> None:
    text = f"#include <cuda_fp16.h>\n{where} auto f(__half a, __half b) {{\n  return {operation};\n}}\n"
    assert ("LINT-HALF-HOST", 3) in found(text, "5.7")
    assert "LINT-HALF-HOST" not in [rule for rule, _ in found(text)]


@pytest.mark.parametrize(
    "text",
    [
        "__device__ auto f(__half a, __half b) { return a + b; }\n",
        "__global__ void f(__half a, __half b) { if (a < b) g(a); }\n",
        "DEVICE_FUNC auto f(__half a, __half b) { return a + b; }\n",
        "auto f(__half* a, int b) { return a + b; }\n",
        "auto f(__half2 a, __half2 b) { return a + b; }\n",
        "auto f(__half a) { return p->a + 1; }\n",
        "__device__ __half g(__half a);\nfloat f(float a) { return a + a; }\n",
    ],
)
def test_operators_of_halves_that_compile(text: str) -> None:
    assert "LINT-HALF-HOST" not in [rule for rule, _ in found(text, "5.7")]


def test_pairs_of_halves_on_the_host_lack_what_changes_them() -> None:
    text = "{0} void f(half2 a, half2 b) {{\n  a += b;\n  b = a * b;\n  a++;\n}}\n"
    assert [line for rule, line in found(text.format(""), "5.7") if rule == "LINT-HALF-HOST"] == [2, 4]
    both = found(text.format("__host__ __device__"), "5.7")
    assert [line for rule, line in both if rule == "LINT-HALF-HOST"] == [2, 3, 4]


def test_integers_assigned_to_a_half_for_both_sides() -> None:
    text = "{0} __half f(int a) {{\n  __half h;\n  h = a;\n  return h;\n}}\n"
    assert ("LINT-HALF-HOST", 3) in found(text.format("__host__ __device__"))
    assert found(text.format("__device__")) == []
    assert found(text.format("__host__ __device__").replace("int a", "float a")) == []
