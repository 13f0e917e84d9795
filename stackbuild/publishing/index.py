"""The verb `publish`: wheels → a static index that pip and uv install from. Receipt: what lies where, with digests.

Wheels and what travels with them come first, then all pages at once (`generation`). A file name that was published never
changes its bytes, but in an index of one's own (`replace`). Nothing that was published is removed: a bad release is
yanked, a bad project quarantined.
"""

from __future__ import annotations

import shutil
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from stackbuild.core import digest
from stackbuild.core.errors import UsageError
from stackbuild.core.packaging import (
    InvalidRequirement,
    InvalidVersion,
    Requirement,
    Version,
    canonicalize_name,
    distribution_of,
    parse_wheel_filename,
)
from stackbuild.publishing.catalog import (
    AttachedFile,
    Catalog,
    CatalogFile,
    CoreMetadata,
    Project,
    ProjectStatus,
    core_metadata,
)
from stackbuild.publishing.generation import CURRENT, STAGED, adopt, read_catalog, switch
from stackbuild.publishing.pages import UNVERIFIED, direct_requirement, offered, pages
from stackbuild.publishing.signing import SigningKey, envelope_text, read_envelope, signers
from stackbuild.publishing.snapshot import DAYS, ENVELOPE, SNAPSHOT_TYPE, signed_files
from stackbuild.publishing.statements import STATEMENT_TYPE, claim_of, envelope_name, is_statement
from stackbuild.store import atomic, locks

METADATA_LIMIT = 16 << 20
"""Bytes of METADATA and of an SBOM that are read out of a wheel."""


@dataclass(frozen=True)
class Published:
    """One wheel on an index; `fresh` is False when it was there already, byte for byte.

    `path` is where it lies below the index. `requirement` names these bytes: `NAME @ URL#sha256=…`. `claim` is what their
    verification came to, or that none is known.
    """

    project: str
    version: str
    file: str
    sha256: str
    size: int
    fresh: bool
    path: str
    requirement: str
    claim: str


@dataclass(frozen=True)
class Receipt:
    """What was published where. `number` is the index's new number; `signed_by` are fingerprints of keys."""

    index: str
    wheels: tuple[Published, ...]
    number: int
    signed_by: tuple[str, ...] = ()

    @property
    def install_line(self) -> str:
        """The command that installs these wheels, by place and digest, with their dependencies from the default index.

        No other index can offer a wheel in their place.
        """
        return " ".join(["pip install", *(f'"{wheel.requirement}"' for wheel in self.wheels)])


@dataclass(frozen=True)
class Publication:
    """How wheels are published.

    `replace` allows other bytes under a name that is there, `older` a version below the highest one there. `attached` are
    the files that travel with a wheel. `url` is where the index is served. `keys` sign, and the signature of the index
    holds for so many `days`.
    """

    replace: bool = False
    older: bool = False
    attached: Mapping[Path, tuple[Path, ...]] = field(default_factory=dict)
    url: str = ""
    keys: tuple[SigningKey, ...] = ()
    unsigned: bool = False
    days: float = DAYS


def publish(wheels: tuple[Path, ...], index: Path, publication: Publication = Publication()) -> Receipt:
    """Put wheels on the index in that folder, all at once. Raises UsageError where one may not be published, OSError."""
    with _locked(index) as catalog:
        named = [(wheel, _metadata(wheel)) for wheel in wheels]
        _refuse_twice(wheels)
        for wheel, metadata in named:
            _refuse_misnamed(wheel, core_metadata(metadata))
            _refuse_taken(wheel, catalog, index, publication)
        fresh: set[str] = set()
        for wheel, metadata in named:
            project, _ = distribution_of(wheel.name)
            known = catalog.projects.get(project, Project()).files.get(wheel.name)
            row = _put(wheel, metadata, known, index / project, publication.attached.get(wheel, ()))
            if known is None or known.sha256 != row.sha256:
                fresh.add(wheel.name)
            catalog = catalog.with_file(project, row)
        if publication.url:
            catalog = catalog.model_copy(update={"url": publication.url.rstrip("/")})
        _refuse_open(catalog, {distribution_of(wheel.name)[0] for wheel in wheels})
        before = read_catalog(index) or Catalog()
        if catalog != before or not _is_signed_by(index, publication.keys):
            catalog = _commit(index, catalog, publication)
        if publication.replace:
            _remove_replaced(index, (before, catalog))
    return _receipt(wheels, index, catalog, fresh, publication.keys)


