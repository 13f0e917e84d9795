"""The Docker engine: the connection, its errors, and container images through it. The one user of the docker SDK.

An image is a tag's digest, and its layers as files. The engine has what a pull may need (credentials, mirrors, proxies)
and checks what it pulls against the digest that was asked for. The bytes that it then hands out are checked here again,
against the image's own list of layers.
"""

from __future__ import annotations

import contextlib
import json
import os
import posixpath
import re
import socket
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any

from stackbuild.core import digest
from stackbuild.core.errors import MachineLacks, StepFailed

ANSWER_SECONDS = 600
PLATFORM = "linux/amd64"
PULL_ENDINGS = ("Pull complete", "Already exists")
_OFFLINE = re.compile(r"no such host|dial tcp|i/o timeout|TLS handshake timeout|Temporary failure in name resolution")


def connect() -> Any:
    """The SDK's client of the engine that `docker.from_env` finds. Raises MachineLacks when none answers."""
    import docker

    try:
        _try_socket(os.environ.get("DOCKER_HOST") or "unix:///var/run/docker.sock")
        client = docker.from_env(timeout=ANSWER_SECONDS)
        client.ping()
    except (docker.errors.DockerException, OSError) as error:
        raise MachineLacks(
            f"no Docker engine answers: {error}",
            next="start one (`ci/docker-engine` installs and starts Debian's), or use --runner sandbox",
            topic="docker",
        ) from None
    return client


def _try_socket(address: str) -> None:
    """Connect to an engine's socket and close it: the SDK leaves one open that it cannot connect. Raises OSError."""
    if address.startswith("unix://"):
        path = address.removeprefix("unix://")
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(ANSWER_SECONDS)
            try:
                connection.connect(path)
            except OSError as error:
                raise OSError(error.errno, error.strerror, path) from None


def find_engine() -> Any | None:
    """As `connect`, and None where no engine answers."""
    with contextlib.suppress(MachineLacks):
        return connect()
    return None


@contextlib.contextmanager
def engine_errors() -> Iterator[None]:
    """Within, an engine that refuses or stops answering is the machine's fault and not the step's. Raises MachineLacks."""
    from docker.errors import APIError, DockerException
    from requests.exceptions import RequestException

    from stackbuild.core.http_pool import HTTPError

    try:
        yield
    except APIError as error:
        raise MachineLacks(
            f"the Docker engine refused: {error.explanation or error}",
            next="correct what it names and run the same command: finished steps are kept",
            topic="docker",
        ) from None
    except (DockerException, RequestException, HTTPError) as error:
        raise MachineLacks(
            f"the Docker engine stopped answering: {error}",
            next="see the engine's own log, start it again and run the same command: finished steps are kept",
            topic="docker",
        ) from None


@contextlib.contextmanager
def gone_allowed() -> Iterator[None]:
    """Within, what the engine no longer has is not an error: another run may have removed it."""
    from docker.errors import NotFound

    with contextlib.suppress(NotFound):
        yield


def create_exec(client: Any, container: str, argv: tuple[str, ...], **settings: Any) -> Any | None:
    """A command of the container; None where the container has ended, as a step can kill its first process."""
    from docker.errors import APIError

    try:
        return client.api.exec_create(container, list(argv), **settings)
    except APIError as error:
        if error.status_code != HTTPStatus.CONFLICT:
            raise
        return None


def bind(at: str, source: Path, *, writable: bool) -> Any:
    """The SDK's value of a bind mount."""
    from docker.types import Mount

    return Mount(at, str(source), type="bind", read_only=not writable)


def has_image(client: Any, reference: str) -> bool:
    from docker.errors import NotFound

    try:
        client.api.inspect_image(reference)
    except NotFound:
        return False
    return True


@contextlib.contextmanager
def _image_errors(image: str) -> Iterator[None]:
    """Within, what the engine answers is said in one line: the image's fault, or the engine's. Raises StepFailed,
    MachineLacks."""
    from docker.errors import APIError

    with engine_errors():
        try:
            yield
        except APIError as error:
            message = f"the Docker engine cannot have {image}: {error.explanation or error}"
            _refuse_offline(message)
            raise StepFailed(
                message, where="base.image", next="check the name, the digest and `docker login`"
            ) from None


def _refuse_offline(message: str) -> None:
    """Raises MachineLacks where an engine says that it did not reach the registry."""
    if _OFFLINE.search(message):
        raise MachineLacks(
            message,
            where="base.image",
            next="check the network of this machine and of the engine, or give a mirror: --mirror DIR",
            topic="network",
        ) from None


def digest_in_registry(client: Any, image: str) -> str:
    """What the registry has under that name now, `sha256:…`: of an index where it has one. Raises StepFailed, MachineLacks."""
    with _image_errors(image):
        return str(client.images.get_registry_data(image).id)


