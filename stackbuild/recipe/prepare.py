"""text → PreparedRecipe: all that a plan needs of a recipe, in one value, before a store is opened.

The order is that of the costs: a wrong word, what no build can get past, the lock, and what the lock read in the sources.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from stackbuild.core.errors import LockError, UsageError
from stackbuild.model.choice import Choice
from stackbuild.model.loaded_recipe import LoadedRecipe
from stackbuild.model.lock import Lock
from stackbuild.model.recipe import Recipe
from stackbuild.recipe.compatibility import doubts, refuse_impossible, refuse_other_trees
from stackbuild.recipe.load import RESERVED_NAMES, load
from stackbuild.recipe.lock_file import read_lock
from stackbuild.recipe.matrix import MatrixComponents, expand
from stackbuild.recipe.references import refuse_mistakes
from stackbuild.tables.near_words import step_meant


@dataclass(frozen=True)
class PreparedRecipe:
    """A recipe that was checked, its lock, and its components at the points of the matrix that were chosen.

    `doubts` are lines of what is built although the compatibility table knows nothing about it.
    """

    loaded_recipe: LoadedRecipe
    choice: Choice
    lock: Lock
    matrix: MatrixComponents
    doubts: tuple[str, ...]


def prepare(name: str, choice: Choice, allowed_folders: Sequence[Path] = ()) -> PreparedRecipe:
    """The recipe of that bundled name or path, as `load` finds it. Raises as `load` and `prepare_loaded`."""
    return prepare_loaded(load(name, allowed_folders), choice)


def prepare_loaded(loaded_recipe: LoadedRecipe, choice: Choice) -> PreparedRecipe:
    """Every command that plans or builds prepares its recipe once, so that a wrong word costs a second.

    Raises RecipeError for a wrong word, PlanError for what cannot work, LockError; UsageError where the choice is not in the
    recipe.
    """
    refuse_mistakes(loaded_recipe)
    refuse_impossible(loaded_recipe)
    matrix = expand(loaded_recipe.recipe, choice.gfx, choice.build_python)
    try:
        lock = read_lock(loaded_recipe)
    except LockError:
        _refuse_unknown_step(loaded_recipe.recipe, choice.until)  # what no lock makes right is said first
        raise
    refuse_other_trees(loaded_recipe, lock)
    return PreparedRecipe(loaded_recipe, choice, lock, matrix, doubts(loaded_recipe))


def _refuse_unknown_step(recipe: Recipe, step: str) -> None:
    """Raises UsageError for the name of a step that belongs to nothing of the recipe. The lock decides the others."""
    if step and step.partition(".")[0] not in (*RESERVED_NAMES, *recipe.components):
        steps = ["base", *(f"source.{name}" for name in recipe.sources), *recipe.components]
        raise UsageError(f"no step {step!r}", next=step_meant(step, steps))
