"""`build --on`: a scheduler, two workers and a client, each a process with a store of its own, and one remote."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from support.build_bench import BuildBench, ensure_base, link_store
from support.cluster_recipes import SMALL_BASE, STEPS
from support.clusters import Cluster, cluster, eventually
from support.remotes import FakeRegistry


def client(made: Cluster, folder: Path, base: Path, steps: str = STEPS, name: str = "client") -> BuildBench:
    """A folder to build in, whose store has the base."""
    folder.mkdir()
    bench = BuildBench(folder, folder / "store", made.environment(name, folder / "store"))
    link_store(base / "store", bench.store)
    shutil.copy(base / "t.lock.yaml", folder / "t.lock.yaml")
    bench.recipe.write_text(SMALL_BASE.replace("NAME", "t") + "components:\n" + steps)
    return bench


def sandboxes(mark: str) -> set[str]:
    """The processes that have the mark in their command line."""
    lines = subprocess.run(["pgrep", "-f", f"echo {mark}"], capture_output=True, text=True, check=False).stdout
    return set(lines.split())


@pytest.mark.sandbox
@pytest.mark.slow
def test_two_workers(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    base = ensure_base(tmp_path_factory.mktemp("base"), SMALL_BASE)
    with FakeRegistry().served() as registry, cluster(tmp_path / "cluster", registry.url) as made:
        local = client(made, tmp_path / "local", base)
        local.build("--no-remote")
        made.scheduler()
        for name in ("w1", "w2"):
            made.worker(name, tmp_path / name, "--jobs", "1")
        far = client(made, tmp_path / "far", base)
        done = far.build("--on", made.address, "--json")
        ran = {row["step"]: row["machine"] for row in far.events(done, "StepFinished") if row["how"] == "run"}
        assert set(ran) == {"one", "two", "three"} and set(ran.values()) == {"w1", "w2"}
        assert far.trees()["three"] == local.trees()["three"]
        assert "one" not in far.trees()  # no output comes to the client that nobody wants there
        assert "log of one" in far.run("logs", "one").stdout and "joined" in far.run("logs", "three").stdout
        again = far.events(far.build("--on", made.address, "--json"), "RunFinished")
        assert again[0]["ran"] == 0
        other = client(made, tmp_path / "other", base)
        finished = other.events(other.build("--on", made.address, "--json", "--until", "three"), "StepFinished")
        assert [row["how"] for row in finished if row["step"] == "three"] == ["cached"]


@pytest.mark.sandbox
@pytest.mark.slow
def test_a_sandbox_dies_with_its_worker(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """SIGKILL of the worker that runs a step: its sandbox ends within five seconds, and the other worker does the step."""
    base = ensure_base(tmp_path_factory.mktemp("base"), SMALL_BASE)
    mark = f"mark-{tmp_path.name}"
    step = f"  one: {{kind: script, run: [[sh, -c, 'echo {mark}; sleep 6; echo one > /out/a']]}}\n"
    with FakeRegistry().served() as registry, cluster(tmp_path / "cluster", registry.url) as made:
        made.scheduler()
        workers = {name: made.worker(name, tmp_path / name, "--jobs", "1") for name in ("w1", "w2")}
        far = client(made, tmp_path / "far", base, step)
        words = far.command("build", "--recipe", str(far.recipe), "--on", made.address, "--json")
        with subprocess.Popen(
            words, cwd=far.root, env=far.environment(), stdout=subprocess.PIPE, text=True
        ) as building:
            assert building.stdout is not None
            machines: list[str] = []
            for event in map(json.loads, building.stdout):
                if event["event"] == "StepStarted":
                    machines.append(event["machine"])
                if event["event"] == "StepStarted" and len(machines) == 1:
                    assert eventually(lambda: sandboxes(mark))
                    first = sandboxes(mark)
                    workers[machines[0]].kill()
                    assert eventually(lambda: not first & sandboxes(mark))  # noqa: B023
        assert building.returncode == 0 and len(set(machines)) == 2
        assert not sandboxes(mark)
