"""The plan of a recipe as things are now: its lock, this machine's files, and the store it would be built in."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

from stackbuild.model.inputs import Inputs
from stackbuild.model.loaded_recipe import LoadedRecipe
from stackbuild.model.lock import Lock
from stackbuild.model.plan import Plan
from stackbuild.plan.compatibility import refuse_impossible, refuse_other_trees
from stackbuild.plan.inputs import observe
from stackbuild.plan.resolve import Choice, resolve
from stackbuild.recipe.lock_file import read_lock
from stackbuild.recipe.references import refuse_mistakes
from stackbuild.store.store import Store, open_store


@dataclass(frozen=True)
class CurrentPlan:
    """A plan, and what it was made of: the lock, and this machine's files."""

    lock: Lock
    inputs: Inputs
    plan: Plan


def plan_now(loaded_recipe: LoadedRecipe, choice: Choice, store: Store) -> CurrentPlan:
    """The plan as things are now, of every command that plans or builds.

    Raises RecipeError for a wrong word, LockError, PlanError for what cannot work, MachineLacks; UsageError where the
    choice is not in the recipe.
    """
    return _plan(loaded_recipe, _checked_lock(loaded_recipe), choice, store)


@contextlib.contextmanager
def current_plan(loaded_recipe: LoadedRecipe, choice: Choice) -> Iterator[tuple[Plan, Store]]:
    """The recipe's plan, and the store it would be built in, open. Raises as `plan_now`, for a wrong recipe before the
    store is made."""
    lock = _checked_lock(loaded_recipe)
    with open_store() as store:
        yield _plan(loaded_recipe, lock, choice, store).plan, store


def _checked_lock(loaded_recipe: LoadedRecipe) -> Lock:
    refuse_mistakes(loaded_recipe)
    refuse_impossible(loaded_recipe)  # before the lock is read: a recipe that cannot work needs none
    lock = read_lock(loaded_recipe)
    refuse_other_trees(loaded_recipe, lock)
    return lock


def _plan(loaded_recipe: LoadedRecipe, lock: Lock, choice: Choice, store: Store) -> CurrentPlan:
    inputs = observe(loaded_recipe, lock, store)
    return CurrentPlan(lock, inputs, resolve(loaded_recipe.recipe, inputs, choice))
