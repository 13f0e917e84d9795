"""Next steps that were tried before they are printed."""

from __future__ import annotations

import pytest

from stackbuild.core.errors import RecipeError
from stackbuild.recipe.load import parse
from support.paths import TESTS

RIGHT = (TESTS / "seeded-recipes" / "kernels.yaml").read_text()


def step(old: str, new: str) -> str:
    """The next step of the only mistake of a right recipe after a change."""
    assert old in RIGHT
    with pytest.raises(RecipeError) as raised:
        parse(RIGHT.replace(old, new, 1), "recipe.yaml")
    (mistake,) = raised.value.mistakes
    return mistake.next


GFX = "gfx: [gfx90a, gfx942, gfx1100]"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (GFX, "gfx: MI210", "write `gfx: [gfx90a]`"),
        ('python: ["3.11", "3.12", "3.13"]', "python: cp312", 'write `python: ["3.12"]`'),
        ("packages: [stackbuild_kernels]", "package: stackbuild_kernels", "write `packages: [stackbuild_kernels]`"),
        ("memory: 6G", "mem: 6 gigabytes", "write `memory: 6G`"),
        ("bundled: kernels", "bundled: ../kernels", "write `kernels`"),
    ],
)
def test_a_step_that_leads_to_a_second_mistake_names_what_it_ends_with(old: str, new: str, expected: str) -> None:
    assert expected in step(old, new)


def test_a_step_that_is_right_stays_as_it_is() -> None:
    assert step("kind: wheel", "kind: weel") == "did you mean `wheel`?"


def test_a_step_to_another_key_tells_what_is_left_to_do() -> None:
    text = step("    bundled: kernels", "    url: https://example.org/k-1.0.tar.gz")
    assert text == "did you mean `archive`? Then add `sha256:`, `sha256sum FILE` prints it"


def test_an_item_that_is_listed_already_is_removed() -> None:
    assert step(GFX, "gfx: [gfx90a, gfx942, 942, gfx1100]") == "remove it: what it stands for, `gfx942`, is listed already"
