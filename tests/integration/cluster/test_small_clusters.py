"""Clusters on loopback whose steps are small commands of the host: TLS, what is refused, and what a build leaves."""

from __future__ import annotations

import os
import site
import subprocess
import sys
import threading
import time
import zipfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from stackbuild.actions import REGISTRY
from stackbuild.cluster.address import TlsFiles
from stackbuild.cluster.client import ClusterPlacement
from stackbuild.cluster.engine import LONG_SECONDS
from stackbuild.core.digest import of_file
from stackbuild.core.errors import MachineLacks
from stackbuild.core.interpreter import this_python
from stackbuild.model.events import Event, Note, StepFinished, StepStarted
from stackbuild.model.plan import Plan
from stackbuild.pipeline.built_wheels import BuiltWheels
from stackbuild.pipeline.gpu_benchmarks import bench_targets, measure_on_gpus
from stackbuild.pipeline.gpu_steps import targets_of
from stackbuild.pipeline.gpu_verification import verify_on_gpus
from stackbuild.recipe.load import load, parse
from support.cluster_steps import build, client, processes, runs, step
from support.clusters import certificates, cluster, eventually
from support.remotes import FakeRegistry, SlowPulls
from support.slowed_wheels import pack, slowed, small_model
from support.wheels import small_wheel


@pytest.fixture
def registry() -> Iterator[FakeRegistry]:
    with FakeRegistry().served() as served:
        yield served


def test_light_steps_keep_off_the_worker_with_a_heavy_one(registry: FakeRegistry, tmp_path: Path) -> None:
    """All are ready at once. By their number alone, the worker with the heavy step would get some of the light ones."""
    light = [step(f"light{number}") for number in range(4)]
    heavy = step("heavy", seconds=1.5)
    last = step("last", (*light, heavy))
    with cluster(tmp_path / "cluster", registry.url) as made:
        made.scheduler()
        for name in ("w1", "w2"):
            made.step_worker(name, amounts='{"step": 4}')
        with client(made, guess_seconds={"heavy": 100.0}) as context:
            build(context, Plan("t", (*light, heavy, last), ("last",)))
        where = {one.name: (made.root / f"ran.{one.name}").read_text().split()[0] for one in (*light, heavy)}
        assert where["heavy"] not in {where[one.name] for one in light}


def test_nothing_waits_behind_a_step_that_takes_longer_than_it_was_said_to(
    registry: FakeRegistry, tmp_path: Path
) -> None:
    """By what was said, the worker with the long step is soon free again, and the other one is not."""
    long, short = step("long", seconds=2.5), step("short")
    others = [step(f"other{number}") for number in range(3)]
    last = step("last", (long, short, *others))
    said = {"long": 20.0, "short": 100.0, **{one.name: 1.0 for one in others}}
    with cluster(tmp_path / "cluster", registry.url) as made:
        made.scheduler()
        for name in ("w1", "w2"):
            made.step_worker(name, amounts='{"step": 1}')
        with client(made, guess_seconds=said) as context:
            build(context, Plan("t", (long, short, *others, last), ("last",)))
        where = {one.name: (made.root / f"ran.{one.name}").read_text().split()[0] for one in (long, short, *others)}
        assert where["long"] not in {where[one.name] for one in (short, *others)}


def test_no_long_step_is_given_to_a_worker_whose_steps_wait_for_its_cores(registry: FakeRegistry, tmp_path: Path) -> None:
    """Each worker has four slots and two cores. One takes long for every step: it gets one more than it has cores."""
    script = "case $STACKBUILD_STORE in *slow-store) sleep 4;; *) sleep 0.05;; esac"
    long = [step(f"long{number}", script=script) for number in range(8)]
    last = step("last", long)
    with cluster(tmp_path / "cluster", registry.url) as made:
        made.scheduler()
        for name in ("slow", "fast"):
            made.step_worker(name, amounts='{"step": 4}')
        with client(made, guess_seconds={one.name: LONG_SECONDS * 2 for one in long}) as context:
            build(context, Plan("t", (*long, last), ("last",)))
        workers = [(made.root / f"ran.{one.name}").read_text().split()[0] for one in long]
        assert min(Counter(workers).values()) == 3, workers


