"""The statements about the wheels of a run: what they were built from, what was verified, what was measured."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from stackbuild.build.context import BuildContext
from stackbuild.core import digest
from stackbuild.core.digest import Json
from stackbuild.core.model import TypeAdapter
from stackbuild.model.findings import Verification
from stackbuild.model.materials import materials_of
from stackbuild.model.plan import Plan, Step
from stackbuild.pipeline.built_wheels import BuiltWheels
from stackbuild.publishing import statements
from stackbuild.publishing.statements import ResourceDescriptor, StepOrigin
from stackbuild.remote.origin import Origin
from stackbuild.store.records import Record
from stackbuild.version import __version__


def write_statements(
    wheel: Path,
    built_wheels: BuiltWheels,
    bodies: Mapping[str, Mapping[str, Any]],
    context: BuildContext,
) -> tuple[Path, ...]:
    """Write what is stated of a wheel, and the lock it was built under, into this run's folder of the store; the files.

    `bodies` are the JSON results of the stages `verify` and `bench`, as far as they were reached.
    """
    from stackbuild.publishing.proofs import merge_statements

    sha256 = built_wheels.digests[wheel]
    subject = ResourceDescriptor(wheel.name, sha256)
    folder = context.store.tmp / "statements"
    folder.mkdir(exist_ok=True)
    contents = {statements.lock_name(wheel.name): built_wheels.lock_data}
    if step := _step_of(wheel, built_wheels.plan, context):
        contents[statements.statement_name(wheel.name, "provenance")] = _provenance(
            subject, step, built_wheels, context
        )
    verify_body = bodies.get("verify", {})
    machines = verify_body.get("machines", [""] * len(verify_body.get("verification", ())))
    results = [TypeAdapter(Verification).validate_python(plain) for plain in verify_body.get("verification", ())]
    rows = zip(results, machines, strict=True)
    if own_statements := [statements.verification(subject, one, where) for one, where in rows if one.sha256 == sha256]:
        contents[statements.statement_name(wheel.name, "verification")] = merge_statements(
            subject, "verification", own_statements
        )
    measurements = bodies.get("bench", {})
    if any(wheel.name in str(side["artifact"]) for side in measurements.get("benchmarks", {}).get("sides", ())):
        contents[statements.statement_name(wheel.name, "benchmarks")] = statements.benchmarks(
            subject, measurements["benchmarks"], measurements["verdict"]
        )
    for name, data in contents.items():
        (folder / name).write_bytes(data)
    return tuple(folder / name for name in sorted(contents))


def _step_of(wheel: Path, plan: Plan, context: BuildContext) -> Step | None:
    """The step that packed a wheel of the store."""
    for step in plan.steps:
        record = context.store.find(step.key) if step.action == "wheel" else None
        if record and context.store.tree(record.tree) == wheel.parent:
            return step
    return None


def _provenance(wheel: ResourceDescriptor, step: Step, built_wheels: BuiltWheels, context: BuildContext) -> bytes:
    recipe, steps = built_wheels.recipe, built_wheels.plan.closure((step.name,))
    parameters: dict[str, Json] = {
        "recipe": recipe.name,
        "recipeDigest": digest.of_value(recipe),
        "lockDigest": digest.of_bytes(built_wheels.lock_data),
    }
    parameters["gfx"] = list(recipe.gfx)
    return statements.provenance(wheel, parameters, materials_of(steps), _origins(step, steps, context), __version__)


def _origins(wheel: Step, steps: tuple[Step, ...], context: BuildContext) -> list[StepOrigin]:
    records = context.store.find_all(step.key for step in steps)
    run = records[wheel.key].made_by if wheel.key in records else ""
    return [
        StepOrigin(step.name, step.key, records[step.key].tree, step_origin(records[step.key], run))
        for step in steps
        if step.key in records
    ]


def step_origin(record: Record, run: str) -> str:
    """How a step's output came about, where `run` packed the wheel: `ran` in the same run, `reused` where an earlier run of this
    store made it, and `reused, signed by KEY` where it was taken from a remote store."""
    if origin := Origin.of(record):
        return f"reused, signed by {origin.signed_by}" if origin.signed_by else "reused"
    return "ran" if record.made_by == run else "reused"
