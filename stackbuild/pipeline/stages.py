"""The stages after the build: verify, benchmark with gates, publish. Each result is kept under a key of its inputs."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from stackbuild.build.context import BuildContext
from stackbuild.build.perform import is_sound
from stackbuild.build.schedule import Limits, schedule
from stackbuild.core import digest
from stackbuild.core.digest import Json, plain
from stackbuild.core.errors import GateClosed, MachineLacks, StepFailed, UsageError, VerificationFailed
from stackbuild.core.interpreter import this_python
from stackbuild.core.model import TypeAdapter
from stackbuild.core.packaging import distribution_of
from stackbuild.core.shell_words import shell_word
from stackbuild.machine.host import machine_memory
from stackbuild.model.events import Note, StageFinished, StageStarted
from stackbuild.model.findings import Rung, Status, Verification
from stackbuild.pipeline.built_wheels import BuiltWheels
from stackbuild.pipeline.gpu_benchmarks import bench_targets, measure_on_gpus, provider_of, suite_place
from stackbuild.pipeline.gpu_steps import targets_of
from stackbuild.pipeline.gpu_verification import verify_on_gpus
from stackbuild.pipeline.run_record import PUBLISHED_FILE, WHEELS
from stackbuild.publishing.ssh_keys import SigningKey
from stackbuild.recipe.wheels import migraphx_distributions
from stackbuild.store.atomic import write_hint
from stackbuild.store.store import EMULATOR

if TYPE_CHECKING:
    from stackbuild.bench.measure import Measurement
    from stackbuild.model.results import Benchmarks
    from stackbuild.publishing.publication import Receipt
    from stackbuild.verification.requirement import RequiredRungs


@dataclass(frozen=True)
class StageResult:
    """A stage's result: its line for people, whether it passed, its JSON, and whether it was known before."""

    says: str
    passed: bool
    body: dict[str, Json]
    remembered: bool


def _stage(
    name: str,
    key: str,
    context: BuildContext,
    make: Callable[[], dict[str, Json]],
    suffices: Callable[[Mapping[str, Json]], bool] = lambda _: True,
) -> StageResult:
    """The stage's result: as remembered under the key, or computed now. Only a passed one is remembered.

    One that says `again` is not: something could not run that may run the next time. A remembered one that does not suffice
    is computed again. `make` gives a JSON object with `says` and `stands`; `stackbuild report` finds it in the run's folder.
    """
    start_time = time.monotonic()
    body = context.store.recall(key)
    remembered = isinstance(body, dict) and suffices(body)
    if not isinstance(body, dict) or not remembered:
        context.emit(StageStarted(name))
        body = make()
        if body["stands"] and not body.get("again"):
            context.store.remember(key, body)
    _keep(f"{name}.json", body, context)
    context.emit(
        StageFinished(name, str(body["says"]), time.monotonic() - start_time, remembered, bool(body["stands"]))
    )
    return StageResult(str(body["says"]), bool(body["stands"]), body, remembered)


def keep_wheels(built_wheels: BuiltWheels, context: BuildContext) -> None:
    """Write the wheels and the lock into the run's folder, for the report."""
    from stackbuild.publishing.catalog import core_metadata
    from stackbuild.publishing.placement import read_metadata

    wheels: Json = [
        {
            "name": wheel.name,
            "size": wheel.stat().st_size,
            "sha256": digest.of_file(wheel),
            "usage": plain(core_metadata(read_metadata(wheel)).usage),
        }
        for wheel in built_wheels.wheels
    ]
    _keep(WHEELS, {"wheels": wheels, "lock": str(built_wheels.lock.absolute())}, context)


def _keep(name: str, body: dict[str, Json], context: BuildContext) -> None:
    write_hint(context.logs.parent / name, digest.canonical(body), context.store.tmp)


def _sound_wheelhouse(name: str, tree: str, built_wheels: BuiltWheels, context: BuildContext) -> Path:
    """The wheelhouse of that step, read whole and, where it was damaged, made again. Raises StepFailed, MachineLacks."""
    if not is_sound(name, tree, context):
        _, failures = schedule(replace(built_wheels.plan, goals=(name,)), context, Limits(1, machine_memory()))
        if failures:
            raise StepFailed(f"step `{failures[0].step}` failed: {failures[0].what}", where=failures[0].log)
    return context.store.tree(tree)


def _wheelhouses(built_wheels: BuiltWheels, context: BuildContext) -> tuple[tuple[str, Path], ...]:
    """The wheelhouses that the store has, by their Python: this machine's, and the base's where that is another."""
    records = ((s.name, context.store.find(s.key)) for s in built_wheels.plan.steps if s.action == "wheelhouse")
    return tuple(
        (name.partition(".")[2], _sound_wheelhouse(name, r.tree, built_wheels, context)) for name, r in records if r
    )


def _base(built_wheels: BuiltWheels, context: BuildContext) -> Path | None:
    """The recipe's base as a root file system, where the store still has it."""
    record = next((context.store.find(s.key) for s in built_wheels.plan.steps if s.action in ("debian", "image")), None)
    return context.store.tree(record.tree) if record else None


