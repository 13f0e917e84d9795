"""A recipe as it was found: with the folder it lies in and the name it was asked for by."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from stackbuild.core import resources
from stackbuild.core.yaml import Places
from stackbuild.model.recipe import Recipe


@dataclass(frozen=True)
class LoadedRecipe:
    """A recipe, the name or path it was given by, the folder that its relative paths start from, and where its lock lies.

    `path` is its file, `text` what that held, and `places` where each key and value stands in it. `allowed` are folders
    that its paths may lead into beside that one.
    """

    recipe: Recipe
    given_name: str
    folder: Path
    lock_path: Path
    path: Path
    text: str
    places: Places
    allowed: tuple[Path, ...] = ()

    def patch_folder(self, name: str) -> Path:
        """Where a series of patches lies: beside the recipe, else with stackbuild."""
        beside = self.folder / "patches" / name
        return beside if beside.is_dir() else resources.folder("patches") / name
