"""debian-sid for real, from Debian's archive to an index that pip installs from. Minutes of compiling: for the night."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

pytestmark = [pytest.mark.sandbox, pytest.mark.network, pytest.mark.slow, pytest.mark.timeout(5400)]
KERNELS_EP = "onnxruntime-ep-rockernels"


@dataclass(frozen=True)
class Sid:
    """A folder where the recipe was built, its store, and what the build said."""

    folder: Path
    said: str

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """`stackbuild WORDS` with this store."""
        environment = {**os.environ, "STACKBUILD_STORE": str(self.folder / "store")}
        command = [sys.executable, "-m", "stackbuild", *words]
        return subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=5000)

    def tree(self, step: str) -> Path:
        """The output of a step that was built."""
        done = self.run("build", "--recipe", "debian-sid", "--until", step, "--json")
        assert done.returncode == 0, done.stderr
        events = map(json.loads, done.stdout.splitlines())
        (name,) = {e["tree"] for e in events if e["event"] == "StepFinished" and e["step"] == step}
        return self.folder / "store" / "trees" / name[:2] / name

    @property
    def index(self) -> Path:
        return self.folder / "dist" / "debian-sid" / "simple"


@pytest.fixture(scope="module")
def sid(tmp_path_factory: pytest.TempPathFactory) -> Sid:
    made = Sid(tmp_path_factory.mktemp("sid"), "")
    done = made.run("build", "--recipe", "debian-sid")
    assert done.returncode == 0, done.stderr
    return Sid(made.folder, done.stderr + done.stdout)


def test_both_wheels_are_built_proved_published_and_installed(sid: Sid, tmp_path: Path) -> None:
    assert "verified (static rules + install and import + load" in sid.said
    assert "operators" in sid.said.partition("; not run")[0], "no operator was run in the base"
    wheels = {p.parent.name for p in sid.index.glob("*/*.whl")}
    assert wheels == {"stackbuild-kernels", KERNELS_EP}
    site = tmp_path / "site"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(site)]
    index = ["--index-url", sid.index.as_uri()]
    subprocess.run([*pip, *index, "stackbuild-kernels==0.1.0+rocm.6.4.3", KERNELS_EP], check=True, timeout=300)
    assert (site / "stackbuild_kernels").is_dir() and (site / "onnxruntime_ep_rockernels").is_dir()


def test_the_provider_declines_without_a_gpu_and_each_rung_says_what_was_not_run(sid: Sid) -> None:
    """Its HIP library is loaded in the base that it was linked in, which has the runtime that this machine lacks."""
    (wheel,) = sid.index.glob(f"{KERNELS_EP}/*.whl")
    house = sid.tree(f"wheelhouse.{sys.version_info.major}.{sys.version_info.minor}")
    words = ["--wheelhouse", str(house), "--root", str(sid.tree("base")), "--hide-rocm", "--json"]
    done = sid.run("verify", str(wheel), "--recipe", "debian-sid", *words)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    rungs = {rung["name"]: rung for rung in said["verification"]["rungs"]}
    for name in ("static rules", "install and import", "load", "load with ROCm"):
        assert rungs[name]["status"] == "passed", rungs[name]
    assert rungs["load"]["reason"] == "1 of 2 libraries; the rest: this machine has no libamdhip64.so.6"
    assert "1 library, in the root file system" in rungs["load with ROCm"]["reason"]
    for name in ("operators", "share of nodes", "numerics"):
        assert rungs[name]["status"] == "skipped"
        assert rungs[name]["reason"].startswith("the provider offers no device here: libamdhip64.so.6: cannot open")
    claimed, _, unrun = said["claim"].partition("; not run: ")
    assert claimed == "verified (static rules + install and import + load + load with ROCm"
    assert "operators, share of nodes, numerics: the provider offers no device here" in unrun
    assert "GPU at work" in unrun


def test_the_provider_is_refused_where_it_has_other_targets_than_the_recipe_promises(sid: Sid) -> None:
    (wheel,) = sid.index.glob(f"{KERNELS_EP}/*.whl")
    done = sid.run("inspect", str(wheel), "--recipe", "debian-sid", "--gfx", "gfx90a")
    assert done.returncode == 5 and "code objects for gfx1030, gfx1100, gfx1201, gfx942" in done.stdout, done.stdout
