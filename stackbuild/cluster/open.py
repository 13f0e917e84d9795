"""Opens what needs Dask, and says how to install it where it is not: the parts of a cluster that commands start."""

from __future__ import annotations

import contextlib
import os
import platform
import socket
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib.util import find_spec

from stackbuild.build.context import BuildContext, StepPlacement
from stackbuild.build.order import UMASK, Order
from stackbuild.cluster.address import ClusterAddress
from stackbuild.cluster.client import ClusterPlacement
from stackbuild.cluster.host import StepHost
from stackbuild.cluster.offers import MEMORY, STEP, Offer, release_name
from stackbuild.core.errors import MachineLacks
from stackbuild.machine.gpu import gpus
from stackbuild.machine.host import machine_memory
from stackbuild.publishing.ssh_keys import load_signing_key
from stackbuild.remote.settings import Settings
from stackbuild.runners.choice import usable_runners
from stackbuild.store.store import default_root
from stackbuild.version import __version__


@dataclass(frozen=True)
class WorkerOrder:
    """What the command line of a worker says: 0 jobs is one a core, 0 bytes all memory, "" a name of its own."""

    name: str = ""
    jobs: int = 0
    slots: int = 0
    memory: int = 0


def require_dask() -> None:
    """Raises MachineLacks where Dask is not installed."""
    if find_spec("distributed") is None:
        raise MachineLacks("Dask distributed is not installed", next='pip install "stackbuild[cluster]"')


def placement(address: ClusterAddress, runner: str) -> Callable[[BuildContext], AbstractContextManager[StepPlacement]]:
    """What opens the connection of one run to that scheduler. Raises MachineLacks where Dask is not installed."""
    require_dask()

    @contextlib.contextmanager
    def open_placement(context: BuildContext) -> Iterator[StepPlacement]:
        from stackbuild.cluster.engine import DaskConnection

        connection = DaskConnection(address)
        try:
            yield ClusterPlacement(context, connection, str(address), runner)
        finally:
            connection.close()

    return open_placement


def run_scheduler(address: ClusterAddress, say: Callable[[str], None]) -> None:
    """Run a scheduler until a signal ends it. Raises MachineLacks."""
    require_dask()
    from stackbuild.cluster.engine import serve_scheduler

    serve_scheduler(address, say)


def run_worker(address: ClusterAddress, order: WorkerOrder, settings: Settings, say: Callable[[str], None]) -> None:
    """Do steps for the scheduler's clients until a signal ends it. Raises MachineLacks, UsageError."""
    require_dask()
    offer = worker_offer(order, settings)
    os.umask(UMASK)
    host = StepHost(offer.name, default_root(), settings, order.jobs or Order().limits.jobs, say)
    try:
        host.clear_up()
        from stackbuild.cluster.engine import serve_worker

        serve_worker(address, host, offer)
    finally:
        host.close()


def worker_offer(order: WorkerOrder, settings: Settings) -> Offer:
    """What this machine offers. Raises MachineLacks where its outputs would go nowhere, UsageError for a bad key."""
    writes = [one for one in settings.remotes if one.write]
    if not writes:
        raise MachineLacks(
            "no remote is written to: the outputs of this worker would reach nobody",
            next="in remotes.yaml give the remote `write: true` and `sign: KEY`; docs/cluster.md",
        )
    slots = order.slots or order.jobs or Order().limits.jobs
    amounts = {
        STEP: slots,
        MEMORY: order.memory or machine_memory(),
        platform.machine(): slots,
        release_name(__version__): slots,
        **dict.fromkeys(usable_runners(), slots),
    }
    for gpu in gpus():
        amounts[gpu.gfx] = amounts.get(gpu.gfx, 0) + 1
    signers = tuple(load_signing_key(one.signing_key).fingerprint for one in writes)
    trusted_keys = tuple(key.fingerprint for one in settings.remotes for key in one.trusted_keys())
    name = order.name or f"{socket.gethostname()}-{os.getpid()}"
    return Offer(name, "", {name: float(amount) for name, amount in amounts.items()}, signers, trusted_keys)
