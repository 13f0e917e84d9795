"""A recipe's own gates, as `stackbuild build` decides them after the proof: measured for real on the CPU."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from stackbuild.bench.lock_diff import lock_beside
from stackbuild.core.errors import GateClosed, UsageError
from stackbuild.model.plan import Plan
from stackbuild.pipeline import stages
from stackbuild.pipeline.built_wheels import BuiltWheels
from stackbuild.pipeline.stages import StageResult, bench_stage
from stackbuild.recipe.load import parse
from stackbuild.store.store import Store
from stackbuild.verification import clean_env

RECIPE = """schema: 1
name: gated
summary: A wheel that is measured
base: {debian: {suite: trixie, packages: [hipcc]}}
gfx: [gfx90a]
components: {x: {kind: script, run: [[/bin/true]]}}
verify: {runtime: [numpy]}
bench: {suite: small.yaml}
gates: [GATES]
"""
LOCK = 'schema: 1\nasked: "' + "a" * 64 + '"\npackages: {hipcc: VERSION}\n'


class Context(SimpleNamespace):
    """What the stage uses of a build context: the store, its run's folder, somebody who hears of it."""


@pytest.fixture
def judged(
    tmp_path: Path, small_suite: Path, slowed_wheel: Callable[[float], Path], monkeypatch: pytest.MonkeyPatch
) -> Callable[[str, float], StageResult | None]:
    """Runs the stage with those gates on a wheel that is slower by that share; the wheelhouse is this interpreter."""
    monkeypatch.setattr(clean_env, "wheelhouse_python", lambda *_: Path(sys.executable))
    monkeypatch.setattr(stages, "_sound_wheelhouse", lambda house, *_: house)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    store = Store(tmp_path / "store", "run")
    logs = tmp_path / "run" / "logs"
    logs.mkdir(parents=True)
    context = Context(store=store, emit=lambda _: None, logs=logs, run="run", placement=None, stopper=SimpleNamespace(check=lambda: None))
    lock = tmp_path / "gated.lock.yaml"
    lock.write_text(LOCK.replace("VERSION", "5.7.1-7"))
    wheels: dict[float, Path] = {}

    def judge(gates: str, share: float) -> StageResult | None:
        wheel = wheels[share] = wheels.get(share) or slowed_wheel(share)
        recipe = parse(RECIPE.replace("GATES", gates), "gated.yaml")
        made = BuiltWheels(recipe, Plan("gated", (), ()), (wheel,), tmp_path, "d" * 64, lock)
        return bench_stage(made, context)  # type: ignore[arg-type]

    return judge


def test_an_open_gate_is_remembered_and_a_closed_one_says_by_how_much(
    judged: Callable[[str, float], StageResult | None], tmp_path: Path
) -> None:
    wide = "{kind: limit, metric: latency, at_most: 60 s}, {kind: accuracy, snr_db: 100}"
    first, second = judged(wide, 0.0), judged(wide, 0.0)
    assert first and second and not first.remembered and second.remembered
    assert first.says == "1 cases, gates PASS"
    suite = tmp_path / "small.yaml"
    suite.write_text(suite.read_text() + "about: of another time\n")
    again = judged(wide, 0.0)
    assert again and not again.remembered, "what is measured has changed"
    with pytest.raises(GateClosed) as stop:
        judged("{kind: limit, metric: latency, at_most: 1 us}", 0.0)
    assert stop.value.exit_code == 6 and "\n" not in stop.value.what
    assert "limit: latency of small/64x256 is" in stop.value.what and "at most 0.001" in stop.value.what
    assert (tmp_path / "run" / "bench.json").is_file()


def test_a_baseline_of_the_recipe_is_an_artifact(
    judged: Callable[[str, float], StageResult | None], slowed_wheel: Callable[[float], Path], tmp_path: Path
) -> None:
    """Four times slower than the wheel that the gate names; the locks beside them are checked against each other."""
    baseline = slowed_wheel(0.5)
    lock_beside(baseline).write_text(LOCK.replace("VERSION", "5.7.1-6"))
    calm = "self_check: {median: 50%, spread: 50%}"
    with pytest.raises(GateClosed) as stop:
        judged(f"{{kind: baseline, wheel: '{baseline}', delta: 90%, pairs: [8], {calm}}}", 9.0)
    assert "slower than baseline" in stop.value.what or "no verdict" in stop.value.what
    inputs = json.loads((tmp_path / "run" / "bench.json").read_text())["benchmarks"]["inputs"]
    assert inputs["moved"] == [{"what": "base package hipcc", "before": "5.7.1-6", "after": "5.7.1-7"}]


def test_a_suite_for_a_wheel_that_there_is_not(judged: Callable[[str, float], StageResult | None], tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text("kind: kernels\nkernels: [{op: conv}]\n")
    with pytest.raises(UsageError, match="measures stackbuild_kernels, and no wheel has it") as stop:
        judged("{kind: accuracy, snr_db: 1}", 0.0)
    assert "suite of models" in stop.value.next
