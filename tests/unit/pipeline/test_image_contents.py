"""Which wheels an image is made of."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from stackbuild.core.errors import LockError, MachineLacks, Stop, UsageError
from stackbuild.core.resources import folder
from stackbuild.model.choice import Choice
from stackbuild.model.loaded_recipe import LoadedRecipe
from stackbuild.model.lock import questions_digest
from stackbuild.pipeline.image_contents import fits_python, refuse_unsuited, without_replaced
from stackbuild.recipe.load import load
from stackbuild.recipe.lock_file import parse_lock, write_lock
from stackbuild.recipe.prepare import prepare, prepare_loaded


def test_one_onnxruntime_is_enough() -> None:
    runtime = (Path("onnxruntime-1.32.0-cp314-x.whl"), Path("numpy-2-cp314-x.whl"))
    own = (Path("onnxruntime_migraphx-1.22.1+rocm.6.4-cp314-cp314-linux_x86_64.whl"),)
    assert without_replaced(runtime, own) == runtime[1:]
    assert without_replaced(runtime, (Path("onnxruntime_ep_migraphx-1-py3-none-x.whl"),)) == runtime


def test_a_wheel_of_another_python_is_left_out() -> None:
    assert fits_python(Path("a-1-cp314-cp314-linux_x86_64.whl"), "3.14")
    assert fits_python(Path("a-1-py3-none-linux_x86_64.whl"), "3.13")
    assert not fits_python(Path("a-1-cp314-cp314-linux_x86_64.whl"), "3.13")


def with_python(version: str, recipe: str, tmp_path: Path) -> LoadedRecipe:
    """A copy of the recipe whose locked base has that version of the package python3, or none."""
    for end in (".yaml", ".lock.yaml"):
        shutil.copy(folder("recipes") / f"{recipe}{end}", tmp_path / f"mine{end}")
    loaded = load(str(tmp_path / "mine.yaml"))
    lock = parse_lock(loaded)
    others = {name: each for name, each in lock.packages.items() if name != "python3"}
    packages = others | ({"python3": version} if version else {})
    write_lock(lock.model_copy(update={"packages": packages, "asked": questions_digest(loaded.recipe)}), loaded)
    return loaded


@pytest.mark.parametrize(
    ("version", "recipe", "error", "what"),
    [
        ("", "debian-13", MachineLacks, "the base has no package python3"),
        ("3.99.1-1", "debian-13", LockError, "the recipe does not list Python 3.99, which its base has"),
        ("3.99.1-1", "debian-sid-onnxruntime", UsageError, "the recipe makes no wheel for its base's Python"),
    ],
)
def test_a_base_whose_python_the_wheels_are_not_for_is_refused_by_its_lock(
    version: str, recipe: str, error: type[Stop], what: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=re.escape(what)):
        refuse_unsuited(prepare_loaded(with_python(version, recipe, tmp_path), Choice()))


@pytest.mark.parametrize("recipe", ["debian-13", "debian-sid", "debian-sid-onnxruntime", "debian-rocm-7.2", "rocm-7.2"])
def test_bundled_recipes_with_wheels_suit(recipe: str) -> None:
    refuse_unsuited(prepare(recipe, Choice()))
