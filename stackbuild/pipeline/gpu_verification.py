"""Verification on machines that have a GPU of a wheel's target.

The whole ladder runs there, since its last rung needs what the others have installed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from stackbuild.actions import Job
from stackbuild.build.context import BuildContext
from stackbuild.core import digest
from stackbuild.core.digest import Json, plain
from stackbuild.core.errors import MachineLacks, StepFailed
from stackbuild.core.model import TypeAdapter
from stackbuild.core.model_mistakes import reason_of
from stackbuild.core.plain_file import read_plain
from stackbuild.model.events import Note
from stackbuild.model.findings import GPU_RUNG, Rung, Status, Verification
from stackbuild.model.plan import Plan, Step
from stackbuild.model.recipe import Recipe
from stackbuild.pipeline.gpu_steps import (
    gpu_step,
    packing_steps,
    refuse_other_judges,
    report_of,
    targets_of,
    wheelhouse_steps,
)

if TYPE_CHECKING:
    from stackbuild.inspection import Expectations

REPORT = "verification.json"
REPORT_MOST = 64 << 20
"""Bytes of a report that are read."""


@dataclass(frozen=True)
class GpuVerification:
    """What a machine with a GPU of the target says of a wheel."""

    target: str
    verification: Verification

    @property
    def not_run(self) -> str:
        """Why the rung on the GPU did not run, "" where it did."""
        return next(
            (r.reason for r in self.verification.rungs if r.name == GPU_RUNG and r.status is Status.SKIPPED), ""
        )


def _expectations(recipe: Recipe, distribution: str) -> Expectations:
    from stackbuild.verification.expectations import expectations_of

    return expectations_of(recipe, distribution)


def verify_on_gpus(
    recipe: Recipe, plan: Plan, wheels: Sequence[Path], targets: Iterable[str], context: BuildContext
) -> tuple[GpuVerification, ...]:
    """The wheels' verifications on machines with a GPU of these targets, which the run's placement offers.

    A machine that lacks something else than the GPU is a warning, and its verifications are left out. Raises StepFailed
    where one gives no report, Stopped.
    """
    by_target = targets_of(recipe, wheels)
    results: list[GpuVerification] = []
    for target in targets:
        step = _step(recipe, plan, by_target[target], target, context)
        try:
            report = report_of(step, (), plan, context)
        except MachineLacks as lacks:
            context.emit(Note("warning", f"not verified on {target}: {lacks.what} ({lacks.next})"))
            continue
        results += [GpuVerification(target, one) for one in read_report(report)]
    return tuple(results)


def _step(recipe: Recipe, plan: Plan, wheels: Sequence[Path], target: str, context: BuildContext) -> Step:
    """The step that verifies these wheels of the store on a GPU of the target."""
    packing, bases = (
        packing_steps(plan, wheels, context),
        [s for s in plan.steps if s.action in ("debian", "image")][:1],
    )
    needs = (*packing, *wheelhouse_steps(plan, context), *bases)
    params = {"wheels": " ".join(s.name for s in packing), "base": bases[0].name if bases else ""}
    return gpu_step("verify", target, recipe, needs, params, context)


def read_report(folder: Path) -> tuple[Verification, ...]:
    """The verifications in a report. Raises StepFailed where it is not a report."""
    data = read_plain(folder, REPORT, REPORT_MOST)
    try:
        return TypeAdapter(tuple[Verification, ...]).validate_python(json.loads(data or b"null"))
    except ValueError as error:
        raise StepFailed(f"not a report of a verification: {reason_of(error)[:200]}", where=str(folder)) from None


# --- on the machine with the GPU


def do(job: Job) -> dict[str, str]:
    """Verify the wheels of the inputs, and write the report. A rung that fails is in the report. Raises MachineLacks."""
    from stackbuild.verification import VerifyOptions, verify

    params = job.params
    refuse_other_judges(params)
    recipe = Recipe.model_validate_json(params["recipe"])
    options = VerifyOptions(
        wheelhouses=tuple(
            (name.partition(".")[2], folder) for name, folder in job.inputs.items() if name.startswith("wheelhouse.")
        ),
        runtime=recipe.verify.runtime if recipe.verify else (),
        root=job.inputs.get(params["base"]),
        check=job.stopper.check,
    )
    wheels = [wheel for step in params["wheels"].split() for wheel in sorted(job.inputs[step].glob("*.whl"))]
    verifications = [
        verify((wheel,), lambda project: _expectations(recipe, project), options, _logging(job.log, wheel.name))
        for wheel in wheels
    ]
    report: list[Json] = [plain(one) for one in verifications]
    (job.out / REPORT).write_text(digest.canonical(report))
    return {}


def _logging(log: Path, wheel: str) -> Callable[[Rung], None]:
    """Writes a line for each rung of a wheel that ends."""

    def tick(rung: Rung) -> None:
        with log.open("a", encoding="utf-8") as file:
            file.write(f"{wheel}: {rung.name}: {rung.status.value} {rung.reason}\n")

    return tick


ACTIONS: Mapping[str, Callable[[Job], dict[str, str]]] = {"verify": do}
"""What a worker does beside the actions of a build."""
