"""A step's log: what a command prints, within bounds, whoever prints it.

The first bytes of a command's output are written as they come. What is beyond `HEAD` is counted and left out, except
for the last `TAIL` bytes, which are written when the command has ended: a failure says why in its last lines.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import threading
from collections import deque
from collections.abc import Iterator
from pathlib import Path

HEAD, TAIL = 128 << 20, 4 << 20
CHUNK = 1 << 16


class LogWriter:
    """Appends one command's output to the log at `path`. Raises OSError from `close` where the log could not be written."""

    def __init__(self, path: Path, head: int = HEAD, tail: int = TAIL) -> None:
        self._file = path.open("ab", buffering=0)
        self._room = max(0, head - self._file.tell())
        self._most = tail
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self.left_out = 0

    def write(self, data: bytes) -> None:
        """Take some output: into the log, or into what may become its last bytes."""
        if self._room:
            self._file.write(data[: self._room])
            data, self._room = data[self._room :], max(0, self._room - len(data))
        if data:
            self._tail.append(data)
            self._tail_size += len(data)
            while self._tail_size - len(self._tail[0]) >= self._most:
                self._tail_size -= len(self._tail[0])
                self.left_out += len(self._tail.popleft())

    def close(self) -> None:
        """Write the last bytes, after how many were left out."""
        try:
            if self.left_out:
                self._file.write(f"\n… {self.left_out} bytes left out …\n".encode())
            for data in self._tail:
                self._file.write(data)
        finally:
            self._file.close()


@contextlib.contextmanager
def log_pipe(path: Path, head: int = HEAD, tail: int = TAIL) -> Iterator[int]:
    """The writing end of a pipe, to be a command's output; a thread copies what comes into the log at `path`.

    What was in the pipe when the context is left is in the log then; a process that outlived the command may keep the
    pipe open and is not waited for. Raises OSError where the log cannot be written.
    """
    copier = _Copier(LogWriter(path, head, tail))
    try:
        yield copier.writing
    finally:
        copier.finish()
    if copier.failure is not None:
        raise copier.failure


class _Copier:
    """The pipe of one command, and the thread that reads it."""

    def __init__(self, writer: LogWriter) -> None:
        self.failure: OSError | None = None
        self._writer = writer
        self._reading, self.writing = os.pipe2(os.O_CLOEXEC)
        self._end = os.eventfd(0, os.EFD_CLOEXEC)
        self._thread = threading.Thread(target=self._copy, daemon=True)
        self._thread.start()

    def finish(self) -> None:
        os.close(self.writing)
        os.eventfd_write(self._end, 1)
        self._thread.join()
        os.close(self._reading)
        os.close(self._end)

    def _copy(self) -> None:
        """Read to the end, also past a log that cannot be written: the command must not block on a full pipe.

        After the end of the command, as much as a pipe holds is read: what outlived it may write on for ever.
        """
        rest = fcntl.fcntl(self._reading, fcntl.F_GETPIPE_SZ)
        while rest > 0 and self._reading in (ready := select.select([self._reading, self._end], [], [])[0]):
            if not (data := os.read(self._reading, CHUNK)):
                break
            rest -= len(data) if self._end in ready else 0
            if self.failure is None:
                try:
                    self._writer.write(data)
                except OSError as error:
                    self.failure = error
        try:
            self._writer.close()
        except OSError as error:
            self.failure = self.failure or error
