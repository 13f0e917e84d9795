"""URLs of remotes."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit

from stackbuild.core.errors import UsageError
from stackbuild.core.loopback import is_loopback

SCHEMES = "oci://HOST/REPOSITORY, oci+http://HOST:PORT/REPOSITORY, https://…, http://… or file:///…"


def kind_and_root(url: str) -> tuple[str, str]:
    """Kind (oci, web, file) and root of a URL. Raises UsageError."""
    try:
        parts = urlsplit(url)
        host, name = parts.hostname, parts.path.strip("/")
    except ValueError as error:
        raise UsageError(f"{url!r} is not a URL: {error}", next=f"write {SCHEMES}") from None
    if parts.query or parts.fragment or parts.username:
        raise UsageError(f"{url!r} has a login or a query in it", next=f"write {SCHEMES}; `docker login` keeps logins")
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
