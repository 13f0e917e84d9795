"""The verb `publish`: wheels → a static index that pip and uv install from. Receipt: what lies where, with digests.

The simple repository API as PEP 503/629/658/691/700/714 have it, as files: HTML as `index.html`, JSON as `index.json`
beside it. Wheels come first, then their metadata, then the project's page, the root page last, each renamed into place:
a reader never sees a link to what is not there. A file name is never reused for other bytes.
"""

from __future__ import annotations

import html
import json
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email import message_from_bytes
from pathlib import Path
from urllib.parse import quote

from stackbuild.core import digest
from stackbuild.core.errors import UsageError
from stackbuild.core.packaging import InvalidVersion, Version, canonicalize_name, distribution_of, parse_wheel_filename
from stackbuild.store import atomic, locks

API_VERSION = "1.4"
STAGED = ".staged"


@dataclass(frozen=True)
class Published:
    """One wheel on an index; `fresh` is False when it was there already, byte for byte. `claim` is what its verification
    came to, or that none is known."""

    project: str
    version: str
    file: str
    sha256: str
    size: int
    fresh: bool
    claim: str = ""


@dataclass(frozen=True)
class Receipt:
    """What was published where."""

    index: str
    wheels: tuple[Published, ...]


def publish(
    wheels: tuple[Path, ...], index: Path, replace: bool = False, claims: Mapping[str, str] | None = None
) -> Receipt:
    """Put wheels on the index in that folder. `replace` allows other bytes under a name that is there (local use only).

    `claims` are what verification came to, by file name: they stand on the project's page and in a file beside the wheel.

    Raises UsageError when a name is taken by other bytes, OSError.
    """
    index.mkdir(parents=True, exist_ok=True)
    with locks.hold(index / ".lock", lambda pid: None, lambda: None):
        for left in index.glob(f"**/.*{STAGED}"):
            left.unlink()
        for wheel in wheels:
            _refuse_misnamed(wheel)
        _refuse_twice(wheels)
        for wheel in wheels:
            _refuse_taken(wheel, index, replace)
        done = tuple(_put(wheel, index, (claims or {}).get(wheel.name, "")) for wheel in wheels)
        for project in sorted({p.project for p in done}):
            _write_project(index, project)
        _write_root(index)
    return Receipt(str(index), done)


def is_published(wheels: tuple[Path, ...], index: Path) -> bool:
    """Whether each wheel is on the index with the same bytes, and its pages are there."""
    for wheel in wheels:
        project, _ = distribution_of(wheel.name)
        there = index / project / wheel.name
        if (
            not (index / project / "index.html").exists()
            or not there.exists()
            or digest.of_file(there) != digest.of_file(wheel)
        ):
            return False
    return (index / "index.html").exists()


def _refuse_twice(wheels: tuple[Path, ...]) -> None:
    names = [parse_wheel_filename(wheel.name) for wheel in wheels]
    for wheel, name in zip(wheels, names, strict=True):
        if names.count(name) > 1:
            raise UsageError(f"{wheel.name} is given more than once", next="give each wheel once")


def _refuse_misnamed(wheel: Path) -> None:
    """pip believes the file name while it chooses and the metadata when it installs."""
    project, version = distribution_of(wheel.name)
    said = message_from_bytes(_metadata(wheel))
    try:
        inside = str(canonicalize_name(said.get("Name", ""))), str(Version(said.get("Version", "")))
    except InvalidVersion as error:
        raise UsageError(
            f"its metadata has no version: {error}", where=str(wheel), next="build the wheel again"
        ) from None
    if inside != (project, version):
        raise UsageError(
            f"the file name says {project} {version}, the metadata inside {' '.join(inside)}",
            where=str(wheel),
            next="a renamed wheel is not another release: build it again",
        )


def _refuse_taken(wheel: Path, index: Path, replace: bool) -> None:
    project, _ = distribution_of(wheel.name)
    there = index / project / wheel.name
    for other in there.parent.glob("[!.]*.whl"):
        if other.name != wheel.name and parse_wheel_filename(other.name) == parse_wheel_filename(wheel.name):
            raise UsageError(
                f"{wheel.name} is published already, as {other.name}",
                where=str(index),
                next="publish it under that name, or remove that file from the index first",
            )
    if not replace and there.exists() and digest.of_file(there) != digest.of_file(wheel):
        raise UsageError(
            f"{wheel.name} is published already, with other bytes",
            where=str(index),
            next="raise the version in the recipe, or publish to another index; a file name never changes its content",
        )


