"""The docker runner on podman's socket (`podman system service`), which the docker SDK talks to as to Docker's."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from stackbuild.store import atomic as files
from support.build_bench import BuildBench, link_store

SCRIPT = """\
  hello:
    kind: script
    run: [[sh, -c, 'echo "int main(void) { return 42; }" > /tmp/a.c && gcc -o /out/a /tmp/a.c; id -u > /out/user']]
"""


@pytest.fixture
def socket(tmp_path: Path) -> Iterator[str]:
    """The address of a podman with images and containers of its own."""
    if not shutil.which("podman") or not shutil.which("catatonit", path="/usr/libexec/podman:/usr/bin") or os.getuid():
        pytest.skip("not installed: podman and catatonit, or the tests are not run as root")
    place = Path("/var/tmp") / f"stackbuild-podman-{os.getpid()}"
    options = ["--root", str(place / "root"), "--runroot", str(place / "run"), "--cgroup-manager", "cgroupfs"]
    address = f"unix://{place}/podman.sock"
    place.mkdir()
    settings = place / "containers.conf"  # podman's own limit of open files may be above this machine's
    settings.write_text('[containers]\ndefault_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]\n')
    environment = {**os.environ, "CONTAINERS_CONF": str(settings)}
    service = subprocess.Popen(["podman", *options, "system", "service", "--time", "0", address], env=environment)
    try:
        end = time.monotonic() + 30
        while not (place / "podman.sock").exists():
            assert time.monotonic() < end and service.poll() is None
            time.sleep(0.05)
        yield address
    finally:
        service.terminate()
        service.wait(30)
        subprocess.run(["podman", *options, "system", "reset", "--force"], check=True, capture_output=True)
        files.remove(place)


@pytest.mark.sandbox
@pytest.mark.slow
def test_podman_builds_the_same_bytes_as_the_sandbox(
    small_base: Path, bench: BuildBench, tmp_path: Path, socket: str
) -> None:
    bench.write(SCRIPT)
    other = BuildBench(bench.root, tmp_path / "other-store", env={"DOCKER_HOST": socket})
    link_store(small_base / "store", other.store)
    bench.build()
    done = other.build("--runner", "docker", "--json")
    assert "hello" in [e["step"] for e in other.events(done, "StepFinished") if e["how"] == "run"]
    assert other.trees() == bench.trees()
    other.write("  hello: {kind: script, run: [[sh, -c, 'echo broken; exit 3']]}\n")
    failure = other.build("--runner", "docker", check=4).stderr
    assert "broken" in failure and (other.store / "failed" / "t.hello").exists()
