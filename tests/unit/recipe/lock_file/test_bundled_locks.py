"""The locks of the bundled recipes."""

import pytest

from stackbuild.model.lock import missing_entries
from stackbuild.recipe.consistency import tree_versions
from stackbuild.recipe.load import bundled_recipes, load
from stackbuild.recipe.lock_file import read_lock
from stackbuild.tables.providers import MIGRAPHX_PACKAGE


@pytest.mark.parametrize("name", sorted(n for n in bundled_recipes() if load(n).recipe.verify))
def test_what_operators_are_proved_with_is_in_the_wheelhouse(name: str) -> None:
    """Without onnx every operator would fail the proof for want of a model, on the first machine that gets that far."""
    recipe = load(name).recipe
    assert recipe.verify is not None
    runtime = {name_of(line) for line in recipe.verify.runtime}
    in_sessions = [wheel for wheel in recipe.wheels.values() if MIGRAPHX_PACKAGE not in wheel.packages]
    brings_its_own = all("onnxruntime" in wheel.packages for wheel in in_sessions)
    assert "onnx" in runtime and (brings_its_own or "onnxruntime" in runtime)
    lock = read_lock(load(name))
    assert all(runtime - {"onnxruntime"} <= set(house) for house in lock.wheelhouse.values())


@pytest.mark.parametrize("name", sorted(bundled_recipes()))
def test_a_bundled_recipe_can_be_started_from_a_clone(name: str) -> None:
    loaded = load(name)
    lock = read_lock(loaded)
    assert missing_entries(loaded.recipe, lock) == ()
    assert {len(commit) for commit in lock.commits.values()} <= {40}
    assert not list(tree_versions(loaded.recipe, lock))


def name_of(requirement: str) -> str:
    return requirement.partition(">")[0].partition("=")[0].strip()