def _migraphx_wheel(built_wheels: BuiltWheels) -> Path | None:
    """The wheel that packs the MIGraphX which the recipe builds, the first where its matrix makes several."""
    from stackbuild.inspection.readers.wheel import normal_name  # auditwheel's policies are slow to import

    names = {normal_name(distribution) for distribution in migraphx_distributions(built_wheels.recipe)}
    return next((wheel for wheel in built_wheels.wheels if distribution_of(wheel.name)[0] in names), None)


def verify_stage(
    built_wheels: BuiltWheels, context: BuildContext, required_rungs: Sequence[RequiredRungs] = ()
) -> StageResult:
    """Verify the wheels here, and on the GPUs of the run's other machines; `body["claim"]` is what may be claimed.

    Raises VerificationFailed, also where a required rung did not pass; StepFailed.
    """

    def run_ladder() -> dict[str, Json]:
        from stackbuild.verification import VerifyOptions, verify
        from stackbuild.verification.expectations import expectations_of

        runtime = built_wheels.recipe.verify.runtime if built_wheels.recipe.verify else ()
        options = VerifyOptions(
            wheelhouses=_wheelhouses(built_wheels, context),
            runtime=runtime,
            root=_base(built_wheels, context),
            migraphx=_migraphx_wheel(built_wheels),
            emulate=built_wheels.recipe.targets_to_emulate,
            emulator_folder=context.store.root / EMULATOR,
            check=context.stopper.check,
        )
        here = [
            verify((w,), lambda project: expectations_of(built_wheels.recipe, project), options)
            for w in built_wheels.wheels
        ]
        there = verify_on_gpus(built_wheels.recipe, built_wheels.plan, built_wheels.wheels, gpus, context)
        for one in there:
            if one.not_run:
                context.emit(Note("warning", f"{one.verification.subject} on {one.target}: no GPU ran: {one.not_run}"))
        ran = [one for one in there if not one.not_run]
        verifications = [*here, *(one.verification for one in ran)]
        claims = [*(one.claim for one in here), *(f"on {one.target}: {one.verification.claim}" for one in ran)]
        return {
            "says": _rung_counts(tuple(rung for one in verifications for rung in one.rungs)),
            "stands": not any(one.failed for one in verifications),
            "again": {one.target for one in ran} != set(gpus),
            "claim": "; ".join(claims),
            "verification": [plain(one) for one in verifications],
            "machines": [*("" for _ in here), *(one.target for one in ran)],
        }

    houses = [step.key for step in built_wheels.plan.steps if step.action == "wheelhouse"]
    gpus = _gpus(built_wheels, context)
    key = built_wheels.stage_key("verify", built_wheels.recipe.gfx, built_wheels.recipe.verify, houses, *gpus)
    result = _stage("verify", key, context, run_ladder, lambda body: not _unmet_rungs(body, required_rungs))
    if not result.passed:
        raise VerificationFailed(str(result.body["claim"]), next=f"stackbuild inspect {shell_word(built_wheels.wheels[0])}")
    if unmet_rungs := _unmet_rungs(result.body, required_rungs):
        raise VerificationFailed("; ".join(unmet_rungs), next="run what it says is missing here, or require less")
    return result


def _unmet_rungs(body: Mapping[str, Json], required_rungs: Sequence[RequiredRungs]) -> tuple[str, ...]:
    """The required rungs that did not pass, a line each."""
    from stackbuild.verification.requirement import unmet_by

    if not required_rungs:
        return ()
    results = TypeAdapter(tuple[Verification, ...]).validate_python(body["verification"])
    return unmet_by(results, required_rungs)


def _gpus(built_wheels: BuiltWheels, context: BuildContext) -> tuple[str, ...]:
    """The targets that a wheel has device code for and another machine of this run has a GPU of, sorted."""
    offered_targets = context.placement.gpu_targets() if context.placement is not None else frozenset()
    return (
        tuple(sorted(offered_targets & targets_of(built_wheels.recipe, built_wheels.wheels).keys()))
        if offered_targets
        else ()
    )


def _rung_counts(rungs: tuple[Rung, ...]) -> str:
    """How many checks passed, in a line."""
    count = [sum(rung.status is status for rung in rungs) for status in (Status.PASSED, Status.SKIPPED, Status.FAILED)]
    return "{} checks passed, {} not run, {} failed".format(*count)


