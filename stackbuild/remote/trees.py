"""Trees on a remote: the manifests of trees and records, and a tree streamed into an empty folder."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from stackbuild.core import digest
from stackbuild.core.zstd import ZstdDecompressor, ZstdError
from stackbuild.remote.faults import RemoteFault
from stackbuild.remote.packs import Pack, entries_of, packs_of
from stackbuild.remote.protocol import PARALLEL, BlobReader, ByteCounter, RemoteReader
from stackbuild.remote.records import RemoteRecord
from stackbuild.remote.registry import MANIFEST_TYPE
from stackbuild.store.tree import Entry

RECORD_TYPE = "application/vnd.stackbuild.records.v1+json"
TREE_TYPE = "application/vnd.stackbuild.manifest.v1"
PACK_TYPE = "application/vnd.stackbuild.pack.v1+zstd"
MOST_MANIFEST = 4 << 20
"""Bytes of a registry's manifest."""
MOST_TEXT = 1 << 30
"""Bytes of a store's manifest text."""
WINDOW = 1 << 23
"""The largest window of zstd that is inflated: packs have one of 2 MiB or less."""
CHUNK = 1 << 18
_NAME = re.compile(r"sha256:([0-9a-f]{64})")


@dataclass(frozen=True)
class StoredBlob:
    """A stored blob: its digest in hex and its length."""

    digest: str
    size: int

    def descriptor(self, media_type: str, **more: object) -> dict[str, object]:
        return {"mediaType": media_type, "digest": f"sha256:{self.digest}", "size": self.size, **more}


def layer_of(data: bytes) -> StoredBlob:
    """The blob of these bytes."""
    return StoredBlob(digest.of_bytes(data), len(data))


def record_manifest(listing: bytes) -> bytes:
    """The manifest of a record: the list of envelopes as a blob, and within it (`data`), so that one request reads it."""
    layer = layer_of(listing)
    data = base64.b64encode(listing).decode()
    return _manifest(layer.descriptor(RECORD_TYPE, data=data), [layer.descriptor(RECORD_TYPE)])


def tree_manifest(text: StoredBlob, packs: Sequence[StoredBlob]) -> bytes:
    """The manifest of a tree: the store's manifest text as config, its packs as layers."""
    return _manifest(text.descriptor(TREE_TYPE), [pack.descriptor(PACK_TYPE) for pack in packs])


def _manifest(config: dict[str, object], layers: list[dict[str, object]]) -> bytes:
    value = {"schemaVersion": 2, "mediaType": MANIFEST_TYPE, "config": config, "layers": layers}
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def listing_in(manifest: bytes) -> bytes:
    """The list of envelopes in a record's manifest, unverified. Raises RemoteFault."""
    try:
        return base64.b64decode(_parse(manifest)["config"]["data"], validate=True)
    except (ValueError, KeyError, TypeError) as error:
        raise RemoteFault(f"a record's manifest cannot be read: {error!r}"[:200]) from None


def layers_in(manifest: bytes) -> tuple[StoredBlob, tuple[StoredBlob, ...]]:
    """The text's blob and the packs of a tree's manifest, unverified. Raises RemoteFault."""
    try:
        value = _parse(manifest)
        return layer_in(value["config"]), tuple(map(layer_in, value["layers"]))
    except (ValueError, KeyError, TypeError) as error:
        raise RemoteFault(f"a tree's manifest cannot be read: {error!r}"[:200]) from None


def _parse(manifest: bytes) -> Any:
    return digest.json_of(manifest.decode("utf-8"))


def layer_in(value: Any) -> StoredBlob:
    """The blob that a descriptor of a manifest names. Raises ValueError, KeyError, TypeError where it is not one."""
    name, size = _NAME.fullmatch(value["digest"]), value["size"]
    if name is None or type(size) is not int or size < 0:
        raise ValueError("no descriptor")
    return StoredBlob(name[1], size)


# --- reading


@dataclass(frozen=True)
class RemoteTree:
    """A tree as a remote has it: the verified manifest text, its entries, and the packs with the blobs that hold them."""

    text: str
    entries: tuple[Entry, ...]
    packs: tuple[tuple[Pack, StoredBlob], ...]


def read_tree(reader: RemoteReader, record: RemoteRecord, count: ByteCounter) -> RemoteTree:
    """The tree that a verified record names. Raises RemoteFault."""
    manifest = reader.manifest(f"t-{record.tree}", MOST_MANIFEST)
    if manifest is None:
        raise RemoteFault("the tree of a record is not there", blob=f"t-{record.tree}")
    text_blob, layers = layers_in(manifest)
    if text_blob != StoredBlob(record.tree, record.manifest_size) or text_blob.size > MOST_TEXT:
        raise RemoteFault("the tree's manifest is another's", blob=f"t-{record.tree}", promise=record.tree, actual=text_blob.digest)  # fmt: skip
    with reader.blob(text_blob.digest, count) as blob:
        data = b"".join(blob_pieces(blob, text_blob))
    text = data.decode("utf-8", "surrogateescape")
    entries = entries_of(text, record.size)
    packs = packs_of(entries)
    if len(packs) != len(layers):
        raise RemoteFault("the tree has another number of packs", blob=f"t-{record.tree}", promise=str(len(packs)), actual=str(len(layers)))  # fmt: skip
    return RemoteTree(text, entries, tuple(zip(packs, layers, strict=True)))


