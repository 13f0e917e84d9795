"""Steps that machines with a GPU do after the build: their inputs are outputs of the build, and their output is a report.

Such a step is placed, signed and read as any other. It is named by the run, so a report of an earlier run is never taken
for one of this run. The machine does nothing else meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from stackbuild.build.context import BuildContext
from stackbuild.build.schedule import Limits, schedule
from stackbuild.core.errors import MachineLacks, StepFailed
from stackbuild.machine.host import machine_memory
from stackbuild.model.plan import Action, Need, Plan, Resources, Step, sorted_items
from stackbuild.model.recipe import Recipe
from stackbuild.pipeline.judges import judges_digest

MEMORY = 2 << 30
"""Bytes that such a step may take."""


def plain_target(target: str) -> str:
    """A GPU target without its features: gfx90a of gfx90a:xnack-."""
    return target.partition(":")[0]


def targets_of(recipe: Recipe, wheels: Iterable[Path]) -> dict[str, tuple[Path, ...]]:
    """GPU targets, without their features, with the wheels that have device code for each."""
    from stackbuild.verification.expectations import expectations_of

    by_target: dict[str, list[Path]] = {}
    for wheel in wheels:
        for target in expectations_of(recipe, wheel.name.partition("-")[0]).gfx:
            by_target.setdefault(plain_target(target), []).append(wheel)
    return {target: tuple(dict.fromkeys(of)) for target, of in by_target.items()}


def stored_tree(step: Step, context: BuildContext) -> Path | None:
    """The step's output, None where the store has none."""
    record = context.store.find(step.key)
    return context.store.tree(record.tree) if record else None


def packing_steps(plan: Plan, wheels: Sequence[Path], context: BuildContext) -> tuple[Step, ...]:
    """The steps whose outputs these wheels of the store are."""
    trees = {wheel.parent for wheel in wheels}
    return tuple(s for s in plan.steps if s.action == "wheel" and stored_tree(s, context) in trees)


def wheelhouse_steps(plan: Plan, context: BuildContext) -> tuple[Step, ...]:
    """The steps with the wheelhouses that the store has."""
    return tuple(s for s in plan.steps if s.action == "wheelhouse" and stored_tree(s, context) is not None)


def gpu_step(
    action: Action, target: str, recipe: Recipe, needs: Sequence[Step], params: Mapping[str, str], context: BuildContext
) -> Step:
    """The step of this run that does `action` on a GPU of the target."""
    common = {
        "recipe": recipe.model_dump_json(by_alias=True, exclude_unset=True),
        "judges": judges_digest(),
        "gfx": target,
        "run": context.run,
    }
    wired_needs = tuple(Need(s.name, s.key) for s in needs)
    return Step(
        f"{action}.{target}", action, wired_needs, sorted_items({**common, **params}), resources=Resources(MEMORY)
    )


def report_of(step: Step, inputs: Sequence[Step], plan: Plan, context: BuildContext) -> Path:
    """The folder with the report of such a step, which a machine of the run's placement has done.

    `inputs` are those that the plan does not have. Raises MachineLacks where no machine can, StepFailed where the step
    gives no report, Stopped.
    """
    planned_steps = plan.closure(tuple(need.step for need in step.needs if need.step in plan.by_name))
    whole = Plan(plan.recipe, (*planned_steps, *inputs, step), (step.name,))
    assert context.placement is not None
    stored_records = context.placement.find_records(whole, context.store.find_all(one.key for one in whole.steps))
    outputs, failures = schedule(whole, context, Limits(1, machine_memory()), stored_records)
    if failures:
        raise StepFailed(f"`{step.name}` has no report: {failures[0].what}", where=failures[0].log)
    return context.store.tree(outputs[step.name].tree)


def refuse_other_judges(params: Mapping[str, str]) -> None:
    """On the machine with the GPU. Raises MachineLacks where its code decides otherwise than that of the client."""
    if params["judges"] != judges_digest():
        raise MachineLacks(
            "its checks of wheels differ from those of the client, though the version is the same",
            next="install the same stackbuild on both",
        )
