"""Inputs of a plan as they are now: the lock, the base that was really built, and local sources.

The one module of this package that reads files of the machine, through `stackbuild.sources.local`.
"""

from __future__ import annotations

from collections.abc import Iterable

from stackbuild.core import digest
from stackbuild.core.errors import LockError
from stackbuild.core.resources import folder
from stackbuild.core.shell_words import shell_word
from stackbuild.model.inputs import Inputs
from stackbuild.model.loaded_recipe import LoadedRecipe
from stackbuild.model.lock import Lock
from stackbuild.model.plan import Step
from stackbuild.plan.resolve import base_step
from stackbuild.sources.local import local_digests
from stackbuild.store.history import base_packages
from stackbuild.store.store import Store


def _trees(loaded_recipe: LoadedRecipe) -> dict[str, str]:
    """Digests of what lies on this machine and decides: local sources, patches, hipify rules with the code they steer."""
    trees = local_digests(loaded_recipe)
    for name, asked_for in loaded_recipe.recipe.conversions.items():
        from stackbuild.hipify.stage import code_and_rules, rules_of  # recipes without `hipify:` need none of it

        trees[f"hipify.{name}"] = code_and_rules(rules_of(asked_for.rules, loaded_recipe.folder))
    return trees


def observe(loaded_recipe: LoadedRecipe, lock: Lock, store: Store) -> Inputs:
    """The lock, the content of local sources now, and what the base really got if it has been built."""
    trees = _trees(loaded_recipe)
    if loaded_recipe.recipe.base.image is not None:
        return Inputs.of(lock, trees, dockerfile=digest.of_file(folder("Dockerfile.base")))
    inputs = Inputs.of(lock, trees)
    packages = base_packages(store, base_step(loaded_recipe.recipe, inputs).key)
    return inputs if packages is None else Inputs.of(lock, trees, packages)


def drift(lock: Lock, inputs: Inputs) -> tuple[str, ...]:
    """How the packages really installed differ from the locked ones, a line each."""
    now = dict(inputs.packages)
    lines = []
    for name in sorted(lock.packages.keys() | now.keys()):
        before, after = lock.packages.get(name), now.get(name)
        if before != after:
            lines.append(f"{name} {before or '(not in the lock)'} → {after or '(not installed)'}")
    return tuple(lines)


def is_unlocked(params: Iterable[tuple[str, str]]) -> bool:
    """Whether the lock leaves open what a step with these parameters depends on."""
    return any("unlocked" in row for row in params)


def unlocked_steps(params_by_step: Iterable[tuple[str, Iterable[tuple[str, str]]]]) -> list[str]:
    """The steps, given with their parameters, that the lock does not answer for."""
    return [name for name, params in params_by_step if is_unlocked(params)]


def open_lock(names: list[str], loaded_recipe: LoadedRecipe) -> LockError:
    """The error for steps that the lock does not answer for."""
    return LockError(
        f"the lock does not answer for {', '.join(names)}",
        where=str(loaded_recipe.lock_path),
        next=f"run `stackbuild lock --recipe {shell_word(loaded_recipe.given_name)}` where the network or a mirror is",
    )


def refuse_unlocked(steps: Iterable[Step], loaded_recipe: LoadedRecipe) -> None:
    """Before any of them begins: what the lock does not answer would fail in the middle. Raises LockError."""
    if names := unlocked_steps((step.name, step.params) for step in steps):
        raise open_lock(names, loaded_recipe)
