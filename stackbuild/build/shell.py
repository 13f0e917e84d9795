"""`stackbuild shell STEP`: the session of a step again: as its failure left it, or fresh on its inputs."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import replace

from stackbuild.build.context import BuildContext
from stackbuild.build.order import Order, open_context
from stackbuild.build.perform import StepRun, session_spec
from stackbuild.core.errors import UsageError
from stackbuild.core.shell_words import shell_word
from stackbuild.model.events import Emit, Note
from stackbuild.model.loaded_recipe import LoadedRecipe
from stackbuild.model.plan import Step, sorted_items
from stackbuild.plan.current import plan_now
from stackbuild.recipe.prepare import prepare_loaded
from stackbuild.runners.protocol import Mount
from stackbuild.store.resume_mark import UnfinishedMark


def open_shell(
    loaded_recipe: LoadedRecipe, name: str, order: Order, argv: tuple[str, ...], listeners: Iterable[Emit] = ()
) -> int:
    """Open a shell (or run `argv`) where the step ran; its exit code.

    Raises UsageError for a step without a session, or one whose inputs are not built.
    """
    prepared_recipe = prepare_loaded(loaded_recipe, order.choice)
    with open_context(loaded_recipe, order, listeners) as context:
        plan = plan_now(prepared_recipe, context.store).plan
        step = plan.by_name.get(name)
        if step is None or step.action != "run":
            there = ", ".join(s.name for s in plan.steps if s.action == "run")
            raise UsageError(f"no step {name!r} that runs in a session", next=f"these do: {there}")
        trees = {}
        for need in step.needs:
            record = context.store.find(need.key)
            if record is None:
                raise UsageError(
                    f"`{need.step}` is not built",
                    next=f"stackbuild build -r {shell_word(loaded_recipe.given_name)} --until {shell_word(need.step)}",
                )
            trees[need.step] = record.tree
        return _enter(step, trees, context, argv or ("/bin/bash", "--norc"))


def _enter(step: Step, trees: Mapping[str, str], context: BuildContext, argv: tuple[str, ...]) -> int:
    """In the folders that its failure left, or in fresh ones; a build tree to resume in can be looked at there and no more."""
    failed_folder = context.store.failed_folder(f"{context.recipe}.{step.name}")
    mark = UnfinishedMark.of(failed_folder.root)
    is_awaited = mark is not None and mark.is_intact
    staging = failed_folder if failed_folder.root.is_dir() and not is_awaited else context.store.stage(step.name)
    spec = session_spec(StepRun(step, trees, staging), context)
    if is_awaited:
        mounts = (m if m.at != "/build" else Mount(failed_folder.build, "/build") for m in spec.mounts)
        spec = replace(spec, mounts=tuple(mounts))
        context.emit(Note("info", f"/build is read-only: the next build of {step.name} resumes in it"))
    else:
        with contextlib.suppress(FileExistsError):  # what a step left is shown as it is
            (staging.build / step.name).mkdir()
    cwd = f"/build/{step.name}"
    if (tree := (failed_folder if is_awaited else staging).build / step.name).is_symlink() or not tree.is_dir():
        context.emit(Note("warning", f"the step put another thing in place of {cwd}; the shell begins in /build"))
        cwd = "/build"
    image = staging.root / "kept"
    environment_text = image.read_text() if image.exists() else ""
    with context.runner.reopen(spec, environment_text) if environment_text else context.runner.open(spec) as session:
        return session.exec_interactive(argv, _env(step), cwd)


def _env(step: Step) -> tuple[tuple[str, str], ...]:
    prompt = {"PS1": f"[{step.name}] \\w $ ", "TERM": os.environ.get("TERM", "dumb"), "CCACHE_DIR": "/ccache"}
    return sorted_items({**dict(step.env), **prompt})
