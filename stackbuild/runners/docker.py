"""The docker runner: the same root file system imported as an image, one container a session.

Containers have no network, no privileges, no capabilities and no docker socket, and the refusals of `runners/seccomp`.
They carry the run's id and the store's as labels; those of this store's dead runs are removed at the next start. A
failed session is kept as an image for `stackbuild shell`.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

from stackbuild.core.cancel import Stopper
from stackbuild.core.errors import MachineLacks
from stackbuild.runners import seccomp
from stackbuild.runners.engine import bind, connect, create_exec, engine_errors, gone_allowed, has_image
from stackbuild.runners.log import LogWriter
from stackbuild.runners.protocol import Exec, ExecResult, Session, SessionSpec
from stackbuild.store.identity import identity
from stackbuild.store.store import Store

LABEL = "org.stackbuild.run"
STORE = "org.stackbuild.store"
POLL_SECONDS = 0.05
_FRAME = struct.Struct(">BxxxL")
"""A frame of an attached command: which stream, and how many bytes follow (Engine API, `ContainerAttach`)."""


RAN_OUT = ("cat", "/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control")
"""Shows the container's count of kills for memory, control groups version 2 and 1: the engine's own flag is not set for
commands that were begun by exec."""
OUTPUT_MOST, OUTPUT_SECONDS = 1 << 16, 10.0
"""Bytes and seconds of what a container is asked for."""
SIGKILL_EXIT_CODE = 137
"""What a shell says of a command that SIGKILL ended."""
KEEP_DAYS = {"stackbuild-failed": 7, "stackbuild-base": 30}
"""Images that are removed when older; a base is imported again when it is needed."""


class Docker:
    """A Runner on the engine that `docker.from_env` finds, Docker or podman, for the run that has opened that store."""

    name = "docker"

    def __init__(self, store: Store) -> None:
        self.store = store
        self._importing = threading.Lock()

    @cached_property
    def store_id(self) -> str:
        return identity(self.store.root)

    @cached_property
    def client(self) -> Any:
        """The connection. Raises MachineLacks when no engine answers."""
        return connect()

    @contextlib.contextmanager
    def open(self, spec: SessionSpec) -> Iterator[Session]:
        with engine_errors():
            image = self._image(spec)
        with self._container(spec, image) as session:
            yield session

    @contextlib.contextmanager
    def reopen(self, spec: SessionSpec, snapshot: str) -> Iterator[Session]:
        with self._container(spec, snapshot) as session:
            yield session

    def reap(self) -> tuple[str, ...]:
        """Remove containers of this store's dead runs, and old images.

        A run lives while it holds its lock in the store. That holds whatever namespace its process is in, and whatever
        machine the engine is on; a container of another store is left to that store.
        """
        with engine_errors():
            return (*self._reap_containers(), *self._reap_images())

    def _reap_images(self) -> Iterator[str]:
        now = time.time()
        for name, days in KEEP_DAYS.items():
            for row in self.client.api.images(name=name):  # one answer; `images.list` asks for each, which may be gone
                if now - row["Created"] >= days * 86400:
                    with gone_allowed():
                        self.client.images.remove(row["Id"], force=True)
                        yield f"image {', '.join(row['RepoTags'] or ())}"

    def _reap_containers(self) -> Iterator[str]:
        ours = {"label": f"{STORE}={self.store_id}"}
        for container in self.client.containers.list(all=True, filters=ours, ignore_removed=True):
            if container.labels.get(LABEL) not in (self.store.run, *self.store.others()):
                with gone_allowed():
                    container.remove(force=True)
                    yield f"container {container.name}"

    def _image(self, spec: SessionSpec) -> str:
        """The image of the session's base, imported on first use; its tag is the base's digest."""
        name = f"stackbuild-base:{spec.base_digest[:32]}"
        with self._importing:
            if not has_image(self.client, name):
                self._import(spec.base, name)
        return name

    def _import(self, base: Path, name: str) -> None:
        """`docker import` of the tree, streamed through tar so that nothing is written twice."""
        repository, _, tag = name.partition(":")
        words = ["tar", "--create", "--numeric-owner", "--sort=name", f"--directory={base}", "."]
        with subprocess.Popen(words, stdout=subprocess.PIPE) as tar:
            answer = self.client.api.import_image_from_data(_Chunks(tar.stdout), repository=repository, tag=tag)
        if tar.returncode or '"error"' in str(answer):
            next = "check the engine's disk space"
            raise MachineLacks(f"docker import failed: {answer}", where=str(base), next=next, topic="docker")
        image = _IMAGE_ID.search(str(answer))
        if image and not has_image(self.client, name):  # podman 4.3 imports without the tag
            self.client.api.tag(image[0], repository, tag)

    @contextlib.contextmanager
    def _container(self, spec: SessionSpec, image: str) -> Iterator[_DockerSession]:
        binds = [bind(m.at, m.source, writable=m.writable) for m in spec.mounts]
        with engine_errors(), self._seccomp() as profile:
            container = self._create(spec, image, binds, profile)
        try:
            with engine_errors():
                container.start()
            yield _DockerSession(self.client, container)
        finally:
            _remove(container)

    @contextlib.contextmanager
    def _seccomp(self) -> Iterator[str]:
        """The profile as the engine takes it when a container is created: Docker its text, podman the path of a file."""
        text = seccomp.docker_profile()
        if not self._is_podman:
            yield text
            return
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            file.write(text)
            file.flush()
            yield file.name

    @cached_property
    def _is_podman(self) -> bool:
        return any(component["Name"] == "Podman Engine" for component in self.client.version().get("Components") or ())

    def _create(self, spec: SessionSpec, image: str, binds: list[Any], profile: str) -> Any:
        return self.client.containers.create(
            image,
            command=["/bin/sh", "-c", "while :; do sleep 3600; done"],
            init=True,
            hostname="stackbuild",
            network_mode="bridge" if spec.network else "none",
            cap_drop=["ALL"],
            security_opt=["no-new-privileges", f"seccomp={profile}"],
            privileged=False,
            pids_limit=spec.processes,
            mem_limit=spec.memory,
            memswap_limit=spec.memory,
            mounts=binds,
            tmpfs={"/tmp": "exec,mode=1777"},
            user=f"{os.getuid()}:{os.getgid()}",
            labels={LABEL: spec.label, STORE: self.store_id},
        )


_IMAGE_ID = re.compile(r"sha256:[0-9a-f]{64}")


def _remove(container: Any) -> None:
    """Remove it where the engine lets us; else the next start does, by its label."""
    with contextlib.suppress(MachineLacks), engine_errors():
        container.remove(force=True)


class _Chunks:
    """A pipe as the file-like object the SDK streams from."""

    def __init__(self, pipe: Any) -> None:
        self.pipe = pipe

    def __iter__(self) -> Iterator[bytes]:
        while chunk := self.pipe.read(1 << 20):
            yield chunk


def _frames(connection: Any) -> Iterator[bytes]:
    """What a command prints, of the SDK's connection to it, without the header of each frame.

    The SDK's own reader takes the socket below the response. It loses what came in one packet with the response's headers:
    the first words of a quick command, 6 times of 450 on a busy machine.
    """
    with contextlib.closing(connection):
        stream = connection._response.raw._fp.fp
        while len(header := stream.read(_FRAME.size)) == _FRAME.size:
            yield stream.read(_FRAME.unpack(header)[1])


class _DockerSession:
    def __init__(self, client: Any, container: Any) -> None:
        self.client = client
        self.container = container

    def run(self, exec: Exec, stopper: Stopper) -> ExecResult:
        with engine_errors():
            return self._run(exec, stopper)

    def _run(self, exec: Exec, stopper: Stopper) -> ExecResult:
        start_time = time.monotonic()
        failures: list[Exception] = []
        execution = create_exec(
            self.client, self.container.id, exec.argv, environment=dict(exec.env), workdir=exec.cwd, stdin=False
        )
        if execution is None:
            return ExecResult(SIGKILL_EXIT_CODE, time.monotonic() - start_time, False)
        reader = threading.Thread(target=self._copy, args=(execution["Id"], exec.log, failures), daemon=True)
        reader.start()
        while reader.is_alive():
            if stopper.signal:
                _remove(self.container)
                reader.join(5)
                stopper.check()
            reader.join(POLL_SECONDS)
        if failures:
            raise failures[0]
        code = self.client.api.exec_inspect(execution["Id"])["ExitCode"]
        return ExecResult(
            SIGKILL_EXIT_CODE if code is None else code,
            time.monotonic() - start_time,
            self._ran_out() if code else False,
        )

    def _ran_out(self) -> bool | None:
        """Whether the kernel killed something in the container for memory; None where it does not count that."""
        self.container.reload()
        if self.container.attrs["State"].get("OOMKilled") or not self.container.attrs["State"].get("Running"):
            return bool(self.container.attrs["State"].get("OOMKilled"))
        numbers = self._output(RAN_OUT).decode("ascii", "replace").split()
        counts = [count for name, count in pairwise(numbers) if name == "oom_kill"]
        return any(count != "0" for count in counts) if counts else None

    def _output(self, argv: tuple[str, ...]) -> bytes:
        """What a short command in the container says. The program may be the step's: no more is read than a little, and
        it is waited for no longer than a moment."""
        execution = create_exec(self.client, self.container.id, argv)
        if execution is None:
            return b""
        output = bytearray()

        def read() -> None:
            with contextlib.suppress(OSError):  # the container can be gone: nothing was said then
                for chunk in _frames(self.client.api.exec_start(execution["Id"], socket=True)):
                    output.extend(chunk)
                    if len(output) > OUTPUT_MOST:
                        break

        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        reader.join(OUTPUT_SECONDS)
        return bytes(output)

    def _copy(self, exec_id: str, log: Path, failures: list[Exception]) -> None:
        """Runs in a thread of its own; `run` reports what goes wrong."""
        try:
            with contextlib.closing(LogWriter(log)) as writer:
                for chunk in _frames(self.client.api.exec_start(exec_id, socket=True)):
                    writer.write(chunk)
        except Exception as error:
            failures.append(error)

    def exec_interactive(self, argv: tuple[str, ...], env: tuple[tuple[str, str], ...], cwd: str) -> int:
        if not shutil.which("docker"):
            raise MachineLacks("`docker` is not installed", next="apt-get install docker-cli (or docker.io)")
        terminal = ["--tty"] if sys.stdin.isatty() and sys.stdout.isatty() else []
        words = ["docker", "exec", "--interactive", *terminal, "--workdir", cwd]
        words += [word for name, value in env for word in ("--env", f"{name}={value}")]
        return subprocess.run([*words, self.container.id, *argv], check=False).returncode

    def snapshot(self) -> str:
        with engine_errors():
            image = self.container.commit(repository="stackbuild-failed", tag=self.container.short_id)
        return str(image.tags[0])
