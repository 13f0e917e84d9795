"""Whether a disk is full: asked of the disk, and not believed of a program that says so."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path

ROOM = 256 << 20
"""Bytes that a disk with room for a build step has: a failed compile removes what it had begun to write."""
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT)


def is_full(folder: Path) -> bool:
    """Whether `ROOM` bytes cannot be had for a file in that folder, by the disk's size or the user's quota."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            os.posix_fallocate(file.fileno(), 0, ROOM)
    except OSError as error:
        return error.errno in _NO_ROOM
    return False
