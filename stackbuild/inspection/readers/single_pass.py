"""One pass over a file's bytes: hashed, searched for text, and its device code read as it goes by.

A bundle is recognised by its magic on a 4 KiB boundary and read at once: hundreds of megabytes of device code are neither
kept nor inflated twice. Which of these bundles count is decided later, by walking the section that contains them
(`bundle.bundles`). Bundles that the pass did not recognise are read then.
"""

from __future__ import annotations

import hashlib
import zlib

from stackbuild.inspection.facts import Bundle
from stackbuild.inspection.limits import KEEP, MIB
from stackbuild.inspection.readers.budget import ReadBudget
from stackbuild.inspection.readers.bundle import ALIGN, bundle, may_start
from stackbuild.inspection.readers.byte_parser import BackwardReadError, Feed, MalformedError
from stackbuild.inspection.readers.source import ByteSource, ahead
from stackbuild.inspection.readers.text_scan import TextScan

_OVERLAP = 4 * MIB
_ELF = b"\x7fELF"


class SinglePass:
    """What one pass over a source found. `hashed` is a name of hashlib's, "" for none. `expected_bundles` are the bundles met, by offset; `head` the first bytes."""

    def __init__(self, source: ByteSource, budget: ReadBudget, *, hash_kind: str) -> None:
        self.head = b""
        self.crc32 = 0
        self.expected_bundles: dict[int, Bundle] = {}
        self.texts = TextScan(budget)
        self._source, self._budget = source, budget
        self._kept_bytes = 0
        self._feed: Feed[Bundle] | None = None
        self._feed_at = self._refused_at = -1
        self._resume = 0
        self._digest = hashlib.new(hash_kind) if hash_kind else None

    @property
    def sha256(self) -> str:
        return self._digest.hexdigest() if self._digest and self._digest.name == "sha256" else ""

    @property
    def digest(self) -> str:
        """The hash that was asked for, as `sha256=` and its hex."""
        return f"{self._digest.name}={self._digest.hexdigest()}" if self._digest else ""

    def run(self) -> SinglePass:
        """Read the source to its end. Raises MalformedError where it cannot be read."""
        chunks = self._source.chunks()
        at = 0
        for chunk in ahead(chunks) if self._source.size > _OVERLAP else chunks:
            self.crc32 = zlib.crc32(chunk, self.crc32)
            if self._digest:
                self._digest.update(chunk)
            if not at:
                self.head = chunk[:64]
            self._pass(at, chunk)
            at += len(chunk)
        return self

    def _pass(self, at: int, chunk: bytes) -> None:
        """Split a chunk into stretches of host bytes and of bundles."""
        start, end = at, at + len(chunk)
        while start < end:
            if start < self._resume:
                start = min(end, self._resume)
            elif self._feed is not None:
                start = self._device(start, memoryview(chunk)[start - at :])
            else:
                stop = self._next_bundle(start, end, at, chunk)
                self._host(start, chunk[start - at : stop - at])
                start = stop

    def _next_bundle(self, start: int, end: int, at: int, chunk: bytes) -> int:
        """Where host bytes end: at a boundary where a bundle may start (a feed is then opened), or at the chunk's end."""
        first = -(-start // ALIGN) * ALIGN
        for offset in range(first, end, ALIGN):
            if offset != self._refused_at and may_start(chunk[offset - at : offset - at + 24]):
                self._feed = Feed(bundle(offset, self._source.size - offset, self._budget))
                self._feed_at = offset
                return offset
        return end

    def _device(self, at: int, rest: memoryview) -> int:
        """Give bytes to the bundle being read; returns the offset to continue at."""
        assert self._feed is not None
        try:
            self._feed.push(at, rest)
        except (MalformedError, BackwardReadError):  # not a bundle after all, or one to read again later
            self._feed, self._refused_at = None, self._feed_at
            return at
        if self._feed.is_complete:
            result, self._feed = self._feed.result, None
            self.expected_bundles[result.offset] = result
            # Its parser is done at the last metadata; its code still has to go by.
            self._resume = result.offset + max(result.size, 1)
            return at
        return at + len(rest)

    def _host(self, at: int, chunk: bytes) -> None:
        if not chunk:
            return
        if self.head[:4] != _ELF:  # of an ELF only some sections are searched, once they are known
            self.texts.push(chunk)
        if self._kept_bytes + len(chunk) <= KEEP:
            self._kept_bytes += len(chunk)
            self._source.keep(at, chunk)
