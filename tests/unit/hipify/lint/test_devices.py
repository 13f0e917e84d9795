"""What is for the device alone, and what device code may not call."""

from __future__ import annotations

import pytest

from support.hipify import hip
from support.lint_samples import rule_severities


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


def test_a_macro_of_a_launcher_s_name_launches_nothing() -> None:
    define = "#define cudaStreamFireAndForget otherStreamFireAndForget\n"
    assert rule_severities(define) == []
    use = "__global__ void k() { c<<<1, 1, 0, cudaStreamFireAndForget>>>(); }\n"
    assert ("LINT-DEVICE-LAUNCH", 2) in [(rule, line) for rule, line, _ in rule_severities(define + use)]


def test_a_function_that_a_template_asks_for_is_not_missed() -> None:
    call = "template <class T> __device__ T f(T *p, T v) { return atomicMin_block(p, v); }\n"
    asks = "template <class T> struct A<T, std::void_t<decltype(atomicMin_block(d<T*>(), d<T>()))>> : B {};\n"
    assert [rule for rule, _, _ in rule_severities(call)] == ["LINT-DEVICE-NAME"]
    assert rule_severities(asks + call) == []


def test_functions_that_hip_has_for_the_device_alone() -> None:
    text = "float f(float x) {\n  return erfinvf(x);\n}\n__host__ __device__ float g(float x) {\n  if (x) { return normcdff(x); }\n}\n__global__ void k() { erfinv(1.0); }\n"
    assert rule_severities(text) == [("LINT-HOST-FUNCTION", 2, "warning"), ("LINT-HOST-AND-DEVICE", 5, "note")]
    assert rule_severities("DEVICE_FUNC float f(float x) { return erfinvf(x); }\n") == []
    assert rule_severities("float erfinv(float x);\nauto f = [] __device__ (float x) { return erfinv(x); };\n") == []


def test_functions_of_the_device_in_functions_for_both_sides() -> None:
    text = "{0} float f(float x) {{\n  return rcbrtf(x);\n}}\n"
    assert rule_severities(text.format("__host__ __device__")) == [("LINT-HOST-AND-DEVICE", 2, "note")]
    assert rule_severities(text.format("__device__")) == []


@pytest.mark.parametrize(("rocm", "told"), [("5.7", True), ("6.4", False), ("7.0", False), ("", False)])
def test_functions_of_the_device_by_the_version_of_rocm(rocm: str, told: bool) -> None:
    rules = [rule for rule, _, _ in rule_severities("__half f(__half x) {\n  return __hneg(x);\n}\n", rocm)]
    assert ("LINT-HOST-FUNCTION" in rules) is told


def test_a_third_argument_of_launch_bounds_does_not_compile() -> None:
    text = "__global__ void __launch_bounds__(128, 1, 4) k() {}\n__global__ void __launch_bounds__(128, 1) h() {}\n"
    assert [(line, severity) for rule, line, severity in rule_severities(text) if rule == "LINT-LAUNCH-BOUNDS-CLUSTER"] == [(1, "error")]
