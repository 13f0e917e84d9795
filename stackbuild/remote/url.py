"""URLs of remotes."""

from __future__ import annotations

import os.path
import re
from urllib.parse import unquote, urlsplit

from stackbuild.core.errors import UsageError
from stackbuild.core.loopback import is_loopback

SCHEMES = "oci://HOST/REPOSITORY, oci+http://HOST:PORT/REPOSITORY, https://…, http://… or file:///…"

REPOSITORY = re.compile(r"{0}(?:/{0})*".format(r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"))
"""A repository's name, by the OCI distribution specification."""
PORTS = {"http": 80, "https": 443}


def kind_and_root(url: str) -> tuple[str, str]:
    """Kind (oci, web, file) and root of a URL. Raises UsageError."""
    try:
        parts = urlsplit(url)
        host, name, _ = parts.hostname, parts.path.strip("/"), parts.port
    except ValueError as error:
        raise UsageError(f"{url!r} is not a URL: {error}", next=f"write {SCHEMES}") from None
    if parts.query or parts.fragment or "@" in parts.netloc:
        raise UsageError(f"{url!r} has a login or a query in it", next=f"write {SCHEMES}; `docker login` keeps logins")
    if parts.scheme.startswith("oci") and host and name:
        _refuse_repository(parts.path, url)
    match parts.scheme:
        case "file" if not parts.netloc and parts.path.startswith("/"):
            return "file", unquote(parts.path)
        case "http" | "https" if host:
            return "web", url.rstrip("/") + "/"
        case "oci" if host and name:
            scheme = "http" if is_loopback(host) else "https"
            return "oci", f"{scheme}://{parts.netloc}/v2/{name}/"
        case "oci+http" if host and name:
            return "oci", f"http://{parts.netloc}/v2/{name}/"
    raise UsageError(f"{url!r} is not a URL of a remote", next=f"write {SCHEMES}")


def _refuse_repository(path: str, url: str) -> None:
    """Raises UsageError for what no registry takes as a repository: two spellings of one would be two remotes."""
    if not REPOSITORY.fullmatch(path.removeprefix("/").rstrip("/")):
        raise UsageError(
            f"{url!r} does not name a repository",
            next="it has words of a-z and 0-9, with `.`, `_`, `__` or `-` within them and `/` between them, and no tag:"
            " oci://ghcr.io/acme/stackbuild",
        )


def place_of(url: str) -> tuple[str, str]:
    """What two spellings of one remote have in common. A text that is not a URL of a remote is a place of its own.

    Letters of scheme and host in either case, a default port, slashes at the end, and in a path on this machine `.`, `..`
    and doubled slashes make no other remote.
    """
    try:
        kind, root = kind_and_root(url)
        if kind == "file":
            return kind, os.path.normpath("/" + root.lstrip("/"))
        parts = urlsplit(root)
        port = parts.port or PORTS[parts.scheme]
    except (UsageError, ValueError):
        return "", url
    return kind, f"{parts.scheme}://{parts.hostname}:{port}{parts.path.rstrip('/')}"
