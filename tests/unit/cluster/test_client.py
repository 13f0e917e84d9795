"""The client of a cluster on a connection that answers from a table: what it believes, repeats, and gives up."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from stackbuild.build.context import BuildContext
from stackbuild.build.schedule import Limits, schedule
from stackbuild.cluster.client import REPAIRS, TRIES, ClusterPlacement, MessageReader, SchedulerLost
from stackbuild.cluster.offers import Amounts, Offer
from stackbuild.cluster.tasks import Failure, StepOutcome, StepTask
from stackbuild.core.errors import Interruption, MachineLacks
from stackbuild.model.events import Note, StepBroke, StepFinished
from stackbuild.model.plan import Plan
from stackbuild.remote import pull
from stackbuild.remote.files import manifest_place
from stackbuild.remote.settings import RemoteSettings, Settings
from stackbuild.store.records import Record
from support.cluster_steps import plan, step
from support.fake_build import FakeCommands, fake_context
from support.remotes import a_key, exported, key_files, open_at

Answer = Callable[[StepTask, int], StepOutcome]


@dataclass
class FakeSubmission:
    result: object
    is_cancelled: bool = False

    def wait(self, seconds: float) -> bool:
        return self.result is not None

    def outcome(self) -> object:
        if isinstance(self.result, Exception):
            raise self.result
        return self.result

    def cancel(self) -> None:
        self.is_cancelled = True


@dataclass
class FakeConnection:
    """Each task is answered at once by `answer`, which gets the task and how often it was given out before."""

    answer: Callable[[StepTask, int], object]
    workers: tuple[Offer, ...] = ()
    keys: list[str] = field(default_factory=list)
    submissions: list[FakeSubmission] = field(default_factory=list)

    def offers(self) -> tuple[Offer, ...]:
        return self.workers

    def submit(
        self, task_key: str, task: StepTask, needs: Amounts, copy: MessageReader
    ) -> FakeSubmission:
        earlier = sum(key.startswith(task.step.key) for key in self.keys)
        self.keys.append(task_key)
        self.submissions.append(FakeSubmission(self.answer(task, earlier)))
        return self.submissions[-1]


class Workshop:
    """A worker's store and the remote that it pushes to, in the test's own process."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def make(self, task: StepTask, text: str = "") -> StepOutcome:
        store = open_at(self.root / "worker")
        try:
            staging = store.stage(task.step.name)
            (staging.out / "made").write_text(text or task.step.name)
            tree = store.keep(staging)
            trees = {one.step: one.tree for one in task.inputs}
            record = Record(task.step.key, task.step.name, "t", tree, task.step.key_text, 1.0, "run",
                            "2026-01-01T00:00:00+00:00", {})  # fmt: skip
            store.record_alike(record, task.step.content_text(trees))
            store.record(record)
        finally:
            store.close()
        exported(self.root / "worker", self.root / "remote")
        return StepOutcome("made", "w1", tree, seconds=1.0)


@contextmanager
def placed(root: Path, connection: FakeConnection) -> Iterator[tuple[BuildContext, FakeCommands]]:
    _, public = key_files(root)
    (root / "worker").mkdir(exist_ok=True)
    exported(root / "worker", root / "remote")
    remote = RemoteSettings(url=f"file://{root}/remote", read=(public.read_text(),))
    commands = FakeCommands()
    with fake_context(commands, root / "client", remotes=Settings(remotes=(remote,))) as context:
        yield replace(context, placement=ClusterPlacement(context, connection, "tcp://s:1", "sandbox", 0.2)), commands


def build(context: BuildContext, wanted: Plan) -> tuple[dict[str, str], tuple[StepBroke, ...]]:
    assert context.placement is not None
    built, broken = schedule(wanted, context, Limits(2, 1), context.placement.find_records(wanted, {}))
    return {name: one.tree for name, one in built.items()}, broken


def offer(**more: float) -> Offer:
    step = ClusterPlacement(None, None, "", "sandbox")._needs(plan().steps[0])  # type: ignore[arg-type]
    return Offer("w1", "", {**step, **more}, (a_key().fingerprint,), (a_key().fingerprint,))


