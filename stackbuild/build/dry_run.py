"""`build --dry-run` and `--runner fake`: the real scheduler on the fake runner, in a store that is thrown away.

What is in the real store counts as built; every other step is rehearsed: its commands are remembered, none is run.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from stackbuild.actions import REGISTRY, Job
from stackbuild.build.context import BuildContext
from stackbuild.build.jobserver import Jobserver
from stackbuild.build.order import Order
from stackbuild.build.schedule import Limits, schedule
from stackbuild.core.cancel import Stopper
from stackbuild.model.events import Event, StepStarted
from stackbuild.model.plan import Plan, Step
from stackbuild.plan.current import plan_status
from stackbuild.recipe.prepare import PreparedRecipe
from stackbuild.runners.fake import Fake
from stackbuild.store.records import Record
from stackbuild.store.store import Store, new_run_id


@dataclass(frozen=True)
class DryStep:
    """A step that would run, why, and its commands (params for a host-side one)."""

    step: str
    action: str
    why: str
    commands: tuple[tuple[str, ...], ...]
    params: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class DryRun:
    """The steps of a rehearsal, and what to say of those that the lock does not answer for, "" where it answers for all."""

    steps: tuple[DryStep, ...]
    open_warning: str


def dry(prepared_recipe: PreparedRecipe, order: Order) -> DryRun:
    """The steps that a build would run now, in the order they would start, with the commands they would run."""
    now = plan_status(prepared_recipe)
    plan, why = now.plan, {row.step: row.why for row in now.rows if row.state == "run"}
    started_steps, fake = _rehearse(plan, frozenset(why), order)
    commands = {name: tuple(e.argv for _, e in fake.ran if e.cwd == f"/build/{name}") for name in started_steps}
    steps = tuple(
        DryStep(n, plan.by_name[n].action, why[n], commands[n], plan.by_name[n].params) for n in started_steps
    )
    return DryRun(steps, now.open_warning)


def _rehearse(plan: Plan, todo: frozenset[str], order: Order) -> tuple[list[str], Fake]:
    fake, started_steps = Fake(), []

    def listen(event: Event) -> None:
        if isinstance(event, StepStarted):
            started_steps.append(event.step)

    with tempfile.TemporaryDirectory(prefix="stackbuild-dry-") as folder:
        store = Store(Path(folder) / "store", new_run_id())
        for step in plan.steps:
            if step.name not in todo:
                _count_as_built(step, store, plan.recipe)
        context = BuildContext(
            recipe=plan.recipe,
            given_name=plan.recipe,
            run=store.run,
            store=store,
            runner=fake,
            jobserver=Jobserver(store.tmp / "jobserver", 1),
            stopper=Stopper(),
            emit=listen,
            logs=Path(folder),
            locals={},
            mirror=None,
            actions=dict.fromkeys(REGISTRY, _write_key),
            expected_seconds={},
            lock_digest="",
        )
        schedule(plan, context, Limits(1, order.limits.memory))
        store.close()
    return started_steps, fake


def _write_key(job: Job) -> dict[str, str]:
    """The host-side action of a rehearsal: its output says which step it stands for."""
    (job.out / "step").write_text(job.step.key)
    return {}


def _count_as_built(step: Step, store: Store, recipe: str) -> None:
    staging = store.stage(step.name)
    (staging.out / "step").write_text(step.key)
    tree = store.keep(staging)
    store.record(Record(step.key, step.name, recipe, tree, step.key_text, 0.0, store.run, "", {}))
