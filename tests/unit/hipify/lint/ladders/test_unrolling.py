"""Ladders that are written out, or that a function or a macro makes."""

from __future__ import annotations

import pytest

from support.lint_samples import found_rules, warp_function


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("int o = 16;\nwhile (o > 0) { v += __shfl_down(v, o); o >>= 1; }", ("LINT-LADDER-32", 3)),
        ("int o = 16;\nwhile (o >= 16) { v += __shfl_down(v, o); o >>= 1; }", ("LINT-LADDER-INCOMPLETE", 3)),
        ("int o = 32;\nwhile (o > 1) { o /= 2; v += __shfl_xor_sync(m, v, o); }", ("LINT-LADDER-32", 3)),
        ("int o = 32;\nwhile (o >>= 1) v += __shfl_xor_sync(m, v, o);", ("LINT-LADDER-32", 3)),
        ("int o = warpSize / 2;\nwhile (o) { v += __shfl_xor(v, o); o = o / 2; }", None),
        ("int o = 1;\nwhile (o < 32) { v += __shfl_up(v, o); o <<= 1; }", ("LINT-LADDER-32", 3)),
        ("int o = 16;\nf();\n{\n  while (o > 0) { v += __shfl_down(v, o); o >>= 1; } }", ("LINT-LADDER-32", 5)),
        ("int o = 16;\ndo { v += __shfl_xor(v, o); o >>= 1; } while (o > 0);", ("LINT-LADDER-32", 3)),
        ("int o = 16;\ndo { v += __shfl_xor(v, o); o >>= 1; } while (o > 2);", ("LINT-LADDER-INCOMPLETE", 3)),
        ("while (x > 0) { v += __shfl_down(v, 16); --x; }", None),
        ("".join(f"v += __shfl_xor_sync(m, v, {o});\n" for o in (16, 8, 4, 2, 1)), ("LINT-LADDER-32", 2)),
        ("".join(f"v += __shfl_down(v, {o});\n" for o in (1, 2, 4, 8, 16)), ("LINT-LADDER-32", 2)),
        ("".join(f"v += __shfl_xor(v, {o});\n" for o in (16, 8, 2, 1)), ("LINT-LADDER-STEPS", 2)),
        ("".join(f"v += __shfl_xor(v, {o});\n" for o in (32, 16, 8, 4, 2, 1)), ("LINT-LADDER-64", 2)),
        ("".join(f"v += __shfl_xor(v, {o});\n" for o in (16, 8, 4)), None),  # rows of a tile: on purpose
        ("".join(f"v += __shfl_xor(v, {o});\n" for o in (2, 1)), None),
        ("".join(f"v += __shfl_xor(v, {o}, 32);\n" for o in (16, 8, 4, 2, 1)), None),
        ("".join(f"v += __shfl_xor(v, {o}); w += __shfl_xor(w, {o});\n" for o in (8, 2, 1)), ("LINT-LADDER-STEPS", 2)),
        ("".join(f"v += __shfl_xor(v, {o}, rows);\n" for o in (16, 8, 4, 2, 1)), None),
        ("".join(f"v += __shfl_xor(v, {o}, WARP_SIZE);\n" for o in (16, 8, 4, 2, 1)), ("LINT-LADDER-32", 2)),
        ("v += __shfl(v, 4); v += __shfl(v, 2);\nif (x) { v += __shfl(v, 1); }", None),
        ("v = __shfl(v, 1); v = __shfl(v, 8); v = __shfl(v, 2);", None),
    ],
)  # fmt: skip
def test_ladders_in_other_forms_are_evaluated(body: str, expected: tuple[str, int] | None) -> None:
    ladders = [entry for entry in found_rules(warp_function(body)) if "LADDER" in entry[0]]
    assert ladders[:1] == ([expected] if expected else [])
