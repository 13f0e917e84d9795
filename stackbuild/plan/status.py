"""What a plan means for the store as it is: which steps are there, which have to run, and why. Runs nothing."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from typing import Literal

from stackbuild.core import digest
from stackbuild.model.plan import Plan, Step, rows_of
from stackbuild.store.history import StepHistory
from stackbuild.store.records import Record


@dataclass(frozen=True)
class StepStatus:
    """One step of a plan and the store's answer to it; `fields` has a digest for each field of its key."""

    step: str
    action: str
    key: str
    state: Literal["cached", "run"]
    why: str
    needs: tuple[str, ...]
    fields: dict[str, str]


def status(plan: Plan, history: StepHistory) -> tuple[StepStatus, ...]:
    """The plan's steps with whether and why each runs, in order."""
    todo = {step.name for step in steps_to_run(plan, history.records)}
    return tuple(
        _status(step, step.name in todo, history.last.get(step.name), step.key in history.records)
        for step in plan.steps
    )


def _status(step: Step, to_run: bool, last: Record | None, there: bool) -> StepStatus:
    state: Literal["cached", "run"] = "run" if to_run else "cached"
    why = _why(step, last) if to_run else ("" if there else "not needed: what is made from it is in the store")
    fields = {name: digest.of_text(value)[:16] for name, value in step.fields}
    return StepStatus(step.name, step.action, step.key, state, why, tuple(n.step for n in step.needs), fields)


def _why(step: Step, last: Record | None) -> str:
    """The fields of the key that differ from the last build's, or that there was none."""
    if last is None:
        return "never built here"
    if last.key == step.key:
        return "its stored output is gone or damaged"
    before, now = rows_of(last.key_text), rows_of(step.key_text)
    changed_names = [name for name in (*now, *(before.keys() - now.keys())) if before.get(name) != now.get(name)]
    listing = ", ".join(map(_field_name, changed_names[:3])) + (
        f" and {len(changed_names) - 3} more" if len(changed_names) > 3 else ""
    )
    return f"changed: {listing}"


def _field_name(name: str) -> str:
    """A field of a key text by the name that a person knows it by; `explain` has the text itself."""
    kind, _, rest = name.partition(" ")
    if name == "param tree":  # of a source taken from a folder
        return "its files"
    if kind == "need":
        return rest.partition(" at ")[0]
    if kind == "command":
        return f"command {rest.partition(' ')[2] or rest}".strip()
    return rest if kind == "param" else name


def steps_to_run(plan: Plan, stored_records: Container[str]) -> tuple[Step, ...]:
    """The steps that have to run: those wanted whose key is not stored, and, of what they need, likewise."""
    demanded_steps, todo = set(plan.goals), []
    for step in reversed(plan.steps):
        if step.name in demanded_steps and step.key not in stored_records:
            todo.append(step)
            demanded_steps.update(need.step for need in step.needs)
    return tuple(reversed(todo))
