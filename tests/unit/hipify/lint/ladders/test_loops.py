"""Ladders of shuffles in loops."""

from __future__ import annotations

import pytest

from stackbuild.hipify.model import Target
from stackbuild.model.findings import Severity
from support.hipify import hip
from support.lint_samples import found_rules, ladder


@pytest.mark.parametrize(
    ("head", "call", "expected"),
    [
        ("int o = 16; o >= 16; o >>= 1", "__shfl_xor_sync(m, v, o)", "LINT-LADDER-INCOMPLETE"),  # lc0 pull request 2375
        ("int o = 16; o >= 1; o >>= 1", "__shfl_xor_sync(m, v, o)", "LINT-LADDER-32"),
        ("int o = 16; o > 0; o /= 2", "__shfl_down_sync(m, v, o)", "LINT-LADDER-32"),
        ("int o = 16; o > 1; o /= 2", "__shfl_down(v, o)", "LINT-LADDER-INCOMPLETE"),
        ("int o = 16; o; o >>= 1", "__shfl_down(v, o)", "LINT-LADDER-32"),
        ("int o = 16; o > 0; o = o / 2", "__shfl_xor(v, o)", "LINT-LADDER-32"),
        ("int o = 16; o > 0; o /= 4", "__shfl_xor(v, o)", "LINT-LADDER-INCOMPLETE"),
        ("int o = 1; o < 32; o *= 2", "__shfl_up_sync(m, v, o)", "LINT-LADDER-32"),
        ("int o = 1; o < 32; o <<= 1", "__shfl_up_sync(m, v, o)", "LINT-LADDER-32"),
        ("int o = 1; o <= 16; o *= 2", "__shfl_up_sync(m, v, o)", "LINT-LADDER-32"),
        ("unsigned int o = 32 / 2; o > 0; o >>= 1", "__shfl_xor_sync(m, v, o)", "LINT-LADDER-32"),
        ("int o = 32; o > 0; o >>= 1", "__shfl_xor_sync(m, v, o)", "LINT-LADDER-64"),
        ("int o = WARP_SIZE / 2; o >= WARP_SIZE / 2; o >>= 1", "__shfl_xor_sync(m, v, o)", "LINT-LADDER-INCOMPLETE"),
        ("int o = WARP_SIZE / 2; o > 0; o >>= 1", "__shfl_xor_sync(m, v, o)", None),
        ("int o = warpSize >> 1; o > 0; o >>= 1", "__shfl_xor_sync(m, v, o)", None),
        ("int o = 1; o < warpSize; o *= 2", "__shfl_up_sync(m, v, o)", None),
        ("int o = 8; o > 0; o >>= 1", "__shfl_xor_sync(m, v, o)", None),
        ("int o = 16; o > 0; o >>= 1", "__shfl_xor_sync(m, v, o, 32)", None),
        ("int o = 16; o > 0; o >>= 1", "f(o)", None),
        ("int o = n * k / 2; o >= k; o >>= 1", "__shfl_xor_sync(m, v, o)", None),
        ("int o = 16; o > 0; o >>= 1", "max(v, WARP_SHFL_XOR(v, o))", "LINT-LADDER-32"),
        ("int o = 16; o > 0; --o", "__shfl_xor_sync(m, v, o)", None),
        ("int o = 16; o > 0; o *= 2", "__shfl_xor_sync(m, v, o)", "LINT-LADDER-UNREAD"),
    ],
)  # fmt: skip
def test_ladders_are_evaluated(head: str, call: str, expected: str | None) -> None:
    ladders = [entry for entry in found_rules(ladder(head, call)) if "LADDER" in entry[0]]
    assert ladders == ([(expected, 2)] if expected else [])


def test_a_ladder_of_32_matters_only_where_a_wavefront_has_64_lanes() -> None:
    text = ladder("int o = 16; o > 0; o >>= 1")
    assert found_rules(text, Target(wavefronts=(32,))) == []
    assert found_rules(text, Target(wavefronts=(64,))) == [("LINT-LADDER-32", 2)]


def test_an_incomplete_ladder_is_an_error_for_any_wavefront() -> None:
    made = hip(ladder("int o = 16; o >= 16; o >>= 1"), target=Target(wavefronts=(32,)))
    (finding,) = made.findings
    assert finding.severity is Severity.ERROR and "steps 16 does not reach every lane of a group of 32" in finding.found


def test_a_ladder_in_a_macro_is_found() -> None:
    text = "#define SUM(v) \\\n  for (int o = 16; o >= 16; o >>= 1) \\\n    v += __shfl_xor_sync(m, v, o)\nint f();\n"
    assert [entry for entry in found_rules(text) if "LADDER" in entry[0]] == [("LINT-LADDER-INCOMPLETE", 2)]
