"""What a worker does with a task: inputs from the remote store, the step as a local build does it, the output pushed.

Each task is a run of its own in the worker's store, so two recipes that have a step of one name do not meet. What the
step says, and its log as it grows, goes to `send`.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from stackbuild import actions
from stackbuild.actions import Job
from stackbuild.build.context import BadInput, BrokenStep, BuildContext, StepOutput
from stackbuild.build.jobserver import Jobserver
from stackbuild.build.perform import perform
from stackbuild.build.sharing import RemoteSharing
from stackbuild.cluster.tasks import Failure, StepInput, StepOutcome, StepTask
from stackbuild.core.cancel import Stopper
from stackbuild.core.errors import Interruption, MachineLacks, Stop
from stackbuild.model.events import Compiles, Event, Note, StepFinished, StepStarted, document
from stackbuild.pipeline import gpu_benchmarks, gpu_verification
from stackbuild.remote.settings import Settings
from stackbuild.runners.choice import choose, usable_runners
from stackbuild.runners.protocol import Runner
from stackbuild.sources.mirror import mirror_of
from stackbuild.store.store import Store, new_run_id, unusable

FOLLOW_SECONDS = 0.5
"""How often a running step's log is looked at."""
WAIT_SECONDS = 0.2
"""How often a step that waits for a quiet machine looks whether it is to stop."""
ALONE = ("verify", "bench")
"""Actions that nothing else runs beside on their machine."""
PIECE = 64 << 10
"""Bytes of a log in one message: the scheduler keeps the last thousand messages in memory."""

Message = dict[str, Any]
Send = Callable[[Message], None]
"""Hands a message on to the clients, from any thread; its values are JSON's, and bytes."""
ChooseRunner = Callable[..., Runner]
ALL_ACTIONS = {**actions.REGISTRY, **gpu_verification.ACTIONS, **gpu_benchmarks.ACTIONS}


class QuietLock:
    """Held by many steps at once, or by one alone that wants a quiet machine. Who wants that goes before later steps."""

    def __init__(self) -> None:
        self._change = threading.Condition()
        self._steps = 0
        self._is_quiet = False
        self._waiting = 0

    @contextlib.contextmanager
    def hold(self, alone: bool, check: Callable[[], None]) -> Iterator[None]:
        """Hold it within. Raises what `check` raises while it waits."""
        with self._change:
            self._wait(alone, check)
            if alone:
                self._is_quiet = True
            else:
                self._steps += 1
        try:
            yield
        finally:
            with self._change:
                if alone:
                    self._is_quiet = False
                else:
                    self._steps -= 1
                self._change.notify_all()

    def _wait(self, alone: bool, check: Callable[[], None]) -> None:
        self._waiting += alone
        try:
            while self._is_quiet or (self._steps if alone else self._waiting):
                self._change.wait(WAIT_SECONDS)
                check()
        finally:
            self._waiting -= alone
            self._change.notify_all()


