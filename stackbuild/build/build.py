"""The verb `build`: Recipe → Lock → Plan → Built, and the workshop it is done in."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from stackbuild import actions
from stackbuild.build.jobserver import Jobserver
from stackbuild.build.perform import Built, Workshop, is_sound, recover, tell_removed
from stackbuild.build.runs import Diary, expected
from stackbuild.build.schedule import Limits, schedule
from stackbuild.core.cancel import Stopper
from stackbuild.core.errors import LockError, PlanError, StepFailed, Stop
from stackbuild.machine.host import machine_memory
from stackbuild.model.events import Emit, Note, RunFinished, RunStarted, RunStopped, StepBroke
from stackbuild.model.inputs import Inputs
from stackbuild.model.loaded import Loaded
from stackbuild.model.lock import Lock
from stackbuild.model.plan import Plan, Step
from stackbuild.plan.compatibility import doubts, refuse_impossible
from stackbuild.plan.estimates import guesses
from stackbuild.plan.inputs import drift, observe, refuse_unlocked
from stackbuild.plan.resolve import CONFIGURE, Choice, base_step, resolve, within_reach
from stackbuild.plan.status import missing
from stackbuild.recipe.lock_file import read_lock
from stackbuild.runners import choose
from stackbuild.sources.local import places
from stackbuild.sources.mirror import Mirror
from stackbuild.store.store import Store, default_root, new_run_id

JOB_MEMORY = 3 << 29
"""Bytes that one compile of this stack may need: 1.5 GiB; ONNX Runtime's largest files do (onnxruntime#25596)."""


WORTH_SAYING = 1.0
"""Hours of one core from which on a guess is worth a line."""


