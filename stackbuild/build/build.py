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
from stackbuild.checks.mirror import lacking, refuse_lacking
from stackbuild.checks.needs import disk_warning, refuse_missing_tools
from stackbuild.core.errors import LockError, PlanError, StepFailed
from stackbuild.core.shell_words import shell_word
from stackbuild.model.events import Note, RunFinished, RunStarted, StepBroke
from stackbuild.model.inputs import Inputs
from stackbuild.model.loaded_recipe import LoadedRecipe
from stackbuild.model.plan import Plan, Step
from stackbuild.plan.current import CurrentPlan, plan_now
from stackbuild.plan.estimates import Estimate, TimedBuild, hours_in_words, step_hours
from stackbuild.plan.inputs import drift, observe, refuse_unlocked
from stackbuild.plan.resolve import CONFIGURE, Reach, base_step, resolve_prepared, within_reach
from stackbuild.plan.status import steps_to_run
from stackbuild.recipe.prepare import PreparedRecipe
from stackbuild.sources.mirror import lacking_words
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
    outputs: tuple[StepOutput, ...]
    ran: int


def build(
    prepared_recipe: PreparedRecipe, order: Order, context: BuildContext, first_plan: CurrentPlan | None = None
) -> Outputs:
    """Make everything the recipe wants. Raises LockError, PlanError, StepFailed, MachineLacks, Stopped. PlanError, too, where
    `--until configure` could not reach a component: what it could is configured by then.

    `first_plan` is the plan where there is one. Another is made only where Debian's archive gave the base other packages.
    """
    start_time = time.monotonic()
    loaded_recipe = prepared_recipe.loaded_recipe
    for line in prepared_recipe.doubts:
        context.emit(Note("warning", line))
    recover(context)
    before = first_plan or plan_now(prepared_recipe, context.store)
    _refuse_unreachable(before.plan, order, context)
    _guess(before.plan, loaded_recipe, order, context)
    inputs, base_names = _with_base(before, order, context)
    unchanged = inputs == before.inputs
    plan = before.plan if unchanged else resolve_prepared(prepared_recipe, inputs)
    reach = _reach(plan, order, context)
    plan = reach.plan
    for line in reach.notes:
        context.emit(Note("warning", line))
    stored_records = _stored_records(plan, order, context)
    refuse_unlocked(steps_to_run(plan, stored_records), loaded_recipe)
    stored_records = _without_damaged(plan, stored_records, context)
    todo = steps_to_run(plan, stored_records)
    _announce(plan, todo, order, context)
    outputs, failures = schedule(plan, context, order.limits, stored_records)
    _push_made(outputs, context)
    cached_count = sum(b.how == "cached" and name not in base_names for name, b in outputs.items())
    context.emit(
        RunFinished(
            context.run, time.monotonic() - start_time, len(outputs) - cached_count, cached_count, len(failures)
        )
    )
    if failures:
        raise _failure(failures)
    if reach.blockers:
        raise _configure_error(reach, context)
    return Outputs(plan, tuple(outputs[name] for name in plan.goals), len(outputs) - cached_count)


def _guess(plan: Plan, loaded_recipe: LoadedRecipe, order: Order, context: BuildContext) -> None:
    """Say, before the base is made, what steps that this machine never built may take. Raises MachineLacks for a tool."""
    todo = steps_to_run(plan, context.store.find_all(step.key for step in plan.steps))
    refuse_unlocked(todo, loaded_recipe)
    place = context.placement
    if place is not None:
        place.refuse_lacking(todo)
    if order.mirror is None:
        refuse_missing_tools(step.action for step in todo if place is None or place.is_here(step))
    _say_lacking(plan, order, context)
    new = _never_built(todo, loaded_recipe, context.store)
    hours = sum(row.cpu_hours for row in new.values())
    if hours >= WORTH_SAYING and (warning := disk_warning(loaded_recipe)):
        context.emit(Note("warning", warning))
    if hours >= WORTH_SAYING:
        context.emit(Note("info", f"never built here: {hours_in_words(new)}"))


