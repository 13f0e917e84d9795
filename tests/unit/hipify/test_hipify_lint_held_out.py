"""What a second attacker found that lint let pass, each with a lookalike that is right.

A row is a rule, a text that must be told by it, and a text that must not.
"""

from __future__ import annotations

import pytest
from tests_hipify import hip

XOR = "#define SH(v, o) __shfl_xor_sync(0xffffffff, v, o)\n"
LADDERS = [
    ("LINT-LADDER-INCOMPLETE", XOR + "void f(float v) { for (int o = 16; o >= 16; o >>= 1) v += SH(v, o); }",
     XOR + "void f(float v) { for (int o = warpSize / 2; o > 0; o >>= 1) v += SH(v, o); }"),
    ("LINT-LADDER-32", XOR + "void f(float v) { for (int o = 16; o > 0; o >>= 1) v += SH(v, o); }",
     XOR + "void f(float v) { for (int o = 16; o > 0; o >>= 1) v += other(v, o); }"),
    ("LINT-LADDER-32", "#define SHFL(v, d) \\\n  __shfl_down_sync(~0u, (v), (d))\nvoid f(int v) { " + "".join(f"v += SHFL(v, {o}); " for o in (16, 8, 4, 2, 1)) + "}",
     "#define SHFL(v, d) __shfl_down_sync(~0u, (v), (d), 32)\nvoid f(int v) { for (int o = 16; o > 0; o /= 2) v += SHFL(v, o); }"),
    ("LINT-LADDER-32", XOR + "#define ADD(v, o) v += SH(v, o)\nvoid f(int v) { for (int o = 16; o; o >>= 1) ADD(v, o); }",
     XOR + "#define ADD(v, o) v += o\nvoid f(int v) { for (int o = 16; o; o >>= 1) ADD(v, o); }"),
    ("LINT-LADDER-INCOMPLETE", "void f(int v) { for (int o = 16; o > 0; o -= 8) v += __shfl_down(v, o); }",
     "void f(int v) { for (int o = 2; o > 0; o--) v += __shfl_down(v, o); }"),
    ("LINT-LADDER-WIDTH", "void f(int v) { for (int o = 64; o > 0; o /= 2) v += __shfl_down(v, o); }",
     "void f(int v) { for (int o = 8; o > 0; o /= 2) v += __shfl_down(v, o); }"),
]  # fmt: skip


def told(text: str) -> list[str]:
    return [f.rule for f in hip(text).findings]


@pytest.mark.parametrize(("rule", "guilty", "innocent"), LADDERS)
def test_ladders(rule: str, guilty: str, innocent: str) -> None:
    assert rule in told(guilty)
    assert not [r for r in told(innocent) if "LADDER" in r]
