"""Where bytes come from: files, stored members and deflated members, each read once in order and then anywhere.

`chunks()` passes the whole content by, in order, in pieces of at most `CHUNK`. `read(offset, size)` answers anywhere,
also afterwards. A deflated member answers from the pieces that it keeps. Otherwise it inflates again from the nearest
restart point, so nothing is unpacked to disk or held in memory.
"""

from __future__ import annotations

import os
import sys
import zlib
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, Full, Queue
from threading import Event, Thread
from typing import Any, Protocol

from stackbuild.inspection.limits import AGAIN, CHECKPOINT, CHUNK, STRETCHES, Cost
from stackbuild.inspection.readers.budget import ReadBudget
from stackbuild.inspection.readers.byte_parser import LimitError, MalformedError


class ByteSource(Protocol):
    """`path` names it in findings; `size` is its length in bytes. Once all is read from it, `release` lets its memory go."""

    path: str
    size: int

    def chunks(self) -> Iterator[bytes]: ...
    def read(self, offset: int, size: int) -> bytes: ...
    def keep(self, at: int, chunk: bytes) -> None: ...
    def release(self) -> None: ...


@dataclass(frozen=True)
class FileEntry:
    """One file of an archive or folder. `crc32` is None for loose files; `source` where the bytes cannot be read."""

    path: str
    size: int
    packed_size: int
    crc32: int | None
    source: ByteSource | None


class FileRange:
    """`size` bytes at `start` of an open file: a whole file, or a stored member of an archive."""

    def __init__(self, fd: int, path: str, start: int, size: int) -> None:
        self.path, self.size = path, size
        self._fd, self._start = fd, start

    def read(self, offset: int, size: int) -> bytes:
        size = min(size, self.size - offset)
        try:
            return os.pread(self._fd, size, self._start + offset) if size > 0 <= offset else b""
        except OSError as error:
            raise MalformedError(f"cannot be read: {error.strerror}") from None

    def chunks(self) -> Iterator[bytes]:
        for at in range(0, self.size, CHUNK):
            chunk = self.read(at, CHUNK)
            if not chunk:
                raise MalformedError("the file ends early")
            yield chunk

    def keep(self, at: int, chunk: bytes) -> None:
        """Nothing to do: the file keeps them."""

    def release(self) -> None:
        """Nothing to do either."""


class LooseFile:
    """A file of a folder, opened for each read, so that a folder of any size needs one descriptor at a time."""

    def __init__(self, file: Path, path: str, size: int) -> None:
        self.path, self.size = path, size
        self._file = file

    def read(self, offset: int, size: int) -> bytes:
        with self._open() as whole:
            return whole.read(offset, size)

    def chunks(self) -> Iterator[bytes]:
        with self._open() as whole:
            yield from whole.chunks()

    @contextmanager
    def _open(self) -> Iterator[FileRange]:
        try:
            fd = open_file(self._file)
        except OSError as error:
            raise MalformedError(f"cannot be read: {error.strerror}") from None
        try:
            yield FileRange(fd, self.path, 0, self.size)
        finally:
            os.close(fd)

    def keep(self, at: int, chunk: bytes) -> None:
        """Nothing to do: the file keeps them."""

    def release(self) -> None:
        """Nothing to do either."""


