"""Values of a recipe's axes that a command chooses."""

from __future__ import annotations

import pytest

from stackbuild.core.errors import UsageError
from stackbuild.recipe.matrix import selected_values


def test_a_product_that_is_given_as_a_target_is_told_its_target() -> None:
    with pytest.raises(UsageError) as stopped:
        selected_values("gfx target", ("gfx942", "gfx1100"), ("RX 7900 XTX",))
    assert stopped.value.next.startswith("write gfx1100")
    with pytest.raises(UsageError) as stopped:
        selected_values("gfx target", ("gfx942",), ("RX 7900 XTX",))
    assert stopped.value.next == "add `gfx1100`, which RX 7900 XTX is, to `gfx:` of the recipe; it has: gfx942"


@pytest.mark.parametrize(
    ("what", "given", "next"),
    [
        ("gfx target", "gfx942,gfx1100", "write the option for each: `--gfx gfx942 --gfx gfx1100`"),
        ("Python", "3.11, 3.13", "write the option for each: `--python 3.11 --python 3.13`"),
    ],
)
def test_values_with_a_comma_between_are_several_options(what: str, given: str, next: str) -> None:
    with pytest.raises(UsageError) as stopped:
        selected_values(what, ("gfx942", "gfx1100", "3.11", "3.13"), (given,))
    assert stopped.value.next == next