def test_a_build(tmp_path: Path) -> None:
    """The wanted output comes to this store, what it needs does not; the next build asks for nothing."""
    shop = Workshop(tmp_path)
    connection = FakeConnection(lambda task, earlier: shop.make(task), (offer(),))
    with placed(tmp_path, connection) as (context, commands):
        trees, broken = build(context, plan())
        assert not broken and set(trees) == {"one", "two", "three"}
        assert sorted(connection.keys) == sorted(step.key for step in plan().steps)
        assert [context.store.find(step.key) is not None for step in plan().steps] == [False, False, True]
        machines = {event.machine for event in commands.events if isinstance(event, StepFinished)}
        assert machines == {"w1"}
        assert build(context, plan())[0]["three"] == trees["three"] and len(connection.keys) == 3


def test_the_remote_is_believed_and_not_the_worker(tmp_path: Path) -> None:
    shop = Workshop(tmp_path)
    lie = FakeConnection(lambda task, earlier: replace(shop.make(task), tree="0" * 64), (offer(),))
    with placed(tmp_path, lie) as (context, commands):
        trees, _ = build(context, plan())
        assert "0" * 64 not in trees.values()
        assert any("made another output than the remote has" in e.text for e in commands.events if isinstance(e, Note))


def test_a_worker_that_only_says_so(tmp_path: Path) -> None:
    empty = FakeConnection(lambda task, earlier: StepOutcome("made", "w1", "0" * 64), (offer(),))
    with placed(tmp_path, empty) as (context, _), pytest.raises(MachineLacks, match="no remote of this machine has it"):
        build(context, plan())


def test_a_scheduler_that_comes_back(tmp_path: Path) -> None:
    """What was lost is given out again, under a key of its own."""
    shop = Workshop(tmp_path)
    connection = FakeConnection(lambda task, earlier: shop.make(task) if earlier else SchedulerLost("gone"), (offer(),))
    with placed(tmp_path, connection) as (context, _):
        trees, _ = build(context, plan())
        assert len(trees) == 3 and {key[64:] for key in connection.keys} == {"", ".1"}


def test_a_step_that_is_stopped_again_and_again(tmp_path: Path) -> None:
    connection = FakeConnection(lambda task, earlier: StepOutcome("stopped", "w1"), (offer(),))
    with placed(tmp_path, connection) as (context, _), pytest.raises(MachineLacks, match="and never ended"):
        build(context, Plan("t", plan().steps[:1], ("one",)))
    assert len(connection.keys) == TRIES


def test_an_input_that_a_worker_does_not_get(tmp_path: Path) -> None:
    """Its step is done again, for the remote has a damaged output; a second worker that lacks it ends the build."""
    shop = Workshop(tmp_path)

    def answer(task: StepTask, earlier: int) -> StepOutcome:
        if task.step.name == "three" and earlier < lacking:
            return StepOutcome("bad-input", "w1", failure=Failure("one"))
        return shop.make(task)

    lacking = 1
    connection = FakeConnection(answer, (offer(),))
    with placed(tmp_path, connection) as (context, _):
        assert len(build(context, plan())[0]) == 3
        assert sum(key.startswith(plan().steps[0].key) for key in connection.keys) == 2
    lacking = 99
    (tmp_path / "again").mkdir()
    shop.root = tmp_path / "again"
    with (
        placed(tmp_path / "again", FakeConnection(answer, (offer(),))) as (context, _),
        pytest.raises(MachineLacks, match="does not get `one` from its remote, though it was made again"),
    ):
        build(context, plan())
    assert REPAIRS == 2


def test_a_base_that_this_store_has_under_a_second_key(tmp_path: Path) -> None:
    """The remote has it under the first key alone, from another builder: workers are told to take it by that one."""
    shop = Workshop(tmp_path)
    connection = FakeConnection(lambda task, earlier: shop.make(task), (offer(),))
    asked_for, really = step("base"), replace(step("base"), params=(("packages", "of today"),))
    with placed(tmp_path, connection) as (context, _):
        tree = build(context, Plan("t", (asked_for,), ("base",)))[0]["base"]
        record = context.store.find(asked_for.key)
        assert record is not None and "remote" in record.notes
        context.store.record(replace(record, key=really.key, key_text=really.key_text, like=asked_for.key))
        assert isinstance(context.placement, ClusterPlacement)
        given = context.placement._input(really, tree)
        assert (given.tree, given.text) == (tree, asked_for.key_text)
        with pytest.raises(MachineLacks, match="in the store of this machine alone"):
            context.placement._input(really, "0" * 64)