def _say_lacking(plan: Plan, order: Order, context: BuildContext) -> None:
    """What the mirror lacks, all at once: remotes and workers may have it, and `--keep-going` goes on without. Raises
    MachineLacks."""
    if order.mirror is None or context.placement is not None or _asks_remotes(context):
        return
    plan = _reach(plan, order, context).plan
    todo = steps_to_run(plan, _stored_records(plan, order, context))
    if not order.limits.keep_going:
        refuse_lacking(todo, order.mirror)
    elif places := lacking(todo, order.mirror):
        context.emit(Note("warning", lacking_words(places)))


def _never_built(todo: tuple[Step, ...], loaded_recipe: LoadedRecipe, store: Store) -> dict[str, TimedBuild | Estimate]:
    """What each of the steps to run that never ran here may take."""
    estimates, took = (
        (step_hours(loaded_recipe.recipe), step_seconds(store, loaded_recipe.recipe.name)) if todo else ({}, {})
    )
    return {s.name: estimates[s.name] for s in todo if s.name in estimates and s.name not in took}


def long_build(first_plan: CurrentPlan, order: Order, store: Store) -> str:
    """What a person should be asked before a build of many hours begins, "" for a shorter one."""
    todo = steps_to_run(first_plan.plan, store.find_all(step.key for step in first_plan.plan.steps))
    new = _never_built(todo, first_plan.prepared_recipe.loaded_recipe, store)
    hours = sum(row.cpu_hours for row in new.values())
    if hours < WORTH_ASKING:
        return ""
    jobs = order.limits.jobs
    return f"Never built here: {hours_in_words(new)}. So {hours / jobs:.0f} hours or more with {jobs} jobs. `--until configure` tries the options in minutes."


def _reach(plan: Plan, order: Order, context: BuildContext) -> Reach:
    """The whole plan; with `--until configure`, what of it can be done without compiling anything."""
    if order.choice.until != CONFIGURE:
        return Reach(plan)
    return within_reach(plan, lambda step: context.store.find(step.key) is not None)


def _refuse_unreachable(plan: Plan, order: Order, context: BuildContext) -> None:
    """A base takes minutes: none is made where not one component can be configured on it. Raises PlanError."""
    reach = _reach(plan, order, context)
    if reach.blockers and not reach.plan.goals:
        raise _configure_error(reach, context)


def _configure_error(reach: Reach, context: BuildContext) -> PlanError:
    lines = reach.unreachable
    count = f"{len(lines)} of {len(lines) + len(reach.plan.goals)} steps are not configured"
    commands = ", ".join(f"`stackbuild build -r {shell_word(context.given_name)} --until {shell_word(name)}`" for name in reach.blockers)
    return PlanError(f"{count}: {'; '.join(lines)}", next=f"run {commands}, then this once more")


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
            next=f"build it with --until {shell_word(order.choice.until)} instead of --only",
        )


def _rebuild(names: tuple[str, ...], context: BuildContext) -> PlanError:
    what = f"{len(names)} step{'s are' if len(names) > 1 else ' is'} not in the store: {', '.join(names)}"
    return PlanError(what, next=f"`stackbuild explain --recipe {shell_word(context.given_name)} {shell_word(names[0])}` says why")


def _without_damaged(plan: Plan, stored_records: dict[str, Record], context: BuildContext) -> dict[str, Record]:
    """The records but for wanted outputs that are damaged: a wanted output is handed out, so it is read here.

    A wheelhouse is read where it is used, as is everything that a step needs.
    """
    targets = (plan.by_name[name] for name in plan.goals)
    damaged_steps = {
        step.key
        for step in targets
        if step.action != "wheelhouse"
        and step.key in stored_records
        and not is_sound(step.name, stored_records[step.key].tree, context)
    }
    return {key: record for key, record in stored_records.items() if key not in damaged_steps}