@dataclass
class RunningTask:
    """A task under way: what stops it, and what it has said so far."""

    machine: str
    key: str
    send: Send
    stopper: Stopper = field(default_factory=Stopper)
    writers: tuple[Callable[[], None], ...] = ()
    """End what is being pushed."""
    compiles: Compiles = Compiles()
    peak_memory: int = 0
    log_bytes: int = 0
    is_done: bool = False
    _close_event: threading.Event = field(default_factory=threading.Event)
    _ending: threading.Lock = field(default_factory=threading.Lock)

    def stop(self) -> None:
        self.stopper.set(signal.SIGTERM)
        with self._ending:
            for end in self.writers:
                end()

    def leave_writers(self) -> None:
        """From now on a stop ends nothing that is pushed: the connections may be another task's."""
        with self._ending:
            self.writers = ()

    def emit(self, event: Event) -> None:
        """Hand on what the client is to say; the end of the step is in the outcome."""
        if isinstance(event, StepFinished):
            self.compiles, self.peak_memory = event.compiles, event.peak_memory
        elif isinstance(event, Note | StepStarted):
            self._tell({"event": document(event)})

    def outcome(
        self, status: Literal["made", "broke", "lacks", "bad-input"], output: StepOutput | None = None,
        failure: Failure = Failure(""),
    ) -> StepOutcome:  # fmt: skip
        outcome = StepOutcome(
            status,
            self.machine,
            compiles=self.compiles,
            peak_memory=self.peak_memory,
            failure=failure,
            log_bytes=self.log_bytes,
        )
        return replace(outcome, tree=output.tree, how=output.how, seconds=output.seconds) if output else outcome

    @contextlib.contextmanager
    def follow(self, log: Path) -> Iterator[None]:
        """Within, what is written to the log is sent; at the end, all of it was."""
        thread = threading.Thread(target=self._follow, args=(log,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._close_event.set()
            thread.join()
            self._send_new(log)

    def _follow(self, log: Path) -> None:
        while not self._close_event.wait(FOLLOW_SECONDS):
            self._send_new(log)

    def _send_new(self, log: Path) -> None:
        try:
            with log.open("rb") as file:
                file.seek(self.log_bytes)
                while piece := file.read(PIECE):
                    self._tell({"log": piece, "at": self.log_bytes})
                    self.log_bytes += len(piece)
        except FileNotFoundError:  # nothing has run yet
            return

    def _tell(self, message: Message) -> None:
        self.send({"task": self.key, "machine": self.machine, **message})


@dataclass
class StepHost:
    """A worker's store and what its steps share. `report` hears lines for who watches the worker itself."""

    name: str
    root: Path
    settings: Settings
    jobs: int
    report: Callable[[str], None]
    runner_of: ChooseRunner = choose
    actions: Mapping[str, Callable[[Job], dict[str, str]]] = field(default_factory=lambda: ALL_ACTIONS)
    _running: dict[str, RunningTask] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _verified_trees: set[str] = field(default_factory=set)
    _quiet: QuietLock = field(default_factory=QuietLock)
    _idle: list[RemoteSharing] = field(default_factory=list)
    """Connections that no task uses now."""

    def __post_init__(self) -> None:
        self.store = Store(self.root, new_run_id(), self._verified_trees)
        self.jobserver = Jobserver(self.store.tmp / "jobserver", self.jobs)

    def close(self) -> None:
        """Stop what runs and leave the store."""
        self.stop_all()
        for sharing in self._idle:
            sharing.close()
        self.jobserver.close()
        self.store.close()

    def clear_up(self) -> None:
        """Remove what killed workers and runs have left in this store: processes, containers, staging folders."""
        runners = (self.runner_of(name, store=self.store, base_is_image=False) for name in usable_runners())
        for what in (*self.store.reap().runs, *(container for runner in runners for container in runner.reap())):
            self.report(f"removed what a killed run had left: {what}")

    def stop(self, task_key: str) -> None:
        """Stop a task, if it runs: its processes end, its outcome is of no use to anybody."""
        with self._lock:
            running = self._running.get(task_key)
        if running is not None:
            running.stop()

    def stop_all(self) -> None:
        for key in tuple(self._running):
            self.stop(key)

    @property
    def is_idle(self) -> bool:
        return not self._running

    def do(self, task_key: str, task: StepTask, send: Send) -> StepOutcome:
        """Do a task; its outcome. What goes wrong is in the outcome, too."""
        running = RunningTask(self.name, task_key, send)
        with self._lock:
            if not self._running:
                self.jobserver.refill()
            self._running[task_key] = running
        try:
            with self._quiet.hold(task.step.action in ALONE, running.stopper.check):
                return self._perform(task, running)
        except Interruption:
            return StepOutcome("stopped", self.name)
        except BadInput as bad:
            return running.outcome("bad-input", failure=Failure(bad.step))
        except BrokenStep as step_failure:
            event = step_failure.event
            failure = Failure(event.what, event.command, event.lines, event.look)
            return running.outcome("broke", failure=failure)
        except Stop as stop:
            return running.outcome("lacks", failure=Failure(stop.what, look=stop.next, command=stop.where))
        except OSError as error:
            lacks = unusable(error, self.root)
            return running.outcome("lacks", failure=Failure(lacks.what, look=lacks.next, command=lacks.where))
        finally:
            with self._lock:
                del self._running[task_key]

    def _perform(self, task: StepTask, running: RunningTask) -> StepOutcome:
        store = Store(self.root, new_run_id(), self._verified_trees)
        with contextlib.ExitStack() as stack:
            stack.callback(store.close)
            sharing = self._sharing(task.recipe, store, running)
            stack.callback(self._put_back, sharing, running)
            _refuse_other_keys(task, sharing)
            running.writers = tuple(pusher.writer.abort for pusher in sharing.pushers)
            logs = store.tmp / "logs"
            logs.mkdir()
            stack.enter_context(running.follow(logs / f"{task.step.name}.log"))
            context = self._context(task, store, sharing, running, logs)
            if store.find(task.step.key) is None:
                for one in task.inputs:
                    _take_input(one, context)
            output = perform(task.step, task.trees, context)
            if task.anew and store.check(output.tree):
                output = perform(task.step, task.trees, context)
            _hand_over(task, context)
            running.is_done = True
        return running.outcome("made", output)

    def _sharing(self, recipe: str, store: Store, running: RunningTask) -> RemoteSharing:
        """The remotes of a task, over the connections of one that has ended where there is one: one set a slot."""
        fresh = RemoteSharing(recipe, store, running.emit, running.stopper.check)
        with self._lock:
            idle_store = self._idle.pop() if self._idle else None
        return fresh.with_connections_of(idle_store) if idle_store else fresh.open_remotes(self.settings, False)

    def _put_back(self, sharing: RemoteSharing, running: RunningTask) -> None:
        """Keep the connections of a task for the next one; those of a task that broke may be half read."""
        running.leave_writers()
        if running.is_done and sharing.is_sound:
            with self._lock:
                self._idle.append(sharing)
        else:
            sharing.close()

    def _context(
        self, task: StepTask, store: Store, sharing: RemoteSharing, running: RunningTask, logs: Path
    ) -> BuildContext:
        return BuildContext(
            recipe=task.recipe,
            given_name=task.given_name,
            run=store.run,
            store=store,
            runner=self.runner_of(task.runner, store=store, base_is_image=task.base_is_image),
            jobserver=self.jobserver,
            stopper=running.stopper,
            emit=running.emit,
            logs=logs,
            locals={},
            mirror=mirror_of(None, os.environ),
            actions=self.actions,
            expected_seconds={},
            lock_digest=task.lock_digest,
            sharing=sharing,
        )


def _refuse_other_keys(task: StepTask, sharing: RemoteSharing) -> None:
    """Raises MachineLacks, before anything is done, where the client would not take what this worker signs."""
    signers = {pusher.key.fingerprint for pusher in sharing.pushers}
    if not signers.intersection(task.trusted_keys):
        raise MachineLacks(
            f"the key of this worker is not trusted by the client: {', '.join(sorted(signers)) or 'it has none'}",
            next="end it; or trust its key on the client and every worker: stackbuild store trust add URL ITS-KEY.pub",
        )


def _take_input(one: StepInput, context: BuildContext) -> None:
    """Make sure that the store has that very tree under the key.

    Raises BadInput where no remote gives it, MachineLacks where the disk has no room for it.
    """
    store, sharing = context.store, context.sharing
    assert sharing is not None
    with store.lock(one.key, lambda pid: None, context.stopper.check):
        if store.tree(one.tree).is_dir() and not store.check(one.tree):
            return
        record = sharing.take_over(one.step, one.text, one.kind)
    if record is None:
        sharing.require_room(one.step, one.text, one.kind)
    if record is None or record.tree != one.tree:
        raise BadInput(one.step)


def _hand_over(task: StepTask, context: BuildContext) -> None:
    """Push the output, unless it came from a remote. Raises MachineLacks where no remote takes it."""
    store, sharing = context.store, context.sharing
    record = store.find(task.step.key)
    assert sharing is not None and record is not None
    if "remote" in record.notes:
        return
    content_key = task.step.content_key(task.trees)
    for pusher in sharing.pushers:
        pusher.check = task.anew
        push = pusher.push(record, content_key)
        context.stopper.check()
        if push.outcome not in ("pushed", "signed", "there", "conflict"):
            raise MachineLacks(
                f"`{task.step.name}` was made and not pushed: {push.outcome}: {push.why}", where=pusher.writer.url,
                next="see to the remote and run the same command again: the worker keeps the output",
            )  # fmt: skip
        if push.outcome == "conflict":
            context.emit(Note("warning", f"{task.step.name}: another output of this key is on {pusher.writer.url}"))
