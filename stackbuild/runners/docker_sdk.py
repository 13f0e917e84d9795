"""The docker SDK as stackbuild uses it: no other module imports the SDK or the two libraries whose errors it lets through.

It is imported only where an engine is wanted, since the SDK takes 0.2 s to import.
"""

from __future__ import annotations

from typing import Any

import docker
from docker.errors import APIError, DockerException, ImageNotFound, NotFound
from requests.exceptions import RequestException
from urllib3.exceptions import HTTPError

__all__ = ["ENGINE_ERRORS", "NO_ENGINE_ERRORS", "APIError", "ImageNotFound", "NotFound", "bind_mount", "connect"]

ANSWER_SECONDS = 600
ENGINE_ERRORS = (DockerException, RequestException, HTTPError)
"""What a call can raise where the engine refuses, or stops answering."""
NO_ENGINE_ERRORS = (DockerException, OSError)
"""What `connect` raises where no engine answers."""


def connect() -> Any:
    """The client of the engine that `docker.from_env` finds. Raises NO_ENGINE_ERRORS."""
    client = docker.from_env(timeout=ANSWER_SECONDS)
    client.ping()
    return client


def bind_mount(source: str, at: str, *, writable: bool) -> docker.types.Mount:
    """A folder or file of the host at a path of the container."""
    return docker.types.Mount(at, source, type="bind", read_only=not writable)
