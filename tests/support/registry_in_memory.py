"""A registry without a network: the writer that releases are sent to, with a stop after so many writes."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager

from stackbuild.core import digest as digests
from stackbuild.remote.faults import RemoteFault
from stackbuild.remote.protocol import BlobContent, BlobReader, ByteCounter


class RegistryInMemory:
    """`left` writes go through, None for all. `overwritten`: another one writes each tag right after it was written."""

    url = "oci://registry/wheels"

    def __init__(self) -> None:
        self.tags: dict[str, bytes] = {}
        self.blobs: dict[str, bytes] = {}
        self.writes = 0
        self.left: int | None = None
        self.overwritten = False

    def manifest(self, tag: str, most: int) -> bytes | None:
        return self.tags.get(tag)

    @contextmanager
    def blob(self, digest: str, count: ByteCounter) -> Iterator[BlobReader]:
        yield io.BytesIO(self.blobs[digest])

    def blob_size(self, digest: str) -> int | None:
        return len(self.blobs[digest]) if digest in self.blobs else None

    def put_blob(self, digest: str, content: BlobContent, size: int, count: ByteCounter) -> None:
        self._write()
        data = content.read()
        assert digests.of_bytes(data) == digest and len(data) == size, "a registry refuses it"
        self.blobs[digest] = data

    def put_manifest(self, tag: str, text: bytes, is_patient: bool = True) -> None:
        self._write()
        self.tags[tag] = b'{"layers": []}' if self.overwritten else text

    def abort(self) -> None: ...

    def close(self) -> None: ...

    def _write(self) -> None:
        self.writes += 1
        if self.left is not None:
            self.left -= 1
            if self.left < 0:
                raise RemoteFault("the connection broke")
