"""Ladders are run by an interpreter of C++, not matched by their text."""

from __future__ import annotations

import pytest

from support.lint_samples import found_rules, warp_function


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("for (int o = 16; 16 <= o; o >>= 1) v += __shfl_down(v, o);", "INCOMPLETE"),
        ("for (int o = 16; 0 < o; o >>= 1) v += __shfl_down(v, o);", "32"),
        ("for (int o{16}; o > 0; o >>= 1) v += __shfl_down(v, o);", "32"),
        ("for (int o(16); o > 0; o >>= 1) v += __shfl_down(v, o);", "32"),
        ("for (int i = 4; i >= 1; --i) v += __shfl_xor(v, 1 << i);", "INCOMPLETE"),
        ("for (int i = 0; i < 5; i++) v += __shfl_xor(v, 1 << i);", "32"),
        ("for (int o = 16, n = 0; o >= 16; o /= 2, ++n) v += __shfl_down(v, o);", "INCOMPLETE"),
        ("for (int i = 0, o = 16; i < 5; ++i, o >>= 1) v += __shfl_down(v, o);", "32"),
        ("for (int i = 0, o = 16; i < 4; ++i, o >>= 1) v += __shfl_down(v, o);", "INCOMPLETE"),
        ("for (int i = 4; i >= 0; i--) { const int o = 1 << i; v += __shfl_xor(v, o); }", "32"),
        ("int o = 16; for (; o >= 16; o >>= 1) v += __shfl_down(v, o);", "INCOMPLETE"),
        ("int o; for (o = 16; o; o /= 2) v += __shfl_down(v, o);", "32"),
        ("for (int o = 16; o >= 16 && o; o /= 2) v += __shfl_down(v, o);", "INCOMPLETE"),
        ("for (unsigned o = 16u; o >= 16u; o /= 2u) { float t = __shfl_down(v, (unsigned)o); v += t; }", "INCOMPLETE"),
        ("for (int o = 1; o < 32; o += o) v += __shfl_up(v, o);", "32"),
        ("for (int o = 16; o >= 16; o -= o / 2) v += __shfl_down(v, o);", "INCOMPLETE"),
        ("constexpr int kStart = 16; for (int o = kStart; o > 0; o /= 2) v += __shfl_down(v, o);", "32"),
        ("const int half = warpSize / 2; for (int o = half; o > 0; o /= 2) v += __shfl_down(v, o);", None),
        ("for (int o = WARP_SIZE; o > 0; o /= 2) v += __shfl_down(v, o);", "WIDTH"),
        ("for (int o = 16; o > 0; o /= 2) v += __shfl_xor(v, o, 16);", "WIDTH"),
        ("for (int o = 16;;) { v += __shfl_xor(v, o); if (o == 1) break; o >>= 1; }", "32"),
        ("for (int o = 16; o > 0; o >>= 1) { if (lane + o < n) v += __shfl_down(v, o); }", "32"),
        ("for (int o = 16; o > 0; o >>= 1) { if (lane < n) o >>= 1; v += __shfl_down(v, o); }", "UNREAD"),
        ("for (int o = 16; o > 0; o = next(o) / 2) v += __shfl_down(v, o);", "UNREAD"),
        ("for (int o = 16; o > 0; o /= 2) v += __shfl_down(v, o - 1);", "UNREAD"),
        ("for (int i = 0; i < 32; ++i) v += __shfl(v, i);", "32"),
        ("for (int i = 0; i < 16; ++i) v += __shfl(v, i);", None),
        ("for (int i = 0; i < n; ++i) v += __shfl(v, i);", None),
        ("for (int o = 16; o > 0; o >>= 1) v += __shfl(v, lane ^ o);", "32"),
        ("v += __shfl_xor(v, 16);\nv += __shfl_xor(v, 8);\nv += __shfl_xor(v, 4);\nv += __shfl_xor(v, 2);", "STEPS"),
        ("float a = v + __shfl_xor(v, 16); float b = a + __shfl_xor(a, 8); float c = b + __shfl_xor(b, 4);\n"
         "float d = c + __shfl_xor(c, 2); v = d + __shfl_xor(d, 1);", "32"),
        ("for (int o = 16; o > 0; o >>= 1) {\n#if A\n v += __shfl_down(v, o);\n#else\n v += __shfl_xor(v, o);\n#endif\n}", "32"),
        ("for (int o = 16; o > 0; o >>= 1) for (int i = 0; i < N; ++i) w[i] += __shfl_xor(w[i], o);", "32"),
        ("cg::coalesced_group g; for (int o = 16; o > 0; o >>= 1) v += g.shfl_down(v, o);", "32"),
        ("cg::thread_block_tile<16> g; for (int o = 8; o > 0; o >>= 1) v += g.shfl_down(v, o);", None),
        ("for (int o = g.size() / 2; o > 0; o /= 2) v += g.shfl_down(v, o);", None),
        ("for (int i = 0; i < 4; ++i) std::shuffle(v.begin(), v.end(), g);", None),
    ],
)  # fmt: skip
def test_ladders_are_run_not_matched(body: str, expected: str | None) -> None:
    ladders = [rule for rule, _ in found_rules(warp_function(body)) if "LADDER" in rule]
    assert ladders == ([f"LINT-LADDER-{expected}"] if expected else [])
