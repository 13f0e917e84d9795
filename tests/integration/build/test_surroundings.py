"""What surrounds a build: another user, no network, an archive that moved on, an engine that dies."""

from __future__ import annotations

import contextlib
import json
import os
import re
import socket
import subprocess
import threading
import time
from pathlib import Path

import pytest

from stackbuild.store import atomic as files
from support.build_bench import BuildBench
from support.other_user import OtherUser

HELLO = "  hello: {kind: script, run: [[sh, -c, 'echo hi > /out/hi; id -u > /out/uid; grep CapEff /proc/self/status > /out/caps']]}\n"


def hand_over(bench: BuildBench, uid: int) -> None:
    """Let the bench's user own the folder and the store, with a base of its own: a base made by root has folders that only root sees."""
    for base in bench.store.glob("trees/*/*"):
        mine = base.with_name("mine")
        subprocess.run(["cp", "--archive", str(base), str(mine)], check=True)
        files.remove(base)
        mine.rename(base)
        for path in base.rglob("*"):
            mode = path.lstat().st_mode & 0o7777
            os.chown(path, uid, uid, follow_symlinks=False)
            if not path.is_symlink():
                path.chmod(mode)  # chown takes the set-user-ID bit away
    places = [
        bench.root,
        *bench.root.iterdir(),
        *bench.store.iterdir(),
        *bench.store.glob("*/*"),
        *bench.store.glob("trees/*/*"),
    ]
    for place in places:
        os.chown(place, uid, uid, follow_symlinks=False)


def namespaces_allowed(user: OtherUser) -> bool:
    return (
        subprocess.run(
            [*user.prefix, "unshare", "--user", "--map-root-user", "--mount", "true"], check=False, capture_output=True
        ).returncode
        == 0
    )


@pytest.mark.sandbox
def test_another_user_builds_in_a_user_namespace(open_bench: BuildBench) -> None:
    bench = open_bench
    assert bench.user
    if not namespaces_allowed(bench.user):
        pytest.skip("this kernel gives no user namespaces to others than root")
    bench.write(HELLO)
    hand_over(bench, bench.user.uid)
    bench.env = {"HOME": str(bench.root)}
    done = bench.build()
    hello = bench.tree("hello")
    assert (hello / "hi").read_text() == "hi\n" and (hello / "hi").stat().st_uid == bench.user.uid, done.stderr
    assert (hello / "uid").read_text() == "0\n" and re.search(r"\s0{16}$", (hello / "caps").read_text())
    assert bench.leftovers() == []
    bench.write("  bad: {kind: script, run: [[sh, -c, 'echo half > half; exit 5']]}\n")
    bench.build(check=4)
    seen = bench.run("shell", "--recipe", str(bench.recipe), "bad", "--", "cat", "half")
    assert seen.stdout == "half\n"


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to take the network away")


@needs_root
@pytest.mark.sandbox
def test_no_network_and_an_empty_store_says_what_is_missing(bench: BuildBench, tmp_path: Path) -> None:
    bench.write(HELLO)
    bench.env = {"STACKBUILD_STORE": str(tmp_path / "fresh")}
    done = bench.build(check=7, before=("unshare", "--net"), timeout=200)
    assert "Debian's package archive cannot be reached" in done.stderr and "check the network" in done.stderr
    assert not list((tmp_path / "fresh" / "tmp").iterdir())


@needs_root
@pytest.mark.sandbox
def test_no_network_and_a_base_that_is_built_needs_none(bench: BuildBench) -> None:
    bench.write(HELLO)
    bench.build(before=("unshare", "--net"))


