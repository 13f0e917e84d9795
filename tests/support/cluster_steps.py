"""A small build for clusters whose steps are shell commands of the host, and the worker that does them.

`python -m support.cluster_steps ADDRESS NAME STORE FOLDER` is that worker: the product's, but for the action, which stands
for a step of any kind. Its command goes through `Job.call`, as those of real host-side steps do.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from stackbuild.actions import Job
from stackbuild.build.context import BuildContext
from stackbuild.build.schedule import Limits, schedule
from stackbuild.cluster.address import TlsFiles, parse_address
from stackbuild.cluster.client import ClusterPlacement
from stackbuild.cluster.engine import DaskConnection, serve_worker
from stackbuild.cluster.host import StepHost
from stackbuild.cluster.open import WorkerOrder, worker_offer
from stackbuild.model.plan import Need, Plan, Resources, Step
from stackbuild.pipeline import gpu_benchmarks, gpu_verification
from stackbuild.remote.settings import RemoteSettings, Settings, read_settings
from stackbuild.runners.fake import Fake
from support.clusters import Cluster
from support.fake_build import FakeCommands, fake_context
from support.remotes import key_files

SECONDS = 0.3
"""How long a step runs."""
PATIENCE = 25.0
"""How long a client waits for workers and for its scheduler here."""
MARK = "step-of-a-cluster"
"""In the command line of every step's process: what is still there after a build is an orphan."""
MEMORY = 1 << 20
TLS = ("STACKBUILD_TLS_CA", "STACKBUILD_TLS_CERT", "STACKBUILD_TLS_KEY")
SCRIPT = """\
: {mark} {folder}
echo "log of {name}"
echo {pid} >> {folder}/ran.{name}
{script}
for input in {inputs}; do cat "$input/made"; done > {out}/made
echo {name} >> {out}/made
"""


def step(name: str, needs: Iterable[Step] = (), seconds: float = 0.05, memory: int = MEMORY, script: str = "") -> Step:
    """A step that sleeps so long, or runs that script; `{pid}` in it is the worker's process."""
    wired = tuple(Need(one.name, one.key) for one in needs)
    params = (("script", script or f"sleep {seconds}"), ("url", name))
    return Step(name, "archive", wired, params, resources=Resources(memory))


def plan(seconds: float = SECONDS) -> Plan:
    """Two steps beside each other, and one that needs both."""
    one, two = step("one", seconds=seconds), step("two", seconds=seconds)
    return Plan("t", (one, two, step("three", (one, two), seconds)), ("three",))


def do(job: Job, folder: Path) -> dict[str, str]:
    inputs = " ".join(str(path) for _, path in sorted(job.inputs.items()))
    words = {
        "mark": MARK,
        "folder": folder,
        "name": job.step.name,
        "pid": os.getpid(),
        "inputs": inputs,
        "out": job.out,
    }
    script = job.params["script"].format(pid=os.getpid(), out=job.out)
    job.call(["sh", "-c", SCRIPT.format(**words, script=script)], "sh")
    return {}


def actions(folder: Path) -> dict[str, Callable[[Job], dict[str, str]]]:
    host_side = dict.fromkeys(("archive", "wheel", "wheelhouse"), lambda job: do(job, folder))
    return {**host_side, **gpu_verification.ACTIONS, **gpu_benchmarks.ACTIONS}


def runs(folder: Path, name: str) -> int:
    """How often a step has begun, on whatever worker."""
    path = folder / f"ran.{name}"
    return len(path.read_text().splitlines()) if path.exists() else 0


def processes(folder: Path, mark: str = MARK) -> list[str]:
    """The processes with the mark in their command line, and after it a path in that folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().decode(errors="replace")
        except OSError:
            continue
        if mark in words and str(folder) in words.partition(mark)[2]:
            found.append(f"{path.parent.name}: {words[:60]!r}")
    return found


def tls_files() -> TlsFiles:
    """Those that the environment names, as the commands take them."""
    return TlsFiles(*(Path(os.environ[name]) if name in os.environ else None for name in TLS))


@contextmanager
def client(
    made: Cluster, name: str = "client", address: str = "", tls: TlsFiles = TlsFiles(), key: str = "builder",
    guess_seconds: Mapping[str, float] = {},
) -> Iterator[BuildContext]:  # fmt: skip
    """A run in a store of its own whose steps the cluster's workers do. `key` is the one that it trusts and signs with;
    `guess_seconds` are those seconds by step."""
    private, public = key_files(made.root, key)
    remote = RemoteSettings(url=made.remote, read=(public.read_text(),), write=True, sign=str(private))
    with fake_context(FakeCommands(), made.root / f"{name}-store", remotes=Settings(remotes=(remote,))) as fake:
        context = replace(fake, guess_seconds=guess_seconds)
        connection = DaskConnection(parse_address(address or made.address, tls))
        try:
            place = ClusterPlacement(context, connection, address or made.address, "sandbox", PATIENCE)
            yield replace(context, placement=place)
        finally:
            connection.close()


def build(context: BuildContext, made: Plan | None = None) -> dict[str, str]:
    """What the command does with a plan; each step's output digest."""
    wanted = made or plan()
    assert context.placement is not None
    context.placement.refuse_lacking(wanted.steps)
    stored = context.placement.find_records(wanted, {})
    built, broken = schedule(wanted, context, Limits(2, 1 << 40), stored)
    if broken:
        raise AssertionError(f"{broken[0].step}: {broken[0].what}")
    return {name: one.tree for name, one in built.items()}


def main(host_class: type[StepHost] = StepHost) -> None:
    address, name, store, folder = sys.argv[1:5]
    settings = read_settings()
    changed = json.loads(os.environ.get("CLUSTER_AMOUNTS", "{}"))
    offer = worker_offer(WorkerOrder(name, jobs=2, slots=changed.get("step", 0)), settings)
    offer.amounts.update(changed)

    def say(line: str) -> None:
        print(line, flush=True)

    host = host_class(name, Path(store), settings, 2, say, lambda *words, **more: Fake(), actions(Path(folder)))
    host.clear_up()
    try:
        serve_worker(parse_address(address, tls_files()), host, offer)
    finally:
        host.close()


if __name__ == "__main__":
    main()
