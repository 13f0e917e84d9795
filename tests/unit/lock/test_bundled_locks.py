"""The locks of the bundled recipes."""

import pytest

from stackbuild.recipe.load import bundled, load
from stackbuild.recipe.lock_file import read_lock


@pytest.mark.parametrize("name", sorted(n for n in bundled() if load(n).recipe.verify))
def test_what_operators_are_proved_with_is_in_the_wheelhouse(name: str) -> None:
    """Without onnx every operator would fail the proof for want of a model, on the first machine that gets that far."""
    recipe = load(name).recipe
    assert recipe.verify is not None
    runtime = {name_of(line) for line in recipe.verify.runtime}
    brings_its_own = all("onnxruntime" in wheel.packages for wheel in recipe.wheels.values())
    assert "onnx" in runtime and (brings_its_own or "onnxruntime" in runtime)
    lock = read_lock(load(name))
    assert all(runtime - {"onnxruntime"} <= set(house) for house in lock.wheelhouse.values())


def name_of(requirement: str) -> str:
    return requirement.partition(">")[0].partition("=")[0].strip()
