"""Writes an OCI image layout: the same files give the same bytes, whoever writes them and when.

Names are sorted, owners are root, times are fixed, modes are 0755 or 0644, and gzip's header has neither name nor time.
Sources: the OCI image specification 1.1, `layer.md`, `config.md`, `manifest.md` and `image-layout.md`.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import stat
import tarfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import BinaryIO, cast

from stackbuild.core.digest import Json

TIME = 1_700_000_000
GZIP_LEVEL = 6
LAYER = "application/vnd.oci.image.layer.v1.tar+gzip"
CONFIG = "application/vnd.oci.image.config.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"


@dataclass(frozen=True)
class LayerFiles:
    """What a layer is to hold. `files`: path in the image, without its first slash, to the file or link on this machine
    that it is taken from, or to the bytes that it has. `folders`: path to mode, of those that are not 0755."""

    name: str
    files: Mapping[str, Path | bytes]
    folders: Mapping[str, int]


@dataclass(frozen=True)
class WrittenLayer:
    """A layer in the layout: how many files, their bytes, the bytes of its blob, the digests of both forms."""

    name: str
    files: int
    size: int
    compressed: int
    digest: str
    diff_id: str


@dataclass(frozen=True)
class ImageSettings:
    """What the image says of itself, and how a container of it starts."""

    name: str
    env: tuple[str, ...]
    command: tuple[str, ...]
    labels: Mapping[str, str]


class _HashingWriter(io.RawIOBase):
    """A stream that counts and hashes what goes through it."""

    def __init__(self, target: BinaryIO) -> None:
        self.target, self.size, self.sha256 = target, 0, hashlib.sha256()

    def writable(self) -> bool:
        return True

    def write(self, data: bytes) -> int:  # type: ignore[override]
        self.size += len(data)
        self.sha256.update(data)
        return self.target.write(data)

    @property
    def digest(self) -> str:
        return f"sha256:{self.sha256.hexdigest()}"


def write_layout(
    folder: Path, layers: Sequence[LayerFiles], settings: ImageSettings, report_layer: Callable[[WrittenLayer], None]
) -> tuple[WrittenLayer, ...]:
    """Write the layout into the empty folder; `report_layer` hears of each layer once it is written."""
    blobs = folder / "blobs" / "sha256"
    blobs.mkdir(parents=True)
    layer_rows = []
    for layer in layers:
        one = _write_layer(layer, blobs)
        layer_rows.append(one)
        report_layer(one)
    config = _config(layer_rows, settings)
    manifest: dict[str, Json] = {
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": _put(blobs, CONFIG, config),
        "layers": [{"mediaType": LAYER, "digest": one.digest, "size": one.compressed} for one in layer_rows],
        "annotations": dict(settings.labels),
    }
    descriptor = _put(blobs, MANIFEST, manifest)
    descriptor["annotations"] = {"org.opencontainers.image.ref.name": settings.name}
    index: dict[str, Json] = {"schemaVersion": 2, "mediaType": INDEX, "manifests": [descriptor]}
    (folder / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')
    (folder / "index.json").write_bytes(_bytes(index))
    return tuple(layer_rows)


def _config(layers: Sequence[WrittenLayer], settings: ImageSettings) -> dict[str, Json]:
    creation_time = "2023-11-14T22:13:20Z"  # TIME
    return {
        "architecture": "amd64",
        "os": "linux",
        "created": creation_time,
        "config": {"Env": list(settings.env), "Cmd": list(settings.command), "Labels": dict(settings.labels)},
        "rootfs": {"type": "layers", "diff_ids": [one.diff_id for one in layers]},
        "history": [{"created": creation_time, "created_by": f"stackbuild image: {one.name}"} for one in layers],
    }


def _bytes(document: Mapping[str, Json]) -> bytes:
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()


def _put(blobs: Path, media_type: str, document: Mapping[str, Json]) -> dict[str, Json]:
    """Write a JSON blob; its descriptor."""
    data = _bytes(document)
    sha256 = hashlib.sha256(data).hexdigest()
    (blobs / sha256).write_bytes(data)
    return {"mediaType": media_type, "digest": f"sha256:{sha256}", "size": len(data)}


def _write_layer(layer: LayerFiles, blobs: Path) -> WrittenLayer:
    scratch = blobs / "unfinished"
    with scratch.open("wb") as file:
        outer = _HashingWriter(file)
        with gzip.GzipFile("", "wb", GZIP_LEVEL, cast(BinaryIO, outer), mtime=0) as packed_stream:
            inner = _HashingWriter(cast(BinaryIO, packed_stream))
            with tarfile.open(fileobj=cast(BinaryIO, inner), mode="w|", format=tarfile.PAX_FORMAT) as tar:
                size = sum(_add(tar, path, source, layer) for path, source in _entries(layer))
    scratch.rename(blobs / outer.digest.removeprefix("sha256:"))
    return WrittenLayer(layer.name, len(layer.files), size, outer.size, outer.digest, inner.digest)


def _entries(layer: LayerFiles) -> list[tuple[str, Path | bytes | None]]:
    """Every file, and every folder above one, in an order in which a folder comes before what it holds."""
    above = {str(p) for path in (*layer.files, *layer.folders) for p in PurePosixPath(path).parents if str(p) != "."}
    folders = sorted((above | set(layer.folders)) - set(layer.files))
    return sorted([*((path, None) for path in folders), *layer.files.items()], key=lambda entry: entry[0])


def _add(tar: tarfile.TarFile, path: str, source: Path | bytes | None, layer: LayerFiles) -> int:
    """One member; the bytes of its file."""
    info = tarfile.TarInfo(path)
    info.mtime = TIME
    if source is None:
        info.type, info.mode = tarfile.DIRTYPE, layer.folders.get(path, 0o755)
        tar.addfile(info)
        return 0
    if isinstance(source, bytes):
        info.size, info.mode = len(source), 0o644
        tar.addfile(info, io.BytesIO(source))
        return len(source)
    if source.is_symlink():
        info.type, info.linkname, info.mode = tarfile.SYMTYPE, str(source.readlink()), 0o777
        tar.addfile(info)
        return 0
    with source.open("rb") as file:
        status = source.stat()
        info.size, info.mode = status.st_size, 0o755 if status.st_mode & stat.S_IXUSR else 0o644
        tar.addfile(info, file)
    return info.size
