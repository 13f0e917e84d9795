"""A release on an OCI registry: an artifact for each version of a project, with its wheels and what travels with them.

Each file is a layer, and its name is the annotation that `oras pull` writes files by. The tag is `PROJECT-VERSION`. What
was published under a tag stays: a wheel of that name never changes, and wheels of further Pythons are added to it.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stackbuild.core import digest
from stackbuild.core.errors import UsageError
from stackbuild.publishing.catalog import FILE
from stackbuild.publishing.envelopes import envelope_text
from stackbuild.publishing.placement import WheelFile, read_wheel, travelling
from stackbuild.publishing.publication import Publication
from stackbuild.publishing.refusals import refuse_malformed, refuse_misnamed, refuse_names
from stackbuild.publishing.snapshot import SUMS, SUMS_SIGNATURE
from stackbuild.publishing.ssh_keys import SigningKey, TrustedKey
from stackbuild.publishing.ssh_signatures import is_ssh_signature, ssh_signature
from stackbuild.publishing.statements import STATEMENT_TYPE, envelope_name, is_statement
from stackbuild.remote.faults import RemoteFault
from stackbuild.remote.protocol import RemoteWriter
from stackbuild.remote.registry import LONGEST_TAG, MANIFEST_TYPE
from stackbuild.remote.trees import MOST_MANIFEST, StoredBlob, blob_pieces, layer_in, layer_of

ARTIFACT_TYPE = "application/vnd.stackbuild.release.v1"
EMPTY_TYPE = "application/vnd.oci.empty.v1+json"
EMPTY = b"{}"
TITLE = "org.opencontainers.image.title"
MEDIA_TYPES = {
    ".whl": "application/zip",
    ".cdx.json": "application/vnd.cyclonedx+json",
    ".dsse.json": "application/vnd.dsse.envelope.v1+json",
    ".json": STATEMENT_TYPE,
}
"""The end of a file's name to the type of its layer; others are plain text."""
MOST_SIGNATURE = 1 << 16
"""Bytes of a signature that are read at most."""

Say = Callable[[str], None]


@dataclass(frozen=True)
class ReleaseArtifact:
    """One release on a registry. `reference` names its bytes as container tools write it, `tag` its name there; `fresh` is False where it was there.

    `files` are the names of all files of it, with their sha256.
    """

    project: str
    version: str
    tag: str
    reference: str
    fresh: bool
    files: Mapping[str, str]


def push_release(
    wheels: Sequence[Path], writer: RemoteWriter, publication: Publication, say: Say
) -> tuple[ReleaseArtifact, ...]:
    """Put the wheels on a registry. Raises UsageError where one may not be published, RemoteFault, OSError.

    Every refusal comes before the first byte is sent. The manifest is sent last: a push that ends anywhere before leaves
    blobs that nothing names.
    """
    refuse_names(wheels)
    releases: dict[tuple[str, str], list[WheelFile]] = {}
    for path in wheels:
        wheel = read_wheel(path, publication.digests.get(path, ""))
        refuse_misnamed(wheel)
        refuse_malformed(wheel)
        releases.setdefault((wheel.project, wheel.version), []).append(wheel)
    contents = {
        release: {name: data for wheel in some for name, data in _beside(wheel, publication).items()}
        for release, some in releases.items()
    }
    tags = {release: _tag(*release) for release in releases}
    before = {release: _layers(writer, tag) for release, tag in tags.items()}
    for release, some in releases.items():
        for wheel in some:
            _refuse_taken(wheel, before[release], tags[release], publication)
        own = {*contents[release], *(wheel.path.name for wheel in some)}
        if publication.keys and any(name not in own and not name.startswith(SUMS) for name in before[release]):
            _refuse_unsigned(before[release], tags[release], writer, publication)
    return tuple(
        _push(release, some, contents[release], before[release], tags[release], writer, publication.keys, say)
        for release, some in releases.items()
    )


def _beside(wheel: WheelFile, publication: Publication) -> dict[str, bytes]:
    """What travels with a wheel, by name; the statements in a signed envelope too where there are keys."""
    contents, _ = travelling(wheel, publication.attachments.get(wheel.path, ()))
    if publication.keys:
        contents |= {
            envelope_name(name): envelope_text(data, STATEMENT_TYPE, publication.keys)
            for name, data in contents.items()
            if is_statement(name)
        }
    return contents


def _tag(project: str, version: str) -> str:
    """A registry's tag has no `+`, which begins a local version."""
    tag = re.sub(r"[^A-Za-z0-9._-]", "_", f"{project}-{version}")
    if len(tag) > LONGEST_TAG:
        raise UsageError(
            f"the tag {tag} has {len(tag)} characters, a registry takes {LONGEST_TAG}",
            next="build the wheel under a shorter name or version",
        )
    return tag


def _layers(writer: RemoteWriter, tag: str) -> dict[str, StoredBlob]:
    """The files of a release that is there, by name. Raises UsageError where the tag is something else."""
    manifest = writer.manifest(tag, MOST_MANIFEST)
    if manifest is None:
        return {}
    try:
        value = digest.json_of(manifest.decode("utf-8"))
        if value["artifactType"] != ARTIFACT_TYPE:
            raise ValueError(f"it is of type {value['artifactType']}")
        layers = {str(one["annotations"][TITLE]): layer_in(one) for one in value["layers"]}
        if wrong := [name for name in layers if not re.fullmatch(FILE, name)]:
            raise ValueError(f"a file of it is named {wrong[0][:80]!r}")
        return layers
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"the tag {tag} is there, and it is not a release of stackbuild: {error!r}"[:300],
            where=writer.url,
            next="publish to another repository",
        ) from None


