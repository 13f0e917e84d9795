"""Overloads for types that are one in HIP."""

from __future__ import annotations

import pytest

from support.lint_samples import rule_severities


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
    assert [line for rule, line, _ in rule_severities(text) if rule == "LINT-SAME-OVERLOAD"] == lines
