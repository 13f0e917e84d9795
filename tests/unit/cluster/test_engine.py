"""Which workers a task may go to, by what the scheduler knows of the tasks that they have."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import monotonic

import pytest
from distributed.core import Status
from distributed.scheduler import TaskState, WorkerState

from stackbuild.cluster.engine import (
    FREE_TOKENS,
    LONG_SECONDS,
    NOWHERE,
    OVERTAKE_SECONDS,
    PACE_SECONDS,
    TOPIC,
    StepScheduler,
    step_that_begins,
)
from stackbuild.model.events import Event, Note, StepStarted, document

LONG, SHORT = LONG_SECONDS * 2, LONG_SECONDS / 2
SLOTS = 3


class Workplace:
    """A scheduler that does not listen, with workers that are connected to nothing."""

    def __init__(self, *names: str) -> None:
        self.scheduler = StepScheduler(dashboard=False, dashboard_address=NOWHERE)
        self.workers = {name: self._add_worker(name, f"tcp://127.0.0.1:{n}") for n, name in enumerate(names, 1)}

    def _add_worker(self, name: str, address: str) -> WorkerState:
        worker = WorkerState(
            address=address, status=Status.running, pid=1, name=name, nthreads=SLOTS, memory_limit=0,
            local_directory="", nanny="", server_id=name, scheduler=self.scheduler,
        )  # fmt: skip
        self.scheduler.workers[address] = worker
        self.scheduler.running.add(worker)
        self.scheduler.add_resources(worker=address, resources={"step": SLOTS})
        return worker

    def task(self, key: str, seconds: float) -> TaskState:
        task = self.scheduler.new_task(key, None, "waiting")
        task.resource_restrictions = {"step": 1}
        task.prefix.duration_average = seconds
        return task

    def give(self, task: TaskState, name: str, seconds: float = PACE_SECONDS + 1) -> None:
        """Let a worker have had a task so long."""
        self.scheduler.acquire_resources(task, self.workers[name])
        self.workers[name].add_to_processing(task)
        self.scheduler.start_times[task] = monotonic() - seconds
        task.processing_on = self.workers[name]

    def tell(self, name: str, message: object) -> None:
        """Hear a message of a worker."""
        self.scheduler.log_worker_event(self.workers[name].address, TOPIC, message)

    def beat(self, name: str, free_tokens: object) -> None:
        """Hear what a heartbeat of a worker says of its jobserver."""
        self.workers[name].metrics = {FREE_TOKENS: free_tokens}
        self.scheduler.tokens_taken.pop(self.workers[name].address, None)

    def begin(self, key: str, name: str) -> None:
        """Let a task's step have begun, without that anything is given out for it."""
        self.scheduler.beginnings[self.scheduler.tasks[key]] = self.workers[name].address

    def wait(self, task: TaskState, seconds: float) -> None:
        """Let a task have waited so long for a worker."""
        self.scheduler.unrunnable[task] = monotonic() - seconds

    def choice(self, task: TaskState) -> set[str]:
        """The names of the workers that it may go to."""
        return {str(worker.name) for worker in self.scheduler.valid_workers(task) or ()}


def says(task: str, event: Event) -> dict[str, object]:
    return {"task": task, "machine": "m", "event": document(event)}


def begins(task: str) -> dict[str, object]:
    return says(task, StepStarted(task, "k", "log", 0.0))


def in_workplace(check: Callable[[Workplace], None], *names: str) -> None:
    """Call that within an event loop, which a scheduler needs."""

    async def call() -> None:
        place = Workplace(*names)
        try:
            check(place)
        finally:
            place.scheduler.http_server.stop()
            await place.scheduler.close()

    asyncio.run(call())


def test_a_long_task_goes_to_a_worker_only_once_all_steps_there_have_begun() -> None:
    def check(place: Workplace) -> None:
        first, other, long, short = (
            place.task(*row) for row in (("first", LONG), ("other", SHORT), ("long", LONG), ("short", SHORT))
        )
        place.give(first, "w1")
        assert place.choice(long) == {"w2"} and place.choice(short) == {"w1", "w2"}
        place.tell("w1", begins("first"))
        assert place.choice(long) == {"w1", "w2"}
        place.give(other, "w1")
        assert place.choice(long) == {"w2"}
        place.tell("w1", begins("other"))
        assert place.choice(long) == {"w1", "w2"}

    in_workplace(check, "w1", "w2")


def test_a_worker_whose_slots_are_taken_gets_nothing() -> None:
    def check(place: Workplace) -> None:
        for number in range(SLOTS):
            place.give(place.task(f"one{number}", LONG), "w1")
            place.tell("w1", begins(f"one{number}"))
        assert not place.choice(place.task("long", LONG)) and not place.choice(place.task("short", SHORT))

    in_workplace(check, "w1")


def test_a_step_has_begun_where_the_worker_that_has_it_says_so() -> None:
    """Another worker may have had it before; and a worker may say anything."""

    def check(place: Workplace) -> None:
        place.give(place.task("first", LONG), "w1")
        place.tell("w2", begins("first"))
        place.tell("w1", begins("nobody's"))
        place.tell("w1", says("first", Note("info", "wait")))
        assert place.choice(place.task("long", LONG)) == {"w2"}

    in_workplace(check, "w1", "w2")


def test_no_other_worker_takes_it_back() -> None:
    def check(place: Workplace) -> None:
        place.give(place.task("first", LONG), "w1")
        place.tell("w1", begins("first"))
        place.tell("w2", begins("first"))
        assert place.choice(place.task("long", LONG)) == {"w1", "w2"}

    in_workplace(check, "w1", "w2")


