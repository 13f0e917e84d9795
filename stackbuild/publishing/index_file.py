"""Reading a file of an index that somebody else may have written: bounded, never waited for, never out of the index."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path, PurePosixPath

from stackbuild.core import digest
from stackbuild.core.errors import UsageError
from stackbuild.publishing.snapshot import SnapshotFile

THREADS = 4
"""Files are read side by side: hashing runs outside of the interpreter's lock."""


def no_folder(index: Path) -> UsageError:
    """The error for a folder that is not there; a URL is named as one."""
    if re.match(r"[a-z][a-z0-9+]+:/", str(index)):
        return UsageError(
            "this command reads a folder, and a URL was given",
            where=str(index).replace(":/", "://", 1),
            next="copy the index with its links into a folder first, as by `rsync -a`, and give that",
        )
    return UsageError("there is no such folder", where=str(index), next="give the folder of an index: dist/simple")


def read_file(index: Path, path: str, limit: int) -> bytes:
    """The bytes of a file of an index. Raises OSError, and ValueError with the reason where it is not to be read."""
    with open(open_file(index, path), "rb") as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise ValueError(f"it has more than {limit >> 20} MiB")
    return data


def difference(index: Path, path: str, entry: SnapshotFile) -> str:
    """What of the file differs from what was signed, in a line; "" for nothing. A file of another size is not read."""
    try:
        with open(open_file(index, path), "rb", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            if size != entry.size:
                return f"{path} has {size} bytes, {entry.size} were signed"
            sha256 = digest.of_stream(file)
    except FileNotFoundError:
        return f"{path} is missing"
    except ValueError as error:
        return f"{path}: {error}"
    except OSError as error:
        return f"{path} cannot be read: {error.strerror}"
    return "" if sha256 == entry.sha256 else f"{path} has sha256 {sha256}, {entry.sha256} was signed"


def open_file(index: Path, path: str) -> int:
    """A descriptor of a regular file of the index. Links are followed within the index alone: a page is one.

    Raises OSError, and ValueError where the path leads out of the index or to something that is not a file.
    """
    if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts or "\0" in path:
        raise ValueError("the path leads out of the index")
    try:
        target = (index / path).resolve(strict=True)
    except RuntimeError:
        raise ValueError("the link leads to itself") from None
    if not target.is_relative_to(index.resolve()):
        raise ValueError("the link leads out of the index")
    fd = os.open(target, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise ValueError("it is not a file")
    return fd