def _put(wheel: Path, index: Path, claim: str) -> Published:
    project, version = distribution_of(wheel.name)
    target = index / project / wheel.name
    sha256 = digest.of_file(wheel)
    fresh = not target.exists() or digest.of_file(target) != sha256
    metadata, beside = _metadata(wheel), target.with_name(f"{wheel.name}.metadata")
    if fresh:
        _write(target, wheel.read_bytes())
    if not beside.exists() or beside.read_bytes() != metadata:  # a publish may have been killed in between
        _write(beside, metadata)
    if claim:
        _write(_claim_file(target), f"{sha256} {' '.join(claim.split())}\n".encode())
    return Published(project, version, wheel.name, sha256, target.stat().st_size, fresh, _claim(target, sha256))


UNVERIFIED = "no verification is known"


def _claim_file(wheel: Path) -> Path:
    return wheel.with_name(f"{wheel.name}.claim")


def _claim(wheel: Path, sha256: str) -> str:
    """What the verification of these bytes came to, from the file beside the wheel; that of other bytes says nothing."""
    try:
        digest_of_it, _, claim = _claim_file(wheel).read_text("utf-8").strip().partition(" ")
    except (OSError, ValueError):
        return UNVERIFIED
    return claim if digest_of_it == sha256 else UNVERIFIED


def _metadata(wheel: Path) -> bytes:
    """Raises UsageError where the file is no wheel."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            names = [n for n in archive.namelist() if n.endswith(".dist-info/METADATA") and n.count("/") == 1]
            if len(names) == 1:
                return archive.read(names[0])
            reason = f"it has {len(names) or 'no'} METADATA"
    except (zipfile.BadZipFile, zlib.error, NotImplementedError) as error:
        reason = str(error)
    raise UsageError(f"not a wheel: {reason}", where=str(wheel), next="`stackbuild inspect` says more")


def _write(path: Path, data: bytes) -> None:
    """Whole under its name or not there; a dot file cannot be mistaken for a wheel by whoever serves the folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    staged = path.with_name(f".{path.name}{STAGED}")
    staged.write_bytes(data)
    atomic.flush_files(staged.parent, [staged], [])
    atomic.move_whole(staged, path)


def _rows(index: Path, project: str) -> list[dict[str, object]]:
    rows = []
    for wheel in sorted((index / project).glob("[!.]*.whl")):
        beside = wheel.with_name(f"{wheel.name}.metadata")
        if not beside.exists():  # a publish was killed after the wheel
            _write(beside, _metadata(wheel))
        requires = message_from_bytes(beside.read_bytes()).get("Requires-Python", "")
        uploaded = datetime.fromtimestamp(wheel.stat().st_mtime, UTC)
        sha256 = digest.of_file(wheel)
        rows.append(
            {
                "filename": wheel.name,
                "url": quote(wheel.name),
                "hashes": {"sha256": sha256},
                "size": wheel.stat().st_size,
                "upload-time": uploaded.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
                **({"requires-python": requires} if requires else {}),
                "core-metadata": {"sha256": digest.of_file(beside)},
                "yanked": False,
                "_stackbuild-claim": _claim(wheel, sha256),
            }
        )
    return rows


def _write_project(index: Path, project: str) -> None:
    rows = _rows(index, project)
    versions = sorted({distribution_of(str(row["filename"]))[1] for row in rows})
    page = {"meta": {"api-version": API_VERSION}, "name": project, "versions": versions, "files": rows}
    _write(index / project / "index.json", json.dumps(page, indent=1).encode())
    _write(index / project / "index.html", _page(project, [_anchor(row) for row in rows]))


def _anchor(row: dict[str, object]) -> str:
    hashes, metadata = row["hashes"], row["core-metadata"]
    assert isinstance(hashes, dict) and isinstance(metadata, dict)
    core = f"sha256={metadata['sha256']}"
    attributes = {
        "href": f"{row['url']}#sha256={hashes['sha256']}",
        **({"data-requires-python": str(row["requires-python"])} if "requires-python" in row else {}),
        "data-core-metadata": core,
        "data-dist-info-metadata": core,
    }
    spelt = " ".join(f'{name}="{html.escape(value)}"' for name, value in attributes.items())
    return f"<a {spelt}>{html.escape(str(row['filename']))}</a> {html.escape(str(row['_stackbuild-claim']))}<br>"


def _write_root(index: Path) -> None:
    projects = sorted(p.parent.name for p in index.glob("*/index.html"))
    page = {"meta": {"api-version": API_VERSION}, "projects": [{"name": name} for name in projects]}
    _write(index / "index.json", json.dumps(page, indent=1).encode())
    _write(index / "index.html", _page("Simple index", [f'<a href="{p}/">{p}</a><br>' for p in projects]))


def _page(title: str, lines: list[str]) -> bytes:
    head = f'<meta name="pypi:repository-version" content="{API_VERSION}"><title>{html.escape(title)}</title>'
    return f"<!DOCTYPE html>\n<html><head>{head}</head><body>\n{chr(10).join(lines)}\n</body></html>\n".encode()
