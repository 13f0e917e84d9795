"""A plan against the store as it is, for the verbs that only look."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator

from stackbuild.build.runs import new_id
from stackbuild.checks.recipe import doubtful, impossible
from stackbuild.core.errors import LockError, PlanError
from stackbuild.lock import update as locking
from stackbuild.model.plan import Plan, Step
from stackbuild.plan.resolve import Choice, resolve
from stackbuild.recipe.load import Loaded
from stackbuild.store.store import Store, default_root
from stackbuild.tables.compatibility import table


def this_python() -> str:
    """The Python version that stackbuild itself runs on, as recipes write it: the one wheels are proved in here."""
    return f"{sys.version_info.major}.{sys.version_info.minor}"


def this_glibc() -> str:
    """The version of this machine's C library, "" where it is not glibc."""
    return (os.confstr("CS_GNU_LIBC_VERSION") or "").rpartition(" ")[2]


def refuse_impossible(loaded: Loaded) -> None:
    """Before an hour is spent: what the compatibility table says cannot work. Raises PlanError with all of it."""
    found = impossible(loaded.recipe, table())
    if found:
        raise PlanError(
            "; ".join(f"{f.found}: {f.why}" for f in found),
            where=found[0].subject,
            next=f"{found[0].fix}; `stackbuild recipe check --recipe {loaded.called}` says more",
        )


def refuse_unlocked(steps: tuple[Step, ...], loaded: Loaded) -> None:
    """Before any of them begins: what the lock does not answer would fail in the middle. Raises LockError."""
    open_ = [step.name for step in steps if any("unlocked" in row for row in step.params)]
    if open_:
        raise LockError(
            f"the lock does not answer for {', '.join(open_)}",
            where=str(loaded.lock_path),
            next=f"run `stackbuild lock --recipe {loaded.called}` where the network or a mirror is",
        )


def doubts(loaded: Loaded) -> tuple[str, ...]:
    """What is built although the compatibility table knows nothing about it, a line each."""
    return tuple(f"{f.found}: {f.why}; {f.fix}" for f in doubtful(loaded.recipe, table()))


@contextlib.contextmanager
def plan_as_is(loaded: Loaded, choice: Choice) -> Iterator[tuple[Plan, Store]]:
    """The recipe's plan under its lock, and the store it would be built in. Raises as `build` does before its first step:
    LockError, PlanError, MachineLacks."""
    refuse_impossible(loaded)
    lock = locking.read(loaded)
    store = Store(default_root(), new_id())
    try:
        yield resolve(loaded.recipe, locking.observe(loaded, lock, store), choice), store
    finally:
        store.close()


@contextlib.contextmanager
def opened_store() -> Iterator[Store]:
    """The store, for the verbs that look after it. Raises MachineLacks."""
    store = Store(default_root(), new_id())
    try:
        yield store
    finally:
        store.close()
