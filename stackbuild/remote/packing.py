"""Files of a tree compressed into a pack, and the bytes of that pack until they are sent.

Each byte of a file is read once: its sha256 and the compressor get the same buffer. Each compressed byte is kept as the
piece that it came in, and goes to the connection from there.
"""

from __future__ import annotations

import bisect
import contextlib
import errno
import hashlib
import os
import stat
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import IO

from stackbuild.core.cancel import check_signals
from stackbuild.core.zstd import ZstdCompressor
from stackbuild.remote.packs import Pack
from stackbuild.remote.protocol import PARALLEL
from stackbuild.remote.trees import CHUNK, StoredBlob
from stackbuild.store.tree import Entry

IN_MEMORY = 20 << 20
"""Bytes of a compressed pack that are held in memory; of a longer one the rest lies on the disk."""
LARGE_PACK = 32 << 20
"""Bytes of a pack from which on zstd compresses it in threads of its own, while this one reads and hashes. The blob is the
same for any number of threads, and another one than without threads. So this number is a part of the format."""
THREADS = max(2, min(4, PARALLEL // 4))
NO_FILE = (errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.ENXIO)
"""Errors of a path at which something else lies than a file: a folder, a link, a socket, nothing."""


class FileDiffers(Exception):
    """A file of the local tree is not as its manifest says."""


class CoreBudget:
    """The cores of this machine, shared by those who compress. Some packs at a time by several threads each, and not all of
    them by one: so the first ones are sent while others are compressed."""

    def __init__(self, count: int = PARALLEL) -> None:
        self._count = count
        self._free = count
        self._condition = threading.Condition()

    @contextlib.contextmanager
    def take(self, pack: Pack) -> Iterator[None]:
        """Wait for the cores that compressing a pack keeps busy. Raises what `check_signals` raises."""
        count = THREADS if pack.size >= LARGE_PACK else 1
        with self._condition:
            self._condition.wait_for(lambda: self._free >= count)
            self._free -= count
        try:
            check_signals()
            yield
        finally:
            with self._condition:
                self._free += count
                self._condition.notify_all()


class BlobSpool:
    """The bytes of a blob, written once and read from any place: the first ones in memory, the rest in a file of a folder."""

    def __init__(self, folder: Path, most: int = IN_MEMORY) -> None:
        self._folder = folder
        self._most = most
        self._pieces: list[bytes] = []
        self._starts: list[int] = []
        self._size = 0
        self._place = 0
        self._file: IO[bytes] | None = None
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> BlobSpool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pieces.clear()
        self._stack.close()

    def write(self, piece: bytes) -> None:
        """Add a piece at the end. Raises OSError."""
        if self._file is None and self._size + len(piece) > self._most:
            self._file = self._stack.enter_context(_unnamed_file(self._folder))
        if self._file is not None:
            self._file.write(piece)
        elif piece:
            self._pieces.append(piece)
            self._starts.append(self._size)
            self._size += len(piece)

    def seek(self, place: int) -> None:
        """Read on from there."""
        self._place = place
        if self._file is not None:
            self._file.seek(max(0, place - self._size))

    def read(self, size: int = -1) -> bytes:
        """At most so many bytes, often fewer; b"" at the end."""
        if size < 0:
            return b"".join(iter(lambda: self.read(CHUNK), b""))
        if self._place >= self._size:
            return self._file.read(size) if self._file is not None else b""
        number = bisect.bisect_right(self._starts, self._place) - 1
        piece, start = self._pieces[number], self._place - self._starts[number]
        if start or len(piece) > size:
            piece = piece[start : start + size]
        self._place += len(piece)
        return piece


def _unnamed_file(folder: Path) -> IO[bytes]:
    fd, name = tempfile.mkstemp(dir=folder)
    Path(name).unlink()
    return os.fdopen(fd, "w+b")


def compress(root: Path, pack: Pack, level: int, spool: BlobSpool) -> StoredBlob:
    """Write a pack of files below `root` into `spool`; its blob. Raises FileDiffers, OSError."""
    hasher, size = hashlib.sha256(), 0
    pack_size = pack.size
    machine = ZstdCompressor(level=level, threads=THREADS if pack_size >= LARGE_PACK else 0).compressobj(size=pack_size)

    def keep(piece: bytes) -> None:
        nonlocal size
        hasher.update(piece)
        size += len(piece)
        spool.write(piece)

    buffer = memoryview(bytearray(min(CHUNK, pack_size + 1)))
    for entry in pack.files:
        for content in _content(root / entry.path, entry, buffer):
            keep(machine.compress(content))
    keep(machine.flush())
    return StoredBlob(hasher.hexdigest(), size)


def _open_file(path: str, flags: int) -> int:
    """A descriptor of a path: no link is followed at its end, and a FIFO is not waited for."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


def _content(path: Path, entry: Entry, buffer: memoryview) -> Iterator[memoryview]:
    """The bytes of a file, compared with its entry: each piece is good until the next one. Raises FileDiffers."""
    hasher, size = hashlib.sha256(), 0
    try:
        with open(path, "rb", 0, opener=_open_file) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise FileDiffers
            while count := file.readinto(buffer):
                size += count
                if size > entry.size:
                    raise FileDiffers
                hasher.update(buffer[:count])
                yield buffer[:count]
    except OSError as error:
        if error.errno in NO_FILE:
            raise FileDiffers from None
        raise
    if hasher.hexdigest() != entry.what:
        raise FileDiffers
