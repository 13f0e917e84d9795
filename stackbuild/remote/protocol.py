"""What a place for records and packs can do: the interface that pull and push work with."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol

PARALLEL = max(4, min(16, len(os.sched_getaffinity(0))))
"""Packs at once, and connections that are kept: one a core, and on few cores some that wait for the network. A push holds
some 50 MB for each."""
SIGNER_DIGITS = 32
"""Hex digits of a key's sha256 in the name of a signer's own tag: a registry's tag has at most 128 characters."""
ByteCounter = Callable[[int], None]
"""Hears of the bytes that have come or gone. It may raise RemoteFault: then nothing more is wanted."""


class BlobContent(Protocol):
    """The bytes of a blob that is sent: `read` gives some of them from where it is, `seek` goes to a place."""

    def read(self, size: int = -1, /) -> bytes: ...

    def seek(self, place: int, /) -> object: ...


class BlobReader(Protocol):
    """The stored bytes of a blob, unverified."""

    def read(self, size: int) -> bytes:
        """At most so many bytes, b"" at the end. Raises RemoteFault."""
        ...


class RemoteReader(Protocol):
    """Where records, trees and packs are read from."""

    @property
    def url(self) -> str:
        """As the user named it."""
        ...

    def manifest(self, tag: str, most: int) -> bytes | None:
        """The manifest under a tag, None where there is none. Raises RemoteFault, also where it is longer than `most`."""
        ...

    def tags(self) -> frozenset[str] | None:
        """All tags, unverified; None where it cannot say them all, or asking for each costs as little. Raises RemoteFault."""
        ...

    def blob(self, digest: str, count: ByteCounter) -> AbstractContextManager[BlobReader]:
        """The blob of that sha256 in hex. Raises RemoteFault where it is not there."""
        ...

    def abort(self) -> None:
        """End what other threads read."""
        ...

    def close(self) -> None: ...


class RemoteWriter(RemoteReader, Protocol):
    """Where they are written to, too. All raise RemoteFault."""

    def blob_size(self, digest: str) -> int | None:
        """The length of a blob as it is stored there, None where there is none."""
        ...

    def put_blob(self, digest: str, content: BlobContent, size: int, count: ByteCounter) -> None:
        """Store a blob. `content` is read from its beginning, again where a part is sent again."""
        ...

    def put_manifest(self, tag: str, text: bytes, is_patient: bool = True) -> None:
        """Store a manifest under a tag, in place of the one that is there. Its blobs are there already.

        A registry that does not see such a blob for a moment is asked again where the caller `is_patient`.
        """
        ...
