"""What a step may take where this machine has never built it: guesses from `estimates.yaml`, marked as such."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from stackbuild.core import yaml
from stackbuild.core.model import Field, Model
from stackbuild.model.recipe import Recipe
from stackbuild.recipe.matrix import expand


class Estimate(Model):
    """A guess for one kind of component: hours of one core, memory, and what the guess depends on."""

    kind: str
    cpu_hours: float = Field(gt=0)
    memory: str
    source: str


class _EstimatesFile(Model):
    schema_: Literal[1] = Field(alias="schema")
    steps: tuple[Estimate, ...]


@cache
def estimates() -> dict[str, Estimate]:
    """The guesses by kind."""
    path = Path(__file__).with_name("estimates.yaml")
    data, _ = yaml.compose(path.read_text("utf-8"), str(path))
    return {row.kind: row for row in _EstimatesFile.model_validate(data).steps}


def guesses(recipe: Recipe) -> dict[str, float]:
    """Hours of one core that each component's last step may take, by the step's name."""
    table = estimates()
    kinds = {each.step: each.component.kind for each in expand(recipe).components}
    return {step: table[kind].cpu_hours for step, kind in kinds.items() if kind in table}


@dataclass(frozen=True)
class StepTime:
    """What a step that has to run may take: the seconds of its last run here, or hours of one core from the table of guesses.

    One of the two is None.
    """

    step: str
    last_seconds: float | None
    guessed_cpu_hours: float | None


def step_times(to_run: Iterable[str], recipe: Recipe, took: dict[str, float]) -> tuple[StepTime, ...]:
    """What is known of those steps. `took` has the seconds of steps that ran here; one without a time is left out."""
    guessed_hours = guesses(recipe)
    return tuple(
        StepTime(step, took.get(step), None if step in took else guessed_hours[step])
        for step in to_run
        if step in took or step in guessed_hours
    )
