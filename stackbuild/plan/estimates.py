"""What a step may take where this machine has never built it: `estimates.yaml` has guesses, and what builds elsewhere took."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from stackbuild.core import yaml
from stackbuild.core.model import Field, Model
from stackbuild.model.plan import Plan
from stackbuild.model.recipe import Recipe
from stackbuild.recipe.matrix import expand


class Estimate(Model):
    """A guess for one kind of component: hours of one core, memory, and what the guess depends on.

    `parts` has what those of its steps take that compile a part of it, each named `STEP.PART`.
    """

    kind: str
    cpu_hours: float = Field(gt=0)
    parts: dict[str, float] = Field({})
    memory: str
    source: str


class TimedBuild(Model):
    """What a component of a bundled recipe took at most when it was built: hours of one core, when and on what."""

    recipe: str
    kind: str
    cpu_hours: float = Field(gt=0)
    on: str
    source: str


class _EstimatesFile(Model):
    schema_: Literal[1] = Field(alias="schema")
    steps: tuple[Estimate, ...]
    measured: tuple[TimedBuild, ...]


@cache
def _table() -> _EstimatesFile:
    path = Path(__file__).with_name("estimates.yaml")
    data, _ = yaml.compose(path.read_text("utf-8"), str(path))
    return _EstimatesFile.model_validate(data)


@cache
def estimates() -> dict[str, Estimate]:
    """The guesses by kind."""
    return {row.kind: row for row in _table().steps}


def measurements() -> tuple[TimedBuild, ...]:
    """What was measured, of bundled recipes."""
    return _table().measured


def step_hours(recipe: Recipe) -> dict[str, TimedBuild | Estimate]:
    """What each component's last step may take, by the step's name: what was measured of that recipe, else the guess."""
    return _hours(recipe.name, {each.step: each.component.kind for each in expand(recipe).components})


def _hours(recipe: str, kinds: Mapping[str, str]) -> dict[str, TimedBuild | Estimate]:
    known_hours: dict[str, TimedBuild | Estimate] = {**estimates()}
    known_hours |= {row.kind: row for row in measurements() if row.recipe == recipe}
    return {step: known_hours[kind] for step, kind in kinds.items() if kind in known_hours}


def guesses(recipe: Recipe) -> dict[str, float]:
    """Hours of one core that each step of a component may take, by the step's name: those of its parts, and of the last
    one the rest. Guesses alone: what was measured elsewhere is not to be compared with them."""
    table, hours = estimates(), dict[str, float]()
    for each in expand(recipe).components:
        if guess := table.get(each.component.kind):
            hours |= {f"{each.step}.{part}": of_part for part, of_part in guess.parts.items()}
            hours[each.step] = guess.cpu_hours - sum(guess.parts.values())
    return hours


def hours_in_words(hours: Mapping[str, TimedBuild | Estimate]) -> str:
    """Such as `about 2 hours of one core, a guess (migraphx 2)`; what was measured has its day and source."""
    guessed_rows = [f"{step} {row.cpu_hours:g}" for step, row in hours.items() if isinstance(row, Estimate)]
    rows: dict[str, list[str]] = {f"a guess ({', '.join(guessed_rows)})": []} if guessed_rows else {}
    for step, row in hours.items():
        if isinstance(row, TimedBuild):
            rows.setdefault(f"measured on {row.on} [{row.source}]", []).append(f"{step} {row.cpu_hours:g}")
    words = "; ".join(f"{basis} ({', '.join(each)})" if each else basis for basis, each in rows.items())
    return f"about {sum(row.cpu_hours for row in hours.values()):.3g} hours of one core, {words or 'small steps only'}"


@dataclass(frozen=True)
class StepTime:
    """What a step that has to run may take: the seconds of its last run here, or hours of one core from the table.

    One of the two is None. `row` is that of the table.
    """

    step: str
    last_seconds: float | None
    guessed_cpu_hours: float | None
    row: TimedBuild | Estimate | None = None


def step_times(to_run: Iterable[str], plan: Plan, took: Mapping[str, float]) -> tuple[StepTime, ...]:
    """What is known of those steps of a plan. `took` has the seconds of steps that ran here; one without a time is left
    out."""
    rows = _hours(plan.recipe, plan.kinds)
    return tuple(
        StepTime(step, took[step], None) if step in took else StepTime(step, None, rows[step].cpu_hours, rows[step])
        for step in to_run
        if step in took or step in rows
    )
