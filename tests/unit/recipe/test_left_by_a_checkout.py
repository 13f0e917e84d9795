"""What a checkout can put in place of a file beside a recipe: nothing is waited for, and memory has a bound."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from stackbuild.core.errors import LockError, RecipeError
from stackbuild.recipe.load import load
from stackbuild.recipe.lock_file import parse_lock
from stackbuild.sources.patches import series
from support.paths import ROOT


def put(path: Path, kind: str) -> None:
    if kind == "fifo":
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")


@pytest.mark.parametrize("kind", ["fifo", "link to a device"])
def test_a_lock_that_is_no_file_is_refused(tmp_path: Path, kind: str) -> None:
    recipe = tmp_path / "r.yaml"
    recipe.write_text((ROOT / "recipes/debian-13.yaml").read_text())
    put(tmp_path / "r.lock.yaml", kind)
    with pytest.raises(LockError, match="not a file"):
        parse_lock(load(str(recipe)))


@pytest.mark.parametrize("kind", ["fifo", "link to a device"])
def test_a_patch_that_is_no_file_is_refused(tmp_path: Path, kind: str) -> None:
    put(tmp_path / "0001-a.patch", kind)
    with pytest.raises(RecipeError, match="no file that can be read"):
        series(tmp_path)
