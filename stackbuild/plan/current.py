"""The plan of a recipe as things are now: this machine's files, and the store it would be built in."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

from stackbuild.model.inputs import Inputs
from stackbuild.model.plan import Plan, Step
from stackbuild.plan.estimates import StepTime, hours_in_words, step_times
from stackbuild.plan.inputs import observe, open_lock, unlocked_steps
from stackbuild.plan.resolve import resolve_prepared
from stackbuild.plan.status import StepStatus, status
from stackbuild.recipe.prepare import PreparedRecipe
from stackbuild.store.history import read_history
from stackbuild.store.read_only import open_to_read
from stackbuild.store.store import Store


@dataclass(frozen=True)
class CurrentPlan:
    """A plan, and what it was made of: the recipe with its lock, and this machine's files."""

    prepared_recipe: PreparedRecipe
    inputs: Inputs
    plan: Plan


@dataclass(frozen=True)
class PlanStatus:
    """A plan, the store's answer to each of its steps, and the seconds of steps that ran here before.

    `open_steps` are those to run that the lock does not answer for, `open_warning` what a build would stop with at them.
    """

    plan: Plan
    rows: tuple[StepStatus, ...]
    seconds: dict[str, float]
    open_steps: list[str]
    open_warning: str

    @property
    def to_run(self) -> tuple[Step, ...]:
        return tuple(self.plan.by_name[row.step] for row in self.rows if row.state == "run")


@dataclass(frozen=True)
class TimedPlan:
    """A plan's status, what its steps to run may take, and in words what those take that never ran here."""

    status: PlanStatus
    times: tuple[StepTime, ...]
    guessed_hours: str


def plan_now(prepared_recipe: PreparedRecipe, store: Store) -> CurrentPlan:
    """The plan as things are now, of every command that plans or builds. Raises PlanError, MachineLacks, UsageError."""
    inputs = observe(prepared_recipe.loaded_recipe, prepared_recipe.lock, store)
    return CurrentPlan(prepared_recipe, inputs, resolve_prepared(prepared_recipe, inputs))


@contextlib.contextmanager
def current_plan(prepared_recipe: PreparedRecipe) -> Iterator[tuple[Plan, Store]]:
    """The recipe's plan, and the store it would be built in, open to be read. Raises as `plan_now`."""
    with open_to_read() as store:
        yield plan_now(prepared_recipe, store).plan, store


def plan_status(prepared_recipe: PreparedRecipe) -> PlanStatus:
    """The recipe's plan with what the store has of it. Raises as `plan_now`."""
    with current_plan(prepared_recipe) as (plan, store):
        history = read_history(store, plan.recipe, [step.key for step in plan.steps])
    rows = status(plan, history)
    open_steps = unlocked_steps((row.step, plan.by_name[row.step].params) for row in rows if row.state == "run")
    open_warning = str(open_lock(open_steps, prepared_recipe.loaded_recipe)) if open_steps else ""
    return PlanStatus(plan, rows, history.seconds, open_steps, open_warning)


def timed_plan(prepared_recipe: PreparedRecipe) -> TimedPlan:
    """The recipe's plan with what the store has of it and what the rest may take. Raises as `plan_now`."""
    return with_times(plan_status(prepared_recipe))


def with_times(now: PlanStatus) -> TimedPlan:
    """The status of a plan with what its steps to run may take."""
    times = step_times((row.step for row in now.rows if row.state == "run"), now.plan, now.seconds)
    guesses = {time.step: time.row for time in times if time.row is not None}
    return TimedPlan(now, times, hours_in_words(guesses) if guesses else "")
