"""The verb `build`: Recipe → Lock → Plan → Built."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from stackbuild.build.context import BuildContext, StepOutput
from stackbuild.build.order import Order
from stackbuild.build.perform import is_sound, recover, report_removed
from stackbuild.build.schedule import schedule
from stackbuild.checks.needs import disk_warning, refuse_missing_tools
from stackbuild.core.errors import LockError, PlanError, StepFailed
from stackbuild.model.events import Note, RunFinished, RunStarted, StepBroke
from stackbuild.model.inputs import Inputs
from stackbuild.model.loaded import LoadedRecipe
from stackbuild.model.lock import Lock
from stackbuild.model.plan import Plan, Step
from stackbuild.plan.compatibility import doubts, refuse_impossible
from stackbuild.plan.current import current_plan
from stackbuild.plan.estimates import guesses
from stackbuild.plan.inputs import drift, observe, refuse_unlocked
from stackbuild.plan.resolve import CONFIGURE, base_step, resolve, within_reach
from stackbuild.plan.status import steps_to_run
from stackbuild.recipe.lock_file import read_lock
from stackbuild.store.durations import step_seconds
from stackbuild.store.records import Record
from stackbuild.store.store import Store, unusable

WORTH_SAYING = 1.0
"""Hours of one core from which on a guess is worth a line."""
WORTH_ASKING = 8.0
"""Hours of one core from which on a person is asked before anything is fetched."""


@dataclass(frozen=True)
class Outputs:
    """What a build made: the plan it followed, and the outputs of the wanted steps."""

    plan: Plan
    built: tuple[StepOutput, ...]
    ran: int


def build(loaded: LoadedRecipe, order: Order, context: BuildContext) -> Outputs:
    """Make everything the recipe wants. Raises LockError, PlanError, StepFailed, MachineLacks, Stopped."""
    started = time.monotonic()
    refuse_impossible(loaded)
    for line in doubts(loaded):
        context.emit(Note("warning", line))
    lock = read_lock(loaded)
    refuse_impossible(loaded, lock)
    recover(context)
    before = observe(loaded, lock, context.store)
    plan = resolve(loaded.recipe, before, order.choice)
    _guess(plan, loaded, order, context)
    inputs = _with_base(loaded, lock, order, context)
    plan = _in_reach(plan if inputs == before else resolve(loaded.recipe, inputs, order.choice), order, context)
    stored = _stored_records(plan, order, context)
    refuse_unlocked(steps_to_run(plan, stored), loaded)
    stored = _without_damaged(plan, stored, context)
    todo = steps_to_run(plan, stored)
    _announce(plan, todo, order, context)
    built, broken = schedule(plan, context, order.limits, stored)
    _push_made(built, context)
    cached = sum(b.how == "cached" for b in built.values())
    context.emit(RunFinished(context.run, time.monotonic() - started, len(built) - cached, cached, len(broken)))
    if broken:
        raise _failure(broken)
    return Outputs(plan, tuple(built[name] for name in plan.goals), len(built) - cached)


def _guess(plan: Plan, loaded: LoadedRecipe, order: Order, context: BuildContext) -> None:
    """Say, before the base is made, what steps that this machine never built may take. Raises MachineLacks for a tool."""
    todo = steps_to_run(plan, context.store.find_all(step.key for step in plan.steps))
    refuse_unlocked(todo, loaded)
    place = context.placement
    if place is not None:
        place.refuse_lacking(todo)
    if order.mirror is None:
        refuse_missing_tools(step.action for step in todo if place is None or place.is_here(step))
    new = _never_built(todo, loaded, context.store)
    if sum(new.values()) >= WORTH_SAYING and (warning := disk_warning(loaded)):
        context.emit(Note("warning", warning))
    if sum(new.values()) >= WORTH_SAYING:
        context.emit(Note("info", f"never built here; a guess, in hours of one core: {_each(new)}"))


def _never_built(todo: tuple[Step, ...], loaded: LoadedRecipe, store: Store) -> dict[str, float]:
    """Hours of one core, from a table of guesses, of each of the steps to run that never ran here."""
    estimates, took = (guesses(loaded.recipe), step_seconds(store, loaded.recipe.name)) if todo else ({}, {})
    return {s.name: estimates[s.name] for s in todo if s.name in estimates and s.name not in took}


def _each(hours: dict[str, float]) -> str:
    return ", ".join(f"{name} {part:g}" for name, part in hours.items())


def long_build(loaded: LoadedRecipe, order: Order) -> str:
    """What a person should be asked before a build of many hours begins, "" for a shorter one.

    Raises as `build` does before its first step: LockError, PlanError, MachineLacks.
    """
    with current_plan(loaded, order.choice) as (plan, store):
        new = _never_built(steps_to_run(plan, store.find_all(step.key for step in plan.steps)), loaded, store)
    hours = sum(new.values())
    if hours < WORTH_ASKING:
        return ""
    jobs = order.limits.jobs
    return (
        f"Never built here: about {hours:g} hours of one core ({_each(new)}), so {hours / jobs:.0f} hours or more with {jobs} "
        "jobs. A guess. `--until configure` tries the options in minutes."
    )


def _in_reach(plan: Plan, order: Order, context: BuildContext) -> Plan:
    """The plan; with `--until configure`, what of it can be done without compiling anything."""
    if order.choice.until != CONFIGURE:
        return plan
    plan, lines = within_reach(plan, lambda step: context.store.find(step.key) is not None)
    for line in lines:
        context.emit(Note("warning", line))
    return plan


def _announce(plan: Plan, todo: tuple[Step, ...], order: Order, context: BuildContext) -> None:
    names = tuple(step.name for step in todo)
    context.emit(
        RunStarted(context.run, plan.recipe, tuple(s.name for s in plan.steps), names, str(context.logs.parent))
    )
    if names and order.fail_on_rebuild:
        raise _rebuild(names, context)
    _refuse_others(names, order)
    if names and context.placement is None:
        report_removed(context.runner.reap(), context)


def _refuse_others(names: tuple[str, ...], order: Order) -> None:
    """With --only nothing else may run."""
    if order.only and (others := [name for name in names if name != order.choice.until]):
        raise PlanError(
            f"`{order.choice.until}` needs what is not in the store: {', '.join(others)}",
            next=f"build it with --until {order.choice.until} instead of --only",
        )


def _rebuild(names: tuple[str, ...], context: BuildContext) -> PlanError:
    what = f"{len(names)} step{'s are' if len(names) > 1 else ' is'} not in the store: {', '.join(names)}"
    return PlanError(what, next=f"`stackbuild explain --recipe {context.given_name} {names[0]}` says why")


def _without_damaged(plan: Plan, stored: dict[str, Record], context: BuildContext) -> dict[str, Record]:
    """The records but for wanted outputs that are damaged: a wanted output is handed out, so it is read here.

    A wheelhouse is read where it is used, as is everything that a step needs.
    """
    targets = (plan.by_name[name] for name in plan.goals)
    damaged = {
        step.key
        for step in targets
        if step.action != "wheelhouse"
        and step.key in stored
        and not is_sound(step.name, stored[step.key].tree, context)
    }
    return {key: record for key, record in stored.items() if key not in damaged}


def _with_base(loaded: LoadedRecipe, lock: Lock, order: Order, context: BuildContext) -> Inputs:
    """What the plan depends on, once the base is there: what the archive really gave decides every later key."""
    inputs = observe(loaded, lock, context.store)
    asked_for = base_step(loaded.recipe, Inputs.of(lock, dict(inputs.trees)))
    if context.find_made(asked_for.key) is None and loaded.recipe.base.debian is not None:
        # A choice that is not in the recipe, and an open question of the lock, are refused before any work.
        planned = resolve(loaded.recipe, inputs, order.choice)
        if asked_for.name not in planned.by_name:
            return inputs
        todo = steps_to_run(planned, _stored_records(planned, order, context))
        refuse_unlocked(todo, loaded)
        if not _asks_remotes(context) or asked_for.name in {
            step.name for step in todo
        }:  # remotes may have had all that is made on it, or the base itself
            _make_base(asked_for, loaded, order, context)
        inputs = observe(loaded, lock, context.store)
    moved = drift(lock, inputs)
    if moved and order.locked:
        raise LockError(
            f"Debian's archive no longer has what is locked: {'; '.join(moved)}",
            where=str(loaded.lock_path),
            next=f"run `stackbuild lock --recipe {loaded.given_name}`, or build without --locked",
        )
    if moved:
        listing = "; ".join(moved[:5]) + (f"; and {len(moved) - 5} more" if len(moved) > 5 else "")
        context.emit(
            Note("warning", f"Debian's archive has moved on since the lock: {listing}. Built with what it has.")
        )
        _adopt(asked_for.key, base_step(loaded.recipe, inputs), context)
    return inputs


def _stored_records(plan: Plan, order: Order, context: BuildContext) -> dict[str, Record]:
    """The records of the plan's steps, also of those that remotes had. Raises MachineLacks."""
    if order.from_scratch:
        return {}
    try:
        stored = context.store.find_all(step.key for step in plan.steps)
        if context.placement is not None:
            return context.placement.find_stored(plan, stored)
        return context.sharing.with_remotes(plan, stored) if context.sharing else stored
    except OSError as error:
        raise unusable(error, context.store.root) from None


