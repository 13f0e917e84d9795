"""What the support header for warp functions may not do to a source: it is text, so its form is what is tested here."""

from __future__ import annotations

import re

from stackbuild.hipify.passes.lane_masks import FUNCTIONS
from support.hipify import bundled_rules

HEADER = "stackbuild_hip_compat.h"


def test_no_function_is_a_macro_that_would_rewrite_a_definition_of_the_same_name() -> None:
    """`T __shfl_down_sync(unsigned mask, T v, …) {…}` under a test of CUDA's version became a function that calls itself."""
    text = bundled_rules("generic").shims[HEADER]
    rule = next(r for r in bundled_rules("generic").rules if HEADER in r.match)
    macros = re.findall(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", text, re.M)
    no_functions = ["CUDAAPI", "CUDARTAPI", "CUDART_CB", "__grid_constant__", "__nv_pure__"]
    assert macros == ["STACKBUILD_HIP_COMPAT_H", "STACKBUILD_HAS_BF16", *no_functions]
    missing = [
        name
        for name in {*rule.when, *FUNCTIONS} - {*no_functions, "cudaMemLocation", "cudaMemLocationTypeDevice"}
        if not re.search(rf"\b{name}\(", text)
    ]
    assert missing == []


def test_every_function_gives_way_to_another_of_its_name() -> None:
    """Each is a template, with an empty pack or a parameter of its own, so that one that HIP gains is preferred."""
    text = bundled_rules("generic").shims[HEADER]
    outside = re.sub(r"namespace stackbuild_hip \{.*?\n\}  // namespace stackbuild_hip", "", text, flags=re.S)
    heads = [line for line in outside.splitlines() if re.match(r"(?:__host__ )?__device__ inline", line)]
    before = [outside.splitlines()[outside.splitlines().index(head) - 1] for head in heads]
    assert all(line.startswith("template <") for line in before)
    assert outside.count("template <") > 60
