"""Files of the emulator's folders, compared with their digests before use: what is damaged counts as not there.

A disk that is full, a power cut or a faulty copy can leave part of a file. A damaged library would run, and compute
otherwise.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

_HEAD = re.compile(rb'\{"sha256": "([0-9a-f]{64})", ')
_SETTLED_NS = 1_000_000_000
"""A file that changed less than so many nanoseconds ago may change again under the same time stamps."""

_LACKS = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM))
LACKS = tuple(os.strerror(number) for number in (errno.ENOSPC, errno.EDQUOT, errno.EROFS))
"""What compilers and the linker say of a disk that takes no more."""


def is_lack(error: OSError) -> bool:
    """Whether a file could not be written because room or leave is missing. The machine lacks it, and no wheel is wrong."""
    return error.errno in _LACKS


@contextmanager
def lock(folder: Path) -> Iterator[None]:
    """Wait for the other processes that write into this folder, and keep them out."""
    with (folder / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def digest_of(path: Path) -> str:
    """The SHA-256 of a file in hexadecimal, "" where it cannot be read. A file that did not change is read once a process."""
    try:
        status = path.stat()
        stamp = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        if time.time_ns() - status.st_ctime_ns > _SETTLED_NS:
            return _stable_digest(path, stamp)
        return sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""


@lru_cache(maxsize=1 << 16)
def _stable_digest(path: Path, stamp: tuple[int, ...]) -> str:
    """The digest of a file by its path, inode number, size and time stamps. Raises OSError."""
    return sha256(path.read_bytes()).hexdigest()


def move_into_place(fresh: Path, path: Path) -> None:
    """Flush a new file and give it its name: a power cut leaves the former file or the whole new one."""
    with fresh.open("rb") as file:
        os.fsync(file.fileno())
    fresh.replace(path)


def write_file(path: Path, data: bytes) -> None:
    """Write a file that is whole or not there."""
    fresh = path.with_suffix(f".{os.getpid()}.new")
    fresh.write_bytes(data)
    move_into_place(fresh, path)


def write_record(path: Path, record: dict[str, Any]) -> None:
    """Write a JSON object whose first key is the digest of what follows it. `record` has at least one key."""
    rest = json.dumps(record, indent=0)[1:].lstrip().encode()
    write_file(path, b'{"sha256": "%s", %s' % (sha256(rest).hexdigest().encode(), rest))


def read_record(path: Path) -> dict[str, Any]:
    """What `write_record` wrote; empty where there is none, or where a single byte of it differs."""
    try:
        data = path.read_bytes()
    except OSError:
        return {}
    head = _HEAD.match(data)
    if head is None or sha256(data[head.end() :]).hexdigest().encode() != head[1]:
        return {}
    record = json.loads(data)
    return record if isinstance(record, dict) else {}
