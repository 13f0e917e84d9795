"""A cluster that loses a worker, its scheduler or its network, and clients that meet: three steps, two workers, one remote.

After each case the build has ended, the outputs are those of a local build, the remote has one signed record a step, and
five seconds later no process of a step is left.
"""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path
from random import Random

from campaign.frame import CampaignCase, Rig, scratch
from stackbuild.build.schedule import Limits, schedule
from stackbuild.cluster.client import ClusterPlacement
from stackbuild.core.errors import Interruption, MachineLacks
from stackbuild.remote.records import verified_records
from stackbuild.remote.trees import listing_in
from support.cluster_steps import SECONDS, actions, build, client, plan, processes, runs
from support.clusters import Cluster, ClusterProcess, Proxy, cluster
from support.fake_build import FakeCommands, fake_context
from support.remotes import FakeRegistry, trusted

ROUNDS = 20
"""Cases of each kind in which a worker dies."""
ORPHAN_SECONDS = 5.0
NAMES = ("one", "two", "three")


@dataclass
class Scene:
    """A running cluster whose workers each have an address of their own of the one remote."""

    cluster: Cluster
    registry: FakeRegistry
    mine: dict[str, FakeRegistry]
    scheduler: ClusterProcess
    workers: dict[str, ClusterProcess]

    def restart(self, name: str) -> None:
        self.workers[name] = self.cluster.step_worker(name, self.mine[name].url, waits=False)


@contextmanager
def scene(folder: Path) -> Iterator[Scene]:
    with ExitStack() as stack:
        registry = FakeRegistry()
        stack.enter_context(registry.served())
        mine = {name: FakeRegistry(registry.blobs, registry.manifests) for name in ("w1", "w2")}
        for one in mine.values():
            stack.enter_context(one.served())
        peers = stack.enter_context(cluster(folder / "cluster", registry.url))
        scheduler = peers.scheduler()
        yield Scene(peers, registry, mine, scheduler, {})


def start_workers(here: Scene, address: str = "") -> None:
    here.workers = {
        name: here.cluster.step_worker(name, one.url, address if name == "w1" else "", waits=False)
        for name, one in here.mine.items()
    }
    for worker in here.workers.values():
        worker.waits_for("is connected")


@cache
def local() -> dict[str, str]:
    """The outputs of a build on this machine."""
    with scratch("cluster-local") as folder, fake_context(FakeCommands(), folder / "store") as context:
        context = replace(context, actions=actions(folder))
        outputs, failures = schedule(plan(SECONDS), context, Limits(2, 1 << 40))
        assert not failures
        return {name: one.tree for name, one in outputs.items()}


def wrong(here: Scene, trees: dict[str, str]) -> str:
    """What is wrong after a build that ended with those outputs, "" where nothing is."""
    reference = local()
    if any(reference[name] != tree for name, tree in trees.items()) or "three" not in trees:
        return f"other outputs: {trees}, not {reference}"
    for step in plan(SECONDS).steps:
        manifest = here.registry.manifests.get(f"r-{step.key}")
        listings = verified_records(listing_in(manifest), trusted(), datetime.now(UTC))[0] if manifest else ()
        if len(listings) != 1 or listings[0].record.tree != reference[step.name]:
            return f"{step.name}: {len(listings)} records"
    return orphans(here)


def orphans(here: Scene) -> str:
    end = time.monotonic() + ORPHAN_SECONDS
    while (processes_left := processes(here.cluster.root)) and time.monotonic() < end:
        time.sleep(0.1)
    return f"left after {ORPHAN_SECONDS:g} s: {processes_left}" if processes_left else ""


def _worker_at_request(number: int, moment: str, folder: Path) -> str:
    """SIGKILL of a worker at one of its requests to the remote: as it pulls, pushes, or has just pushed."""
    with scene(folder) as here:
        start_workers(here)
        one = here.mine["w1"]

        def kill(method: str, path: str, registry: FakeRegistry) -> None:
            if len(registry.seen) > number:
                here.workers["w1"].kill()

        if moment == "before":
            one.fault = kill
        else:
            one.after = kill
        with client(here.cluster) as context:
            return wrong(here, build(context))


def _worker_at_work(delay: float, folder: Path) -> str:
    """SIGKILL of a worker some time after its first step began to run."""
    with scene(folder) as here:
        start_workers(here)

        def kill() -> None:
            while not any(runs(here.cluster.root, name) for name in NAMES):
                time.sleep(0.005)
            time.sleep(delay)
            here.workers["w1"].kill()

        thread = threading.Thread(target=kill)
        thread.start()
        with client(here.cluster) as context:
            trees = build(context)
        thread.join()
        return wrong(here, trees)


def _all_workers(delay: float, folder: Path) -> str:
    """SIGKILL of every worker; each is started again, as a supervisor does."""
    return _broken_off(delay, folder, lambda here: [one.kill() for one in here.workers.values()], workers_back=True)


