"""Reading a file whose name, kind and size somebody else chose: what a step, a wheel or a source left behind."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path
from typing import BinaryIO


def read_plain(folder: Path, name: str, limit: int) -> bytes | None:
    """The first `limit` bytes of the regular file `name` below `folder`; None where there is no such file.

    No part of `name` is followed when it is a link, and nothing is waited for: a FIFO or a device is not such a file.
    """
    parts = name.split("/")
    if "" in parts or ".." in parts:
        return None
    with contextlib.ExitStack() as stack:

        def below(part: str, flags: int, parent: int | None) -> int:
            file = os.open(part, flags | os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
            stack.callback(os.close, file)
            return file

        try:
            parent = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            stack.callback(os.close, parent)
            for part in parts[:-1]:
                parent = below(part, os.O_DIRECTORY, parent)
            file = below(parts[-1], os.O_NONBLOCK, parent)
            if not stat.S_ISREG(os.fstat(file).st_mode):
                return None
            return _read(file, limit)
        except OSError:
            return None


def read_regular(path: Path, limit: int) -> bytes | None:
    """The first `limit` bytes of the regular file that `path` leads to, links followed; None where it leads to none.

    Nothing is waited for: a FIFO or a device is not such a file.
    """
    try:
        file = open_named_file(path)
    except (OSError, ValueError):
        return None
    try:
        return _read(file, limit)
    finally:
        os.close(file)


def read_bounded(path: Path, limit: int) -> bytes:
    """All of a file that a person named, a pipe too. Raises ValueError where it is longer than `limit`, OSError."""
    with path.open("rb") as file:
        return _whole(file, limit)


def read_named_file(path: Path, limit: int) -> bytes:
    """All of a regular file that a person named; a FIFO or a device is not waited for. Raises ValueError where it is another
    thing or longer than `limit`, OSError."""
    with open(open_named_file(path), "rb") as file:
        return _whole(file, limit)


def open_named_file(path: Path) -> int:
    """A descriptor of a regular file that a person named, links followed. Raises ValueError where it is another thing, OSError."""
    file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise ValueError("it is not a file")
    return file


def _whole(file: BinaryIO, limit: int) -> bytes:
    data = file.read(limit + 1)
    if len(data) > limit:
        raise ValueError(f"longer than {limit:,} bytes")
    return data


def _read(file: int, limit: int) -> bytes:
    pieces = []
    while limit and (piece := os.read(file, min(limit, 1 << 20))):
        pieces.append(piece)
        limit -= len(piece)
    return b"".join(pieces)