def _with_base(before: CurrentPlan, order: Order, context: BuildContext) -> tuple[Inputs, tuple[str, ...]]:
    """What the plan depends on, once the base is there: what the archive really gave decides every later key. And the name
    of the base where it was made here."""
    loaded_recipe, lock = before.prepared_recipe.loaded_recipe, before.prepared_recipe.lock
    inputs, plan = before.inputs, before.plan
    base_names: tuple[str, ...] = ()
    asked_for = base_step(loaded_recipe.recipe, Inputs.of(lock, dict(inputs.trees)))
    if context.find_record(asked_for.key) is None and loaded_recipe.recipe.base.debian is not None:
        # A choice that is not in the recipe, and an open question of the lock, are refused before any work.
        if asked_for.name not in plan.by_name:
            return inputs, base_names
        todo = steps_to_run(plan, _stored_records(plan, order, context))
        refuse_unlocked(todo, loaded_recipe)
        if not _asks_remotes(context) or asked_for.name in {
            step.name for step in todo
        }:  # remotes may have had all that is made on it, or the base itself
            _make_base(asked_for, loaded_recipe, order, context)
            base_names = (asked_for.name,)
        inputs = observe(loaded_recipe, lock, context.store)
    moved_inputs = drift(lock, inputs)
    if moved_inputs and order.locked:
        raise LockError(
            f"Debian's archive no longer has what is locked: {'; '.join(moved_inputs)}",
            where=str(loaded_recipe.lock_path),
            next=f"run `stackbuild lock --recipe {shell_word(loaded_recipe.given_name)}`, or build without --locked",
        )
    if moved_inputs:
        listing = "; ".join(moved_inputs[:5]) + (f"; and {len(moved_inputs) - 5} more" if len(moved_inputs) > 5 else "")
        context.emit(
            Note("warning", f"Debian's archive has moved on since the lock: {listing}. Built with what it has.")
        )
        _adopt(asked_for.key, base_step(loaded_recipe.recipe, inputs), context)
    return inputs, base_names


def _stored_records(plan: Plan, order: Order, context: BuildContext) -> dict[str, Record]:
    """The records of the plan's steps, also of those that remotes had. Raises MachineLacks."""
    if order.from_scratch:
        return {}
    try:
        stored_records = context.store.find_all(step.key for step in plan.steps)
        if context.placement is not None:
            return context.placement.find_records(plan, stored_records)
        return context.sharing.with_remotes(plan, stored_records) if context.sharing else stored_records
    except OSError as error:
        raise unusable(error, context.store.root) from None


def _asks_remotes(context: BuildContext) -> bool:
    return context.sharing is not None and context.sharing.is_asked


def _push_made(outputs: Mapping[str, StepOutput], context: BuildContext) -> None:
    if context.sharing is not None:
        context.sharing.push_outputs({one.key for one in outputs.values() if one.how == "run"})


def _make_base(base: Step, loaded_recipe: LoadedRecipe, order: Order, context: BuildContext) -> None:
    if order.fail_on_rebuild:
        raise _rebuild((base.name,), context)
    _refuse_others((base.name,), order)
    outputs, failures = schedule(Plan(loaded_recipe.recipe.name, (base,), (base.name,)), context, order.limits)
    if failures:
        raise _failure(failures)
    _push_made(outputs, context)


def _adopt(key: str, really: Step, context: BuildContext) -> None:
    """Record the base under the key of what was really installed, too."""
    record = context.store.find(key)
    if record is not None and context.find_record(really.key) is None:
        context.store.record(replace(record, key=really.key, key_text=really.key_text, like=key))


def _failure(failures: tuple[StepBroke, ...]) -> StepFailed:
    first = failures[0]
    more = f" (and {len(failures) - 1} more)" if len(failures) > 1 else ""
    return StepFailed(f"step `{first.step}` failed{more}: {first.what}", where=first.log, next=first.look)


def wheels(outputs: Outputs, store: Store) -> tuple[Path, ...]:
    """The wheels among the outputs."""
    return tuple(
        w
        for b in outputs.outputs
        if not b.step.startswith("wheelhouse.")
        for w in sorted(
            Path(entry.path)
            for entry in os.scandir(store.tree(b.tree))
            if entry.name.endswith(".whl") and entry.is_file(follow_symlinks=False)
        )
    )
