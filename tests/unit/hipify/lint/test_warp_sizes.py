"""Sizes of a warp that stand in the code."""

from __future__ import annotations

from stackbuild.hipify.model import Target
from support.lint_samples import found_rules, rule_severities


def test_transposes_by_warps_matter_for_wavefronts_of_64() -> None:
    text = "typedef cub::BlockLoad<int, n, 4, cub::BLOCK_LOAD_WARP_TRANSPOSE> L;\n"
    assert rule_severities(text) == [("LINT-WARP-TRANSPOSE", 1, "warning")]
    assert "LINT-WARP-TRANSPOSE" not in [rule for rule, _ in found_rules(text, Target(wavefronts=(32,)))]
