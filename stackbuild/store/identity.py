"""What names a store among all that share a Docker engine: containers carry it, so that each store removes its own only."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
from pathlib import Path

NAME = "id"
_ID = re.compile(r"[0-9a-f]{32}")


def identity(root: Path) -> str:
    """A random name that is kept in the store, and its folder's inode: a copy of a store is another one. Raises OSError."""
    file = root / NAME
    if (known_identity := _read(file)) is None:
        staging_file = root / "tmp" / f"{NAME}.{secrets.token_hex(8)}"
        staging_file.write_text(secrets.token_hex(16) + "\n")
        if file.exists():  # damaged: whoever carries the old name is not known to be this store's
            staging_file.replace(file)
        else:
            with contextlib.suppress(FileExistsError):  # another run was faster
                os.link(staging_file, file)
            staging_file.unlink()
        known_identity = _read(file)
    return f"{known_identity}.{root.stat().st_ino}"


def _read(file: Path) -> str | None:
    with contextlib.suppress(OSError):
        text = file.read_text("ascii", "replace").strip()
        return text if _ID.fullmatch(text) else None
    return None
