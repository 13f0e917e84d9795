"""Ports of other programs, and a scheduler that is stopped: exit code 7 within seconds, and a signal ends the wait."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from stackbuild.core.errors import MachineLacks
from support.cluster_steps import client
from support.clusters import Cluster, certificates, cluster
from support.paths import ROOT
from support.remotes import FakeRegistry

CONNECT = """
import sys
from pathlib import Path
from stackbuild.cluster.address import TlsFiles, parse_address
from stackbuild.cluster.engine import DaskConnection
from stackbuild.core.cancel import Stopper
from stackbuild.core.errors import Stop
address, *files = sys.argv[1:]
with Stopper().on_signals():
    print("connecting", flush=True)
    try:
        DaskConnection(parse_address(address, TlsFiles(*map(Path, files))))
    except Stop as stop:
        print(stop, flush=True)
        sys.exit(stop.exit_code)
"""


@contextmanager
def silent_port(greeting: bytes = b"") -> Iterator[int]:
    """A port that accepts, says the greeting and nothing more."""
    accepted: list[socket.socket] = []
    listener = socket.create_server(("127.0.0.1", 0))

    def accept() -> None:
        with suppress(OSError):
            while True:
                accepted.append(listener.accept()[0])
                accepted[-1].sendall(greeting)

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.close()
        for one in accepted:
            one.close()


@contextmanager
def connecting(*words: str) -> Iterator[subprocess.Popen[str]]:
    """A process that connects to a scheduler, once it has begun to."""
    command = [sys.executable, "-c", CONNECT, *words]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=ROOT)
    try:
        assert process.stdout is not None and process.stdout.readline() == "connecting\n"
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("greeting", (b"", b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"), ids=("silent", "http"))
def test_a_port_that_is_no_scheduler(greeting: bytes) -> None:
    with silent_port(greeting) as port, connecting(f"tcp://127.0.0.1:{port}") as process:
        since = time.monotonic()
        text = process.communicate(timeout=20)[0]
        assert process.returncode == 7 and time.monotonic() - since < 5, text
        assert "no scheduler answers" in text and "next: is it a scheduler" in text


def test_a_signal_ends_the_wait_for_a_scheduler() -> None:
    with silent_port() as port, connecting(f"tcp://127.0.0.1:{port}") as process:
        time.sleep(0.5)
        process.send_signal(signal.SIGTERM)
        since = time.monotonic()
        assert process.wait(20) == 143 and time.monotonic() - since < 1.5


def test_a_scheduler_that_is_stopped(tmp_path: Path) -> None:
    with FakeRegistry().served() as registry, cluster(tmp_path / "cluster", registry.url) as made:
        scheduler = made.scheduler()
        scheduler.kill(signal.SIGSTOP)
        try:
            with connecting(made.address) as process:
                since = time.monotonic()
                text = process.communicate(timeout=20)[0]
                assert process.returncode == 7 and time.monotonic() - since < 5 and "no scheduler answers" in text
        finally:
            scheduler.kill(signal.SIGCONT)


def test_a_client_with_tls_asks_whether_the_scheduler_has_it(tmp_path: Path) -> None:
    files = certificates(tmp_path / "tls")
    with FakeRegistry().served() as registry, cluster(tmp_path / "cluster", registry.url) as made:
        made.scheduler()
        for _ in range(4):  # what Dask raises differs
            with connecting(f"tcp+tls://127.0.0.1:{made.port}", *map(str, files.files)) as process:
                since = time.monotonic()
                text = process.communicate(timeout=20)[0]
                assert process.returncode == 7 and time.monotonic() - since < 5, text
                assert "has it TLS at all" in text


def test_a_name_and_a_port_that_are_taken(tmp_path: Path) -> None:
    with FakeRegistry().served() as registry, cluster(tmp_path / "cluster", registry.url) as made:
        made.scheduler()
        made.step_worker("w1")
        other = Cluster(tmp_path / "other", registry.url, made.port)
        other.root.mkdir()
        second = other.step_worker("w1", waits=False)
        try:
            second.waits_for("has a worker of the name w1 already: end that one, or choose another name with --name", 30)
        finally:
            second.end()
        words = [sys.executable, "-m", "stackbuild", "scheduler", made.address]
        refused = subprocess.run(words, capture_output=True, text=True, timeout=60, cwd=ROOT, check=False)
        assert refused.returncode == 7 and "in use" in refused.stderr and "another port" in refused.stderr
        with client(made):
            pass  # the first scheduler goes on


def test_what_dask_raises_of_a_client_is_no_defect(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Whether its TLS fails with an OSError is a matter of a moment."""

    def fail(*words: object, **named: object) -> None:
        raise ValueError("IOStream is not idle; cannot convert to SSL")

    monkeypatch.setattr("stackbuild.cluster.engine.StepClient", fail)
    made = Cluster(tmp_path, "oci+http://127.0.0.1:9/t/sb")
    with pytest.raises(MachineLacks, match="IOStream is not idle"), client(made):
        pass
