"""Device code for the lint, and what it finds in such."""

from __future__ import annotations

from stackbuild.hipify.model import Target
from support.hipify import hip


def found_rules(text: str, target: Target | None = None) -> list[tuple[str, int]]:
    made = hip(text, target=target)
    return [(f.rule, f.place.line) for f in made.findings if f.rule.startswith("LINT") and f.place]


def ladder(head: str, call: str = "__shfl_xor_sync(m, v, o)") -> str:
    return f"__device__ float r(float v) {{\n  for ({head}) {{\n    v += {call};\n  }}\n  return v;\n}}\n"


def warp_function(body: str) -> str:
    return f"__device__ float r(float v) {{\n{body}\n  return v;\n}}\n"


def rule_severities(text: str, rocm: str = "6.4") -> list[tuple[str, int, str]]:
    made = hip(text, target=Target(rocm=rocm))
    return [(f.rule, f.place.line, f.severity.value) for f in made.findings if f.rule.startswith("LINT") and f.place]
