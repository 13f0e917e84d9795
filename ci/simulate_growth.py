"""Simulates a team that builds many recipes every night: what is planned, shared and built, with and without a store.

    .venv/bin/python ci/simulate_growth.py                    1,000 recipes, 20 targets, 5 Pythons: the table of docs/scale.md
    .venv/bin/python ci/simulate_growth.py --recipes 100 --json

A recipe is the bundled rocm-7.2 with 20 GPU targets and 5 Pythons, on one of ten stacks (base image, rocMLIR and MIGraphX
at commits of their own), with one of ten commits of ONNX Runtime and one of ten sets of options. The first N recipes go
through all stacks first. Every recipe is planned by the real planner, and every step is run by the real scheduler on the
fake runner into a real store: a step that is in the store is not run again.

Core hours are guesses: `plan/estimates.yaml` for the large steps, nothing for all others. Only their ratios mean anything.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

CI = Path(__file__).resolve().parent
sys.path[:1] = [str(CI.parent)]

from stackbuild.actions import REGISTRY, Job  # noqa: E402
from stackbuild.build.context import BuildContext  # noqa: E402
from stackbuild.build.jobserver import Jobserver  # noqa: E402
from stackbuild.build.schedule import Limits, schedule  # noqa: E402
from stackbuild.core import digest  # noqa: E402
from stackbuild.core.cancel import Stopper  # noqa: E402
from stackbuild.model.events import Event, StepStarted  # noqa: E402
from stackbuild.model.inputs import Inputs  # noqa: E402
from stackbuild.model.plan import Plan  # noqa: E402
from stackbuild.model.recipe import Recipe  # noqa: E402
from stackbuild.plan.estimates import guesses  # noqa: E402
from stackbuild.plan.resolve import resolve  # noqa: E402
from stackbuild.recipe.load import load  # noqa: E402
from stackbuild.recipe.lock_file import parse_lock  # noqa: E402
from stackbuild.runners.fake import Fake  # noqa: E402
from stackbuild.runners.protocol import Exec, ExecResult, SessionSpec  # noqa: E402
from stackbuild.store.store import Store, new_run_id  # noqa: E402

STACKS, COMMITS, OPTIONS = 10, 10, 10
PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
TARGETS = (
    "gfx900", "gfx906", "gfx908", "gfx90a", "gfx942", "gfx950", "gfx1010", "gfx1030", "gfx1031", "gfx1032", "gfx1100",
    "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153", "gfx1200", "gfx1201",
)  # fmt: skip


@dataclass(frozen=True)
class GrowthPoint:
    """What N recipes come to. Hours are of one core, by the guesses; `plan_cpu` and `run_cpu` are seconds of this program.

    `hours_alone`: each recipe built by itself. `hours_first`: all into one store. `hours_nightly`: one of the ten ONNX
    Runtime commits moves, with that store; without one a night costs `hours_alone`. `ran_first` and `ran_nightly` are
    steps that the fake runner ran; `requests` the records that a machine with an empty store asks a remote for.
    """

    recipes: int
    plan_cpu: float
    steps: int
    keys: int
    hours_alone: float
    hours_first: float
    hours_nightly: float
    ran_first: int
    ran_nightly: int
    requests: int
    run_cpu: float


def variants(count: int) -> Iterator[tuple[int, int, int]]:
    """Stack, commit and options of the first `count` recipes."""
    for number in range(count):
        yield number % STACKS, number // STACKS % COMMITS, number // STACKS // COMMITS % OPTIONS


class Team:
    """The recipes and what they depend on. `moved` is how often each ONNX Runtime commit has moved."""

    def __init__(self) -> None:
        loaded_recipe = load("rocm-7.2")
        self._lock = parse_lock(loaded_recipe)
        self._recipe = loaded_recipe.recipe
        self._moves = 0

    def move(self) -> None:
        """The first of the commits of ONNX Runtime becomes another: its branch went on."""
        self._moves += 1

    def plan(self, stack: int, commit: int, options: int) -> tuple[Plan, dict[str, float]]:
        """The plan of one recipe, and the guess for each of its large steps."""
        recipe = self._variant(options)
        commits = {
            **self._lock.commits,
            "rocmlir": _sha("rocmlir", stack),
            "migraphx": _sha("migraphx", stack),
            "onnxruntime": _sha("onnxruntime", commit, self._moves if commit == 0 else 0),
        }
        lock = self._lock.model_copy(update={"commits": commits, "image": f"sha256:{digest.of_text(f'image {stack}')}"})
        inputs = Inputs.of(lock, {"kernels": "0" * 64}, dockerfile="0" * 64)
        return resolve(recipe, inputs), guesses(recipe)

    def _variant(self, options: int) -> Recipe:
        component = self._recipe.components["onnxruntime"]
        changed_component = component.model_copy(update={"options": {**component.options, "onnxruntime_VARIANT": str(options)}})
        components = {**self._recipe.components, "onnxruntime": changed_component}
        return self._recipe.model_copy(update={"components": components, "gfx": TARGETS, "python": PYTHONS})


def _sha(*words: object) -> str:
    return digest.of_text(" ".join(map(str, words)))[:40]


@contextmanager
def context_in(folder: Path, ran: list[str]) -> Iterator[BuildContext]:
    """A build context on the fake runner and a store in that folder; `ran` gets the key of every step that ran."""
    store = Store(folder, new_run_id())
    jobserver = Jobserver(store.tmp / "jobserver", 1)

    def answer(spec: SessionSpec, exec: Exec) -> ExecResult:
        out = next(mount.source for mount in spec.mounts if mount.at == "/out")
        sources = [str(mount.source) for mount in spec.mounts if not mount.writable]
        with (out / "made").open("a") as file:  # what it was made from and by: other inputs give another output
            file.write(f"{exec.argv} {exec.env} {sources}\n")
        return ExecResult(0, 0.0)

    def act(job: Job) -> dict[str, str]:
        (job.out / "made").write_text(job.step.key)
        return {}

    def emit(event: Event) -> None:
        if isinstance(event, StepStarted):
            ran.append(event.key)

    try:
        yield BuildContext(
            recipe="t",
            given_name="t",
            run=store.run,
            store=store,
            runner=Fake(answer),
            jobserver=jobserver,
            stopper=Stopper(),
            emit=emit,
            logs=store.root / "runs",
            locals={},
            mirror=None,
            actions=dict.fromkeys(REGISTRY, act),
            expected_seconds={},
            lock_digest="",
        )
    finally:
        jobserver.close()
        store.close()


def simulate(count: int, folder: Path) -> GrowthPoint:
    team, began = Team(), time.process_time()
    plans = [team.plan(*variant) for variant in variants(count)]
    plan_cpu = time.process_time() - began
    alone = sum(sum(hours.values()) for _, hours in plans)
    first, ran = _night(plans, folder)
    run_cpu = time.process_time() - began - plan_cpu
    team.move()
    moved_plans = [team.plan(*variant) for variant in variants(count)]
    nightly, ran_nightly = _night(moved_plans, folder)
    steps = sum(len(plan.steps) for plan, _ in plans)
    keys = len({step.key for plan, _ in plans for step in plan.steps})
    keys_of_build = len({plan.by_name[name].key for plan, _ in plans for name in plan.goals})
    return GrowthPoint(count, plan_cpu, steps, keys, alone, first, nightly, ran, ran_nightly, keys_of_build, run_cpu)


def _night(plans: list[tuple[Plan, dict[str, float]]], folder: Path) -> tuple[float, int]:
    """Build all into one store: core hours of the steps that ran, and how many ran."""
    ran: list[str] = []
    hours = {plan.by_name[name].key: cost for plan, costs in plans for name, cost in costs.items() if name in plan.by_name}
    with context_in(folder, ran) as context:
        for plan, _ in plans:
            _, failures = schedule(plan, context, Limits(1, 1 << 40))
            if failures:
                raise SystemExit(f"a step failed: {failures[0]}")
    return sum(hours.get(key, 0.0) for key in ran), len(ran)


HEAD = "| recipes | plan, CPU s | steps | keys | hours each alone | hours into one store | a night, with the store | a night, without | steps run a night |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recipes", type=int, nargs="*", default=[1, 10, 100, 1000])
    parser.add_argument("--folder", type=Path, help="where the stores lie; default: $TMPDIR")
    parser.add_argument("--json", action="store_true")
    words = parser.parse_args()
    points = []
    for count in words.recipes:
        with tempfile.TemporaryDirectory(prefix="stackbuild-growth-", dir=words.folder) as folder:
            points.append(simulate(count, Path(folder) / "store"))
        print(f"{count} recipes: {points[-1].run_cpu:.1f} CPU s to run", file=sys.stderr)
    if words.json:
        print(json.dumps([asdict(point) for point in points], indent=1))
        return
    print(HEAD + "\n|" + "---|" * HEAD.count(" | ") + "---|")
    for p in points:
        print(
            f"| {p.recipes:,} | {p.plan_cpu:.2f} | {p.steps:,} | {p.keys:,} | {p.hours_alone:,.0f} | {p.hours_first:,.0f} |"
            f" {p.hours_nightly:,.0f} | {p.hours_alone:,.0f} | {p.ran_nightly:,} |"
        )


if __name__ == "__main__":
    main()
