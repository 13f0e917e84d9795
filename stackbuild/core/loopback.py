"""Which hosts of a URL are this machine."""

from __future__ import annotations

LOOPBACK = ("localhost", "127.0.0.1", "::1")


def is_loopback(host: str | None) -> bool:
    """Whether a host of a URL is this machine by its name: nobody else reads what is sent to it."""
    return host in LOOPBACK