def _refuse_taken(wheel: WheelFile, before: Mapping[str, StoredBlob], tag: str, publication: Publication) -> None:
    digest_before = before.get(wheel.path.name)
    if digest_before is not None and digest_before.digest != wheel.sha256 and not publication.replace:
        raise UsageError(
            f"{wheel.path.name} is published already under the tag {tag}, with other bytes",
            next="raise the version in the recipe; a file name never changes its content",
        )
    if before and SUMS_SIGNATURE in before and not publication.keys and not publication.unsigned:
        raise UsageError(
            f"the release {tag} is signed, and no key is given to sign its next state",
            next="add `--sign KEY`; `--unsigned` ends the signing",
        )


def _refuse_unsigned(
    before: Mapping[str, StoredBlob], tag: str, writer: RemoteWriter, publication: Publication
) -> None:
    """The files that are there and are signed again now were signed by one of the keys. Raises UsageError, RemoteFault."""
    keys = (*(TrustedKey(key.blob) for key in publication.keys), *publication.trusted_keys)
    signatures = [_blob(writer, layer) for name, layer in sorted(before.items()) if name.startswith(SUMS_SIGNATURE)]
    if not any(is_ssh_signature(_sums(before), one, keys) for one in signatures):
        raise UsageError(
            f"the release {tag} has files that none of the keys has signed",
            where=writer.url,
            next="give all wheels of the release in one command: then nothing of what lies there is signed unread",
        )


def _blob(writer: RemoteWriter, layer: StoredBlob) -> bytes:
    """A small blob, compared with its length and digest. Raises RemoteFault."""
    if layer.size > MOST_SIGNATURE:
        raise RemoteFault(f"a signature of {layer.size} bytes; {MOST_SIGNATURE} are read at most", blob=layer.digest)
    with writer.blob(layer.digest, lambda count: None) as reader:
        return b"".join(blob_pieces(reader, layer))


def _sums(layers: Mapping[str, StoredBlob]) -> bytes:
    """The files of a release as `sha256sum --check` reads them."""
    rows = ((name, layer) for name, layer in sorted(layers.items()) if not name.startswith(SUMS))
    return "".join(f"{layer.digest}  {name}\n" for name, layer in rows).encode()


def _push(
    release: tuple[str, str],
    wheels: Sequence[WheelFile],
    contents: Mapping[str, bytes],
    before: Mapping[str, StoredBlob],
    tag: str,
    writer: RemoteWriter,
    keys: Sequence[SigningKey],
    say: Say,
) -> ReleaseArtifact:
    layers = {name: layer for name, layer in before.items() if not name.startswith(SUMS)}
    layers |= {wheel.path.name: StoredBlob(wheel.sha256, wheel.path.stat().st_size) for wheel in wheels}
    layers |= {name: layer_of(data) for name, data in contents.items()}
    sums = _sums(layers)
    texts = {**contents, SUMS: sums}
    texts |= {f"{SUMS_SIGNATURE}{f'.{n}' if n > 1 else ''}": ssh_signature(sums, key) for n, key in enumerate(keys, 1)}
    layers |= {name: layer_of(data) for name, data in texts.items()}
    manifest = _manifest(release, layers)
    reference = f"{writer.url.partition('://')[2].rstrip('/')}@sha256:{digest.of_bytes(manifest)}"
    files = {name: layer.digest for name, layer in sorted(layers.items())}
    if writer.manifest(tag, MOST_MANIFEST) == manifest:
        return ReleaseArtifact(*release, tag, reference, False, files)
    paths = {wheel.path.name: wheel.path for wheel in wheels}
    for name, layer in sorted(layers.items()):
        if name in paths or name in texts:
            say(f"{name}, {layer.size / 1e6:.1f} MB …")
            _send(writer, layer, paths.get(name), texts.get(name, b""))
    _send(writer, layer_of(EMPTY), None, EMPTY)
    writer.put_manifest(tag, manifest)
    if writer.manifest(tag, MOST_MANIFEST) != manifest:
        raise RemoteFault("another one wrote it at the same moment; run this again", blob=tag)
    return ReleaseArtifact(*release, tag, reference, True, files)


def _send(writer: RemoteWriter, layer: StoredBlob, path: Path | None, data: bytes) -> None:
    """Send a blob unless it is there. The registry compares it with its digest. Raises RemoteFault, OSError."""
    size = writer.blob_size(layer.digest)
    if size is not None and size != layer.size:
        raise RemoteFault(f"a blob with {size} bytes in place of {layer.size}", blob=layer.digest)
    if size is None:
        with ExitStack() as stack:
            content = stack.enter_context(path.open("rb")) if path else io.BytesIO(data)
            writer.put_blob(layer.digest, content, layer.size, lambda count: None)


def _manifest(release: tuple[str, str], layers: Mapping[str, StoredBlob]) -> bytes:
    """The OCI image manifest of a release: the same bytes for the same files."""
    project, version = release
    value: dict[str, Any] = {
        "schemaVersion": 2,
        "mediaType": MANIFEST_TYPE,
        "artifactType": ARTIFACT_TYPE,
        "config": layer_of(EMPTY).descriptor(EMPTY_TYPE),
        "layers": [
            layer.descriptor(_media_type(name), annotations={TITLE: name}) for name, layer in sorted(layers.items())
        ],
        "annotations": {TITLE: project, "org.opencontainers.image.version": version},
    }
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def _media_type(name: str) -> str:
    return next((kind for end, kind in MEDIA_TYPES.items() if name.endswith(end)), "text/plain")
