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
