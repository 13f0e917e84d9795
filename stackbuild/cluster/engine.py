"""Dask distributed: the one module that imports it.

Settings that Dask's defaults get wrong for steps that take hours: no stealing of tasks, three attempts where workers die,
none where a task fails, no memory limit that kills the worker, and no web pages.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import ssl
import threading
import warnings
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass
from time import monotonic
from typing import Any
from weakref import WeakKeyDictionary

import dask
from dask.base import annotate
from distributed import Client, Future, KilledWorker, Scheduler, Worker, get_worker
from distributed.comm.core import CommClosedError
from distributed.diagnostics.plugin import SchedulerPlugin, WorkerPlugin
from distributed.scheduler import TaskState, WorkerState
from distributed.security import Security
from distributed.versions import VersionMismatchWarning

from stackbuild.cluster.address import ClusterAddress
from stackbuild.cluster.client import MessageReader, SchedulerLost, WorkersDied
from stackbuild.cluster.host import Message, StepHost
from stackbuild.cluster.offers import Amounts, Offer, read_offer
from stackbuild.cluster.tasks import StepOutcome, StepTask
from stackbuild.core.cancel import within_seconds
from stackbuild.core.errors import MachineLacks, Stop
from stackbuild.core.output_style import OUTPUT_STYLE
from stackbuild.core.shell_words import shell_word
from stackbuild.version import __version__

ATTEMPTS = 3
"""Workers that may die with one task."""
TOPIC, PLUGIN = "stackbuild", "stackbuild"
CONNECT_SECONDS = 3.0
OPEN_SECONDS = 3.0
"""How long a client may take to connect. Dask's own timeouts bound neither its handshake nor that of TLS."""
RESULT_SECONDS = 30.0
"""How long what a task returned may take to come from its worker."""
STOP_SECONDS = 8.0
"""How long a worker that is told to stop waits for its steps."""
RETRY_SECONDS = 1.0
"""Between two tries of a worker to reach its scheduler."""
LONG_SECONDS = 30.0
"""A step that may take longer goes to a worker only where no other one would wait for a token of the jobserver."""
PACE_SECONDS = 2.0
"""How long a step that was just given to a worker holds long ones back there: it may soon begin, and take tokens."""
OVERTAKE_SECONDS = 30.0
"""How long other steps may overtake one that waits for tokens alone."""
FREE_TOKENS = "stackbuild-free-tokens"
"""What a worker's heartbeat calls the tokens that its jobserver has left."""
MOST_WORDS = 500
"""Characters of another process's words that are shown."""
TAKEN_NAME = "name taken"
"""In what Dask's scheduler answers a second worker of one name."""
NOWHERE = "127.0.0.1:0"
"""Where Dask's web server listens: it has no pages here."""
SETTINGS = {
    "distributed.scheduler.work-stealing": False,
    "distributed.scheduler.allowed-failures": ATTEMPTS - 1,
    "distributed.scheduler.worker-ttl": "60s",
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    "distributed.worker.profile.enabled": False,
    "distributed.client.scheduler-info-interval": "60s",
    "distributed.comm.timeouts.connect": f"{CONNECT_SECONDS}s",
    "distributed.comm.retry.count": 0,
    "distributed.admin.system-monitor.gil.enabled": False,
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.admin.tick.interval": "1s",
    "distributed.scheduler.active-memory-manager.start": False,
}


LOGGERS = ("distributed", "distributed.client", "distributed.gc", "tornado.application")
"""Dask's loggers with a level of their own. They speak under --verbose alone: what matters is said by stackbuild."""


def _configure() -> None:
    """Set Dask up. Of versions only that of stackbuild matters, which is an offer of its own."""
    dask.config.set(SETTINGS)
    warnings.filterwarnings("ignore", category=VersionMismatchWarning)
    level = logging.WARNING if OUTPUT_STYLE.verbosity > 0 else logging.CRITICAL
    for name in LOGGERS:
        logging.getLogger(name).setLevel(level)


def _security(address: ClusterAddress) -> Security | None:
    if address.tls is None:
        return None
    files = {f"tls_{role}_{part}": str(path) for role in ("client", "worker", "scheduler")
             for part, path in (("cert", address.tls.cert), ("key", address.tls.key))}  # fmt: skip
    return Security(
        require_encryption=True, tls_ca_file=str(address.tls.ca), tls_min_version=ssl.TLSVersion.TLSv1_2, **files
    )


# --- the scheduler


