"""Compressed code-object bundles (CCOB): headers of versions 1 to 3, bounded inflating, the hash always checked.

Layout from LLVM's clang-offload-bundler and llvm/lib/Object/OffloadBundle.cpp: `CCOB`, u16 version, u16 method
(0 zlib, 1 zstd), then sizes and a hash by version. The hash is the first 8 bytes of the MD5 of the inflated bundle.
The end is where the header says, never where the next magic is: those bytes can occur inside a payload.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from stackbuild.core.zstd import ZstdDecompressor, ZstdError
from stackbuild.inspection.limits import CHUNK, INFLATED_BYTES, INFLATED_FREE, RATIO, WINDOW
from stackbuild.inspection.readers.byte_parser import LimitError, MalformedError

MAGIC = b"CCOB"
#: Version → (struct of what follows magic, version and method; header bytes).
_LAYOUTS = {1: ("<IQ", 20), 2: ("<IIQ", 24), 3: ("<QQQ", 32)}
METHODS = {0: "zlib", 1: "zstd"}
LONGEST = 32
_ZSTD_PIECE = 512


@dataclass(frozen=True)
class Header:
    """`total` is the bytes of header and payload, None in version 1 (which does not say)."""

    version: int
    method: str
    header: int
    total: int | None
    inflated_size: int
    hash: int


def header(data: bytes) -> Header:
    """Read a CCOB header from the first 32 bytes. Raises MalformedError."""
    if len(data) < 8 or data[:4] != MAGIC:
        raise MalformedError("no CCOB header")
    version, method = struct.unpack_from("<HH", data, 4)
    if version not in _LAYOUTS:
        raise MalformedError(f"CCOB version {version} is not known (1 to 3 are)")
    if method not in METHODS:
        raise MalformedError(f"CCOB method {method} is not known (0 zlib and 1 zstd are)")
    layout, size = _LAYOUTS[version]
    if len(data) < size:
        raise MalformedError(f"CCOB header of version {version} takes {size} bytes, {len(data)} are left")
    numbers = struct.unpack_from(layout, data, 8)
    total = numbers[0] if version > 1 else None
    if total is not None and total < size:
        raise MalformedError(f"CCOB says it takes {total} bytes, less than its own header of {size}")
    return Header(version, METHODS[method], size, total, numbers[-2], numbers[-1])


def check_size(head: Header, payload: int) -> None:
    """Refuse what would take too much time to inflate; `payload` is the most bytes it may have. Raises LimitError."""
    ceiling = min(INFLATED_BYTES, INFLATED_FREE + RATIO * payload)
    if head.inflated_size > ceiling:
        raise LimitError(
            f"compressed bundle claims {head.inflated_size} bytes from {payload}; at most {ceiling} are believed"
        )


class Inflater:
    """Inflates one payload, piece by piece, never giving more than the header claims.

    After the last piece `finish()` says whether the hash agrees. `ended` is set when a version-1 payload, whose header
    has no total, is over; `spare` then counts the bytes of the last piece that were not part of it.
    """

    def __init__(self, head: Header) -> None:
        self._head = head
        self._digest = hashlib.md5(usedforsecurity=False)
        self._remaining = head.inflated_size
        self._machine = _machine(head.method)
        self.ended = False
        self.spare = 0

    def push(self, piece: bytes) -> Iterator[bytes]:
        """The bytes that a piece of payload inflates to. Raises MalformedError."""
        for chunk in self._zlib(piece) if self._head.method == "zlib" else self._zstd(piece):
            if len(chunk) > self._remaining:
                raise MalformedError(
                    f"compressed bundle inflates to more than the {self._head.inflated_size} bytes it claims"
                )
            self._remaining -= len(chunk)
            self._digest.update(chunk)
            yield chunk

    def finish(self) -> bool:
        """Whether the hash agrees. Raises MalformedError where the payload ended early."""
        if self._remaining:
            raise MalformedError(
                f"compressed bundle inflates to {self._remaining} bytes fewer than the {self._head.inflated_size} it claims"
            )
        return int.from_bytes(self._digest.digest()[:8], "little") == self._head.hash

    def _zlib(self, piece: bytes) -> Iterator[bytes]:
        while piece and not self.ended:
            try:
                yield self._machine.decompress(piece, CHUNK)
            except zlib.error as error:
                raise MalformedError(f"zlib payload is damaged: {error}") from None
            piece = self._machine.unconsumed_tail
            if self._machine.eof:
                self._end(self._machine.unused_data)

    def _zstd(self, piece: bytes) -> Iterator[bytes]:
        # A decompression object has no bound on its output: small pieces give one (at most 128 KiB from 4 bytes).
        for at in range(0, len(piece), _ZSTD_PIECE):
            part = piece[at : at + _ZSTD_PIECE]
            while part:
                if self.ended:
                    self.spare += len(part)
                    break
                yield self._inflate(part)
                part = b""
                if self._machine.eof:
                    part = self._machine.unused_data
                    self._next_frame()

    def _inflate(self, part: bytes) -> bytes:
        try:
            payload: bytes = self._machine.decompress(part)
        except (ZstdError, MemoryError) as error:
            raise MalformedError(f"zstd payload is damaged: {error}") from None
        return payload

    def _next_frame(self) -> None:
        """Frames may follow each other, skippable ones too; a version-1 bundle is over with its content."""
        if self._head.total is None and not self._remaining:
            self._end(b"")
        else:
            self._machine = _machine("zstd")

    def _end(self, unused_bytes: bytes) -> None:
        self.ended = True
        self.spare += len(unused_bytes)


def _machine(method: str) -> Any:
    if method == "zlib":
        return zlib.decompressobj()
    return ZstdDecompressor(max_window_size=WINDOW).decompressobj()
