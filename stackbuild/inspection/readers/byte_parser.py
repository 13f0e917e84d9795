"""Parsers that ask for the bytes they want, so that one parser serves files and streams alike.

A parser is a generator: it yields `(offset, size)` and is sent the bytes there (fewer at the end of the data).
`read_all` answers from something that can be read anywhere; a `Feed` answers from chunks that pass by once, in order.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Generic, TypeVar

T = TypeVar("T")
Ask = tuple[int, int]
Pull = Generator[Ask, bytes, T]


class MalformedError(Exception):
    """The bytes break their format; the text says how, for a reader who has the file but not the parser."""


class LimitError(MalformedError):
    """The bytes may be well formed but exceed a bound of `limits`."""


class BackwardReadError(Exception):
    """A parser on a stream requested bytes that were already passed."""


ProblemSink = Callable[[str, MalformedError], None]
"""Where a reader puts what is wrong with a file: its path, and why."""


def read_all(parser: Pull[T], read_at: Callable[[int, int], bytes]) -> T:
    """Run a parser over `read(offset, size)` and return what it made. MalformedError passes through."""
    try:
        ask = next(parser)
        while True:
            ask = parser.send(read_at(*ask))
    except StopIteration as stop:
        result: T = stop.value
        return result


class Feed(Generic[T]):
    """A parser on a stream: push the chunks in order; `done` says it has made its `result`."""

    def __init__(self, parser: Pull[T]) -> None:
        self._parser = parser
        self._buffer = bytearray()
        self._buffer_at = 0
        self.is_complete = False
        self.result: T
        self._step(lambda: next(parser))

    def push(self, at: int, chunk: bytes | memoryview) -> None:
        """Give the bytes at offset `at`, which follow the last ones given. Raises MalformedError, or BackwardReadError if asked to go back."""
        if self._buffer:
            self._buffer += chunk
            if self._buffer_at == self._ask[0] and self._ask[1] > len(self._buffer):
                return  # nothing to answer yet, and nothing to let go
            view, base = memoryview(self._buffer), self._buffer_at
        else:
            view, base = memoryview(chunk), at
        end = base + len(view)
        while not self.is_complete and self._ask[0] + self._ask[1] <= end:
            self._answer(view, base)
        rest = b"" if self.is_complete else bytes(view[max(0, self._ask[0] - base) :])
        view.release()
        self._buffer, self._buffer_at = bytearray(rest), end - len(rest)

    def finish(self, end: int) -> None:
        """Say that the data ended: requests beyond it get fewer bytes."""
        while not self.is_complete:
            self._answer(memoryview(self._buffer), self._buffer_at if self._buffer else end)

    def _answer(self, view: memoryview, base: int) -> None:
        offset, size = self._ask
        if offset < base and size:
            raise BackwardReadError
        data = bytes(view[offset - base : offset - base + size])
        self._step(lambda: self._parser.send(data))

    def _step(self, advance: Callable[[], Ask]) -> None:
        try:
            self._ask = advance()
        except StopIteration as stop:
            self.result, self.is_complete = stop.value, True