def serve_scheduler(address: ClusterAddress, listens: Callable[[str], None]) -> None:
    """Run a scheduler until a signal ends it; `listens` gets its address once it does. Raises MachineLacks."""
    _configure()
    asyncio.run(_scheduler(address, listens))


async def _scheduler(address: ClusterAddress, listens: Callable[[str], None]) -> None:
    scheduler = StepScheduler(
        host=address.url.rpartition(":")[0], port=address.port, security=_security(address) or Security(),
        dashboard=False, dashboard_address=NOWHERE, allowed_failures=ATTEMPTS - 1,
        plugins=(TaskSeconds(),),
    )  # fmt: skip
    scheduler.add_plugin(TaskStarts(scheduler))
    try:
        await scheduler
    except (OSError, RuntimeError) as error:
        raise MachineLacks(
            f"the scheduler cannot listen: {_reason(error)}",
            where=str(address), next="choose another port or certificate",
        ) from None  # fmt: skip
    listens(str(address))
    stop_event = _on_signals()
    await stop_event.wait()
    await scheduler.close()


class StepScheduler(Scheduler):
    """Gives a task to a worker that has room for it now. The others wait here, and the heaviest of them goes first.

    Dask's own gives each task to a worker at once, where it waits behind those that came before. None is taken away from it
    again: so one worker may have a queue while another one idles, whenever a step took longer than it was said to.

    A worker with a free slot may still have no token of its jobserver left. Then what it gets waits there for one, and another
    worker might begin it earlier. So a long task goes to a worker only where each one that has not begun will get a token,
    for instance once it has its inputs. At most one long task more waits there. Where no other worker offers what it needs,
    it goes there at once. Lighter ones may overtake one that waits here, but not for longer than OVERTAKE_SECONDS.
    """

    def __init__(self, **options: Any) -> None:
        self.beginnings: WeakKeyDictionary[TaskState, str] = WeakKeyDictionary()
        """The address of the worker on which a task's step has begun."""
        self.start_times: WeakKeyDictionary[TaskState, float] = WeakKeyDictionary()
        """When a task was given to the worker that has it."""
        self.tokens_taken: Counter[str] = Counter()
        """By the address of a worker, how many steps have begun since its last heartbeat."""
        super().__init__(**options)

    def valid_workers(self, ts: TaskState) -> set[WorkerState] | None:
        if not ts.resource_restrictions:
            return super().valid_workers(ts)
        kept_workers = {worker for task in self.overdue(ts) for worker in self.workers_with_room(task)}
        workers = self.workers_with_room(ts) - kept_workers
        if ts.prefix.duration_average <= LONG_SECONDS or len(super().valid_workers(ts) or ()) == 1:
            return workers
        return {worker for worker in workers if self.has_token(worker)}

    def workers_with_room(self, task: TaskState) -> set[WorkerState]:
        """The workers that have all that a task needs, and have it free now."""
        needs = task.resource_restrictions or {}
        return {
            worker
            for worker in super().valid_workers(task) or ()
            if all(worker.resources[name] - worker.used_resources[name] >= amount for name, amount in needs.items())
        }

    def has_token(self, worker: WorkerState) -> bool:
        """Whether all tasks there have begun, or there are tokens for those that have not and none of them is new there."""
        waiting = [task for task in worker.processing if self.beginnings.get(task) != worker.address]
        tokens = worker.metrics.get(FREE_TOKENS)
        free_tokens = tokens - self.tokens_taken[worker.address] if type(tokens) is int else 0
        latest = monotonic() - PACE_SECONDS
        is_paced = all(self.start_times.get(task, latest) <= latest for task in waiting)
        return not waiting or (len(waiting) <= free_tokens and is_paced)

    def overdue(self, task: TaskState) -> list[TaskState]:
        """The tasks that this one may not overtake any more."""
        now = monotonic()
        since = self.unrunnable.get(task, now)
        return [other for other, begin in self.unrunnable.items() if begin < min(since, now - OVERTAKE_SECONDS)]

    def heartbeat_worker(self, *, address: str, **more: Any) -> dict[str, Any]:
        """Dask calls this every half second to five seconds. More free tokens may let a long task go to that worker."""
        answer = super().heartbeat_worker(address=address, **more)
        self.tokens_taken.pop(address, None)
        self.give_out_waiting(f"heartbeat-{address}")
        return answer

    def log_worker_event(self, worker: str, topic: str | Collection[str], msg: Any) -> None:
        """Dask calls this for each message of a worker. One that its step has begun may let a long task go there."""
        super().log_worker_event(worker, topic, msg)
        task = self.tasks.get(step_that_begins(msg))
        if task is not None and task.processing_on is not None and task.processing_on.address == worker:
            self.tokens_taken[worker] += self.beginnings.get(task) != worker
            self.beginnings[task] = worker
            self.give_out_waiting(f"step-begins-{task.key}")

    def stimulus_queue_slots_maybe_opened(self, *, stimulus_id: str) -> None:
        """Dask calls this when a task has ended, in whatever way, or a worker has come."""
        super().stimulus_queue_slots_maybe_opened(stimulus_id=stimulus_id)
        self.give_out_waiting(stimulus_id)

    def give_out_waiting(self, stimulus_id: str) -> None:
        """Give out each task that waits here and that a worker can take now."""
        for task in sorted(self.unrunnable, key=lambda one: one.priority or ()):
            if self.valid_workers(task):
                self.transitions({task.key: "processing"}, stimulus_id)


