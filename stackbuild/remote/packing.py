"""Files of a tree compressed into a pack, and the bytes of that pack until they are sent.

Each byte of a file is read once: its sha256 and the compressor get the same buffer. Small files gather in it: after each
call to the compressor a thread waits for the interpreter's lock, which all who compress and send share, so calls are few.
Each compressed byte is kept as the piece that it came in, and goes to the connection from there.
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
from stackbuild.core.zstd import COMPRESSOBJ_FLUSH_BLOCK, ZstdCompressor
from stackbuild.remote.packs import Pack
from stackbuild.remote.protocol import PARALLEL
from stackbuild.remote.trees import CHUNK, StoredBlob

IN_MEMORY = 20 << 20
"""Bytes of a compressed pack that are held in memory; of a longer one the rest lies on the disk."""
LARGE_PACK = 32 << 20
"""Bytes of a pack from which on zstd compresses it in threads of its own, while this one reads and hashes. The blob is the
same for any number of threads, and another one than without threads. So this number is a part of the format."""
THREADS = max(2, min(3, PARALLEL // 5))
SECTION = 2 << 20
"""A divisor of what zstd gives a thread at a time, at each level. Where a pack ends with such a section, zstd marks it as
the last one if all threads were busy when its last byte came, or else adds an empty block. A flush before the end leaves
nothing to chance: there is always the empty block."""
AT_ONCE = 1 << 20
"""Bytes that the compressor gets at once."""
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
    blob_hasher, size = hashlib.sha256(), 0
    pack_size = pack.size
    machine = ZstdCompressor(level=level, threads=THREADS if pack_size >= LARGE_PACK else 0).compressobj(size=pack_size)

    def keep(piece: bytes) -> None:
        nonlocal size
        blob_hasher.update(piece)
        size += len(piece)
        spool.write(piece)

    buffer, place = memoryview(bytearray(min(AT_ONCE, pack_size))), 0
    for entry in pack.files:
        hasher, remaining_bytes = hashlib.sha256(), entry.size
        with _open_file(f"{root}/{entry.path}", entry.size) as file:
            while remaining_bytes:
                if place == len(buffer):
                    keep(machine.compress(buffer))
                    place = 0
                count = os.readv(file, (buffer[place : place + remaining_bytes],))
                if not count:
                    raise FileDiffers
                hasher.update(buffer[place : place + count])
                place, remaining_bytes = place + count, remaining_bytes - count
        if hasher.hexdigest() != entry.what:
            raise FileDiffers
    keep(machine.compress(buffer[:place]))
    if pack_size >= LARGE_PACK and not pack_size % SECTION:
        keep(machine.flush(COMPRESSOBJ_FLUSH_BLOCK))
    keep(machine.flush())
    return StoredBlob(blob_hasher.hexdigest(), size)


@contextlib.contextmanager
def _open_file(path: str, size: int) -> Iterator[int]:
    """A descriptor of a file of that size: no link is followed at its end, no FIFO waited for. Raises FileDiffers, OSError."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        if error.errno in NO_FILE:
            raise FileDiffers from None
        raise
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size != size:
            raise FileDiffers
        yield descriptor
    finally:
        os.close(descriptor)
