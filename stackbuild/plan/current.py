"""The plan of a recipe as things are now: its lock, this machine's files, and the store it would be built in."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from stackbuild.model.loaded_recipe import LoadedRecipe
from stackbuild.model.plan import Plan
from stackbuild.plan.compatibility import refuse_impossible
from stackbuild.plan.inputs import observe
from stackbuild.plan.resolve import Choice, resolve
from stackbuild.recipe.lock_file import read_lock
from stackbuild.store.store import Store, open_store


@contextlib.contextmanager
def current_plan(loaded_recipe: LoadedRecipe, choice: Choice) -> Iterator[tuple[Plan, Store]]:
    """The recipe's plan under its lock, and the store it would be built in.

    Raises as `build` does before its first step: LockError, PlanError, MachineLacks.
    """
    refuse_impossible(loaded_recipe)
    lock = read_lock(loaded_recipe)
    with open_store() as store:
        yield resolve(loaded_recipe.recipe, observe(loaded_recipe, lock, store), choice), store
