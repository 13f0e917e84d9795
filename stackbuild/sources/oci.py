"""OCI image layouts, checked down to every blob's digest."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stackbuild.core import digest
from stackbuild.core.errors import LockError, StepFailed
from stackbuild.core.plain_file import read_regular

MOST_JSON = 16 << 20
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
            data = read_regular(self.folder / "index.json", MOST_JSON)
            if data is None:
                raise ValueError("index.json is not a file that can be read")
            index = digest.json_of(data.decode("utf-8"))
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
        """A blob that is a JSON object. Raises StepFailed where it is not."""
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


def arrange_layout(copied_layout: Path, folder: Path) -> Layout:
    """A layout of the files that `skopeo copy … dir:` wrote: manifests and blobs, each moved to the name of its
    digest."""
    blobs = folder / "blobs" / "sha256"
    blobs.mkdir(parents=True)
    head = digest.of_file(copied_layout / "manifest.json")
    for path in copied_layout.iterdir():
        is_manifest = path.name.endswith("manifest.json")
        path.rename(blobs / (digest.of_file(path) if is_manifest else path.name))
    (folder / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": [{"digest": f"sha256:{head}"}]}))
    return Layout(folder)