def blob_pieces(blob: BlobReader, layer: StoredBlob) -> Iterator[bytes]:
    """The bytes of a blob. Raises RemoteFault at the byte that is one too many, and where length or digest differ."""
    hasher, size = hashlib.sha256(), 0
    while piece := blob.read(CHUNK):
        size += len(piece)
        if size > layer.size:
            raise RemoteFault("a blob is longer than it should be", blob=layer.digest, promise=f"{layer.size} bytes")
        hasher.update(piece)
        yield piece
    if size != layer.size:
        raise RemoteFault("a blob is cut short", blob=layer.digest, promise=f"{layer.size} bytes", actual=str(size))
    if hasher.hexdigest() != layer.digest:
        raise RemoteFault("a blob is damaged", blob=layer.digest, promise=layer.digest, actual=hasher.hexdigest())


class _BlobStream:
    """The pieces of a blob as a file for the inflater."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._rest = b""

    def read(self, size: int = -1) -> bytes:
        piece = self._rest or next(self._pieces, b"")
        self._rest = piece[size:] if 0 <= size < len(piece) else b""
        return piece[:size] if self._rest else piece


def write_tree(reader: RemoteReader, tree: RemoteTree, out: Path, count: ByteCounter) -> None:
    """Write a tree into the empty folder `out`. Raises RemoteFault at the first byte that is not the manifest's, OSError.

    Folders come first and links last, so nothing is written through a link.
    """
    for entry in tree.entries:
        if entry.kind == "d":
            (out / entry.path).mkdir(mode=0o755)
        elif entry.kind == "f" and not entry.size:
            with _create(out, entry):
                _compare(entry, hashlib.sha256().hexdigest())
    with ThreadPoolExecutor(PARALLEL, "packs") as pool:
        largest_first = sorted(tree.packs, key=lambda pair: -pair[0].size)  # the one that takes longest is not the last
        jobs = [pool.submit(read_pack, reader, pack, layer, out, count) for pack, layer in largest_first]
        try:
            for job in jobs:
                job.result()
        except BaseException:
            for job in jobs:
                job.cancel()
            reader.abort()
            raise
    for entry in tree.entries:
        if entry.kind == "l":
            (out / entry.path).symlink_to(entry.what)


def read_pack(reader: RemoteReader, pack: Pack, layer: StoredBlob, out: Path | None, count: ByteCounter) -> None:
    """Stream one pack into its files; with no `out`, only compare. Raises RemoteFault, OSError.

    Never more than `CHUNK` inflated bytes are held, and never one more than the manifest's files have.
    """
    if layer.size > pack.size + pack.size // 128 + 1024:
        raise RemoteFault("a pack is larger than what is in it", blob=layer.digest, promise=f"{pack.size} bytes inflated")  # fmt: skip
    with reader.blob(layer.digest, count) as blob:
        source = _BlobStream(blob_pieces(blob, layer))
        inflater = ZstdDecompressor(max_window_size=WINDOW).stream_reader(cast(IO[bytes], source), read_size=CHUNK)
        try:
            for entry in pack.files:
                with _create(out, entry) if out else contextlib.nullcontext() as file:
                    _fill(file, entry, inflater, layer)
            if inflater.read(1) or source.read():
                raise RemoteFault("a pack has more in it than its files", blob=layer.digest)
        except (ZstdError, MemoryError) as error:
            raise RemoteFault(f"a pack cannot be inflated: {error}", blob=layer.digest) from None


def _fill(file: IO[bytes] | None, entry: Entry, inflater: Any, layer: StoredBlob) -> None:
    remaining_bytes, hasher = entry.size, hashlib.sha256()
    while remaining_bytes:
        piece = inflater.read(min(remaining_bytes, CHUNK))
        if not piece:
            raise RemoteFault(f"a pack ends within {entry.path!r}", blob=layer.digest)
        hasher.update(piece)
        if file is not None:
            file.write(piece)
        remaining_bytes -= len(piece)
    _compare(entry, hasher.hexdigest(), layer.digest)


def _compare(entry: Entry, sha256: str, blob: str = "") -> None:
    if sha256 != entry.what:
        raise RemoteFault(f"{entry.path!r} has another content", blob=blob, promise=entry.what, actual=sha256)


@contextlib.contextmanager
def _create(out: Path, entry: Entry) -> Iterator[IO[bytes]]:
    """The new file of an entry, with its mode. Raises OSError."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(out / entry.path, flags, 0o600)
    with os.fdopen(fd, "wb") as file:
        yield file
        os.fchmod(fd, int(entry.mode, 8))
