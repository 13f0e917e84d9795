"""A plan against the store as it is, for the verbs that only look."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from stackbuild.checks.recipe import doubtful, impossible
from stackbuild.core.errors import LockError, PlanError
from stackbuild.model.loaded import Loaded
from stackbuild.model.plan import Plan, Step
from stackbuild.plan.inputs import observe
from stackbuild.plan.resolve import Choice, resolve
from stackbuild.recipe.lock_file import read_lock
from stackbuild.store.store import Store, default_root, new_run_id
from stackbuild.tables.compatibility import table


def refuse_impossible(loaded: Loaded) -> None:
    """Before an hour is spent: what the compatibility table says cannot work. Raises PlanError with all of it."""
    found = impossible(loaded.recipe, table())
    if found:
        raise PlanError(
            "; ".join(f"{f.found}: {f.why}" for f in found),
            where=found[0].subject,
            next=f"{found[0].fix}; `stackbuild recipe check --recipe {loaded.given_name}` says more",
        )


def refuse_unlocked(steps: tuple[Step, ...], loaded: Loaded) -> None:
    """Before any of them begins: what the lock does not answer would fail in the middle. Raises LockError."""
    open_ = [step.name for step in steps if any("unlocked" in row for row in step.params)]
    if open_:
        raise LockError(
            f"the lock does not answer for {', '.join(open_)}",
            where=str(loaded.lock_path),
            next=f"run `stackbuild lock --recipe {loaded.given_name}` where the network or a mirror is",
        )


def doubts(loaded: Loaded) -> tuple[str, ...]:
    """What is built although the compatibility table knows nothing about it, a line each."""
    return tuple(f"{f.found}: {f.why}; {f.fix}" for f in doubtful(loaded.recipe, table()))


@contextlib.contextmanager
def plan_as_is(loaded: Loaded, choice: Choice) -> Iterator[tuple[Plan, Store]]:
    """The recipe's plan under its lock, and the store it would be built in. Raises as `build` does before its first step:
    LockError, PlanError, MachineLacks."""
    refuse_impossible(loaded)
    lock = read_lock(loaded)
    store = Store(default_root(), new_run_id())
    try:
        yield resolve(loaded.recipe, observe(loaded, lock, store), choice), store
    finally:
        store.close()