def _scheduler(delay: float, folder: Path) -> str:
    """SIGKILL of the scheduler, which is started again."""

    def fault(here: Scene) -> None:
        here.scheduler.kill()
        here.scheduler.process.wait()
        here.scheduler = here.cluster.scheduler()

    return _broken_off(delay, folder, fault)


def _scheduler_for_good(delay: float, folder: Path) -> str:
    """SIGKILL of the scheduler: the build ends with exit code 7, and the next one resumes from the remote."""
    with scene(folder) as here:
        start_workers(here)
        with client(here.cluster) as context:
            assert isinstance(context.placement, ClusterPlacement)
            context.placement.patience = 2.0
            _later(delay, here.scheduler.kill)
            try:
                build(context)
                return "it ended as if nothing had been" if delay < SECONDS else ""
            except MachineLacks as lacks:
                if "went away" not in lacks.what:
                    return f"it says: {lacks}"
        if why := orphans(here):
            return why
        here.scheduler = here.cluster.scheduler()
        for worker in here.workers.values():
            end = time.monotonic() + 30
            while worker.log.read_text().count("is connected") < 2 and time.monotonic() < end:
                time.sleep(0.05)
        with client(here.cluster, "again") as context:
            return wrong(here, build(context))


def _broken_off(delay: float, folder: Path, fault: Callable[[Scene], object], workers_back: bool = False) -> str:
    with scene(folder) as here:
        start_workers(here)
        with client(here.cluster) as context, ThreadPoolExecutor(1) as pool:
            building = pool.submit(build, context)
            time.sleep(delay)
            fault(here)
            if workers_back:
                for name in here.mine:
                    here.restart(name)
            trees = building.result()
        return wrong(here, trees)


def _network(delay: float, is_client: bool, folder: Path) -> str:
    """The connection of a worker, or of the client, to the scheduler is cut for a second."""
    with scene(folder) as here:
        proxy = Proxy(here.cluster.port)
        try:
            start_workers(here, "" if is_client else proxy.address)
            with (
                client(here.cluster, address=proxy.address if is_client else "") as context,
                ThreadPoolExecutor(1) as pool,
            ):
                building = pool.submit(build, context)
                time.sleep(delay)
                proxy.cut()
                time.sleep(1.0)
                proxy.mend()
                trees = building.result()
            return wrong(here, trees)
        finally:
            proxy.close()


def _two_clients(delay: float, folder: Path) -> str:
    """Two clients want the same steps: each step runs once, and both get it."""
    with scene(folder) as here:
        start_workers(here)
        with client(here.cluster, "a") as first, client(here.cluster, "b") as second, ThreadPoolExecutor(2) as pool:
            one = pool.submit(build, first)
            time.sleep(delay)
            two = pool.submit(build, second)
            if one.result()["three"] != two.result()["three"]:
                return "they got different outputs"
        twice = [name for name in NAMES if runs(here.cluster.root, name) != 1]
        return f"ran more than once: {twice}" if twice else wrong(here, one.result())


def _interrupt_client(delay: float, folder: Path) -> str:
    """Ctrl-C at the client: what runs on the workers ends."""
    with scene(folder) as here:
        start_workers(here)
        with client(here.cluster) as context:
            _later(delay, lambda: context.stopper.set(signal.SIGINT))
            try:
                build(context)
                if delay < SECONDS:
                    return "it went on"
            except Interruption:
                pass
            if why := orphans(here):
                return why
        with client(here.cluster, "again") as context:
            return wrong(here, build(context))


def _later(delay: float, act: Callable[[], object]) -> None:
    timer = threading.Timer(delay, act)
    timer.daemon = True
    timer.start()


def cases(random: Random) -> Sequence[CampaignCase]:
    rows = [
        CampaignCase(f"worker killed {moment} its request {number}", partial(_worker_at_request, number, moment))
        for moment in ("before", "after") for number in range(ROUNDS)
    ]  # fmt: skip
    kinds: list[tuple[str, Callable[[float, Path], str], int, float]] = [
        ("worker killed at work", _worker_at_work, ROUNDS, SECONDS * 1.5),
        ("all workers killed", _all_workers, 5, 1.0),
        ("scheduler killed", _scheduler, 10, 1.5),
        ("scheduler killed for good", _scheduler_for_good, 5, SECONDS * 2),
        ("network of a worker cut", lambda delay, folder: _network(delay, False, folder), 10, 1.5),
        ("network of the client cut", lambda delay, folder: _network(delay, True, folder), 10, 1.5),
        ("two clients", _two_clients, 10, 1.0),
        ("client stopped", _interrupt_client, 10, 1.0),
    ]
    for name, attempt, count, most in kinds:
        rows += [CampaignCase(f"{name} {number}", partial(attempt, random.random() * most)) for number in range(count)]
    return rows


RIG = Rig("cluster-faults", "a cluster loses a worker, its scheduler or its network", cases, needs=(), minimum=100)
