"""Reading a recipe."""

from __future__ import annotations

import pytest

from stackbuild.core.errors import RecipeError
from stackbuild.recipe.load import parse


def test_mistakes_of_one_place_have_one_order() -> None:
    said = set()
    for _ in range(5):
        with pytest.raises(RecipeError) as caught:
            parse("name: x\n", "n.yaml")
        said.add(str(caught.value))
    assert len(said) == 1