def test_long_steps_take_their_inputs_beside_each_other_while_tokens_are_free(
    registry: FakeRegistry, tmp_path: Path
) -> None:
    """The worker has two cores. Each input takes its time on the way from the remote, and no step uses a core meanwhile."""
    inputs = [step(f"in{number}") for number in range(2)]
    long = [step(f"long{number}", (one,)) for number, one in enumerate(inputs)]
    last = step("last", long)
    with cluster(tmp_path / "cluster", registry.url) as made:
        made.scheduler()
        first = made.step_worker("w1")
        with client(made) as context:
            build(context, Plan("t", tuple(inputs), tuple(one.name for one in inputs)))
        first.end()
        input_trees = {tag for tag in registry.manifests if tag.startswith("t-")}
        made.step_worker("w2", amounts='{"step": 4}')
        pulls = SlowPulls(1.5, input_trees)
        registry.fault = pulls.fault
        with client(made, "second", guess_seconds={one.name: LONG_SECONDS * 2 for one in long}) as context:
            build(context, Plan("t", (*inputs, *long, last), ("last",)))
        assert pulls.most == 2


def test_tls(registry: FakeRegistry, tmp_path: Path) -> None:
    """Scheduler, worker and client with certificates of one authority; one of another authority is not let in."""
    files, strange = certificates(tmp_path / "tls"), certificates(tmp_path / "strange")
    named = zip(("CA", "CERT", "KEY"), map(str, files.files), strict=True)
    with cluster(tmp_path / "cluster", registry.url) as made:
        made.scheme, made.more = "tcp+tls", {f"STACKBUILD_TLS_{name}": path for name, path in named}
        made.scheduler()
        made.step_worker("w1")
        with client(made, tls=files) as context:
            assert set(build(context)) == {"one", "two", "three"}
            log = context.logs / "one.log"
            assert "log of one" in log.read_text()
        with pytest.raises(MachineLacks, match="no scheduler answers"), client(made, "other", tls=strange):
            pass
        with (
            pytest.raises(MachineLacks, match="no scheduler answers"),
            client(made, "plain", address=f"tcp://127.0.0.1:{made.port}", tls=TlsFiles()),
        ):
            pass
        assert not processes(made.root)


def test_what_is_refused_before_anything_is_submitted(registry: FakeRegistry, tmp_path: Path) -> None:
    """Exit code 7 within five seconds: no scheduler, no worker, too little memory, no such resource, a strange key."""
    with cluster(tmp_path / "cluster", registry.url) as made:
        since = time.monotonic()
        with pytest.raises(MachineLacks, match="no scheduler answers") as refused, client(made):
            pass
        assert "stackbuild scheduler tcp://" in refused.value.next and time.monotonic() - since < 5
        made.scheduler()
        with client(made) as context:
            _refused(context.placement, "no worker is connected", "stackbuild worker tcp://")
            made.step_worker("w1", amounts='{"memory": 1073741824}')
            _refused(
                context.placement, "offers what is needed: large: 4096 MiB of memory .the largest worker offers 1024"
            )
            assert isinstance(context.placement, ClusterPlacement)
            with pytest.raises(MachineLacks, match="a: magic"):
                replace(context.placement, runner="magic").refuse_lacking(
                    [replace(step("a"), action="run", base="base")]
                )
        with client(made, "stranger", key="stranger") as context:
            _refused(context.placement, "the key of w1 is not trusted here", "store trust add")
    assert not runs(made.root, "large")


def _refused(place: object, what: str, next: str = "") -> None:
    assert isinstance(place, ClusterPlacement)
    since = time.monotonic()
    with pytest.raises(MachineLacks, match=what) as refused:
        place.refuse_lacking([step("large", memory=4 << 30)])
    assert refused.value.exit_code == 7 and next in refused.value.next and time.monotonic() - since < 5