def _asks_remotes(context: BuildContext) -> bool:
    return context.sharing is not None and context.sharing.is_asked


def _push_made(built: Mapping[str, StepOutput], context: BuildContext) -> None:
    if context.sharing is not None:
        context.sharing.push_made({one.key for one in built.values() if one.how == "run"})


def _make_base(base: Step, loaded: LoadedRecipe, order: Order, context: BuildContext) -> None:
    if order.fail_on_rebuild:
        raise _rebuild((base.name,), context)
    _refuse_others((base.name,), order)
    built, broken = schedule(Plan(loaded.recipe.name, (base,), (base.name,)), context, order.limits)
    if broken:
        raise _failure(broken)
    _push_made(built, context)


def _adopt(key: str, really: Step, context: BuildContext) -> None:
    """Record the base under the key of what was really installed, too."""
    record = context.store.find(key)
    if record is not None and context.find_made(really.key) is None:
        context.store.record(replace(record, key=really.key, key_text=really.key_text, like=key))


def _failure(broken: tuple[StepBroke, ...]) -> StepFailed:
    first = broken[0]
    more = f" (and {len(broken) - 1} more)" if len(broken) > 1 else ""
    return StepFailed(f"step `{first.step}` failed{more}: {first.what}", where=first.log, next=first.look)


def wheels(outputs: Outputs, store: Store) -> tuple[Path, ...]:
    """The wheels among the outputs."""
    return tuple(
        w
        for b in outputs.built
        if not b.step.startswith("wheelhouse.")
        for w in sorted(
            Path(entry.path)
            for entry in os.scandir(store.tree(b.tree))
            if entry.name.endswith(".whl") and entry.is_file(follow_symlinks=False)
        )
    )