def is_published(wheels: tuple[Path, ...], index: Path) -> bool:
    """Whether each wheel is on the index with the same bytes."""
    catalog = read_catalog(index)
    return catalog is not None and all(
        (row := _row(catalog, wheel.name)) is not None
        and row.sha256 == digest.of_file(wheel)
        and _is_unchanged(index / distribution_of(wheel.name)[0] / row.path, row)
        for wheel in wheels
    )


def yank(
    index: Path, project: str, version: str, reason: str | None, publication: Publication = Publication()
) -> Catalog:
    """Mark all files of a version as yanked (PEP 592), or, where `reason` is None, as not yanked. The bytes stay.

    An installer takes a yanked file only where it was asked for by `==`. Raises UsageError for a version that is not there.
    """
    with _locked(index) as catalog:
        known = _project(catalog, project, index)
        wanted = [file for file in known.files.values() if file.version == str(Version(version))]
        if not wanted:
            raise UsageError(
                f"{project} has no version {version}",
                where=str(index),
                next=f"it has {', '.join(known.versions) or 'none'}",
            )
        for file in wanted:
            catalog = catalog.with_file(project, file.model_copy(update={"yanked": reason}))
        return _commit(index, catalog, publication)


def set_status(
    index: Path, project: str, status: ProjectStatus, reason: str, publication: Publication = Publication()
) -> Catalog:
    """Set a project's status (PEP 792). The page of a quarantined project lists no file; the bytes stay."""
    with _locked(index) as catalog:
        known = _project(catalog, project, index)
        changed = known.model_copy(update={"status": status, "reason": reason})
        return _commit(index, catalog.with_project(project, changed), publication)


def sign(index: Path, publication: Publication) -> Catalog:
    """Sign the index as it stands anew, for `days` from now: before its signature expires."""
    with _locked(index) as catalog:
        return _commit(index, catalog, publication)


def cosign(index: Path, keys: tuple[SigningKey, ...]) -> Catalog:
    """Add signatures of more keys to those of a signed index; its number and its time stay. Raises UsageError, OSError."""
    with _locked(index) as catalog:
        folder = (index / CURRENT).resolve()
        envelope = folder / ENVELOPE
        if not envelope.is_file():
            raise UsageError("the index is not signed", where=str(index), next="`stackbuild index sign` signs it")
        _sign_statements(index, catalog, keys)
        before = envelope.read_bytes()
        payload = bytes(read_envelope(before).payload)
        _write(envelope, envelope_text(payload, SNAPSHOT_TYPE, keys, before))
        return catalog


def rebuild(index: Path, publication: Publication) -> Catalog:
    """Make the catalog again from the wheels that lie in the folder: after it was damaged. Yanks are lost."""
    with _locked(index, read=False):
        number = max([0, *(int(path.name) for path in (index / ".generations").glob("[0-9]*") if path.name.isdigit())])
        return _commit(index, _scan(index).model_copy(update={"number": number}), publication)


def damages(index: Path) -> tuple[str, ...]:
    """What differs from the catalog: every wheel and file beside it is read. A line each."""
    catalog = read_catalog(index)
    if catalog is None:
        return (f"{index} has no catalog: it is no index of stackbuild, or an older one; publish to it once",)
    lines = []
    for name, project in catalog.projects.items():
        for row in project.files.values():
            rows = [(row.path, row.sha256), (row.beside(f"{row.name}.metadata"), row.metadata_sha256)]
            rows += [(row.beside(one.name), one.sha256) for one in row.attached]
            for path, sha256 in rows:
                file = index / name / path
                if not file.is_file():
                    lines.append(f"{name}/{path} is missing")
                elif digest.of_file(file) != sha256:
                    lines.append(f"{name}/{path} has other bytes than were published")
    for path, data in pages(catalog).items():
        page = index / path
        if not page.is_file() or page.read_bytes() != data:
            lines.append(f"{path} is not the page that the catalog makes")
    return tuple(lines)