def bench_stage(built_wheels: BuiltWheels, context: BuildContext) -> StageResult | None:
    """Run the recipe's suite on the wheel and judge it by the recipe's gates; None where the recipe has no suite.

    A suite that needs a GPU which this machine lacks runs on the run's other machines, on each target that they have:
    the result is that of the first target on which a gate failed, or else of the last one.

    Raises GateClosed with the gate and by how much it failed.
    """
    from stackbuild.bench.machine import fingerprint
    from stackbuild.bench.measure import Measurement, baseline_of
    from stackbuild.judgement import waivers_that_hold

    bench = built_wheels.recipe.bench
    if bench is None:
        return None

    def measure() -> dict[str, Json]:
        if not targets:
            return _bench_body(_measure(suite, built_wheels, context), "")
        results = measure_on_gpus(built_wheels, targets, context)
        for one in results:
            _add_to_history(one.benchmarks, context)
        bodies = [_bench_body(Measurement(one.benchmarks, one.verdict), f"on {one.target}: ") for one in results]
        worst = next((body for body in bodies if not body["stands"]), bodies[-1])
        return {**worst, "says": "; ".join(str(body["says"]) for body in bodies)}

    suite, baseline = suite_place(bench.suite, built_wheels.lock), baseline_of(None, built_wheels.recipe.gates)
    targets = bench_targets(built_wheels.recipe, built_wheels.lock, context)
    files = [digest.of_file(file) for file in (Path(suite), baseline) if file and file.is_file()]
    waivers = waivers_that_hold(
        built_wheels.recipe.gates, datetime.now(UTC).date()
    )  # a remembered result ends with them
    machine = ["GPUs of other machines", *targets] if targets else fingerprint().stable
    key = built_wheels.stage_key("bench", bench, built_wheels.recipe.gates, files, machine, waivers)
    result = _stage("bench", key, context, measure)
    if not result.passed:
        raise GateClosed(result.says, next=f"stackbuild report {context.run} shows the measurement")
    return result


def _bench_body(measurement: Measurement, where: str) -> dict[str, Json]:
    """The body of a measurement's result. `where` begins its line."""
    from stackbuild.bench.results_file import document

    closed_gates = [gate.says for gate in measurement.verdict.closed_gates]
    says = f"{where}{len(measurement.benchmarks.cases)} cases, gates {measurement.verdict.outcome}"
    return {
        "says": says + (f": {closed_gates[0]}" if closed_gates else ""),
        "stands": not closed_gates,
        "benchmarks": document(measurement.benchmarks),
        "verdict": document(measurement.verdict),
    }


def _measure(suite: str, built_wheels: BuiltWheels, context: BuildContext) -> Measurement:
    """The suite, on the wheel it is for: kernels beside ONNX Runtime's own operators, or models on the recipe's provider."""
    from stackbuild.bench.gate import GateRequest, measure_wheel, wheel_for
    from stackbuild.verification.clean_env import wheelhouse_python

    if built_wheels.wheelhouse is None:
        raise MachineLacks(
            f"the suite {suite} needs the recipe's wheelhouse for Python {this_python()}",
            next=f"run stackbuild with one of Python {', '.join(built_wheels.recipe.python)}",
        )
    house = _sound_wheelhouse(f"wheelhouse.{this_python()}", built_wheels.wheelhouse_digest, built_wheels, context)
    lock_file = context.logs.parent / "lock.yaml"
    lock_file.write_bytes(built_wheels.lock_data)
    request = GateRequest(
        wheel_for(suite, built_wheels.wheels),
        suite=suite,
        candidate_lock=lock_file,
        provider=provider_of(built_wheels.recipe),
        python=wheelhouse_python(house, built_wheels.wheelhouse_digest, context.store),
        cache=context.store.root / "bench",
        threads=built_wheels.recipe.bench.threads if built_wheels.recipe.bench else 0,
    )
    measurement = measure_wheel(request, built_wheels.recipe.gates, lambda *_: context.stopper.check())
    _add_to_history(measurement.benchmarks, context)
    return measurement


def _add_to_history(benchmarks: Benchmarks, context: BuildContext) -> None:
    from stackbuild.bench.history import append, default_file

    try:
        append(default_file(), benchmarks)
    except (MachineLacks, UsageError) as lacks:
        context.emit(Note("warning", f"the measurement is not in the history: {lacks.what}"))


def publish_stage(
    built_wheels: BuiltWheels, stages: Mapping[str, StageResult], keys: tuple[SigningKey, ...], context: BuildContext
) -> Receipt:
    """Put the wheels on the recipe's index, with what is stated of each. `stages` are the results so far, by name."""
    from stackbuild.pipeline.evidence import write_statements
    from stackbuild.publishing.index import is_published, publish
    from stackbuild.publishing.index_numbers import default_numbers_file
    from stackbuild.publishing.publication import Publication

    index = Path(built_wheels.recipe.destination.index)
    start_time = time.monotonic()
    there = is_published(built_wheels.digests, index)
    if not there:
        context.emit(StageStarted("publish"))
    bodies = {name: result.body for name, result in stages.items()}
    publication = Publication(
        replace=built_wheels.recipe.destination.replace,
        attachments={wheel: write_statements(wheel, built_wheels, bodies, context) for wheel in built_wheels.digests},
        url=built_wheels.recipe.destination.url,
        keys=keys,
        digests=built_wheels.digests,
        numbers=default_numbers_file() if keys else None,
    )
    receipt = publish(built_wheels.wheels, index, publication)
    _keep(PUBLISHED_FILE, {"index": str(index), "install": receipt.install_line}, context)
    context.emit(StageFinished("publish", str(index), time.monotonic() - start_time, remembered=there))
    return receipt
