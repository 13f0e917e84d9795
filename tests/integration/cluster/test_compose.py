"""ci/compose: a registry, a scheduler and two workers in containers, and a client on the host that builds with them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.build_bench import BuildBench, ensure_base, link_store
from support.cluster_recipes import SMALL_BASE, STEPS
from support.clusters import eventually, free_port
from support.paths import ROOT

COMPOSE = ROOT / "ci" / "compose"


@pytest.fixture
def compose(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The environment of a client of the running containers; they end with the test."""
    folder = tmp_path / "compose"
    settings = {f"CLUSTER_{name}_PORT": str(free_port()) for name in ("REGISTRY", "SCHEDULER")}
    settings |= {"PYTHON": sys.executable, "COMPOSE_HTTP_TIMEOUT": "600"}
    words = [
        "docker-compose",
        "-f",
        str(COMPOSE / "compose.yaml"),
        "--project-directory",
        str(folder),
        "-p",
        tmp_path.name,
    ]

    def call(*more: str, before: list[str] = words) -> str:
        done = subprocess.run(
            [*before, *more], env={**os.environ, **settings}, capture_output=True, text=True, timeout=2400, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    call(str(folder), before=[str(COMPOSE / "prepare")])
    try:
        call("up", "-d")
        assert eventually(lambda: call("logs").count("is connected") == 2, 300), call("logs")
        tls = {f"STACKBUILD_TLS_{name}": f"{folder}/tls/{file}" for name, file in
               (("CA", "ca.pem"), ("CERT", "client.pem"), ("KEY", "client.key"))}  # fmt: skip
        address = f"tcp+tls://127.0.0.1:{settings['CLUSTER_SCHEDULER_PORT']}"
        yield {**tls, "STACKBUILD_REMOTES": f"{folder}/client.yaml", "ADDRESS": address}
    finally:
        call("down", "--volumes")
        call("image", "rm", "stackbuild-cluster", before=["docker"])


@pytest.mark.docker
@pytest.mark.network
@pytest.mark.sandbox
@pytest.mark.slow
@pytest.mark.timeout(3000)
@pytest.mark.skipif(not shutil.which("docker-compose"), reason="not installed: docker-compose")
def test_the_compose_file(compose: dict[str, str], tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Two workers in containers do the steps in real sandboxes; the digests are those of a local build."""
    base = ensure_base(tmp_path_factory.mktemp("base"), SMALL_BASE, timeout=1200)

    def bench(name: str, env: dict[str, str]) -> BuildBench:
        made = BuildBench(tmp_path / name, tmp_path / name / "store", env)
        made.root.mkdir()
        link_store(base / "store", made.store)
        shutil.copy(base / "t.lock.yaml", made.root / "t.lock.yaml")
        made.recipe.write_text(SMALL_BASE.replace("NAME", "t") + "components:\n" + STEPS)
        return made

    local, far = bench("local", {}), bench("far", compose)
    local.build()
    done = far.build("--on", compose["ADDRESS"], "--json", timeout=600)
    ran = {row["step"]: row["machine"] for row in far.events(done, "StepFinished") if row["how"] == "run"}
    assert set(ran) == {"one", "two", "three"} and set(ran.values()) == {"w1", "w2"}
    assert far.trees()["three"] == local.trees()["three"]
    assert "log of one" in far.run("logs", "one").stdout
