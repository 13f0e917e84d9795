"""`stackbuild shell STEP`: the session of a step again: as its failure left it, or fresh on its inputs."""

from __future__ import annotations

import os

from stackbuild import locking
from stackbuild.build import Order, workshop
from stackbuild.errors import UsageError
from stackbuild.load import Loaded
from stackbuild.perform import room_of
from stackbuild.plan import Step
from stackbuild.resolve import resolve
from stackbuild.store.store import Staging


def shell(loaded: Loaded, name: str, order: Order, argv: tuple[str, ...]) -> int:
    """Open a shell (or run `argv`) where the step ran; its exit code.

    Raises UsageError for a step without a session, or one whose inputs are not built.
    """
    with workshop(loaded, order, ()) as shop:
        plan = resolve(loaded.recipe, locking.observe(loaded, locking.read(loaded), shop.store), order.choice)
        step = plan.by_name.get(name)
        if step is None or step.action != "run":
            there = ", ".join(s.name for s in plan.steps if s.action == "run")
            raise UsageError(f"no step {name!r} that runs in a session", next=f"these do: {there}")
        trees = {}
        for need in step.needs:
            record = shop.store.find(need.key)
            if record is None:
                raise UsageError(f"`{need.step}` is not built", next=f"stackbuild build -r {loaded.called} --until {need.step}")
            trees[need.step] = record.tree
        failed = shop.store.root / "failed" / f"{loaded.recipe.name}.{name}"
        staging = Staging(failed) if failed.is_dir() else shop.store.stage(name)
        (staging.build / name).mkdir(exist_ok=True)
        kept = (failed / "kept").read_text() if failed.is_dir() else ""
        room = room_of(step, trees, staging, shop)
        with shop.runner.revisit(room, kept) if kept else shop.runner.open(room) as session:
            return session.enter(argv or ("/bin/bash", "--norc"), _env(step), f"/build/{name}")


def _env(step: Step) -> tuple[tuple[str, str], ...]:
    prompt = {"PS1": f"[{step.name}] \\w $ ", "TERM": os.environ.get("TERM", "dumb"), "CCACHE_DIR": "/ccache"}
    return tuple(sorted({**dict(step.env), **prompt}.items()))
