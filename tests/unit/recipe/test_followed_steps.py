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


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("  debian:\n", "", "write `debian:` below `base:`, and indent them below it, by 2 more"),
        ('python: ["3.11", "3.12", "3.13"]', 'python: ["cp312-*"]', 'write "3.12"'),
        ('python: ["3.11", "3.12", "3.13"]', 'python: ["3.11-3.13"]', 'list each version: ["3.11", "3.12", "3.13"]'),
        ("memory: 6G", "memory: 6G\n    env: {PATH: '/opt/rocm/bin:$PATH'}", "write `PATH: /opt/rocm/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin`"),
        ("emulate: [gfx1100]", "emulate: [gfx1030]", "write `gfx90a`: of the recipe's targets, gfx90a, gfx942, gfx1100 can be"),
    ],
)
def test_a_value_that_others_of_the_recipe_decide_is_named(old: str, new: str, expected: str) -> None:
    assert step(old, new) == expected
