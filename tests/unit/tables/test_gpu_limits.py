"""The table of limits by GPU."""

from __future__ import annotations

import pytest

from stackbuild.core.errors import UsageError
from stackbuild.tables.gpu_limits import all_limits, emulated_targets, limits_of
from stackbuild.tables.targets import BUILDABLE, INSTRUCTION_FAMILIES


def test_what_is_emulated_has_a_family_and_limits() -> None:
    assert {*emulated_targets(), "gfx1102", "gfx1103", "gfx1150", "gfx1152", "gfx1153"} == set(INSTRUCTION_FAMILIES)
    assert set(INSTRUCTION_FAMILIES) <= set(BUILDABLE)


@pytest.mark.parametrize("target", sorted(all_limits()))
def test_each_row_is_of_a_gpu_that_recipes_can_name(target: str) -> None:
    row = all_limits()[target]
    assert target in BUILDABLE
    assert row.sources and set(row.sources) <= {"specs", "cdna", "press", "llvm"}
    assert row.waves_per_simd * row.simds * row.wave in (2048, 1024)
    assert row.vgpr_bytes // (4 * row.simds * row.wave) in (512, 1024, 1536)  # registers of a lane of a SIMD


def test_the_version_is_that_of_the_name() -> None:
    found = {name: row.version for name, row in all_limits().items()}
    assert (
        found["gfx90a"] == (9, 0)
        and found["gfx942"] == (9, 4)
        and found["gfx1201"] == (12, 0)
        and found["gfx1030"] == (10, 3)
    )


@pytest.mark.parametrize(
    ("target", "said"), [("gfx9999", "not a target that is known"), ("gfx1030", "known, but not emulated")]
)
def test_a_target_that_is_not_emulated_is_refused_by_its_name(target: str, said: str) -> None:
    with pytest.raises(UsageError, match=f"{target} is {said}") as refused:
        limits_of(target)
    assert "gfx1100" in refused.value.next


def test_features_that_the_emulated_gpu_has_may_be_named_and_no_others() -> None:
    assert limits_of("gfx950:xnack-") == limits_of("gfx950")
    for target, device in (("gfx90a:xnack+", "gfx90a:sramecc\\+:xnack-"), ("gfx1100:xnack-", "gfx1100")):
        with pytest.raises(UsageError, match=rf"{target.replace('+', '.')} is not emulated: .* is emulated as {device}"):
            limits_of(target)


def test_a_product_is_answered_by_its_target() -> None:
    for product, target in (("MI300X", "gfx942"), ("RX 7900 XTX", "gfx1100"), ("Strix Halo", "gfx1151")):
        with pytest.raises(UsageError) as refused:
            limits_of(product, "--emulate")
        assert refused.value.where == "--emulate" and f"write `{target}`" in refused.value.next
        assert limits_of(target).target == target