def step_that_begins(message: object) -> str:
    """The key of the task whose step begins by that message of a worker, "" where it says something else."""
    match message:
        case {"task": str(key), "event": {"event": "StepStarted"}}:
            return key
    return ""


class TaskStarts(SchedulerPlugin):
    """Notes when a task is given to a worker."""

    name = "starts"

    def __init__(self, scheduler: StepScheduler) -> None:
        self.scheduler = scheduler

    def transition(self, key: Any, start: Any, finish: Any, *more: Any, **options: Any) -> None:
        if finish == "processing":
            self.scheduler.start_times[self.scheduler.tasks[key]] = monotonic()


class TaskSeconds(SchedulerPlugin):
    """Lets the scheduler know how long a task may take, before it chooses a worker.

    Dask knows that by the prefix of a task's key, from earlier tasks, and takes half a second for an unknown one: then two
    steps of ten minutes weigh as much as two of a second. A step's key is a prefix of its own.
    """

    name = "seconds"

    def update_graph(self, scheduler: Scheduler, *, annotations: dict[str, dict[Any, Any]], **more: Any) -> None:
        for key, seconds in annotations.get(self.name, {}).items():
            scheduler.tasks[key].prefix.duration_average = float(seconds)


def _on_signals() -> asyncio.Event:
    """Set by SIGINT and SIGTERM; a second one ends the process."""
    stop_event, loop = asyncio.Event(), asyncio.get_running_loop()

    def stop(number: signal.Signals) -> None:
        stop_event.set()
        loop.remove_signal_handler(number)

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop, number)
    return stop_event


# --- the worker


class HostPlugin(WorkerPlugin):
    """Gives tasks their host, and stops a task's processes once nobody wants it: Dask leaves them running."""

    name = PLUGIN

    def __init__(self, host: StepHost) -> None:
        self.host = host

    def transition(self, key: Any, start: str, finish: str, **more: Any) -> None:
        if start in ("executing", "long-running") and finish in ("cancelled", "resumed", "released", "forgotten"):
            self.host.stop(str(key))

    def teardown(self, worker: Any) -> None:
        self.host.stop_all()


def run_task(task_key: str, task: StepTask) -> StepOutcome:
    """What a worker runs: the one function that tasks name."""
    worker = get_worker()
    plugin = worker.plugins[PLUGIN]
    assert isinstance(plugin, HostPlugin)

    def send(message: Message) -> None:
        worker.log_event(TOPIC, message)

    return plugin.host.do(task_key, task, send)


def serve_worker(address: ClusterAddress, host: StepHost, offer: Offer) -> None:
    """Offer this machine's resources to a scheduler until a signal ends it; a scheduler that goes away is waited for."""
    _configure()
    asyncio.run(_worker(address, host, offer))


async def _worker(address: ClusterAddress, host: StepHost, offer: Offer) -> None:
    stop_event = _on_signals()
    last_message = ""
    while not stop_event.is_set():
        try:
            worker = await _connect(address, host, offer)
        except (OSError, TimeoutError, CommClosedError, RuntimeError, ValueError) as error:
            message = f"waiting for the scheduler {address}: {_hindrance(error, address, offer.name)}"
            if message != last_message:
                host.report(message)
                last_message = message
            await _pause(stop_event)
            continue
        last_message = ""
        host.report(f"{offer.name} is connected to {address}")
        waits = [asyncio.create_task(one) for one in (stop_event.wait(), worker.finished())]
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        host.stop_all()
        await _wait_until_empty(host)
        await worker.close(executor_wait=False)
        for wait in waits:
            wait.cancel()
        if not stop_event.is_set():
            host.report(f"the connection to {address} broke; its steps were stopped")
    host.report("stopped")


