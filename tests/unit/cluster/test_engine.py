"""Which workers a task may go to, by what the scheduler knows of the tasks that they have."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from distributed.core import Status
from distributed.scheduler import TaskState, WorkerState

from stackbuild.cluster.engine import LONG_SECONDS, NOWHERE, TOPIC, StepScheduler, step_that_begins
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

    def give(self, task: TaskState, name: str) -> None:
        self.scheduler.acquire_resources(task, self.workers[name])
        self.workers[name].add_to_processing(task)
        task.processing_on = self.workers[name]

    def tell(self, name: str, message: object) -> None:
        """Hear a message of a worker."""
        self.scheduler.log_worker_event(self.workers[name].address, TOPIC, message)

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


@pytest.mark.parametrize(
    "message",
    [None, "StepStarted", {}, {"task": "t"}, {"task": "t", "event": "StepStarted"}, {"event": {"event": "StepStarted"}},
     {"task": ["t"], "event": {"event": "StepStarted"}}, {"task": "t", "at": 0, "log": b"StepStarted"}],
)  # fmt: skip
def test_what_says_that_no_step_begins(message: object) -> None:
    assert not step_that_begins(message)
    assert step_that_begins(begins("t")) == "t"
