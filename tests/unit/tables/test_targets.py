"""The table of GPU targets."""

from __future__ import annotations

import re

import pytest

from stackbuild.tables.gpu_names import buildable_like
from stackbuild.tables.targets import BUILDABLE, TARGETS, is_buildable, is_known, of_e_flags


def test_every_processor_has_one_number_and_the_wave_width_of_its_generation():
    assert len({target.mach for target in TARGETS.values()}) == len(TARGETS)
    for gfx, target in TARGETS.items():
        generation = re.match(r"gfx(1[0-9](?=\d\d|-)|\d)", gfx)
        assert generation and target.wave == (32 if int(generation[1]) >= 10 else 64), gfx
        assert of_e_flags(target.mach) == target.gfx == gfx


def test_what_a_recipe_may_name_is_known_and_has_products():
    assert {gfx for gfx, target in TARGETS.items() if target.products} == BUILDABLE.keys()


@pytest.mark.parametrize(
    ("target_id", "known", "buildable"),
    [
        ("gfx90a:sramecc+:xnack-", True, True),
        ("gfx90a:wave64+", True, False),
        ("gfx1033", True, False),
        ("gfx11-generic", True, False),
        ("gfx999", False, False),
    ],
)
def test_known_and_buildable(target_id: str, known: bool, buildable: bool):
    assert (is_known(target_id), is_buildable(target_id)) == (known, buildable)


def test_the_nearest_target_is_suggested():
    assert buildable_like("gfx90b:xnack-") == "; did you mean gfx950 or gfx90c or gfx90a?"
    assert buildable_like("nothing") == f"; write what `rocminfo` prints as gfx…; known are {', '.join(BUILDABLE)}"
    assert "NVIDIA" in buildable_like("sm_90")
    assert (
        buildable_like("gfx11OO") == "; did you mean gfx1100?" and buildable_like("1100") == "; did you mean gfx1100?"
    )
    assert buildable_like("RX 7900 XTX") == "; RX 7900 XTX is gfx1100: did you mean gfx1100?"
    assert "did you mean gfx90a:xnack-?" in buildable_like("gfx90a:xnak-")
    assert buildable_like("gfx90a;gfx1100") == "; write each as an item of its own: [gfx90a, gfx1100]"