def _hindrance(error: BaseException, address: ClusterAddress, name: str) -> str:
    """Why a worker is not connected, and what to do."""
    reason = _reason(error)
    if TAKEN_NAME in reason:
        return f"it has a worker of the name {name} already: end that one, or choose another name with --name"
    return f"{reason}; certificates of another authority look the same" if address.tls else reason


async def _connect(address: ClusterAddress, host: StepHost, offer: Offer) -> Worker:
    worker = Worker(
        address.url, nthreads=int(offer.amounts["step"]), name=offer.name, resources=offer.amounts,
        security=_security(address) or Security(), memory_limit=0, plugins=(HostPlugin(host),),
        host="127.0.0.1" if address.tls is None else None, protocol="tls" if address.tls else "tcp",
        dashboard_address=NOWHERE, local_directory=str(host.store.tmp / "dask"), death_timeout=CONNECT_SECONDS * 2,
        metrics={FREE_TOKENS: lambda worker: host.jobserver.free_tokens()},
        startup_information={
            "signers": lambda worker: list(offer.signers),
            "trusted": lambda worker: list(offer.trusted_keys),
        },
    )  # fmt: skip
    try:
        await worker
    except BaseException:
        await worker.close(executor_wait=False)
        raise
    return worker


async def _pause(stop_event: asyncio.Event) -> None:
    try:
        await asyncio.wait_for(stop_event.wait(), RETRY_SECONDS)
    except TimeoutError:
        return


async def _wait_until_empty(host: StepHost) -> None:
    """Wait until the steps that were stopped have ended."""
    end = asyncio.get_running_loop().time() + STOP_SECONDS
    while not host.is_idle and asyncio.get_running_loop().time() < end:
        await asyncio.sleep(0.05)


# --- the client


@dataclass
class DaskSubmission:
    """A future, and an event that is set once it has ended in whatever way."""

    future: Any
    end_event: threading.Event

    def wait(self, seconds: float) -> bool:
        return self.end_event.wait(seconds)

    def outcome(self) -> object:
        status = self.future.status
        if status == "finished":
            return _of_worker(self.future.result)  # where it has gone: asked for again, the step is done already
        if status == "error":
            client_error = _of_worker(self.future.exception)
            if isinstance(client_error, KilledWorker):
                last_worker = getattr(client_error.last_worker, "name", "?")
                raise WorkersDied(f"{ATTEMPTS} workers died while they did it, the last one {last_worker}")
            raise MachineLacks(
                f"a worker failed in itself: {type(client_error).__name__}: {_first_line(client_error)}",
                next="look at what the workers print; do all run the same stackbuild?",
            )
        raise SchedulerLost(status)

    def cancel(self) -> None:
        try:
            self.future.cancel(force=False)
        except (OSError, RuntimeError, CommClosedError, asyncio.CancelledError):
            return


def _of_worker(ask: Callable[..., Any]) -> Any:
    """What a future gets from the worker that holds it. Raises SchedulerLost where that has gone, and Stopped."""
    try:
        return within_seconds(lambda: ask(timeout=RESULT_SECONDS), RESULT_SECONDS + 1)
    except Stop:
        raise
    except Exception as error:
        raise SchedulerLost(_first_line(error)) from None


class StepClient(Client):
    """A client that is closed by who opened it."""

    def __del__(self) -> None:
        """Dask's own closes one that never connected, and waits seconds for that."""