@pytest.mark.sandbox
@pytest.mark.timeout(300)
def test_a_package_version_that_is_gone_is_a_warning_and_another_key(bench: BuildBench, tmp_path: Path) -> None:
    """Debian's archive moves: the build takes what there is, says so and keys by it; --locked refuses; a second run does nothing."""
    lock = bench.root / "t.lock.yaml"
    lock.write_text(lock.read_text().replace('"make": "', '"make": "0.'))
    assert '"0.' in lock.read_text()
    bench.write(HELLO)
    planned = {
        row["step"]: row["key"]
        for row in json.loads(bench.run("plan", "--recipe", str(bench.recipe), "--json").stdout)["steps"]
    }
    done = bench.build(timeout=280)
    moved = re.search(r"has moved on since the lock: (.*) Built with what it has", done.stderr, re.DOTALL)
    assert moved and re.search(
        r"\bmake 0\.|and \d+ more", moved[1]
    )  # the cached base may be older than the archive itself
    really = {
        row["step"]: row["key"]
        for row in json.loads(bench.run("plan", "--recipe", str(bench.recipe), "--json").stdout)["steps"]
    }
    assert really["base"] != planned["base"] and really["hello"] != planned["hello"]
    again = bench.build("--json")
    assert [e["how"] for e in bench.events(again, "StepFinished")] == ["cached"]
    assert any("moved on" in str(e["text"]) for e in bench.events(again, "Note"))
    refused = bench.build("--locked", check=3)
    assert (
        re.search(r"no longer has what is locked: .*\bmake 0\.", refused.stderr, re.DOTALL)
        and "stackbuild lock" in refused.stderr
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "has no lock"),
        ("", "broken"),
        ("schema: 1\nasked: x\n", "broken"),
        ('schema: 1\nasked: "' + "0" * 64 + '"\n', "stale"),
        ("<<<<<<< HEAD\nschema: 1\n=======\n>>>>>>> x\n", "broken"),
        ("schema: 99\n", "broken"),
        ("\x00\x01", "broken"),
        ("latin", "broken"),
    ],
)
def test_a_lock_that_does_not_fit_is_exit_3_and_says_lock(tmp_path: Path, text: str | None, said: str) -> None:
    bench = BuildBench(tmp_path, tmp_path / "store")
    bench.write(HELLO)
    if text is not None:
        (tmp_path / "t.lock.yaml").write_bytes("é".encode("latin-1") if text == "latin" else text.encode())
    done = bench.build(check=3)
    assert said in done.stderr and "stackbuild lock" in done.stderr and "t.lock.yaml" in done.stderr


class Engine:
    """A socket between the client and the real engine that can be cut, as when the engine is killed."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.cut = threading.Event()
        self.pairs: list[socket.socket] = []
        self.server = socket.socket(socket.AF_UNIX)
        self.server.bind(str(path))
        self.server.listen(50)
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self.server.accept()
            except OSError:
                return
            engine = socket.socket(socket.AF_UNIX)
            engine.connect("/var/run/docker.sock")
            self.pairs += [client, engine]
            for source, target in ((client, engine), (engine, client)):
                threading.Thread(target=self._copy, args=(source, target), daemon=True).start()

    def _copy(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)

    def die(self) -> None:
        self.server.shutdown(socket.SHUT_RDWR)
        self.server.close()
        self.path.unlink()
        for end in self.pairs:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        time.sleep(0.2)
        for end in self.pairs:
            end.close()


@pytest.mark.sandbox
@pytest.mark.docker
def test_an_engine_that_dies_mid_build_is_exit_7_and_the_next_run_goes_on(bench: BuildBench) -> None:
    bench.write("  slow: {kind: script, run: [[sh, -c, 'echo begun; sleep 6; echo done > /out/x']]}\n")
    engine = Engine(Path(f"/tmp/stackbuild-test-{os.getpid()}.sock"))
    bench.env = {"DOCKER_HOST": f"unix://{engine.path}"}
    process = subprocess.Popen(
        bench.command("build", "--recipe", str(bench.recipe), "--runner", "docker"), cwd=bench.root, env=bench.environment(),
        stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    end = time.monotonic() + 60
    while not any("begun\n" in log.read_text() for log in bench.store.glob("runs/*/logs/slow.log")):
        assert time.monotonic() < end and process.poll() is None
        time.sleep(0.05)
    engine.die()
    _, said = process.communicate(timeout=30)
    assert process.returncode == 7 and "Docker engine" in said and "Traceback" not in said, said
    assert not (bench.store / "failed" / "t.slow").exists(), "the engine's failure is not the step's"
    none = bench.build("--runner", "docker", check=7)
    assert "no Docker engine answers" in none.stderr and "--runner sandbox" in none.stderr
    bench.env = {}
    assert "container" in bench.build("--runner", "docker").stderr, "the container of the cut run is reaped"