class DeflatedSource:
    """A deflated member: `packed_size` holds its compressed bytes, `size` is what the archive says it inflates to."""

    def __init__(self, packed_range: FileRange, size: int, budget: ReadBudget | None = None) -> None:
        self.path, self.size = packed_range.path, size
        self._packed_range = packed_range
        self._budget = budget or ReadBudget(packed_range.size)
        self._points: list[tuple[int, int, Any]] = []  # (inflated offset, packed offset, inflater before it)
        self._chunks: dict[int, bytes] = {}
        self._starts: list[int] = []
        self._stretches: OrderedDict[int, bytes] = OrderedDict()
        self._remaining = AGAIN

    def chunks(self) -> Iterator[bytes]:
        """Exactly `size` bytes. Raises MalformedError when the stream is damaged, or longer or shorter than the archive says."""
        inflated_size = 0
        next_point = 0
        self._points.clear()
        machine = zlib.decompressobj(-zlib.MAX_WBITS)
        for at, data in self._pieces(0):
            if inflated_size >= next_point:
                self._points.append((inflated_size, at, machine.copy()))
                next_point = inflated_size + CHECKPOINT
            for chunk in self._inflate(machine, data):
                inflated_size += len(chunk)
                if inflated_size > self.size:
                    raise MalformedError(f"inflates to more than the {self.size} bytes that the archive says")
                yield chunk
            if machine.eof:
                break
        if inflated_size != self.size:
            raise MalformedError(f"inflates to {inflated_size} bytes, the archive says {self.size}")

    def keep(self, at: int, chunk: bytes) -> None:
        """Hold on to a chunk that passed by, for `read`."""
        self._starts.append(at)
        self._chunks[at] = chunk

    def release(self) -> None:
        self._points, self._starts = [], []
        self._chunks.clear()
        self._stretches.clear()

    def read(self, offset: int, size: int) -> bytes:
        end = min(offset + size, self.size)
        parts: list[bytes] = []
        while offset < end:
            start, chunk = self._around(offset)
            part = chunk[offset - start : end - start]
            if not part:
                break
            parts.append(part)
            offset += len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _around(self, offset: int) -> tuple[int, bytes]:
        """A chunk that covers `offset`, and where it starts: kept, last inflated, or inflated again."""
        nearest = bisect_right(self._starts, offset) - 1
        if nearest >= 0:
            start = self._starts[nearest]
            if offset < start + len(self._chunks[start]):
                return start, self._chunks[start]
        for start, chunk in self._stretches.items():
            if start <= offset < start + len(chunk):
                return start, chunk
        return self._again(offset)

    def _again(self, offset: int) -> tuple[int, bytes]:
        """Inflate from the restart point before `offset` up to the next one, and give that stretch."""
        self._remaining -= 1
        if self._remaining < 0:
            raise LimitError(f"its parts are so scattered that it would have to be inflated more than {AGAIN} times")
        index = bisect_right([start for start, _, _ in self._points], offset) - 1
        position, at, machine = self._points[index]
        stop = self._points[index + 1][0] if index + 1 < len(self._points) else self.size
        self._budget.spend(Cost.AGAIN, stop - position)
        machine = machine.copy()
        out = bytearray()
        for _, data in self._pieces(at):
            for chunk in self._inflate(machine, data):
                out += chunk
            if machine.eof or position + len(out) >= stop:
                break
        self._stretches[position] = bytes(out)
        while len(self._stretches) > 1 and sum(map(len, self._stretches.values())) > STRETCHES:
            self._stretches.popitem(last=False)
        return position, self._stretches[position]

    def _pieces(self, at: int) -> Iterator[tuple[int, bytes]]:
        """The packed bytes from `at`, small enough that a restart point can stand between any two."""
        while data := self._packed_range.read(at, 1 << 16):
            yield at, data
            at += len(data)

    def _inflate(self, machine: Any, data: bytes) -> Iterator[bytes]:
        while data:
            try:
                chunk = machine.decompress(data, CHUNK)
            except zlib.error as error:
                raise MalformedError(f"deflate stream is damaged: {error}") from None
            if chunk:
                yield chunk
            if machine.eof:
                return
            data = machine.unconsumed_tail


#: Seconds after which a parsing thread hands the interpreter to an inflating one that waits (Python's default is 0.005).
_SWITCH = 0.0002


def ahead(chunks: Iterator[bytes], depth: int = 8) -> Iterator[bytes]:
    """The same chunks, made by a second thread up to `depth` ahead: inflating overlaps with parsing (zlib frees the GIL)."""
    queue: Queue[bytes | Exception | None] = Queue(depth)
    close_event = Event()

    def put(item: bytes | Exception | None) -> None:
        while not close_event.is_set():
            try:
                queue.put(item, timeout=0.1)
                break
            except Full:
                continue

    def produce() -> None:
        try:
            for chunk in chunks:
                put(chunk)
                if close_event.is_set():
                    return
            put(None)
        except Exception as error:  # handed to the consumer, who raises it
            put(error)

    worker = Thread(target=produce, name="inflate", daemon=True)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH)
    worker.start()
    try:
        while (item := queue.get()) is not None:
            if isinstance(item, Exception):
                raise item
            yield item
    finally:
        close_event.set()
        sys.setswitchinterval(interval)
        while worker.is_alive():
            worker.join(0.2)
        _drain(queue)


def _drain(queue: Queue[Any]) -> None:
    """Empty a queue, so that its chunks are freed at once."""
    try:
        while True:
            queue.get_nowait()
    except Empty:
        return


def open_file(path: Path) -> int:
    """A file descriptor for reading. Raises OSError."""
    return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