def test_a_worker_that_died_between_its_two_records(tmp_path: Path) -> None:
    """The output is under its content key alone: the next worker takes it from there, and so does the client."""
    shop = Workshop(tmp_path)

    def answer(task: StepTask, earlier: int) -> StepOutcome:
        outcome = shop.make(task)
        (tmp_path / "remote" / manifest_place(f"r-{task.step.key}")).unlink()
        return outcome

    with placed(tmp_path, FakeConnection(answer, (offer(),))) as (context, _):
        assert len(build(context, plan())[0]) == 3


def test_a_wanted_output_that_the_remote_gives_damaged(tmp_path: Path) -> None:
    """The step is done again; where the remote has it damaged each time, the build says so and hands out nothing."""
    shop = Workshop(tmp_path)

    def answer(task: StepTask, earlier: int) -> StepOutcome:
        if earlier:
            shutil.rmtree(tmp_path / "remote")
        outcome = shop.make(task)
        if earlier < damaged:
            for blob in (tmp_path / "remote" / "blobs").glob("*/*"):
                blob.write_bytes(b"")
        return outcome

    wanted = Plan("t", plan().steps[:1], ("one",))
    damaged = 1
    connection = FakeConnection(answer, (offer(),))
    with placed(tmp_path, connection) as (context, commands):
        trees, _ = build(context, wanted)
        assert context.store.check(trees["one"]) == "" and len(connection.keys) == 2
        assert any("this machine did not get `one`" in e.text for e in commands.events if isinstance(e, Note))
    damaged = 99
    for folder in ("worker", "remote", "client"):
        shutil.rmtree(tmp_path / folder)
    lost = pytest.raises(MachineLacks, match="this machine does not get `one` from its remote")
    with placed(tmp_path, FakeConnection(answer, (offer(),))) as (context, _), lost:
        build(context, wanted)


def test_no_room_for_a_wanted_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is made again for it."""
    shop = Workshop(tmp_path)
    connection = FakeConnection(lambda task, earlier: shop.make(task), (offer(),))
    monkeypatch.setattr(pull, "ROOM", 1 << 60)
    with placed(tmp_path, connection) as (context, _), pytest.raises(MachineLacks, match="there is no room"):
        build(context, Plan("t", plan().steps[:1], ("one",)))
    assert len(connection.keys) == 1


def test_a_step_that_fails(tmp_path: Path) -> None:
    failure = Failure("exit code 3", "make", ("error",), "stackbuild shell --recipe t one")
    connection = FakeConnection(lambda task, earlier: StepOutcome("broke", "w1", failure=failure), (offer(),))
    with placed(tmp_path, connection) as (context, _):
        _, broken = build(context, Plan("t", plan().steps[:1], ("one",)))
        assert broken[0].what == "exit code 3 (on w1)" and broken[0].look == f"on w1: {failure.look}"
        assert broken[0].log == str(context.logs / "one.log") and len(connection.keys) == 1


def test_workers_that_went_away(tmp_path: Path) -> None:
    """Dask waits for ever; a build says what is missing, and ends."""
    connection = FakeConnection(lambda task, earlier: None)
    with (
        placed(tmp_path, connection) as (context, commands),
        pytest.raises(MachineLacks, match="no worker is connected"),
    ):
        build(context, plan())
    assert any("no worker offers" in event.text for event in commands.events if isinstance(event, Note))
    assert all(one.is_cancelled for one in connection.submissions)


def test_a_stop_cancels_what_was_given_out(tmp_path: Path) -> None:
    def answer(task: StepTask, earlier: int) -> None:
        context.stopper.set(2)

    connection = FakeConnection(answer, (offer(),))
    with placed(tmp_path, connection) as (context, _), pytest.raises(Interruption):
        build(context, plan())
    assert connection.submissions and all(one.is_cancelled for one in connection.submissions)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ({"status": "made"}, "dict in place of an outcome"),
        (StepOutcome("won", "w1"), "status"),  # type: ignore[arg-type]
        (StepOutcome("made", "w1", seconds=float("nan")), "a number of it is not possible"),
        (StepOutcome("bad-input", "w1", failure=Failure("nobody")), "lacks 'nobody', which the step does not need"),
    ],
)
def test_an_answer_that_is_not_understood(tmp_path: Path, answer: object, why: str) -> None:
    connection = FakeConnection(lambda task, earlier: answer, (offer(),))
    with placed(tmp_path, connection) as (context, _), pytest.raises(MachineLacks, match=why):
        build(context, Plan("t", plan().steps[:1], ("one",)))
