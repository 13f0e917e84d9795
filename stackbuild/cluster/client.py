"""The client of `build --on`: what a build does with each step when workers do them.

The truth is the remote store. A step is done when the remote has a record of its key, or of its content key, that a
trusted key has signed; what a task returns only says that it is worth asking. So nothing depends on whether a task was
lost, ran twice or ran for another client.
"""

from __future__ import annotations

import platform
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol

from stackbuild.build.context import BadInput, BrokenStep, BuildContext, StepOutput
from stackbuild.build.perform import finish, perform
from stackbuild.build.sharing import RemoteSharing
from stackbuild.cluster.host import Message
from stackbuild.cluster.logs import LogCopy
from stackbuild.cluster.offers import Amounts, Offer, fits, missing, refuse_strangers, refuse_unmet, step_needs
from stackbuild.cluster.tasks import StepInput, StepOutcome, StepTask, read_outcome
from stackbuild.cluster.weights import HeaviestFirst
from stackbuild.core.errors import MachineLacks
from stackbuild.model.events import How, Note, StepBroke, StepStarted
from stackbuild.model.plan import Plan, Step
from stackbuild.store.records import Record
from stackbuild.version import __version__

POLL_SECONDS = 0.05
"""How often a waiting step looks whether the run is to stop."""
LOOK_SECONDS = 3.0
"""How often the list of workers is asked for while steps wait."""
PATIENCE_SECONDS = 60.0
"""How long a step waits where no worker could take it, and a build for its scheduler to come back."""
TRIES = 5
"""How often a step is given out again: its worker was stopped, or the scheduler went away."""
REPAIRS = 2
"""How often one output is made again because a worker did not get it from the remote."""
AT_ONCE = 64
"""Steps that may be under way, waiting ones included."""


class SchedulerLost(Exception):
    """The connection to the scheduler broke; what was submitted is of no more use."""


class WorkersDied(Exception):
    """So many workers died with a task that it is not given out again."""


class Submission(Protocol):
    """A task that was submitted."""

    def wait(self, seconds: float) -> bool:
        """Whether it has ended, after at most so many seconds."""
        ...

    def outcome(self) -> object:
        """What the worker answered, whatever that is. Raises SchedulerLost, WorkersDied, MachineLacks."""
        ...

    def cancel(self) -> None: ...


class Connection(Protocol):
    """A scheduler, as a client sees it."""

    def offers(self) -> tuple[Offer, ...]:
        """The workers that are connected. Raises SchedulerLost."""
        ...

    def submit(self, task_key: str, task: StepTask, needs: Amounts, copy: MessageReader) -> Submission:
        """Raises SchedulerLost."""
        ...


class MessageReader(Protocol):
    def __call__(self, message: Message, /) -> None:
        """Hears what a worker says of the task; called by one thread."""
        ...


@dataclass(frozen=True)
class _TreeSource:
    """What a remote has of a step: the tree, and by which of its texts it was found."""

    tree: str
    text: str
    kind: Literal["r", "c"]
    seconds: float