def _remove_replaced(index: Path, catalogs: tuple[Catalog, ...]) -> None:
    """Remove wheels that neither the pages nor the pages before them name: their bytes were replaced."""
    for project in catalogs[-1].projects:
        folder = index / project
        named = {folder / row.path for c in catalogs for row in c.projects.get(project, Project()).files.values()}
        for wheel in (*folder.glob("[!.]*.whl"), *folder.glob("[0-9a-f]*/[!.]*.whl")):
            if wheel not in named:
                for left in (wheel, *wheel.parent.glob(f"{wheel.name}.*")):
                    left.unlink()


# --- one change of an index


@contextmanager
def _locked(index: Path, read: bool = True) -> Iterator[Catalog]:
    """The index's catalog, with no other writer meanwhile."""
    index.mkdir(parents=True, exist_ok=True)
    with locks.hold(index / ".lock", lambda pid: None, lambda: None):
        for left in index.glob(f"**/.*{STAGED}"):
            left.unlink()
        adopt(index)
        catalog = read_catalog(index) if read else None
        if read and (catalog is None or (catalog.number == 0 and not catalog.projects)):
            catalog = _scan(index)
        yield _present(catalog, index) if catalog else Catalog()


def _present(catalog: Catalog, index: Path) -> Catalog:
    """The catalog without the files that somebody removed; a lost METADATA is written again.

    Raises UsageError where a file has other bytes than were published. Only files with another size or time are read.
    """
    for name, project in catalog.projects.items():
        files = {}
        for row in project.files.values():
            file = index / name / row.path
            if not file.is_file():
                continue
            if not _is_unchanged(file, row):
                if digest.of_file(file) != row.sha256:
                    raise UsageError(
                        "this file has other bytes than were published",
                        where=str(file),
                        next="put the published file back; a published name never changes its content",
                    )
                row = row.model_copy(update={"modified": file.stat().st_mtime_ns})
            beside = file.with_name(f"{row.name}.metadata")
            if not beside.is_file():
                _write(beside, _metadata(file))
            files[row.name] = row
        if files != project.files:
            catalog = catalog.with_project(name, project.model_copy(update={"files": files}))
    return catalog


def _commit(index: Path, catalog: Catalog, publication: Publication) -> Catalog:
    """Switch the index to that catalog under the next number."""
    was_signed = (index / CURRENT / "snapshot.dsse.json").exists()
    if was_signed and not publication.keys and not publication.unsigned:
        raise UsageError(
            "this index is signed, and no key is given to sign its next state",
            where=str(index),
            next="add `--sign KEY`; `--unsigned` ends the signing, and who verifies the index then refuses it",
        )
    catalog = catalog.model_copy(update={"number": catalog.number + 1})
    contents = pages(catalog)
    if publication.keys:
        _sign_statements(index, catalog, publication.keys)
        contents |= signed_files(index, catalog, contents, publication.keys, timedelta(days=publication.days))
    switch(index, catalog, contents)
    return catalog


def _is_signed_by(index: Path, keys: tuple[SigningKey, ...]) -> bool:
    """Whether the index has a signature of each key."""
    envelope = index / CURRENT / ENVELOPE
    return not keys or (envelope.is_file() and {key.fingerprint for key in keys} <= signers(envelope.read_bytes()))


def _sign_statements(index: Path, catalog: Catalog, keys: tuple[SigningKey, ...]) -> None:
    """Put a signed envelope beside every statement; one with a signature of each key already stays as it is."""
    wanted = {key.fingerprint for key in keys}
    for name, project in catalog.projects.items():
        for row in project.files.values():
            for one in row.attached:
                if not is_statement(one.name):
                    continue
                plain = index / name / row.beside(one.name)
                envelope = plain.with_name(envelope_name(plain.name))
                before = envelope.read_bytes() if envelope.is_file() else b""
                if not before or not wanted <= signers(before):
                    _write(envelope, envelope_text(plain.read_bytes(), STATEMENT_TYPE, keys, before))


def _scan(index: Path) -> Catalog:
    """The catalog of the wheels that lie in an index without one."""
    catalog = Catalog()
    for wheel in sorted(index.glob("[!.]*/[!.]*.whl")):
        project, _ = distribution_of(wheel.name)
        if wheel.parent.name == project:
            catalog = catalog.with_file(project, _put(wheel, _metadata(wheel), None, wheel.parent, ()))
    return catalog


