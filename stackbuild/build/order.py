"""What a command line asks of a build, and the context that is opened for it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from stackbuild import actions
from stackbuild.build.context import BuildContext, StepPlacement
from stackbuild.build.jobserver import Jobserver
from stackbuild.build.runs import EventLog
from stackbuild.build.schedule import Limits
from stackbuild.build.sharing import RemoteSharing
from stackbuild.core.cancel import Stopper
from stackbuild.core.digest import of_file
from stackbuild.core.errors import Stop
from stackbuild.machine.host import machine_memory
from stackbuild.model.choice import Choice
from stackbuild.model.events import Emit, RunStopped
from stackbuild.model.loaded_recipe import LoadedRecipe
from stackbuild.plan.estimates import guesses
from stackbuild.plan.resolve import CONFIGURE
from stackbuild.publishing.ssh_keys import SigningKey
from stackbuild.runners.choice import choose
from stackbuild.sources.local import places
from stackbuild.sources.mirror import Mirror
from stackbuild.store.durations import step_seconds
from stackbuild.store.store import Store, default_root, new_run_id

if TYPE_CHECKING:
    from stackbuild.remote.settings import Settings

JOB_MEMORY = 3 << 29
"""Bytes that one compile of this stack may need: 1.5 GiB; ONNX Runtime's largest files do (onnxruntime#25596)."""

UMASK = 0o022
"""The mode mask of a build. The caller's would be in the modes of what steps write, and so in the digests of outputs."""


@dataclass(frozen=True)
class Order:
    """What was asked for on the command line."""

    choice: Choice = Choice()
    runner: str = "auto"
    jobs: int = 0
    keep_going: bool = False
    locked: bool = False
    fail_on_rebuild: bool = False
    only: bool = False
    """Run nothing but the step of `choice.until`: what it needs must be in the store."""
    sign: tuple[SigningKey, ...] = ()
    """Private keys that sign the index that the wheels are published on. No step sees them."""
    mirror: Mirror | None = None
    """Stands for the network where one is given."""
    from_scratch: bool = False
    """Run every step, with nothing that earlier runs made: no stored output, build tree or compiler cache."""

    remotes: Settings | None = None
    """The remotes that are asked before a step runs, and those that what was made is pushed to."""
    place: Callable[[BuildContext], AbstractContextManager[StepPlacement]] | None = None
    """Opens the connection to the machines that do the steps; None where this one does."""

    @property
    def limits(self) -> Limits:
        """0 jobs means one a core that this process may use, and no more than its memory feeds."""
        jobs = self.jobs or max(1, min(len(os.sched_getaffinity(0)), machine_memory() // JOB_MEMORY))
        return Limits(jobs, machine_memory(), self.keep_going or self.choice.until == CONFIGURE)


@contextlib.contextmanager
def open_context(loaded_recipe: LoadedRecipe, order: Order, listeners: Iterable[Emit]) -> Iterator[BuildContext]:
    """The store, runner, jobserver and event log of one run; signals stop it. Raises MachineLacks."""
    stopper = Stopper()
    run = new_run_id()
    with contextlib.ExitStack() as stack:
        stack.enter_context(stopper.on_signals())
        store = Store(default_root(), run)  # a new store's folder is as private as the caller's mask makes it
        stack.callback(store.close)
        stack.callback(os.umask, os.umask(UMASK))
        event_log = EventLog(store, listeners)
        stack.callback(event_log.close, store, loaded_recipe.recipe.name)
        jobserver = Jobserver(store.tmp / "jobserver", order.limits.jobs)
        stack.callback(jobserver.close)
        runner = choose(order.runner, store=store, base_is_image=loaded_recipe.recipe.base.image is not None)
        offline = RemoteSharing(loaded_recipe.recipe.name, store, event_log.emit, stopper.check)
        sharing = offline.open_remotes(order.remotes, order.from_scratch)
        stack.callback(sharing.close)
        context = BuildContext(
            recipe=loaded_recipe.recipe.name,
            given_name=loaded_recipe.given_name,
            run=run,
            store=store,
            runner=runner,
            jobserver=jobserver,
            stopper=stopper,
            emit=event_log.emit,
            logs=event_log.logs,
            locals=places(loaded_recipe),
            mirror=order.mirror,
            actions=actions.REGISTRY,
            expected_seconds=step_seconds(store, loaded_recipe.recipe.name),
            lock_digest=of_file(loaded_recipe.lock_path) if loaded_recipe.lock_path.is_file() else "",
            sharing=sharing,
            from_scratch=order.from_scratch,
        )
        try:
            if order.place is not None:
                guess_seconds = {step: hours * 3600 for step, hours in guesses(loaded_recipe.recipe).items()}
                context = replace(context, guess_seconds=guess_seconds)
                context = replace(context, placement=stack.enter_context(order.place(context)))
            yield context
        except Stop as stop:
            context.emit(RunStopped(run, stop.what, stop.exit_code))
            raise