@dataclass
class ClusterPlacement:
    """The workers of one scheduler as the place where a run's steps are done: a `StepPlacement`."""

    context: BuildContext
    connection: Connection
    address: str
    runner: str
    patience: float = PATIENCE_SECONDS
    at_once: int = AT_ONCE
    _remote_trees: dict[str, _TreeSource] = field(default_factory=dict)
    """By step key, what is known to be on a remote."""
    _bad: dict[str, int] = field(default_factory=dict)
    """By step key, how often a worker did not get that output."""
    _offers: tuple[Offer, ...] = ()
    _offers_time: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _pushing: threading.Lock = field(default_factory=threading.Lock)
    _order: HeaviestFirst = field(default_factory=HeaviestFirst)

    @property
    def sharing(self) -> RemoteSharing:
        if self.context.sharing is None or self.context.sharing.puller is None:
            raise MachineLacks(
                "`--on` needs the remote store that the workers push to, and a key that is trusted for it",
                next="stackbuild store trust add URL WORKER.pub; docs/cluster.md",
            )
        return self.context.sharing

    # --- before the build

    def is_here(self, step: Step) -> bool:
        return step.action in ("snapshot", "hipify") or "patches" in dict(step.params)

    def gpu_targets(self) -> frozenset[str]:
        try:
            return frozenset(name for offer in self.connection.offers() for name in offer.gpu_targets)
        except SchedulerLost:
            self.context.emit(Note("warning", f"the scheduler {self.address} went away: no GPU of its workers is used"))
            return frozenset()

    def refuse_lacking(self, steps: Iterable[Step]) -> None:
        todo = tuple(steps)
        offers = self._current_offers()
        refuse_strangers(offers, self._trusted_keys())
        needs_by_step = {step.name: self._needs(step) for step in todo if not self.is_here(step)}
        refuse_unmet(needs_by_step, offers, self.address)
        if needs_by_step and not self.sharing.pushers and (here := [s.name for s in todo if self.is_here(s)]):
            raise MachineLacks(
                f"{', '.join(here)}: made of files of this machine, and no remote is written to from here",
                next="give the remote `write: true` and `sign: KEY` in remotes.yaml; docs/cluster.md",
            )

    def _trusted_keys(self) -> tuple[str, ...]:
        """The fingerprints of the keys whose outputs are taken here."""
        puller = self.sharing.puller
        return tuple(key.fingerprint for remote in puller.remotes for key in remote.keys) if puller else ()

    def _needs(self, step: Step) -> dict[str, float]:
        return step_needs(step, self.runner, platform.machine(), __version__)

    def _current_offers(self) -> tuple[Offer, ...]:
        try:
            return self.connection.offers()
        except SchedulerLost:
            raise self._scheduler_lost() from None

    def _scheduler_lost(self) -> MachineLacks:
        return MachineLacks(
            f"the scheduler {self.address} went away", where=self.address,
            next="start it and run the same command again: finished steps are in the remote store",
        )  # fmt: skip

    def find_records(self, plan: Plan, stored_records: Mapping[str, Record]) -> dict[str, Record]:
        """The records of outputs that need not be made. A wanted one is taken into this store, of others the record alone."""
        records, demanded_steps = dict(stored_records), set(plan.goals)
        for step in reversed(plan.steps):
            if step.name not in demanded_steps or step.key in records:
                continue
            if (there := self._look_up(step, {}, is_new=False)) is None:
                demanded_steps.update(need.step for need in step.needs)
            elif record := self._record(plan, step, there):
                records[step.key] = record
        return records

    def _record(self, plan: Plan, step: Step, there: _TreeSource) -> Record | None:
        if step.name in plan.goals:
            return self._take(step, there)
        return Record(step.key, step.name, plan.recipe, there.tree, step.key_text, there.seconds, "", "", {})

    # --- one step

    def arrange(self, plan: Plan, ready: Sequence[Step]) -> Sequence[Step]:
        return self._order.announce(plan, ready, {**self.context.guess_seconds, **self.context.expected_seconds})

    def perform(self, plan: Plan, step: Step, trees: Mapping[str, str]) -> StepOutput:
        try:
            return self._perform(plan, step, trees)
        finally:
            self._order.leave(step)

    def _perform(self, plan: Plan, step: Step, trees: Mapping[str, str]) -> StepOutput:
        if self.is_here(step):
            self._order.leave(step)
            for name in trees:
                self._bring(plan.by_name[name])
            return perform(step, trees, self.context)
        is_bad = bool(self._bad.get(step.key))
        there = None if is_bad else self._look_up(step, trees, is_new=False)
        if there is not None:
            how: How = "cached" if there.kind == "r" else "reused"
            return self._finish(plan, step, there, StepOutcome("made", "", there.tree, how))
        inputs = tuple(self._input(plan.by_name[name], tree) for name, tree in trees.items())
        task = StepTask(
            step=step,
            inputs=inputs,
            recipe=self.context.recipe,
            given_name=self.context.given_name,
            lock_digest=self.context.lock_digest,
            runner=self.runner,
            base_is_image=self.runner == "docker",
            anew=is_bad,
            trusted_keys=self._trusted_keys(),
            weight=self._order.wait(step),
        )
        outcome = self._given_out(task)
        there = self._look_up(step, trees)
        if there is None:
            raise MachineLacks(
                f"{outcome.machine} says that `{step.name}` is on its remote, and no remote of this machine has it",
                where=step.key, next="both sides must name one store: compare `stackbuild store trust ls` on both",
            )  # fmt: skip
        if there.tree != outcome.tree and outcome.tree:
            message = (
                f"{step.name}: {outcome.machine} made another output than the remote has: the step is not reproducible"
            )
            self.context.emit(Note("warning", f"{message}. The remote's is used"))
        return self._finish(plan, step, there, outcome)

    def _finish(self, plan: Plan, step: Step, there: _TreeSource, outcome: StepOutcome) -> StepOutput:
        if (step.name in plan.goals or step.action == "hipify") and self._bring(step) is None:
            self.sharing.require_room(step.name, there.text, there.kind)
            raise self._again(step.name, step.key, "this machine")
        context = self.context
        return finish(
            step,
            there.tree,
            outcome.how,
            outcome.seconds,
            context,
            outcome.compiles,
            outcome.peak_memory,
            outcome.machine,
        )

    def _look_up(self, step: Step, trees: Mapping[str, str], *, is_new: bool = True) -> _TreeSource | None:
        """What a remote has of a step, by its key or, where the inputs are known, by its content key."""
        texts: list[tuple[str, Literal["r", "c"]]] = [(step.key_text, "r")]
        if trees or not step.needs:
            texts.append((step.content_text(trees), "c"))
        for text, kind in texts:
            if signed_record := self.sharing.look_up(step.name, text, kind, is_new=is_new):
                there = _TreeSource(signed_record.record.tree, text, kind, signed_record.record.seconds)
                self._remote_trees[step.key] = there
                return there
        return None

    def _bring(self, step: Step) -> Record | None:
        """Take an output of a remote into this store, unless it is there."""
        there = self._remote_trees.get(step.key)
        return self.context.store.find(step.key) or (self._take(step, there) if there else None)

    def _take(self, step: Step, there: _TreeSource) -> Record | None:
        store = self.context.store
        with store.lock(step.key, lambda pid: None, self.context.stopper.check):
            record = self.sharing.take_over(step.name, there.text, there.kind)
            if record is not None and record.key != step.key:
                record = replace(record, key=step.key, key_text=step.key_text, like=record.key)
                store.record(record)
            return record

    def _input(self, step: Step, tree: str) -> StepInput:
        """An output that a worker is to take from the remote. What only this store has is pushed now. Raises MachineLacks."""
        there = self._remote_trees.get(step.key)
        if there is None or there.tree != tree:
            with self._pushing:
                there = self._look_up(step, {}) or self._look_up_twin(step, tree) or self._push(step)
        return StepInput(step.name, step.key, tree, there.text, there.kind)

    def _look_up_twin(self, step: Step, tree: str) -> _TreeSource | None:
        """What a remote has of an output under the key that it was made under, where it has another one in this store.

        That is so for a base whose packages are newer than the lock: it is known by what was installed, too.
        """
        record = self.context.store.find(step.key)
        twin = self.context.store.find(record.like) if record and record.like else None
        signed_record = self.sharing.look_up(step.name, twin.key_text, "r") if twin else None
        if twin is None or signed_record is None or signed_record.record.tree != tree:
            return None
        self._remote_trees[step.key] = _TreeSource(tree, twin.key_text, "r", signed_record.record.seconds)
        return self._remote_trees[step.key]

    def _push(self, step: Step) -> _TreeSource:
        self.sharing.push_outputs({step.key})
        if there := self._look_up(step, {}):
            return there
        raise MachineLacks(
            f"`{step.name}` is in the store of this machine alone, and workers cannot get it there",
            next="stackbuild store push URL --sign KEY, or `write: true` and `sign: KEY` in remotes.yaml",
        )

    # --- a task

    def _given_out(self, task: StepTask) -> StepOutcome:
        """The outcome of a step that was made. Raises BrokenStep, BadInput, MachineLacks, Interruption."""
        step = task.step
        for number in range(TRIES):
            suffix = f".{number + TRIES * self._bad.get(step.key, 0)}"
            copy = LogCopy(self.context.logs / f"{step.name}.log", self.context.emit, self._start_event(step))
            try:
                task_key = f"{step.key}{suffix}" if suffix != ".0" else step.key
                outcome = self._await_outcome(task_key, task, copy)
            except SchedulerLost:
                self._await_scheduler(step)
                continue
            except WorkersDied as error:
                raise self._broken_step(step, str(error), copy) from None
            if outcome.status == "made":
                return outcome
            if outcome.status == "broke":
                failure = outcome.failure
                raise self._broken_step(
                    step, failure.what, copy, failure.command, failure.lines, failure.look, outcome.machine
                )
            if outcome.status == "bad-input":
                raise self._bad_input(task, outcome)
            if outcome.status == "lacks":
                failure = outcome.failure
                where = f"{outcome.machine}: {failure.command}".removesuffix(": ")
                raise MachineLacks(failure.what, where=where, next=f"on {outcome.machine}: {failure.look}")
            self.context.emit(Note("info", f"{step.name}: {outcome.machine} was stopped; given to another worker"))
        raise MachineLacks(
            f"`{step.name}` was given out {TRIES} times and never ended",
            next="look at the workers, and run the same command again",
        )

    def _start_event(self, step: Step) -> StepStarted:
        log = self.context.logs / f"{step.name}.log"
        return StepStarted(step.name, step.key, str(log), self.context.expected_seconds.get(step.name, 0.0))

    def _broken_step(
        self, step: Step, what: str, copy: LogCopy, command: str = "", lines: tuple[str, ...] = (), look: str = "",
        machine: str = "",
    ) -> BrokenStep:  # fmt: skip
        message = f"{what} (on {machine})" if machine else what
        event = StepBroke(step.name, message, command, lines, str(copy.path), f"on {machine}: {look}" if look else "")
        self.context.emit(event)
        return BrokenStep(event)

    def _bad_input(self, task: StepTask, outcome: StepOutcome) -> Exception:
        name = outcome.failure.what
        keys = [one.key for one in task.inputs if one.step == name]
        if not keys:
            return _not_understood(task.step.name, f"{outcome.machine} lacks {name!r}, which the step does not need")
        return self._again(name, keys[0], outcome.machine)

    def _again(self, name: str, key: str, machine: str) -> Exception:
        """An output has to be made again, unless that was tried: then the remote loses what it is given."""
        with self._lock:
            self._bad[key] = self._bad.get(key, 0) + 1
            self._remote_trees.pop(key, None)
            tries = self._bad[key]
        if tries > REPAIRS:
            return MachineLacks(
                f"{machine} does not get `{name}` from its remote, though it was made again", where=key,
                next=f"`stackbuild store push URL --sign KEY --check` repairs a remote; look at what {machine} says",
            )  # fmt: skip
        self.context.emit(Note("warning", f"{machine} did not get `{name}` from its remote: it is made again"))
        return BadInput(name)

    def _await_outcome(self, task_key: str, task: StepTask, copy: LogCopy) -> StepOutcome:
        needs = self._needs(task.step)
        submission = self.connection.submit(task_key, task, needs, copy)
        self._order.leave(task.step)  # not before: a lighter one would overtake it on the way to the scheduler
        since: float | None = None
        try:
            while not submission.wait(POLL_SECONDS):
                self.context.stopper.check()
                if copy.has_begun or not self._is_waiting_in_vain(needs):
                    since = None
                    continue
                if since is None:
                    since = time.monotonic()
                    what = missing(needs, self._offers)
                    message = (
                        f"{task.step.name}: no worker offers {what} any more; waiting {self.patience:.0f} s for one"
                    )
                    self.context.emit(Note("warning", message))
                if time.monotonic() - since > self.patience:
                    refuse_unmet({task.step.name: needs}, self._offers, self.address)
            outcome = _read_answer(submission.outcome(), task.step.name)
        except BaseException:
            submission.cancel()
            raise
        copy.complete(outcome.log_bytes)
        return outcome

    def _is_waiting_in_vain(self, needs: Amounts) -> bool:
        with self._lock:
            if time.monotonic() - self._offers_time > LOOK_SECONDS:
                self._offers, self._offers_time = self.connection.offers(), time.monotonic()
            return not any(fits(needs, offer) for offer in self._offers)

    def _await_scheduler(self, step: Step) -> None:
        """Wait until the scheduler answers again. Raises MachineLacks, Interruption."""
        self.context.emit(
            Note(
                "warning", f"{step.name}: the scheduler {self.address} went away; waiting {self.patience:.0f} s for it"
            )
        )
        end = time.monotonic() + self.patience
        while time.monotonic() < end:
            self.context.stopper.check()
            try:
                self.connection.offers()
                return
            except SchedulerLost:
                time.sleep(POLL_SECONDS)
        raise self._scheduler_lost()


def _read_answer(answer: object, step: str) -> StepOutcome:
    """The outcome that a worker answered. Raises MachineLacks where it is not one."""
    try:
        return read_outcome(answer)
    except ValueError as error:
        raise _not_understood(step, str(error)) from None


def _not_understood(step: str, why: str) -> MachineLacks:
    return MachineLacks(
        f"a worker's answer to `{step}` is not understood: {why[:500]}",
        next="look at what the workers print; do all run the same stackbuild?",
    )
