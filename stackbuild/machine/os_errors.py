"""An error of the operating system as what the machine lacks."""

from __future__ import annotations

from pathlib import Path

from stackbuild.core.errors import MachineLacks
from stackbuild.store.store import NO_SPACE, default_root, disk_full

HINTS = {13: "check the permissions", 30: "it is read-only"}
"""What to do next, for EACCES and EROFS."""


def machine_lack(error: OSError) -> MachineLacks:
    """What the machine does not give, in words."""
    if error.errno in NO_SPACE:
        return disk_full(Path(error.filename) if error.filename else default_root(), default_root())
    next = HINTS.get(error.errno or 0, "check the path and its permissions")
    return MachineLacks(f"{error.strerror or error}", where=str(error.filename or ""), next=next)