@dataclass(frozen=True)
class Order:
    """What was asked for on the command line."""

    choice: Choice = Choice()
    runner: str = "auto"
    jobs: int = 0
    keep_going: bool = False
    locked: bool = False
    fail_on_rebuild: bool = False
    only: bool = False
    """Run nothing but the step of `choice.until`: what it needs must be in the store."""
    mirror: Mirror | None = None
    """Stands for the network where one is given."""

    @property
    def limits(self) -> Limits:
        """0 jobs means one a core that this process may use, and no more than its memory feeds."""
        jobs = self.jobs or max(1, min(len(os.sched_getaffinity(0)), machine_memory() // JOB_MEMORY))
        return Limits(jobs, machine_memory(), self.keep_going or self.choice.until == CONFIGURE)


@dataclass(frozen=True)
class Outputs:
    """What a build made: the plan it followed, and the outputs of the wanted steps."""

    plan: Plan
    built: tuple[Built, ...]
    ran: int


@contextlib.contextmanager
def workshop(loaded: Loaded, order: Order, listeners: Iterable[Emit]) -> Iterator[Workshop]:
    """The store, runner, jobserver and diary of one run; signals stop it. Raises MachineLacks."""
    stopper = Stopper()
    run = new_run_id()
    with contextlib.ExitStack() as stack:
        stack.enter_context(stopper.on_signals())
        store = Store(default_root(), run)
        stack.callback(store.close)
        diary = Diary(store, listeners)
        stack.callback(diary.close, store, loaded.recipe.name)
        jobserver = Jobserver(store.tmp / "jobserver", order.limits.jobs)
        stack.callback(jobserver.close)
        runner = choose(order.runner, label=run, base_is_image=loaded.recipe.base.image is not None)
        shop = Workshop(
            recipe=loaded.recipe.name,
            called=loaded.given_name,
            run=run,
            store=store,
            runner=runner,
            jobserver=jobserver,
            stopper=stopper,
            emit=diary.emit,
            logs=diary.logs,
            locals=places(loaded),
            mirror=order.mirror,
            actions=actions.REGISTRY,
            expected=expected(store, loaded.recipe.name),
        )
        try:
            yield shop
        except Stop as stop:
            shop.emit(RunStopped(run, stop.what, stop.exit_code))
            raise


def build(loaded: Loaded, order: Order, shop: Workshop) -> Outputs:
    """Make everything the recipe wants. Raises LockError, PlanError, StepFailed, MachineLacks, Stopped."""
    started = time.monotonic()
    refuse_impossible(loaded)
    for line in doubts(loaded):
        shop.emit(Note("warning", line))
    lock = read_lock(loaded)
    recover(shop)
    inputs = _with_base(loaded, lock, order, shop)
    plan = _in_reach(resolve(loaded.recipe, inputs, order.choice), order, shop)
    refuse_unlocked(missing(plan, shop.store), loaded)
    _doubt(plan, shop)
    _announce(plan, order, shop)
    _guess(plan, loaded, shop)
    built, broken = schedule(plan, shop, order.limits)
    cached = sum(b.how == "cached" for b in built.values())
    shop.emit(RunFinished(shop.run, time.monotonic() - started, len(built) - cached, cached, len(broken)))
    if broken:
        raise _failure(broken)
    return Outputs(plan, tuple(built[name] for name in plan.wanted), len(built) - cached)


def _guess(plan: Plan, loaded: Loaded, shop: Workshop) -> None:
    """Say what steps that this machine never built may take: hours of one core, from a table of guesses."""
    known = guesses(loaded.recipe)
    new = {s.name: known[s.name] for s in missing(plan, shop.store) if s.name in known and s.name not in shop.expected}
    if sum(new.values()) >= WORTH_SAYING:
        each = ", ".join(f"{name} {hours:g}" for name, hours in new.items())
        shop.emit(Note("info", f"never built here; a guess, in hours of one core: {each}"))


def _in_reach(plan: Plan, order: Order, shop: Workshop) -> Plan:
    """The plan; with `--until configure`, what of it can be done without compiling anything."""
    if order.choice.until != CONFIGURE:
        return plan
    plan, lines = within_reach(plan, lambda step: shop.store.find(step.key) is not None)
    for line in lines:
        shop.emit(Note("warning", line))
    return plan


def _announce(plan: Plan, order: Order, shop: Workshop) -> None:
    names = tuple(step.name for step in missing(plan, shop.store))
    shop.emit(RunStarted(shop.run, plan.recipe, tuple(s.name for s in plan.steps), names, str(shop.logs.parent)))
    if names and order.fail_on_rebuild:
        raise _rebuild(names, shop)
    _refuse_others(names, order)
    if names:
        tell_removed(shop.runner.reap(), shop)


def _refuse_others(names: tuple[str, ...], order: Order) -> None:
    """With --only nothing else may run."""
    if order.only and (others := [name for name in names if name != order.choice.until]):
        raise PlanError(
            f"`{order.choice.until}` needs what is not in the store: {', '.join(others)}",
            next=f"build it with --until {order.choice.until} instead of --only",
        )


def _rebuild(names: tuple[str, ...], shop: Workshop) -> PlanError:
    what = f"{len(names)} step{'s are' if len(names) > 1 else ' is'} not in the store: {', '.join(names)}"
    return PlanError(what, next=f"`stackbuild explain --recipe {shop.called} {names[0]}` says why")


def _doubt(plan: Plan, shop: Workshop) -> None:
    """Read the wanted outputs that are there: they are handed out, so a damaged one must not count as built."""
    for name in plan.wanted:
        step = plan.by_name[name]
        if step.action != "wheelhouse" and (record := shop.store.find(step.key)):  # that one is read where it is used
            is_sound(name, record.tree, shop)


def _with_base(loaded: Loaded, lock: Lock, order: Order, shop: Workshop) -> Inputs:
    """What the plan stands on, once the base is there: what the archive really gave decides every later key."""
    inputs = observe(loaded, lock, shop.store)
    asked_for = base_step(loaded.recipe, Inputs.of(lock, dict(inputs.trees)))
    if shop.store.find(asked_for.key) is None and loaded.recipe.base.debian is not None:
        # A choice that is not in the recipe is refused before any work.
        planned = resolve(loaded.recipe, inputs, order.choice)
        if asked_for.name not in planned.by_name:
            return inputs
        if order.fail_on_rebuild:
            raise _rebuild(("base",), shop)
        _refuse_others(("base",), order)
        plan = Plan(loaded.recipe.name, (asked_for,), ("base",))
        _, broken = schedule(plan, shop, order.limits)
        if broken:
            raise _failure(broken)
        inputs = observe(loaded, lock, shop.store)
    moved = drift(lock, inputs)
    if moved and order.locked:
        raise LockError(
            f"Debian's archive no longer has what is locked: {'; '.join(moved)}",
            where=str(loaded.lock_path),
            next=f"run `stackbuild lock --recipe {loaded.given_name}`, or build without --locked",
        )
    if moved:
        shown = "; ".join(moved[:5]) + (f"; and {len(moved) - 5} more" if len(moved) > 5 else "")
        shop.emit(Note("warning", f"Debian's archive has moved on since the lock: {shown}. Built with what it has."))
        _adopt(asked_for.key, base_step(loaded.recipe, inputs), shop)
    return inputs


def _adopt(key: str, really: Step, shop: Workshop) -> None:
    """Record the base under the key of what was really installed, too."""
    record = shop.store.find(key)
    if record is not None and shop.store.find(really.key) is None:
        shop.store.record(replace(record, key=really.key, key_text=really.key_text, like=key))


def _failure(broken: tuple[StepBroke, ...]) -> StepFailed:
    first = broken[0]
    more = f" (and {len(broken) - 1} more)" if len(broken) > 1 else ""
    return StepFailed(f"step `{first.step}` failed{more}: {first.what}", where=first.log, next=first.look)


def wheels(outputs: Outputs, store: Store) -> tuple[Path, ...]:
    """The wheels among the outputs."""
    return tuple(
        w
        for b in outputs.built
        for w in sorted(store.tree(b.tree).glob("*.whl"))
        if not b.step.startswith("wheelhouse.")
    )