class DaskConnection:
    """A client of a scheduler. Raises MachineLacks where none answers, or where it was not started by stackbuild."""

    def __init__(self, address: ClusterAddress) -> None:
        _configure()
        self.address = address
        self._readers: dict[str, MessageReader] = {}
        self._opening = threading.Lock()
        end = monotonic() + OPEN_SECONDS
        try:
            self._client = self._open_client()
            settings = self._settings(end - monotonic())
        except OSError as error:
            question = "has it TLS at all, and are all certificates of one authority?"
            raise MachineLacks(
                f"no scheduler answers at {address}: {_first_line(error)}",
                next=f"is it a scheduler, and not stopped? Start one: stackbuild scheduler {shell_word(address)}; "
                + (question if address.tls else "or is it one with TLS, tcp+tls://?"),
            ) from None
        self._refuse_other(settings)

    def _open_client(self) -> Client:
        """A client that is connected and hears what workers say. Raises OSError, also where another program answers."""
        given_up = threading.Event()

        def open_client() -> Client:
            client = StepClient(  # type: ignore[no-untyped-call]
                self.address.url, security=_security(self.address), timeout=CONNECT_SECONDS, set_as_default=False
            )
            if given_up.is_set():
                _close(client)
            return client

        try:
            client = within_seconds(open_client, OPEN_SECONDS)
        except BaseException as error:
            given_up.set()
            if isinstance(error, OSError | Stop) or not isinstance(error, Exception):
                raise
            raise OSError(_first_line(error)) from None
        client.subscribe_topic(TOPIC, self._hear)
        return client

    def _connect(self) -> Client:
        """The client, a new one where its connection broke: Dask gives up after seconds. Raises SchedulerLost."""
        with self._opening:
            if self._client.status != "running":
                self.close()
                try:
                    self._client = self._open_client()
                except OSError as error:
                    raise SchedulerLost(_first_line(error)) from None
            return self._client

    def close(self) -> None:
        _close(self._client)

    def _settings(self, seconds: float) -> dict[str, object]:
        """What the scheduler says of itself. Raises TimeoutError where it says nothing."""
        try:
            settings = within_seconds(lambda: self._client.run_on_scheduler(scheduler_settings), seconds)
        except (TimeoutError, Stop):
            self.close()
            raise
        except Exception as error:  # whatever another program raises that has no stackbuild
            settings = {"version": f"none: {_first_line(error)}"}
        return settings if isinstance(settings, dict) else {"version": f"none: {type(settings).__name__}"}

    def _refuse_other(self, settings: dict[str, object]) -> None:
        own_settings = {"version": __version__, "stealing": False, "attempts": ATTEMPTS}
        if settings != own_settings:
            self.close()
            differs = ", ".join(
                f"{name} {repr(settings.get(name))[:MOST_WORDS]}, not {value!r}"
                for name, value in own_settings.items()
                if settings.get(name) != value
            )
            raise MachineLacks(
                f"the scheduler {self.address} is set up otherwise: {differs}",
                next=f"start it with this stackbuild: stackbuild scheduler {shell_word(self.address)}",
            )

    def _hear(self, event: Any) -> None:
        """A message of a worker; what is none is passed over."""
        match event:
            case (_, {"task": str(task_key)} as message) if task_key in self._readers:
                self._readers[task_key](message)

    def offers(self) -> tuple[Offer, ...]:
        try:
            client = self._connect()
            answer = within_seconds(lambda: client.sync(_identity, client), OPEN_SECONDS)
            rows = sorted(answer["workers"].items())
        except (OSError, RuntimeError, ValueError, AttributeError, KeyError, TypeError, CommClosedError) as error:
            raise SchedulerLost(_first_line(error)) from None
        return tuple(read_offer(address, one) for address, one in rows)

    def submit(self, task_key: str, task: StepTask, needs: Amounts, copy: MessageReader) -> DaskSubmission:
        self._readers[task_key] = copy
        try:
            with annotate(**{TaskSeconds.name: task.weight.seconds}):
                future: Future[StepOutcome] = self._connect().submit(
                    run_task, task_key, task, key=task_key, resources=dict(needs), retries=0, pure=False,
                    priority=round(task.weight.chain * 1000),
                )  # fmt: skip
        except (OSError, RuntimeError, CommClosedError) as error:
            raise SchedulerLost(str(error)) from None
        end_event = threading.Event()
        future.add_done_callback(lambda future: end_event.set())
        return DaskSubmission(future, end_event)


def _close(client: Client) -> None:
    with contextlib.suppress(OSError, RuntimeError):
        client.close(timeout=CONNECT_SECONDS)


async def _identity(client: Client) -> dict[str, Any]:
    """What the scheduler says of its workers. Raises RuntimeError where the connection has just broken."""
    if client.scheduler is None:
        raise RuntimeError(f"the client is {client.status}")
    identity: dict[str, Any] = await asyncio.wait_for(client.scheduler.identity(n_workers=-1), CONNECT_SECONDS)
    return identity


def scheduler_settings(dask_scheduler: Scheduler) -> dict[str, object]:
    """Run on the scheduler: what a client checks before it submits anything."""
    stealing = bool(dask.config.get("distributed.scheduler.work-stealing"))
    return {"version": __version__, "stealing": stealing, "attempts": dask_scheduler.allowed_failures + 1}


def _reason(error: BaseException) -> str:
    """What an error says, or the one that it came of: Dask's own RuntimeError says only what failed to start."""
    while isinstance(error, RuntimeError) and error.__cause__ is not None:
        error = error.__cause__
    return _first_line(error)


def _first_line(error: BaseException) -> str:
    return (str(error)[:MOST_WORDS].splitlines() or [type(error).__name__])[0]
