"""Everything in one call: text → Recipe → Lock → Plan → Built → Verification → Benchmarks → Verdict → Receipt."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stackbuild.build.build import Outputs, build, wheels
from stackbuild.build.context import BuildContext
from stackbuild.build.order import Order, open_context
from stackbuild.core.interpreter import this_python
from stackbuild.model.events import Emit, Note
from stackbuild.model.loaded_recipe import LoadedRecipe
from stackbuild.model.recipe import Recipe
from stackbuild.pipeline.built_wheels import BuiltWheels
from stackbuild.pipeline.gpu_benchmarks import bench_targets, require_baseline, require_bench_packages
from stackbuild.pipeline.stages import (
    bench_stage,
    keep_wheels,
    publish_stage,
    verify_stage,
)
from stackbuild.plan.current import CurrentPlan
from stackbuild.recipe.prepare import prepare_loaded
from stackbuild.recipe.wheels import narrow
from stackbuild.sources.local import refuse_outside

if TYPE_CHECKING:
    from stackbuild.publishing.publication import Receipt
    from stackbuild.verification.requirement import RequiredRungs


@dataclass(frozen=True)
class ReleaseReport:
    """What a whole build came to. `fresh`: something was built, proved, measured or published that was not before.

    `receipt` is None where `--until` ended it, and where `--gfx` left targets out of a wheel.
    """

    recipe: str
    run: str
    fresh: bool
    wheels: tuple[str, ...]
    claim: str
    receipt: Receipt | None
    seconds: float


STOP_REASON = "nothing is measured and published: that takes a whole build, without --until and --only"


def release(
    loaded_recipe: LoadedRecipe,
    order: Order,
    listeners: Iterable[Emit],
    required_rungs: Sequence[RequiredRungs] = (),
    first_plan: CurrentPlan | None = None,
) -> ReleaseReport:
    """Build, prove, measure, judge, publish. Raises every Stop but Defect. A wheel on which a required rung did not pass is not published.

    With `--until` and `--only` wheels are proved as far as that goes without a clean environment, which is not part of what
    is asked for; nothing is measured and published. With `--gfx` the wheels are held to the chosen targets, and one that
    lacks others of the recipe's is not published: its name and version promise them all. `first_plan` is the plan where it
    was made already.
    """
    start_time = time.monotonic()
    prepared_recipe = first_plan.prepared_recipe if first_plan else prepare_loaded(loaded_recipe, order.choice)
    refuse_outside(loaded_recipe)
    recipe, partial = narrow(loaded_recipe.recipe, order.choice.gfx)
    if not order.choice.until:
        require_baseline(recipe)
    if order.place is None and not order.choice.until:
        require_bench_packages(recipe)
    with open_context(loaded_recipe, order, listeners) as context:
        if order.place and not order.choice.until and not bench_targets(recipe, loaded_recipe.lock_path, context):
            require_bench_packages(recipe)
        outputs = build(prepared_recipe, order, context, first_plan)
        built_wheels = _built_wheels(recipe, loaded_recipe, outputs, order.choice.until, context)
        fresh, claim, receipt = outputs.ran > 0, "", None
        if built_wheels.wheels:
            keep_wheels(built_wheels, context)
            proof = verify_stage(built_wheels, context, required_rungs)
            claim = str(proof.body["claim"])
            fresh |= not proof.remembered
            if order.choice.until:
                context.emit(Note("info", STOP_REASON))
            else:
                measurement = bench_stage(built_wheels, context)
                fresh |= measurement is not None and not measurement.remembered
                stages = {"verify": proof, **({"bench": measurement} if measurement else {})}
                if partial:
                    context.emit(_withheld_note(partial, built_wheels, loaded_recipe.recipe))
                else:
                    receipt = publish_stage(built_wheels, stages, order.sign, context)
                fresh |= receipt is not None and any(wheel.fresh for wheel in receipt.wheels)
    names = tuple(path.name for path in built_wheels.wheels)
    return ReleaseReport(
        loaded_recipe.recipe.name, context.run, fresh, names, claim, receipt, time.monotonic() - start_time
    )


def _withheld_note(partial: tuple[str, ...], built_wheels: BuiltWheels, whole: Recipe) -> Note:
    """Why the wheels are not published, and where they are."""
    files = ", ".join(str(wheel) for wheel in built_wheels.wheels)
    return Note(
        "warning",
        f"not published: {', '.join(partial)} was built for {', '.join(built_wheels.recipe.gfx)} only and the recipe promises"
        f" {', '.join(whole.gfx)}; install it from the store ({files}), or name these targets in a recipe of your own",
    )


def _built_wheels(
    recipe: Recipe, loaded_recipe: LoadedRecipe, outputs: Outputs, until: str, context: BuildContext
) -> BuiltWheels:
    """The wheels, and the wheelhouse they are proved in where the lock has one for this Python."""
    built_wheels = wheels(outputs, context.store)
    house = next((b for b in outputs.outputs if b.step == f"wheelhouse.{this_python()}"), None)
    if built_wheels and loaded_recipe.recipe.verify and house is None and not until:
        context.emit(
            Note(
                "warning",
                f"the lock has no wheelhouse for Python {this_python()}: the wheels are proved only as far as that goes; "
                f"run stackbuild with one of {', '.join(loaded_recipe.recipe.python)} for the rest",
            )
        )
    wheelhouse = context.store.tree(house.tree) if house else None
    return BuiltWheels(
        recipe, outputs.plan, built_wheels, wheelhouse, house.tree if house else "", loaded_recipe.lock_path
    )
