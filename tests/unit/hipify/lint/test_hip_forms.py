"""Forms that HIP's headers do not take."""

from __future__ import annotations

from support.lint_samples import rule_severities


def test_braces_for_half_precision_variables() -> None:
    text = "__device__ void f() {\n  half2 r;\n  r = {};\n  half2 s = {};\n  float g;\n  g = {};\n}\n"
    assert rule_severities(text) == [("LINT-HALF-BRACES", 3, "error")]