def _receipt(
    wheels: tuple[Path, ...], index: Path, catalog: Catalog, fresh: set[str], keys: tuple[SigningKey, ...]
) -> Receipt:
    done = []
    url = catalog.url or index.resolve().as_uri()
    for wheel in wheels:
        project, version = distribution_of(wheel.name)
        row = catalog.projects[project].files[wheel.name]
        requirement = direct_requirement(project, row, url)
        done.append(
            Published(
                project,
                version,
                wheel.name,
                row.sha256,
                row.size,
                wheel.name in fresh,
                f"{project}/{row.path}",
                requirement,
                row.claim or UNVERIFIED,
            )
        )
    return Receipt(str(index), tuple(done), catalog.number, tuple(key.fingerprint for key in keys))


# --- what may not be published


def _refuse_twice(wheels: tuple[Path, ...]) -> None:
    names = [parse_wheel_filename(wheel.name) for wheel in wheels]
    for wheel, name in zip(wheels, names, strict=True):
        if names.count(name) > 1:
            raise UsageError(f"{wheel.name} is given more than once", next="give each wheel once")


def _refuse_misnamed(wheel: Path, metadata: CoreMetadata) -> None:
    """pip believes the file name while it chooses and the metadata when it installs."""
    project, version = distribution_of(wheel.name)
    try:
        inside = metadata.name, str(Version(metadata.version))
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


def _refuse_taken(wheel: Path, catalog: Catalog, index: Path, publication: Publication) -> None:
    project, version = distribution_of(wheel.name)
    known = catalog.projects.get(project, Project())
    for other in known.files:
        if other != wheel.name and parse_wheel_filename(other) == parse_wheel_filename(wheel.name):
            raise UsageError(
                f"{wheel.name} is published already, as {other}",
                where=str(index),
                next="publish it under that name",
            )
    if row := known.files.get(wheel.name):
        if not publication.replace and row.sha256 != digest.of_file(wheel):
            raise UsageError(
                f"{wheel.name} is published already, with other bytes",
                where=str(index),
                next="raise the version in the recipe, or publish to another index; a file name never changes its content",
            )
        return
    highest = max((Version(one) for one in known.versions), default=None)
    if highest is not None and Version(version) < highest and not (publication.older or publication.replace):
        raise UsageError(
            f"{project} {version} is lower than {highest}, which is published already",
            where=str(index),
            next="raise the version in the recipe, or add `--older` for a correction of an older line",
        )


def _refuse_open(catalog: Catalog, changed: Iterable[str]) -> None:
    """Each requirement of a published wheel on a project of this index is met by a file of this index."""
    for name in sorted(changed):
        for file in catalog.projects[name].files.values():
            for text in file.requires if file.yanked is None else ():
                _refuse_unmet(file, text, catalog)


def _refuse_unmet(file: CatalogFile, text: str, catalog: Catalog) -> None:
    try:
        requirement = Requirement(text)
    except InvalidRequirement as error:
        raise UsageError(
            f"{file.name} requires {text!r}, which is no requirement: {error}", next="build the wheel again"
        ) from None
    project = catalog.projects.get(str(canonicalize_name(requirement.name)))
    if project is None or requirement.url:
        return
    versions = [Version(one.version) for one in offered(project) if one.yanked is None]
    if not any(requirement.specifier.contains(version, prereleases=True) for version in versions):
        raise UsageError(
            f"{file.name} requires {text}, and this index has {requirement.name} "
            f"{', '.join(map(str, versions)) or 'in no version that is offered'}",
            next="publish both wheels in one command, or build the wheel with a requirement that is met",
        )


def _row(catalog: Catalog, file: str) -> CatalogFile | None:
    project = catalog.projects.get(distribution_of(file)[0])
    return project.files.get(file) if project else None


def _project(catalog: Catalog, name: str, index: Path) -> Project:
    project = catalog.projects.get(str(canonicalize_name(name)))
    if project is None:
        raise UsageError(
            f"the index has no project {name}", where=str(index), next=f"it has {', '.join(catalog.projects) or 'none'}"
        )
    return project


# --- files


