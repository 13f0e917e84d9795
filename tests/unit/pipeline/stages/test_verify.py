"""The stage `verify` where other machines have GPUs: what is claimed, what is remembered, and what is tried again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from stackbuild import verification
from stackbuild.build.context import BuildContext, StepPlacement
from stackbuild.core.errors import VerificationFailed
from stackbuild.model.events import Event, Note
from stackbuild.model.findings import GPU_RUNG, Rung, Status, Verification
from stackbuild.model.plan import Plan
from stackbuild.model.recipe import Recipe
from stackbuild.pipeline import stages
from stackbuild.pipeline.built_wheels import BuiltWheels
from stackbuild.pipeline.gpu_verification import GpuVerification
from stackbuild.pipeline.stages import StageResult, verify_stage
from stackbuild.recipe.load import load
from stackbuild.verification.requirement import required_rungs_of
from support.fake_build import FakeCommands, fake_context
from support.wheels import small_wheel


class Machines:
    """Others that have a GPU of gfx1100 and one of gfx906, and say of it what `status` is."""

    def __init__(self, status: Status) -> None:
        self.status = status
        self.asked: list[tuple[str, ...]] = []

    def gpu_targets(self) -> frozenset[str]:
        return frozenset(("gfx1100", "gfx906"))

    def verify(
        self, recipe: Recipe, plan: Plan, wheels: Sequence[Path], targets: Iterable[str], context: BuildContext
    ) -> tuple[GpuVerification, ...]:
        self.asked.append(tuple(targets))
        rungs = (Rung("static rules", Status.PASSED, "", 1.0), Rung(GPU_RUNG, self.status, "why", 1.0))
        return tuple(GpuVerification(t, Verification(wheels[0].name, "0" * 64, rungs)) for t in self.asked[-1])


def here(wheels: tuple[Path, ...], *more: object) -> Verification:
    return Verification(wheels[0].name, "0" * 64, (Rung(GPU_RUNG, Status.SKIPPED, "no GPU", 0.0),))


def run(
    machines: Machines, folder: Path, monkeypatch: pytest.MonkeyPatch, times: int, require: Sequence[str] = ()
) -> tuple[StageResult, list[str]]:
    """The stage's last result after so many runs, and the warnings."""
    monkeypatch.setattr(verification, "verify", here)
    monkeypatch.setattr(stages, "verify_on_gpus", machines.verify)
    wheel, heard = small_wheel(folder, name="stackbuild-kernels"), list[Event]()
    built = BuiltWheels(load("debian-13").recipe, Plan("t", (), ()), (wheel,), None, "", folder / "lock")
    with fake_context(FakeCommands(), folder / "store") as context:
        placed = replace(context, emit=heard.append, placement=cast(StepPlacement, machines))
        results = [verify_stage(built, placed, required_rungs_of(require)) for _ in range(times)]
    return results[-1], [one.text for one in heard if isinstance(one, Note)]


def test_a_gpu_elsewhere_is_claimed_and_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machines = Machines(Status.PASSED)
    result, warnings = run(machines, tmp_path, monkeypatch, 2)
    assert machines.asked == [("gfx1100",)]  # once, and not for gfx906, which the wheel has no code for
    assert result.remembered and not warnings
    assert "on gfx1100: verified" in str(result.body["claim"])
    assert len(cast(list[object], result.body["verification"])) == 2


def test_a_gpu_that_did_not_run_is_said_and_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machines = Machines(Status.SKIPPED)
    result, warnings = run(machines, tmp_path, monkeypatch, 2)
    assert len(machines.asked) == 2 and not result.remembered and result.passed
    assert "on gfx1100" not in str(result.body["claim"]) and "no GPU ran: why" in warnings[0]


def test_a_rung_that_fails_elsewhere_fails_the_stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(VerificationFailed, match="gfx1100: not verified"):
        run(Machines(Status.FAILED), tmp_path, monkeypatch, 1)


def test_a_required_rung_that_was_skipped_stops_the_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`build --require`: a rung that passed on one of the machines is enough."""
    with pytest.raises(VerificationFailed, match="GPU at work is required, and was not run here: no GPU") as caught:
        run(Machines(Status.SKIPPED), tmp_path / "a", monkeypatch, 1, ["stackbuild-kernels:gpu"])
    assert caught.value.next and caught.value.exit_code == 5
    result, _ = run(Machines(Status.PASSED), tmp_path / "b", monkeypatch, 2, ["gpu"])
    assert result.passed and result.remembered


def test_a_remembered_result_that_does_not_suffice_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was missing, such as the emulator's package, may be there now."""
    machines = Machines(Status.PASSED)
    run(machines, tmp_path, monkeypatch, 1)
    with pytest.raises(VerificationFailed, match="load is required"):
        run(machines, tmp_path, monkeypatch, 1, ["load"])
    assert len(machines.asked) == 2