@dataclass(frozen=True)
class EngineImage:
    """An image of one digest, `sha256:…`, as a Docker engine pulls it."""

    client: Any
    name: str
    digest: str

    @property
    def reference(self) -> str:
        return f"{self.name}@{self.digest}"

    def layers(self, folder: Path, tell: Callable[[str], None]) -> tuple[Path, ...]:
        """The layers, lowest first, as files in the empty folder; `tell` hears of each that has arrived.

        An image that the engine did not have before is removed from it again. Raises StepFailed, MachineLacks.
        """
        with _image_errors(self.reference):
            had = has_image(self.client, self.reference)
            if not had:
                self._pull(tell)
            try:
                self._refuse_other()
                self._save(folder)
            finally:
                if not had and has_image(self.client, self.reference):
                    self.client.api.remove_image(self.reference)
        return _layers(folder)

    def _pull(self, tell: Callable[[str], None]) -> None:
        """Raises StepFailed with what the engine says: its answer is 200 before it begins."""
        for line in self.client.api.pull(self.name, tag=self.digest, stream=True, decode=True, platform=PLATFORM):
            if "error" in line:
                message = f"the Docker engine cannot pull {self.reference}: {line['error']}"
                _refuse_offline(message)
                raise StepFailed(
                    message,
                    where="base.image",
                    next="check the network and `docker login`; the lock's digest may be gone from the registry",
                )
            if line.get("status") in PULL_ENDINGS:
                tell(f"layer {line.get('id', '')}: {line['status'].lower()}")

    def _refuse_other(self) -> None:
        has = self.client.api.inspect_image(self.reference).get("RepoDigests") or []
        if not any(str(one).endswith(f"@{self.digest}") for one in has):
            raise StepFailed(
                f"the Docker engine has {', '.join(has) or 'no digest'} for {self.reference}", where="base.image"
            )

    def _save(self, folder: Path) -> None:
        """`docker save`, unpacked into the folder."""
        archive = folder / "image.tar"
        with archive.open("wb") as file:
            for chunk in self.client.api.get_image(self.reference):
                file.write(chunk)
        with tarfile.open(archive) as tar:
            if hasattr(tarfile, "data_filter"):
                tar.extractall(folder, filter="data")
            else:  # Python before 3.11.4, such as Debian 12's
                tar.extractall(folder, [_refuse_outside(member) for member in tar])
        archive.unlink()


def _refuse_outside(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """The member, as a file, folder or link inside of the archive's folder. Raises StepFailed for another one."""
    target = posixpath.join(posixpath.dirname(member.name) if member.issym() else "", member.linkname)
    paths = [member.name, *([target] if member.issym() or member.islnk() else [])]
    inside = all(not path.startswith("/") and posixpath.normpath(path).split("/")[0] != ".." for path in paths)
    if not inside or not (member.isdir() or member.isreg() or member.issym() or member.islnk()):
        raise StepFailed(
            f"the saved image has a member that leads out of it: {member.name[:120]!r}", where="base.image"
        )
    member.mode &= 0o755
    return member


def _layers(folder: Path) -> tuple[Path, ...]:
    """The layers that `manifest.json` names, each checked against its own name or the image's list. Raises StepFailed."""
    try:
        one = json.loads((folder / "manifest.json").read_text("utf-8"))[0]
        config = json.loads((folder / one["Config"]).read_text("utf-8"))
        layers = tuple(folder / str(name) for name in one["Layers"])
        diff_ids = [str(name).removeprefix("sha256:") for name in config["rootfs"]["diff_ids"]]
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise StepFailed(f"the Docker engine saved no image: {error!r}", where=str(folder)) from None
    if len(layers) != len(diff_ids):
        raise StepFailed(f"the saved image has {len(layers)} layers and lists {len(diff_ids)}", where=str(folder))
    for path, layer_digest in zip(layers, diff_ids, strict=True):
        # Not compressed it has the listed digest; an engine with containerd's store may save it as it came, under its own.
        if not path.resolve().is_relative_to(folder.resolve()) or digest.of_file(path) not in (layer_digest, path.name):
            raise StepFailed("the saved image is damaged: a layer has another digest than it lists", where=path.name)
    return layers


def registry_login(host: str) -> tuple[str, str] | None:
    """User and password that `docker login HOST` has stored, by way of a credential helper too; None where there are none.

    Docker's own library reads its configuration. Raises MachineLacks where that cannot be read.
    """
    from docker import auth
    from docker.errors import DockerException

    try:
        login = auth.load_config().resolve_authconfig(host) or {}
    except (DockerException, OSError, ValueError) as error:
        raise MachineLacks(f"docker's logins cannot be read: {error}", next=f"docker login {host}") from None
    user, password = login.get("Username", login.get("username")), login.get("Password", login.get("password"))
    return (user, password) if user and password else None
