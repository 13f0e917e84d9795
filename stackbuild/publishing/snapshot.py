"""The Snapshot of an index: every file with its digest, a number that rises, and a time after which it does not hold.

Whoever verifies it sees a file that was changed, added or left out, an older state of the index served again (its number
is lower than one seen before), and a state that is served for too long (it has expired). The ideas are those of The
Update Framework's snapshot and timestamp roles (https://theupdateframework.io), in one file.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

from stackbuild.core import digest
from stackbuild.core.errors import UsageError
from stackbuild.core.model import AwareDatetime, Field, Model
from stackbuild.core.model_mistakes import reason_of
from stackbuild.publishing.catalog import SHA256, Catalog
from stackbuild.publishing.envelopes import envelope_text
from stackbuild.publishing.generation import STAGING_ENDING, catalog_text, read_state
from stackbuild.publishing.ssh_keys import SigningKey
from stackbuild.publishing.ssh_signatures import ssh_signature

ENVELOPE, SUMS, SUMS_SIGNATURE = "snapshot.dsse.json", "SHA256SUMS", "SHA256SUMS.sig"
SNAPSHOT_TYPE = "application/vnd.stackbuild.snapshot+json"
ENVELOPE_LIMIT = 32 << 20
"""Bytes of an envelope that are read at most: the snapshot of some 100,000 files."""
CLOCK_SKEW = timedelta(minutes=10)
"""So far the clocks of two machines may differ."""
OWN_STAGED = re.compile(
    rf"\.(index\.(html|json)|current|{re.escape(ENVELOPE)}|SHA256SUMS[.a-z0-9]*|.+-variants\.json|.+\.whl(\.[a-z.0-9]+)?){re.escape(STAGING_ENDING)}"
)
"""The names of files that a change of an index, or its placement, stages."""
ROOT = r"[A-Za-z0-9_][A-Za-z0-9._+-]*(/[A-Za-z0-9_][A-Za-z0-9._+-]*)*"
"""What a name of an index looks like."""
_ROCM = re.compile(r"rocm[-_. ]?([0-9].*)", re.IGNORECASE)
"""A part of a path that names a ROCm."""
OUTPUT_FOLDERS = ("dist", "public")
"""Folders that indexes are made in: what lies below is an index's name."""
DAYS = 90.0
"""How long a signature of an index holds unless another time is asked for."""


class SnapshotFile(Model):
    """One file of an index; `size` is in bytes."""

    sha256: str = Field(pattern=SHA256)
    size: int = Field(ge=0)


class Snapshot(Model):
    """The signed payload. Times are UTC, as RFC 3339 has them; `files` are by path below the index.

    `catalog` is the sha256 of the catalog that the pages were made of, "" in a snapshot of an older version.
    `index` names the index wherever it lies: drawn at its first signature and kept, "" in a snapshot of an older version.
    `root` is the name that people know it by, as `rocm-7.2/simple`, and `url` where it is served: another index of the same
    key is not taken for it. Both are "" in a snapshot of an older version.
    """

    type: Literal["stackbuild.snapshot/1"] = "stackbuild.snapshot/1"
    index: str = Field(default="", pattern=r"^([0-9a-f]{32})?$")
    root: str = Field(default="", pattern=rf"^({ROOT})?$")
    url: str = ""
    number: int = Field(ge=1)
    issued: AwareDatetime
    expires: AwareDatetime
    catalog: str = Field(default="", pattern=r"^([0-9a-f]{64})?$")
    files: dict[str, SnapshotFile]


def signed_files(
    index: Path,
    catalog: Catalog,
    contents: Mapping[str, bytes],
    keys: Sequence[SigningKey],
    holds: timedelta,
    accept_changes: bool = False,
    root: str = "",
) -> dict[str, bytes]:
    """The files that make an index signed: the envelope, SHA256SUMS, and its signature by each key. `root` names the index.

    Raises UsageError where this machine's clock is behind the last snapshot's, unless `accept_changes`.
    """
    now = datetime.now(UTC).replace(microsecond=0)
    last = last_snapshot(index)
    if last and now < last.issued and not accept_changes:
        raise UsageError(
            f"this machine's clock says {now:%Y-%m-%d %H:%M} UTC, and the index was signed at {last.issued:%Y-%m-%d %H:%M}",
            where=str(index),
            next="set the clock; if it is right, the last signature was made by a wrong one:"
            " `stackbuild index sign INDEX --sign KEY --accept-changes` puts another in its place, and `--unsigned` ends it",
        )
    if holds <= timedelta(0):
        raise UsageError("a signature must hold for some time", next="give `--days` above 0")
    files = {path: SnapshotFile(sha256=digest.of_bytes(data), size=len(data)) for path, data in contents.items()}
    for name, project in catalog.projects.items():
        for row in project.all_files:
            files[f"{name}/{row.path}"] = SnapshotFile(sha256=row.sha256, size=row.size)
            metadata = row.beside(f"{row.name}.metadata")
            size = (index / name / metadata).stat().st_size
            files[f"{name}/{metadata}"] = SnapshotFile(sha256=row.metadata_sha256, size=size)
            for one in row.attached:
                files[f"{name}/{row.beside(one.name)}"] = SnapshotFile(sha256=one.sha256, size=one.size)
    snapshot = Snapshot(
        index=(last and last.index) or secrets.token_hex(16),
        root=root,
        url=catalog.url,
        number=catalog.number,
        issued=now,
        expires=now + holds,
        catalog=digest.of_bytes(catalog_text(catalog)),
        files=dict(sorted(files.items())),
    )
    payload = snapshot.model_dump_json().encode()
    sums = sums_text(snapshot)
    signed_fields = {
        ENVELOPE: envelope_text(payload, SNAPSHOT_TYPE, keys),
        SUMS: sums,
        SUMS_SIGNATURE: ssh_signature(sums, keys[0]),
    }
    return signed_fields | {
        f"{SUMS_SIGNATURE}.{place}": ssh_signature(sums, key) for place, key in enumerate(keys[1:], 2)
    }


