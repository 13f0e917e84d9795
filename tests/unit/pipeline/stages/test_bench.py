"""Where the suite of a recipe is measured when other machines have GPUs, and what is remembered of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import cast

import pytest

from stackbuild.build.context import BuildContext, StepPlacement
from stackbuild.core.errors import GateClosed, StepFailed
from stackbuild.judgement import judge
from stackbuild.machine.gpu import Gpu
from stackbuild.model.plan import Plan, Step
from stackbuild.pipeline import gpu_benchmarks, stages
from stackbuild.pipeline.built_wheels import BuiltWheels
from stackbuild.pipeline.gpu_benchmarks import (
    FILES,
    REPORT,
    GpuBenchmarks,
    bench_targets,
    read_results,
)
from stackbuild.pipeline.stages import bench_stage
from stackbuild.recipe.load import parse
from support.benchmark_results import measured
from support.fake_build import FakeCommands, fake_context
from support.wheels import small_wheel

TEXT = """schema: 1
name: t
summary: A wheel that is measured
base: {debian: {suite: trixie, packages: [make]}}
gfx: ["gfx90a:xnack-", gfx1100, gfx1201]
components: {x: {kind: script, run: [[/bin/true]]}}
verify: {runtime: [numpy], providers: [MIGraphXExecutionProvider]}
bench: {suite: models-quick}
gates: [{kind: limit, metric: latency, at_most: 1 s, confidence: 0.8}]
"""


class Machines:
    """Others with these GPUs, which measure so many seconds by target."""

    def __init__(self, *seconds: tuple[str, float]) -> None:
        self.seconds = dict(seconds)
        self.measured: list[str] = []
        self.needed: list[Step] = []

    def gpu_targets(self) -> frozenset[str]:
        return frozenset(self.seconds)

    def refuse_lacking(self, steps: Iterable[Step]) -> None:
        self.needed = list(steps)

    def measure(self, built: BuiltWheels, targets: Iterable[str], context: BuildContext) -> tuple[GpuBenchmarks, ...]:
        self.measured += targets
        taken = [(target, measured(self.seconds[target] * 100, batches=(1,))) for target in self.measured]
        gates, day = built.recipe.gates, date(2026, 11, 23)
        return tuple(GpuBenchmarks(target, one, judge(one, gates, day)) for target, one in taken)


def targets(machines: Machines | None, folder: Path, text: str = TEXT) -> tuple[str, ...]:
    with fake_context(FakeCommands(), folder / "store") as context:
        placed = replace(context, placement=cast(StepPlacement | None, machines))
        return bench_targets(parse(text, "t.yaml"), folder / "t.lock.yaml", placed)


def test_a_suite_goes_where_a_gpu_of_a_target_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    both = Machines(("gfx1100", 0.1), ("gfx90a", 0.1), ("gfx906", 0.1))
    assert targets(both, tmp_path) == ("gfx1100", "gfx90a")
    assert [step.name for step in both.needed] == ["bench.gfx1100", "bench.gfx90a"]
    none = Machines()
    targets(none, tmp_path)
    assert [step.name for step in none.needed] == [
        "bench.gfx1100",
        "bench.gfx1201",
        "bench.gfx90a",
    ]  # which are refused
    assert targets(None, tmp_path) == ()
    assert targets(both, tmp_path, TEXT.replace("MIGraphX", "CPU")) == ()
    gate = "gates: [{kind: speedup, side: MIGraphXExecutionProvider, versus: CPUExecutionProvider, at_least: 2}]\n"
    named = TEXT.replace("MIGraphX", "CPU").partition("gates:")[0] + gate
    assert targets(both, tmp_path, named) == ("gfx1100", "gfx90a")
    monkeypatch.setattr(gpu_benchmarks, "gpus", lambda: (Gpu(0, "gfx1201", 0, 0),))
    assert targets(both, tmp_path) == ()


def test_files_of_the_client_are_needed_too(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text("kind: models\n")
    one = Machines(("gfx1100", 0.1))
    targets(one, tmp_path, TEXT.replace("models-quick", "own.yaml"))
    assert [step.name for step in one.needed] == ["bench.gfx1100", FILES]


def test_the_worst_target_decides_and_what_passed_is_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = small_wheel(tmp_path, name="onnxruntime")
    built = BuiltWheels(parse(TEXT, "t.yaml"), Plan("t", (), ()), (wheel,), None, "", tmp_path / "t.lock.yaml")
    with fake_context(FakeCommands(), tmp_path / "store") as context:
        for slow, asked in ((0.1, ["gfx1100", "gfx90a"]), (0.1, []), (5.0, ["gfx1100", "gfx1201", "gfx90a"])):
            pairs = [("gfx1100", slow), ("gfx90a", 0.1), *([("gfx1201", 0.1)] if slow > 1 else [])]
            machines = Machines(*pairs)
            monkeypatch.setattr(stages, "measure_on_gpus", machines.measure)
            placed = replace(context, placement=cast(StepPlacement, machines))
            if slow > 1:
                with pytest.raises(
                    GateClosed, match=r"on gfx1100: 1 cases, gates FAIL.*; on gfx1201: 1 cases, gates PASS"
                ):
                    bench_stage(built, placed)
            else:
                result = bench_stage(built, placed)
                assert result and result.remembered == (not asked)
                assert result.says == "on gfx1100: 1 cases, gates PASS; on gfx90a: 1 cases, gates PASS"
            assert machines.measured == asked


def test_results_of_a_worker_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(StepFailed, match="there are no results"):
        read_results(tmp_path)
    (tmp_path / REPORT).write_text('{"schema": "stackbuild.benchmarks/2"}')
    with pytest.raises(StepFailed, match="no digest of its content"):
        read_results(tmp_path)