def _is_unchanged(file: Path, row: CatalogFile) -> bool:
    """Whether a published file has the size and time that were recorded with its digest."""
    try:
        stat = file.stat()
    except FileNotFoundError:
        return False
    return (stat.st_size, stat.st_mtime_ns) == (row.size, row.modified)


def _put(
    wheel: Path, metadata: bytes, before: CatalogFile | None, folder: Path, attached: tuple[Path, ...]
) -> CatalogFile:
    """Place a wheel, its metadata and what travels with it. Nobody sees them before the switch."""
    sha256 = digest.of_file(wheel)
    part = ""
    if before is not None and before.sha256 == sha256:
        part = before.folder
    elif before is not None:  # `replace`: the bytes that a reader of the last pages may ask for stay where they are
        part = sha256[:16]
    target = folder / part / wheel.name
    unchanged = before is not None and before.sha256 == sha256 and _is_unchanged(target, before)
    if not unchanged and target.resolve() != wheel.resolve():
        _copy(wheel, target)
    stat = target.stat()
    read = core_metadata(metadata)
    _write(target.with_name(f"{wheel.name}.metadata"), metadata)
    beside = _place_attached(wheel, target, attached)
    kept = before.attached if before is not None and before.sha256 == sha256 else ()
    rows = {one.name: one for one in (*kept, *beside)}
    claims = [claim_of(path) for path in attached]
    return CatalogFile(
        name=wheel.name,
        folder=part,
        sha256=sha256,
        size=stat.st_size,
        modified=stat.st_mtime_ns,
        metadata_sha256=digest.of_bytes(metadata),
        requires_python=read.requires_python,
        requires=read.requires,
        summary=read.summary,
        uploaded=before.uploaded if unchanged and before else datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        yanked=before.yanked if before else None,
        claim=next((claim for claim in claims if claim), before.claim if before and kept else ""),
        attached=tuple(rows[name] for name in sorted(rows)),
    )


def _place_attached(wheel: Path, target: Path, attached: tuple[Path, ...]) -> list[AttachedFile]:
    """Place the SBOM that is in the wheel, and the files that were given with it."""
    contents = {path.name: path.read_bytes() for path in attached}
    contents |= {f"{wheel.name}.cdx.json": sbom for sbom in _sboms(wheel)[:1]}
    for name, data in contents.items():
        _write(target.with_name(name), data)
    return [AttachedFile(name=name, sha256=digest.of_bytes(data), size=len(data)) for name, data in contents.items()]


def _sboms(wheel: Path) -> list[bytes]:
    with zipfile.ZipFile(wheel) as archive:
        names = [n for n in archive.namelist() if ".dist-info/sboms/" in n and n.endswith("stackbuild.cdx.json")]
        return [archive.read(n) for n in names if archive.getinfo(n).file_size <= METADATA_LIMIT]


def _metadata(wheel: Path) -> bytes:
    """Raises UsageError where the file is no wheel."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            names = [n for n in archive.namelist() if n.endswith(".dist-info/METADATA") and n.count("/") == 1]
            if len(names) == 1 and archive.getinfo(names[0]).file_size <= METADATA_LIMIT:
                return archive.read(names[0])
            reason = f"it has {len(names) or 'no'} METADATA" if len(names) != 1 else "its METADATA is too large"
    except (zipfile.BadZipFile, zlib.error, NotImplementedError) as error:
        reason = str(error)
    raise UsageError(f"not a wheel: {reason}", where=str(wheel), next="`stackbuild inspect` says more")


def _copy(source: Path, target: Path) -> None:
    """Copy a file so that it appears whole or not at all; its bytes are never all in memory."""
    target.parent.mkdir(parents=True, exist_ok=True)
    staged = target.with_name(f".{target.name}{STAGED}")
    shutil.copyfile(source, staged)
    atomic.flush_files(staged.parent, [staged], [])
    atomic.move_whole(staged, target)


def _write(path: Path, data: bytes) -> None:
    """Whole under its name or not there; a dot file cannot be mistaken for a wheel by whoever serves the folder."""
    if path.is_file() and path.stat().st_size == len(data) and path.read_bytes() == data:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    staged = path.with_name(f".{path.name}{STAGED}")
    staged.write_bytes(data)
    atomic.flush_files(staged.parent, [staged], [])
    atomic.move_whole(staged, path)