def test_a_step_that_takes_its_inputs_holds_a_long_one_back_only_where_tokens_are_short() -> None:
    def check(place: Workplace) -> None:
        long = place.task("long", LONG)
        place.beat("w1", 1)
        place.give(place.task("first", LONG), "w1")
        assert "w1" in place.choice(long)  # the first gets the token, this one may wait for it
        place.give(place.task("second", LONG), "w1")
        assert "w1" not in place.choice(long)
        place.begin("first", "w1")
        place.beat("w1", 0)
        assert "w1" not in place.choice(long)
        place.beat("w1", 1)
        assert "w1" in place.choice(long)
        place.beat("w1", 0)
        place.begin("second", "w1")
        assert "w1" in place.choice(long)

    in_workplace(check, "w1", "w2")


def test_a_step_that_begins_takes_a_token_before_the_next_heartbeat_says_so() -> None:
    def check(place: Workplace) -> None:
        place.beat("w1", 2)
        for name in ("first", "second", "third"):
            place.give(place.task(name, LONG), "w1")
        place.scheduler.add_resources(worker=place.workers["w1"].address, resources={"step": SLOTS + 1})
        assert "w1" not in place.choice(place.task("long", LONG))
        for _ in range(2):  # the second one counts nothing
            place.tell("w1", begins("first"))
        assert "w1" not in place.choice(place.task("other", LONG))  # one token for two
        place.tell("w1", begins("second"))
        place.beat("w1", 1)
        assert "w1" in place.choice(place.task("another", LONG))

    in_workplace(check, "w1", "w2")


def test_a_step_that_was_just_given_to_a_worker_may_soon_take_its_tokens() -> None:
    def check(place: Workplace) -> None:
        place.beat("w1", 9)
        place.give(place.task("first", LONG), "w1", PACE_SECONDS / 2)
        assert place.choice(place.task("long", LONG)) == {"w2"}
        place.scheduler.start_times[place.scheduler.tasks["first"]] -= PACE_SECONDS
        assert place.choice(place.task("other", LONG)) == {"w1", "w2"}

    in_workplace(check, "w1", "w2")


def test_where_one_worker_alone_offers_what_is_needed_nothing_is_held_back() -> None:
    def check(place: Workplace) -> None:
        gpu_step = place.task("gpu", LONG)
        gpu_step.resource_restrictions = {"step": 1, "gfx1100": 1}
        place.scheduler.add_resources(worker=place.workers["w1"].address, resources={"gfx1100": 1})
        place.give(place.task("first", LONG), "w1", 0)
        assert place.choice(gpu_step) == {"w1"} and place.choice(place.task("long", LONG)) == {"w2"}

    in_workplace(check, "w1", "w2")


@pytest.mark.parametrize("tokens", [None, "99", 99.0, True, [99], -1])
def test_what_is_no_number_of_tokens_counts_none(tokens: object) -> None:
    def check(place: Workplace) -> None:
        place.beat("w1", tokens)
        place.give(place.task("first", LONG), "w1")
        assert place.choice(place.task("long", LONG)) == {"w2"}

    in_workplace(check, "w1", "w2")


def test_light_steps_overtake_a_long_one_only_so_long() -> None:
    def check(place: Workplace) -> None:
        long, short = place.task("long", LONG), place.task("short", SHORT)
        place.give(place.task("first", LONG), "w1")
        place.wait(long, OVERTAKE_SECONDS - 5)
        assert place.choice(short) == {"w1", "w2"} and place.choice(long) == {"w2"}
        place.give(place.task("other", SHORT), "w2")
        place.wait(long, OVERTAKE_SECONDS + 5)
        assert not place.choice(short) and not place.choice(long)
        place.begin("other", "w2")
        assert place.choice(long) == {"w2"} and not place.choice(short)
        del place.scheduler.unrunnable[long]
        assert place.choice(short) == {"w1", "w2"}

    in_workplace(check, "w1", "w2")


def test_who_waited_longer_is_overtaken_by_nobody() -> None:
    """Of two that have waited too long, the first one goes first. So each waits for a bounded number of others."""

    def check(place: Workplace) -> None:
        long, short = place.task("long", LONG), place.task("short", SHORT)
        for name in ("w1", "w2"):
            place.give(place.task(f"at-{name}", LONG), name)
        place.wait(short, OVERTAKE_SECONDS + 9)
        place.wait(long, OVERTAKE_SECONDS + 5)
        assert place.choice(short) == {"w1", "w2"}
        place.begin("at-w1", "w1")
        assert not place.choice(long)  # the other one has room there and waited longer

    in_workplace(check, "w1", "w2")


def test_a_step_that_waits_for_a_slot_keeps_nobody_from_other_workers() -> None:
    def check(place: Workplace) -> None:
        gpu_step, short = place.task("gpu", LONG), place.task("short", SHORT)
        place.scheduler.add_resources(worker=place.workers["w1"].address, resources={"gfx1100": 1})
        place.workers["w1"].used_resources["gfx1100"] = 1
        gpu_step.resource_restrictions = {"step": 1, "gfx1100": 1}
        place.wait(gpu_step, OVERTAKE_SECONDS + 5)
        assert not place.choice(gpu_step) and place.choice(short) == {"w1", "w2"}

    in_workplace(check, "w1", "w2")


@pytest.mark.parametrize(
    "message",
    [None, "StepStarted", {}, {"task": "t"}, {"task": "t", "event": "StepStarted"}, {"event": {"event": "StepStarted"}},
     {"task": ["t"], "event": {"event": "StepStarted"}}, {"task": "t", "at": 0, "log": b"StepStarted"}],
)  # fmt: skip
def test_what_says_that_no_step_begins(message: object) -> None:
    assert not step_that_begins(message)
    assert step_that_begins(begins("t")) == "t"
