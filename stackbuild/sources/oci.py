"""OCI image layouts: checked down to every blob's digest, and unpacked into a root file system.

Layers are unpacked by tar in a sandbox of their own that can write to the new root and to nothing else. A layer that
plants a link to the machine's files and writes through it reaches a read-only file system.
"""

from __future__ import annotations

import json
import re
import tarfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from stackbuild.core import digest
from stackbuild.core.errors import LockError, StepFailed
from stackbuild.runners import bwrap
from stackbuild.store import atomic

MOST_JSON = 16 << 20
WHITEOUT = ".wh."
OPAQUE = ".wh..wh..opq"
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
MANIFESTS = ("application/vnd.oci.image.manifest.v1+json", "application/vnd.docker.distribution.manifest.v2+json")


def reference(image: str) -> tuple[str, str]:
    """Name (with its registry, which may have a port) and tag of an image such as
    `registry.lan:5000/rocm/dev:6.4@sha256:…`."""
    plain = image.partition("@")[0]
    head, slash, last = plain.rpartition("/")
    name, _, tag = last.partition(":")
    return f"{head}{slash}{name}", tag or "latest"


@dataclass(frozen=True)
class Layout:
    """An OCI image layout: a folder with `index.json` and `blobs/sha256/`."""

    folder: Path

    @property
    def digest(self) -> str:
        """The digest of its one image. Raises StepFailed where it holds none or several."""
        try:
            index = digest.json_of((self.folder / "index.json").read_text())
            digests = [str(m["digest"]) for m in index["manifests"]]
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise StepFailed(f"no OCI image layout: {error}", where=str(self.folder)) from None
        if len(digests) != 1:
            raise StepFailed(f"the layout holds {len(digests)} images, one is wanted", where=str(self.folder))
        return digests[0]

    def blob(self, name: str) -> Path:
        """A blob, its bytes checked. Raises LockError where they are others, StepFailed where it is not there."""
        path = self.folder / "blobs" / "sha256" / name.removeprefix("sha256:")
        if not _DIGEST.fullmatch(name) or not path.is_file():
            raise StepFailed(f"the layout lacks {name}", where=str(self.folder))
        if (sha256 := digest.of_file(path)) != name.removeprefix("sha256:"):
            raise LockError(f"the layout is damaged: a blob of digest {name} has {sha256}", where=str(path))
        return path

    def document(self, name: str) -> dict[str, Any]:
        """A blob that is a JSON object. Raises StepFailed where it is none."""
        path = self.blob(name)
        try:
            if path.stat().st_size > MOST_JSON:
                raise ValueError(f"{path.stat().st_size} bytes")
            return dict(digest.json_of(path.read_text()))
        except (ValueError, TypeError) as error:
            raise StepFailed(f"the layout's {name} is not a JSON object: {error}", where=str(self.folder)) from None

    def layers(self, architecture: str = "amd64") -> tuple[Path, ...]:
        """The layers of its image, lowest first; of an index, those of the named architecture. Raises as `blob`."""
        manifest = self.document(self.digest)
        try:
            if manifest.get("mediaType") not in MANIFESTS and "manifests" in manifest:
                fits = [m for m in manifest["manifests"] if m.get("platform", {}).get("architecture") == architecture]
                if not fits:
                    raise StepFailed(f"the image has nothing for {architecture}", where=str(self.folder))
                manifest = self.document(str(fits[0]["digest"]))
            return tuple(self.blob(str(layer["digest"])) for layer in manifest["layers"])
        except (LookupError, TypeError, AttributeError) as error:
            raise StepFailed(f"no image manifest: {error!r}", where=str(self.folder)) from None


def arrange_layout(copied: Path, folder: Path) -> Layout:
    """A layout of the files that `skopeo copy … dir:` wrote: manifests and blobs, each moved to the name of its
    digest."""
    blobs = folder / "blobs" / "sha256"
    blobs.mkdir(parents=True)
    head = digest.of_file(copied / "manifest.json")
    for path in copied.iterdir():
        is_manifest = path.name.endswith("manifest.json")
        path.rename(blobs / (digest.of_file(path) if is_manifest else path.name))
    (folder / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": [{"digest": f"sha256:{head}"}]}))
    return Layout(folder)


def unpack(layout: Layout, root: Path) -> None:
    """Put the image's files into the empty folder `root`."""
    unpack_layers(layout.layers(), root)


def unpack_layers(layers: Iterable[Path], root: Path) -> None:
    """Put the files of layers, lowest first, into the empty folder `root`. Their bytes are checked already."""
    for layer in layers:
        _apply_whiteouts(layer, root)
        _extract(layer, root)


def _apply_whiteouts(layer: Path, root: Path) -> None:
    """Remove what the layer says is no longer there; nothing is followed out of the root."""
    try:
        with tarfile.open(layer) as tar:
            names = [PurePosixPath(m.name) for m in tar if PurePosixPath(m.name).name.startswith(WHITEOUT)]
    except tarfile.TarError as error:
        raise StepFailed(f"a layer cannot be read: {error}", where=str(layer)) from None
    for name in names:
        parent = root / name.parent
        hidden = name.name.removeprefix(WHITEOUT)
        inside = ".." not in name.parts and not name.is_absolute() and parent.resolve().is_relative_to(root.resolve())
        if hidden in ("", ".", "..") or not inside:
            raise StepFailed(f"the whiteout {str(name)!r} is refused", where=str(layer))
        if name.name == OPAQUE:
            paths = list(parent.iterdir()) if parent.is_dir() else []
        elif hidden.startswith(WHITEOUT):
            continue  # the format keeps these names to itself
        else:
            paths = [parent / hidden]
        for path in paths:
            if path.is_dir() and not path.is_symlink():
                atomic.remove(path)
            else:
                path.unlink(missing_ok=True)


def _extract(layer: Path, root: Path) -> None:
    sandbox = bwrap.Bwrap(
        bwrap.bwrap_path(),
        root=("--ro-bind", "/", "/"),
        mounts=("--dir", "/tmp/root", "--bind", str(root), "/tmp/root", "--ro-bind", str(layer), "/tmp/layer"),
        env=(("PATH", "/usr/bin:/bin"), ("LANG", "C.UTF-8")),
        capabilities=("CAP_DAC_OVERRIDE",),  # a layer may write into a folder that an earlier one made read-only
    )
    words = [
        "tar",
        "--extract",
        "--file=/tmp/layer",
        "--directory=/tmp/root",
        "--no-same-owner",
        "--delay-directory-restore",
    ]
    code, output = sandbox.run(*words, f"--exclude={WHITEOUT}*", "--exclude=dev/*", "--exclude=./dev/*")
    if code != 0:
        raise StepFailed(f"a layer cannot be unpacked: {output.strip()[-400:]}", where=str(layer))


def runs(dockerfile: str) -> tuple[str, ...]:
    """The shell lines of a Dockerfile's RUN instructions, in order, with continued lines joined."""
    joined = re.sub(
        r"\\\n", " ", "\n".join(line for line in dockerfile.splitlines() if not line.lstrip().startswith("#"))
    )
    return tuple(line[4:].strip() for line in joined.splitlines() if line.startswith("RUN "))
