"""A scheduler and workers of their own processes on loopback, with stores and remotes settings of their own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from stackbuild.cluster.address import TlsFiles
from support.paths import ROOT
from support.remotes import key_files

START_SECONDS = 90.0


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def eventually(holds: Callable[[], object], seconds: float = 5.0) -> bool:
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


@dataclass
class ClusterProcess:
    """A process of a cluster, with what it has printed so far."""

    process: subprocess.Popen[bytes]
    log: Path

    def waits_for(self, text: str, seconds: float = START_SECONDS) -> None:
        end = time.monotonic() + seconds
        while text not in self.log.read_text():
            assert self.process.poll() is None and time.monotonic() < end, f"no {text!r}: {self.log.read_text()}"
            time.sleep(0.02)

    def kill(self, number: int = signal.SIGKILL) -> None:
        self.process.send_signal(number)

    def end(self) -> int:
        """Its exit code, once it was asked to end."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise


@dataclass
class Cluster:
    """A folder with the keys, the remotes settings and the logs of a cluster whose remote has that URL."""

    root: Path
    remote: str
    port: int = field(default_factory=free_port)
    scheme: str = "tcp"
    more: dict[str, str] = field(default_factory=dict)
    """Environment of every member: the certificates of one with TLS."""
    members: list[ClusterProcess] = field(default_factory=list)

    @property
    def address(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}"

    def settings(self, name: str, writes: bool = True, remote: str = "") -> Path:
        """A remotes.yaml for a member; every member trusts the one key and signs with it."""
        private, public = key_files(self.root)
        path = self.root / f"{name}.remotes.yaml"
        write = f"    write: true\n    sign: {private}\n" if writes else ""
        path.write_text(
            f'remotes:\n  - url: {remote or self.remote}\n    read: ["{public.read_text().strip()}"]\n{write}'
        )
        path.chmod(0o600)
        return path

    def environment(self, name: str, store: Path, writes: bool = True, remote: str = "") -> dict[str, str]:
        settings = str(self.settings(name, writes, remote))
        paths = f"{ROOT}:{ROOT / 'tests'}"
        return {"STACKBUILD_STORE": str(store), "STACKBUILD_REMOTES": settings, "PYTHONPATH": paths, **self.more}

    def scheduler(self) -> ClusterProcess:
        environment = self.environment("scheduler", self.root / "scheduler-store")
        member = self._start("scheduler", ("stackbuild", "scheduler", self.address), environment)
        member.waits_for("listening at")
        return member

    def worker(self, name: str, store: Path, *words: str, address: str = "", waits: bool = True) -> ClusterProcess:
        command = ("stackbuild", "worker", address or self.address, "--name", name, *words)
        member = self._start(name, command, self.environment(name, store))
        if waits:
            member.waits_for("is connected")
        return member

    def step_worker(
        self, name: str, remote: str = "", address: str = "", amounts: str = "{}", waits: bool = True
    ) -> ClusterProcess:
        """A worker of `support.cluster_steps`, with a store below the cluster's folder."""
        store = self.root / f"{name}-store"
        words = ("support.cluster_steps", address or self.address, name, str(store), str(self.root))
        environment = {**self.environment(name, store, remote=remote), "CLUSTER_AMOUNTS": amounts}
        member = self._start(name, words, environment)
        if waits:
            member.waits_for("is connected")
        return member

    def _start(self, name: str, words: tuple[str, ...], environment: dict[str, str]) -> ClusterProcess:
        log = self.root / f"{name}.{len(self.members)}.log"
        with log.open("wb") as file:
            process = subprocess.Popen(
                [sys.executable, "-m", *words],
                env={**os.environ, **environment},
                stdout=file, stderr=file, start_new_session=True,
            )  # fmt: skip
        self.members.append(ClusterProcess(process, log))
        return self.members[-1]


def _named(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def certificates(folder: Path, hours: tuple[int, int] = (-1, 1)) -> TlsFiles:
    """An authority, and a certificate and key that it signed, as PEM files: good between these hours from now."""
    begin, end = (datetime.now(UTC) + timedelta(hours=hour) for hour in hours)
    authority, own = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())

    def signed(key: ec.EllipticCurvePrivateKey, is_authority: bool) -> bytes:
        name = _named("member") if not is_authority else _named("authority")
        made = x509.CertificateBuilder(_named("authority"), name, key.public_key(), x509.random_serial_number())
        made = made.not_valid_before(begin).not_valid_after(end)
        made = made.add_extension(x509.BasicConstraints(is_authority, None), critical=True)
        return made.sign(authority, hashes.SHA256()).public_bytes(Encoding.PEM)

    folder.mkdir()
    files = TlsFiles(folder / "ca.pem", folder / "cert.pem", folder / "key.pem")
    assert files.ca and files.cert and files.key
    files.ca.write_bytes(signed(authority, True))
    files.cert.write_bytes(signed(own, False))
    files.key.write_bytes(own.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return files


class Proxy:
    """A TCP proxy of this process to a port: `cut` ends all its connections, and refuses new ones until `mend`."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._is_cut = False
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"tcp://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                if self._is_cut:
                    near.close()
                    continue
                far = socket.create_connection(("127.0.0.1", self._target))
                self._pairs.append((near, far))
                for one, other in ((near, far), (far, near)):
                    threading.Thread(target=self._pump, args=(one, other), daemon=True).start()

    def _pump(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                target.sendall(data)
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def cut(self) -> None:
        self._is_cut = True
        for pair in self._pairs:
            for end in pair:
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
        self._pairs.clear()

    def mend(self) -> None:
        self._is_cut = False

    def close(self) -> None:
        self.cut()
        self._listener.close()


@contextmanager
def cluster(root: Path, remote: str) -> Iterator[Cluster]:
    """A cluster without members yet; those that it gets end with it."""
    root.mkdir(parents=True, exist_ok=True)
    made = Cluster(root, remote)
    try:
        yield made
    finally:
        for member in reversed(made.members):
            member.end()