def test_a_scheduler_with_dasks_own_settings_is_refused(registry: FakeRegistry, tmp_path: Path) -> None:
    with cluster(tmp_path / "cluster", registry.url) as made:
        words = ("--host", "127.0.0.1", "--port", str(made.port), "--no-dashboard", "--no-show")
        process = subprocess.Popen(
            [sys.executable, "-c", "from distributed.cli.dask_scheduler import main; main()", *words],
            stderr=subprocess.PIPE, env={**os.environ, "DASK_DISTRIBUTED__SCHEDULER__HTTP__ROUTES": "[]"},
        )  # fmt: skip
        assert process.stderr is not None
        while b"Scheduler at" not in process.stderr.readline():
            assert process.poll() is None
        try:
            with pytest.raises(MachineLacks, match="stealing True, not False, attempts 4, not 3"), client(made):
                pass
        finally:
            process.terminate()
            process.communicate(timeout=20)


def test_a_broken_step_and_a_worker_that_dies_each_time(registry: FakeRegistry, tmp_path: Path) -> None:
    """A step that fails runs once. One whose worker dies runs three times, each on another worker."""
    with cluster(tmp_path / "cluster", registry.url) as made:
        made.scheduler()
        made.step_worker("w1")
        with client(made) as context, pytest.raises(AssertionError, match=r"exit code 3 \(on w1\)"):
            build(context, Plan("t", (step("fails", script="exit 3"),), ("fails",)))
        assert runs(made.root, "fails") == 1
        for name in ("w2", "w3"):
            made.step_worker(name)
        with client(made) as context, pytest.raises(AssertionError, match="3 workers died while they did it"):
            build(context, Plan("t", (step("kills", script="kill -9 {pid}; sleep 9"),), ("kills",)))
        assert runs(made.root, "kills") == 3 and not processes(made.root)


def test_wheels_are_verified_on_the_worker_that_has_their_gpu(registry: FakeRegistry, tmp_path: Path) -> None:
    """The report is a signed output as any other. What the worker calls a GPU is none here: the last rung says so."""
    recipe = load("debian-13").recipe
    wheel = small_wheel(tmp_path, name="stackbuild-kernels")
    with cluster(tmp_path / "cluster", registry.url) as made:
        made.scheduler()
        made.step_worker("w1")
        made.step_worker("w2", amounts='{"gfx1100": 1, "gfx906": 1}')
        with client(made) as context:
            assert context.placement is not None and context.placement.gpu_targets() == {"gfx1100", "gfx906"}
            packed = replace(step("wheel.kernels", script=f"cp {wheel} {{out}}"), action="wheel")
            plan = Plan("t", (packed,), ("wheel.kernels",))
            tree = context.store.tree(build(context, plan)["wheel.kernels"])
            events: list[Event] = []
            heard = replace(context, emit=events.append)
            context.placement.context, context.placement.patience = heard, 0.5
            wheels = sorted(tree.glob("*.whl"))
            assert set(targets_of(recipe, wheels)) == {"gfx90a", "gfx942", "gfx1030", "gfx1100"}
            (report,) = verify_on_gpus(recipe, plan, wheels, ("gfx1100",), heard)
            assert report.target == "gfx1100" and report.verification.sha256 == of_file(wheel)
            assert report.not_run and report.verification.rungs[0].name == "static rules"
            ran = [one for one in events if isinstance(one, StepFinished) and one.step == "verify.gfx1100"]
            assert [one.machine for one in ran] == ["w2"]
            assert "static rules" in (context.logs / "verify.gfx1100.log").read_text()
            assert verify_on_gpus(recipe, plan, wheels, ("gfx942",), heard) == ()  # no worker has one
            assert any(isinstance(one, Note) and "not verified on gfx942" in one.text for one in events)


JOBS = "stackbuild/bench/worker.py"
"""In the command line of each process of a measurement."""
BENCHED = """schema: 1
name: t
summary: A wheel that is measured
base: {debian: {suite: trixie, packages: [make]}}
gfx: [gfx1100]
components: {x: {kind: script, run: [[/bin/true]]}}
verify: {runtime: [numpy], providers: [AzureExecutionProvider]}
bench: {suite: small.yaml}
gates: [{kind: accuracy, snr_db: 60}, {kind: limit, metric: latency, at_most: LIMIT, confidence: 0.8}]
"""
"""Azure's provider stands for a GPU's: it is another than the CPU's, and its sessions run on the CPU."""


