"""An image for one GPU target: what is refused before a build, and how its folder appears."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from stackbuild.build.order import Order
from stackbuild.core.errors import UsageError
from stackbuild.pipeline import image
from stackbuild.recipe.load import load


def test_a_copy_that_breaks_off_leaves_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = tmp_path / "made"
    made.mkdir()
    (made / "oci-layout").touch()

    def full(source: Path, target: Path) -> None:
        shutil.copytree(source, target)
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched, pytest.raises(OSError, match="No space"):
        patched.setattr(shutil, "move", full)
        image._place(made, tmp_path / "dist" / "image", "run")
    assert not list((tmp_path / "dist").iterdir())
    image._place(made, tmp_path / "dist" / "image", "run")
    assert [path.name for path in (tmp_path / "dist").iterdir()] == ["image"]


def test_what_cannot_be_is_said_before_anything_is_built(tmp_path: Path) -> None:
    for target, step in (("gfx906", "add `gfx906` to `gfx:`"), ("RX 7900 XTX", "write gfx1100, which RX 7900 XTX is")):
        with pytest.raises(UsageError, match=f"'{target}' is not in the recipe") as stopped:
            image.image(load("debian-13"), Order(), target, tmp_path / "new", ())
        assert step in stopped.value.next
    with pytest.raises(UsageError, match="there already"):
        image.image(load("debian-13"), Order(), "gfx1100", tmp_path, ())


def test_a_recipe_without_wheels_is_refused_before_it_is_built(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="makes no wheel, and an image is made of wheels") as stopped:
        image.image(load("lc0"), Order(), "gfx1100", tmp_path / "new", ())
    assert stopped.value.where == "lc0"
