"""What a build takes from remotes, and what it puts there."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Literal

from stackbuild.core import digest
from stackbuild.core.errors import MachineLacks
from stackbuild.model.events import Emit, Note
from stackbuild.model.plan import Plan, Step
from stackbuild.plan.current import plan_now
from stackbuild.plan.status import steps_to_run
from stackbuild.recipe.prepare import PreparedRecipe
from stackbuild.store.records import Record
from stackbuild.store.store import Store, open_store

if TYPE_CHECKING:
    from stackbuild.remote.pull import PulledOutput, Puller
    from stackbuild.remote.push import Push, Pusher
    from stackbuild.remote.records import SignedRecord
    from stackbuild.remote.settings import Settings


@dataclass(frozen=True)
class RemoteSharing:
    """The remotes of one run: `puller` is None where no key is trusted and from scratch. `check` raises once it is to stop."""

    recipe: str
    store: Store
    emit: Emit
    check: Callable[[], None]
    puller: Puller | None = None
    pushers: tuple[Pusher, ...] = ()

    @property
    def is_asked(self) -> bool:
        return self.puller is not None

    def open_remotes(self, settings: Settings | None, from_scratch: bool) -> RemoteSharing:
        """The same with the remotes of the settings. Raises UsageError where a key cannot be used."""
        if settings is None or not settings.remotes:
            return self
        puller = None if from_scratch else self._puller(settings)
        return replace(self, puller=puller, pushers=self._pushers(settings))

    def with_connections_of(self, other: RemoteSharing) -> RemoteSharing:
        """This run with the open connections and the keys of another one; what that run found of the remotes is forgotten."""
        from stackbuild.remote.pull import Puller, TrustedRemote
        from stackbuild.remote.push import Pusher

        puller = other.puller
        if puller is not None:
            remotes = [TrustedRemote(one.reader, one.keys, one.threshold) for one in puller.remotes]
            puller = Puller(self.store, remotes, self._say, self.check)
        return replace(
            self, puller=puller, pushers=tuple(Pusher(self.store, one.writer, one.key) for one in other.pushers)
        )

    @property
    def is_sound(self) -> bool:
        """Whether no remote gave a wrong answer."""
        return self.puller is None or not any(one.strikes or one.off for one in self.puller.remotes)

    def close(self) -> None:
        """Close the connections."""
        with ExitStack() as stack:
            for pusher in self.pushers:
                stack.callback(pusher.writer.close)
            if self.puller is not None:
                stack.callback(self.puller.close)

    def require_room(self, step: str, text: str, kind: Literal["r", "c"] = "r") -> None:
        """Raises MachineLacks where an output was not taken because this disk has no room for it."""
        if self.puller is not None and f"{kind}-{digest.of_text(text)}" in self.puller.no_room:
            raise MachineLacks(
                f"there is no room for the output of `{step}`", where=str(self.store.root),
                next="stackbuild store gc, or a store on a larger disk: STACKBUILD_STORE",
            )  # fmt: skip

    def take_over(self, step: str, text: str, kind: Literal["r", "c"] = "r") -> Record | None:
        """The record of a step's output that a remote had and the store has now; `text` is that of its key or content key.

        Whoever calls holds the step's lock. Raises OSError, Stopped.
        """
        pulled_record = self._pull(step, text, kind)
        return pulled_record.record if pulled_record else None

    def look_up(
        self, step: str, text: str, kind: Literal["r", "c"] = "r", *, is_new: bool = True
    ) -> SignedRecord | None:
        """What a remote says of an output now; its tree is not taken. `text` is that of its key or content key.

        `is_new`: another machine may have pushed it this minute. Raises Stopped.
        """
        if self.puller is None:
            return None
        from stackbuild.remote.pull import PullRequest

        return self.puller.look_up(PullRequest(digest.of_text(text), text, step, self.recipe, kind), is_new=is_new)

    def with_remotes(self, plan: Plan, stored_records: Mapping[str, Record]) -> dict[str, Record]:
        """The records of the plan's keys that the store has, once the remotes were asked for what is wanted.

        What a step needs is asked for only where no remote has the step itself. Raises OSError, Stopped.
        """
        records, demanded_steps = dict(stored_records), set(plan.goals)
        for step in reversed(plan.steps) if self.is_asked else ():
            if step.name in demanded_steps and step.key not in records:
                if record := self._lock_step(step):
                    records[step.key] = record
                else:
                    demanded_steps.update(need.step for need in step.needs)
        return records

    def push_outputs(self, keys: Collection[str]) -> None:
        """Put what this run made on the remotes that are written to. What fails is a warning."""
        if not keys or not self.pushers:
            return
        from stackbuild.remote.push import made_here
        from stackbuild.store.maintenance import records

        rows = [row for row in made_here(tuple(records(self.store))) if row[0].key in keys]
        for pusher in self.pushers:
            self._push(pusher, rows)

    def _push(self, pusher: Pusher, rows: list[tuple[Record, str]]) -> None:
        from stackbuild.remote.pull import STRIKES

        strikes_before, url = pusher.strikes, pusher.writer.url
        for record, content_key in rows:
            self.check()
            push = self._push_one(pusher, record, content_key)
            if push.outcome in ("pushed", "signed", "there"):
                self.emit(Note("info", f"{push.step}: on {url} ({push.sent / 1e6:.1f} MB sent)"))
                continue
            self.emit(Note("warning", f"{push.step}: not pushed to {url}: {push.outcome}: {push.why}"))
            if pusher.strikes - strikes_before == STRIKES:
                self.emit(Note("warning", f"nothing more is pushed to {url} in this run"))
                return

    def _push_one(self, pusher: Pusher, record: Record, content_key: str) -> Push:
        """A stop waits for no server: it ends the connections. Raises OSError, Stopped."""
        from stackbuild.remote.watch import Progress, Watch

        work = partial(pusher.push, record, content_key)
        return Watch(work, Progress(), pusher.writer.abort).run(self.check, minimum_rate=None)

    def _lock_step(self, step: Step) -> Record | None:
        """The same for one step. Another run that holds its lock makes or takes over the same output."""
        with self.store.lock(step.key, lambda pid: None, self.check):
            return self.store.find(step.key) or self.take_over(step.name, step.key_text)

    def _pull(self, step: str, text: str, kind: Literal["r", "c"]) -> PulledOutput | None:
        if self.puller is None:
            return None
        from stackbuild.remote.pull import PullRequest

        pulled_record = self.puller.pull(PullRequest(digest.of_text(text), text, step, self.recipe, kind))
        if pulled_record is not None:
            origin = pulled_record.origin
            message = (
                f"{step}: taken from {origin.url}, {pulled_record.size / 1e6:.1f} MB, signed by {origin.signed_by}"
            )
            self.emit(Note("info", message))
        return pulled_record

    def _puller(self, settings: Settings) -> Puller | None:
        from stackbuild.remote.connection import trusted_remotes
        from stackbuild.remote.pull import Puller
        from stackbuild.runners.engine import registry_login

        remotes = trusted_remotes(settings, registry_login, lambda text: self._say("warning", text))
        return Puller(self.store, remotes, self._say, self.check) if remotes else None

    def _say(self, level: Literal["info", "warning"], text: str) -> None:
        self.emit(Note(level, text))

    def _pushers(self, settings: Settings) -> tuple[Pusher, ...]:
        from stackbuild.publishing.ssh_keys import load_signing_key
        from stackbuild.remote.connection import open_writer
        from stackbuild.remote.faults import RemoteFault
        from stackbuild.remote.push import Pusher
        from stackbuild.runners.engine import registry_login

        pushers = []
        for one in settings.remotes:
            if one.write:
                key = load_signing_key(one.signing_key)
                try:
                    pushers.append(Pusher(self.store, open_writer(one.url, registry_login), key))
                except RemoteFault as fault:
                    self.emit(Note("warning", f"nothing is pushed to {one.url}: {fault}"))
        return tuple(pushers)


@dataclass(frozen=True)
class PullReport:
    """Steps whose outputs were taken from remotes, and those that a build would still run."""

    steps: tuple[str, ...]
    remaining_steps: tuple[str, ...]


def pull_plan(prepared_recipe: PreparedRecipe, settings: Settings, everything: bool, emit: Emit) -> PullReport:
    """Take what a recipe's plan needs from remotes into the store; with `everything` each of its steps.

    What the base really has decides the keys of the steps on it, so the plan is made again once something came.
    Raises LockError, PlanError, MachineLacks, UsageError, OSError.
    """
    names: list[str] = []
    remaining_steps: tuple[str, ...] = ()
    for _ in range(2):
        with open_store() as store:
            plan = plan_now(prepared_recipe, store).plan
            sharing = RemoteSharing(plan.recipe, store, emit, lambda: None).open_remotes(settings, from_scratch=False)
            target = replace(plan, goals=tuple(plan.by_name)) if everything else plan
            before = store.find_all(step.key for step in plan.steps)
            records = sharing.with_remotes(target, before)
            sharing.close()
        came = [step.name for step in plan.steps if step.key in records and step.key not in before]
        remaining_steps = tuple(step.name for step in steps_to_run(target, records))
        names += came
        if not came or not remaining_steps:
            break
    return PullReport(tuple(names), remaining_steps)