def test_benchmarks_run_on_the_worker_that_has_the_gpu(registry: FakeRegistry, tmp_path: Path) -> None:
    """A killed worker's measurement is taken by another worker, and leaves no process; the client judges the results."""
    (tmp_path / "client").mkdir()
    small_model(tmp_path / "client")
    suite = "kind: models\nrounds: 4\nbudget: {warm_seconds: 0.02, seconds: 0.02, least: 2, most: 5}\n"
    (tmp_path / "client" / "small.yaml").write_text(
        f"{suite}files: [{{file: small.onnx, shapes: [{{x: [64, 256]}}]}}]\n"
    )
    lock = tmp_path / "client" / "t.lock.yaml"
    recipe = parse(BENCHED.replace("LIMIT", "60 s"), "t.yaml")
    wheel, house = slowed(tmp_path, 0.0), borrowed_packages(tmp_path)
    packed = replace(step("wheel", script=f"cp {wheel} {{out}}"), action="wheel")
    numpy = replace(step(f"wheelhouse.{this_python()}", script=f"cp {house} {{out}}"), action="wheelhouse")
    plan = Plan("t", (packed, numpy), ("wheel", numpy.name))
    with cluster(tmp_path / "cluster", registry.url) as made:
        made.scheduler()
        made.step_worker("w1")
        with client(made) as context:
            since = time.monotonic()
            with pytest.raises(MachineLacks, match=r"bench\.gfx1100: gfx1100") as refused:
                bench_targets(recipe, lock, context)
            assert refused.value.exit_code == 7 and time.monotonic() - since < 5
            workers = {name: made.step_worker(name, amounts='{"gfx1100": 1}') for name in ("w2", "w3")}
            targets = bench_targets(recipe, lock, context)
            assert targets == ("gfx1100",)
            trees = build(context, plan)
            wheels = (context.store.tree(trees["wheel"]) / wheel.name,)
            machines: list[str] = []
            assert isinstance(context.placement, ClusterPlacement)
            context.placement.context = replace(context, emit=lambda event: machines.extend(_began(event)))

            def kill_first() -> None:
                if eventually(lambda: machines and processes(made.root, JOBS), 90):
                    workers[machines[0]].kill()

            killer = threading.Thread(target=kill_first)
            killer.start()
            able = replace(context, actions={**context.actions, "snapshot": REGISTRY["snapshot"]})
            (result,) = measure_on_gpus(BuiltWheels(recipe, plan, wheels, None, "", lock), targets, able)
            killer.join()
            assert sorted(machines) == ["w2", "w3"]
            assert result.benchmarks.suite == str(lock.parent / "small.yaml")
            (case,) = result.benchmarks.cases
            measured = case.of("candidate")
            assert case.name == "small/64x256" and measured and len(measured.seconds) == 4 and not measured.problem
            assert (
                "all of its nodes ran on CPUExecutionProvider" in result.verdict.closed_gates[0].says
            )  # no GPU: nothing passes
            assert "processes left" in (context.logs / "bench.gfx1100.log").read_text()
            assert eventually(lambda: not processes(made.root, JOBS))


def _began(event: Event) -> list[str]:
    return [event.machine] if isinstance(event, StepStarted) and event.step == "bench.gfx1100" else []


def borrowed_packages(folder: Path) -> Path:
    """A wheel that brings the packages of this interpreter into an environment."""
    (folder / "borrowed").mkdir()
    (folder / "borrowed" / "__init__.py").write_text("")
    wheel = pack(folder / "borrowed", folder / "wheels")
    with zipfile.ZipFile(wheel, "a") as archive:
        archive.writestr("borrowed.pth", "".join(f"{place}\n" for place in site.getsitepackages()))
    return wheel