def sums_text(snapshot: Snapshot) -> bytes:
    """The files of a snapshot as `sha256sum --check` reads them."""
    return "".join(f"{file.sha256}  {path}\n" for path, file in snapshot.files.items()).encode()


def read_snapshot(payload: bytes) -> Snapshot:
    """Raises ValueError where the payload is not a snapshot."""
    try:
        return Snapshot.model_validate(digest.unique_json_of(payload.decode("utf-8")))
    except ValueError as error:
        raise ValueError(f"it is not a snapshot: {reason_of(error)}") from None


def is_root_name(text: str) -> bool:
    """Whether an index may have that name."""
    return re.fullmatch(ROOT, text) is not None


def root_of_places(places: Sequence[str]) -> str:
    """The name of an index that nobody named, by the paths or the URL that lead to it; by one that names a ROCm, if any does.

    It is what lies below `dist/` or `public/`, or from the part on that names the ROCm, else the last part; "" where that
    cannot be a name.
    """
    all_parts = [_parts_of_name(place) for place in places]
    parts, is_output = next((row for row in all_parts if _rocm_of(row[0])), all_parts[0])
    first = max((number for number, part in enumerate(parts) if _ROCM.match(part)), default=len(parts) - 1)
    name = "/".join(parts if is_output else parts[first:])
    return name if is_root_name(name) else ""


def _parts_of_name(place: str) -> tuple[list[str], bool]:
    """The parts of a path that may name an index, and whether they are those below `dist/` or `public/`; all where it has
    neither."""
    parts = [part for part in place.split("/") if part]
    first = max((number for number, part in enumerate(parts[:-1], 1) if part in OUTPUT_FOLDERS), default=0)
    return parts[first:], first > 0


def root_problem(snapshot: Snapshot, root: str, places: Sequence[str]) -> str:
    """What speaks against that index at its places, or under the name that is expected; "" where nothing does.

    Without an expected name each path to it says which ROCm it is for. An index of an older version has no name: it is taken
    then. The name of an index without a ROCm agrees with a ROCm above `dist/` or `public/`, as that of a checkout.
    """
    if root:
        if snapshot.root == root:
            return ""
        own = f"was signed as {snapshot.root}" if snapshot.root else "was signed without a name, by an older stackbuild"
        return f"the index {own}, and {root} is expected"
    own_rocm = _rocm_of(snapshot.root.split("/"))
    for place in places if snapshot.root else ():
        rocm = _rocm_of(place.split("/") if own_rocm else _parts_of_name(place)[0])
        if rocm and _rocm_version(rocm) != _rocm_version(own_rocm):
            return f"the index was signed as {snapshot.root}, and it lies where that of {rocm} belongs"
    return ""


def _rocm_of(parts: Sequence[str]) -> str:
    """The last part of a path that names a ROCm, as `rocm-7.2` of `…/rocm-7.2/simple`; "" for none."""
    return next((part for part in reversed(parts) if _ROCM.match(part)), "")


def _rocm_version(part: str) -> str:
    """What `rocm-7.2`, `ROCm_7_2` and `rocm7.2` have in common."""
    match = _ROCM.match(part)
    return re.sub(r"[-_.]+", ".", match[1].lower()) if match else ""


def index_name(snapshot: Snapshot) -> list[str]:
    """The index in a table of numbers, by its own name; none for a snapshot of an older version."""
    return [f"index {snapshot.index}"] if snapshot.index else []


def last_snapshot(index: Path) -> Snapshot | None:
    """The snapshot that stands, unverified: a change that signs has verified it (`signed_state`), or accepts what lies there."""
    from stackbuild.publishing.envelopes import SignatureRefused, read_envelope

    try:
        envelope = read_state(index, ENVELOPE)
        return None if envelope is None else read_snapshot(bytes(read_envelope(envelope).payload))
    except (SignatureRefused, ValueError):
        return None
