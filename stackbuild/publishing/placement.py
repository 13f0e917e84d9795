"""Wheels and what travels with them, placed in the folder of an index. Nobody sees them before the switch."""

from __future__ import annotations

import contextlib
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from stackbuild.core import digest
from stackbuild.core.copy_file import copy_file
from stackbuild.core.errors import UsageError
from stackbuild.core.file_kinds import HEAD, ZIP, kind_of
from stackbuild.core.packaging import distribution_of
from stackbuild.core.plain_file import read_plain, read_regular
from stackbuild.core.zip_member import read_member
from stackbuild.model.materials import Role
from stackbuild.publishing.catalog import AttachedFile, CatalogFile, CoreMetadata, VariantMetadata, core_metadata
from stackbuild.publishing.generation import STAGING_ENDING, WHEELS_ELSEWHERE
from stackbuild.publishing.sbom_agreement import read_lock, sbom_problem
from stackbuild.publishing.statements import (
    STATEMENT_LIMIT,
    ResourceDescriptor,
    claim_about,
    format_problem,
    is_statement,
    lock_name,
    locked_by,
    read_statement,
    statement_name,
)
from stackbuild.publishing.variants import read_variant
from stackbuild.store import atomic

METADATA_LIMIT = 16 << 20
"""Bytes of METADATA and of an SBOM that are read out of a wheel."""


@dataclass(frozen=True)
class WheelFile:
    """A wheel that was read: the digest of its bytes, its METADATA file, and the names of its entries.

    `variant` is what the wheel says of itself if it is one. `size` (bytes) and `modified_ns` (ns since 1970) are those of the file before it was read.
    """

    path: Path
    sha256: str
    metadata: bytes
    entries: tuple[str, ...]
    size: int
    modified_ns: int
    variant: VariantMetadata | None = None

    def refuse_rewritten(self) -> None:
        """Raises UsageError where the file has another size or time than before it was read: its digest may be another."""
        status = self.path.stat()
        if (status.st_size, status.st_mtime_ns) != (self.size, self.modified_ns):
            raise UsageError(
                "the wheel was written to while it was published",
                where=str(self.path),
                next="publish it again once nothing writes to it",
            )

    @property
    def project(self) -> str:
        """The project's normalised name, as the file name has it."""
        return distribution_of(self.path.name)[0]

    @property
    def version(self) -> str:
        return distribution_of(self.path.name)[1]

    @cached_property
    def fields(self) -> CoreMetadata:
        """The fields of METADATA that an index needs."""
        return core_metadata(self.metadata)


def read_wheel(path: Path, sha256: str = "") -> WheelFile:
    """Read a wheel. Its bytes are not hashed again where their `sha256` is known. Raises UsageError for another file."""
    before = path.stat()
    metadata = read_metadata(path)
    with zipfile.ZipFile(path) as archive:
        entries = tuple(archive.namelist())
    variant = read_variant(path)
    return WheelFile(
        path, sha256 or digest.of_file(path), metadata, entries, before.st_size, before.st_mtime_ns, variant
    )


def read_metadata(wheel: Path) -> bytes:
    """The METADATA file of a wheel. Raises UsageError where the file is not a wheel."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            names = [n for n in archive.namelist() if n.endswith(".dist-info/METADATA") and n.count("/") == 1]
            names = list(dict.fromkeys(names))  # one that is there twice is refused by its name
            if len(names) == 1 and archive.getinfo(names[0]).file_size <= METADATA_LIMIT:
                return read_member(archive, archive.getinfo(names[0]), METADATA_LIMIT)
            reason = f"it has {len(names) or 'no'} METADATA" if len(names) != 1 else "its METADATA is too large"
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError) as error:  # the last: encrypted
        with wheel.open("rb") as file:
            head = file.read(HEAD)
        kind, step = kind_of(head)
        if kind and not isinstance(error, RuntimeError) and not head.startswith(ZIP):
            raise UsageError(f"not a wheel but {kind}", where=str(wheel), next=step) from None
        reason = str(error)
    raise UsageError(f"not a wheel: {reason}", where=str(wheel), next="`stackbuild inspect` says more")


@dataclass(frozen=True)
class Placement:
    """A wheel that is to lie at `target` under that row; `contents` are the files to lie beside it, by name.

    A plan: nothing is written before every refusal has passed. `unchanged` is True where the wheel's bytes lie there.
    """

    wheel: WheelFile
    row: CatalogFile
    target: Path
    unchanged: bool
    contents: Mapping[str, bytes]

    @property
    def beside(self) -> dict[Path, bytes]:
        """What is to lie beside the wheel, by its path."""
        return {self.target.with_name(name): data for name, data in self.contents.items()}

    def put(self) -> CatalogFile:
        """Put the wheel and its METADATA in the folder; its row, with the time of the file. Raises OSError.

        A wheel that goes to an object store is linked, not copied.
        """
        if not self.unchanged and self.target.resolve() != self.wheel.path.resolve():
            elsewhere = (self.target.parents[1 + bool(self.row.folder)] / WHEELS_ELSEWHERE).is_file()
            _link(self.wheel.path, self.target) if elsewhere else _copy(self.wheel.path, self.target)
            self.wheel.refuse_rewritten()
        write_file(self.target.with_name(f"{self.target.name}.metadata"), self.wheel.metadata)
        if self.unchanged:
            return self.row
        stat = self.target.stat()
        return self.row.model_copy(update={"size": stat.st_size, "modified": stat.st_mtime_ns})


def plan_placement(
    wheel: WheelFile, before: CatalogFile | None, folder: Path, attached_files: tuple[Path, ...]
) -> Placement:
    """Where a wheel and what travels with it are to lie in the project's folder; `before` is the row of its name.

    Bytes that are published in an object store are not placed again.
    """
    sha256 = wheel.sha256
    same = before is not None and before.sha256 == sha256
    part = ""
    if before is not None:  # `replace`: the bytes that a reader of the last pages may ask for stay where they are
        part = before.folder if same else sha256[:16]
    target = folder / part / wheel.path.name
    elsewhere = (folder.parent / WHEELS_ELSEWHERE).is_file()
    unchanged = before is not None and same and (elsewhere or is_unchanged(target, before))
    contents, claim = travelling(wheel, attached_files)
    attachments = before.attached if before is not None and same else ()
    rows = {one.name: one for one in attachments}
    rows |= {n: AttachedFile(name=n, sha256=digest.of_bytes(data), size=len(data)) for n, data in contents.items()}
    _refuse_other_lock(target, contents, rows)
    row = CatalogFile(
        name=target.name,
        folder=part,
        sha256=sha256,
        size=before.size if before and unchanged else wheel.path.stat().st_size,
        modified=before.modified if before and unchanged else 0,
        metadata_sha256=digest.of_bytes(wheel.metadata),
        requires_python=wheel.fields.requires_python,
        requires=wheel.fields.requires,
        summary=wheel.fields.summary,
        usage=wheel.fields.usage,
        variant=wheel.variant,
        uploaded=before.uploaded if unchanged and before else datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        yanked=before.yanked if before else None,
        claim=claim or (before.claim if before and attachments else ""),
        attached=tuple(rows[name] for name in sorted(rows)),
    )
    return Placement(wheel, row, target, unchanged, contents)


def travelling(wheel: WheelFile, attached_files: tuple[Path, ...]) -> tuple[dict[str, bytes], str]:
    """The files that travel with a wheel by name, with its own SBOM; and what they claim of it, "" for nothing.

    Raises UsageError where a statement is about other bytes, the lock is not one, and where a file is not a plain one.
    """
    contents = {path.name: read_attached(path) for path in attached_files}
    _refuse_no_lock(lock_name(wheel.path.name), contents)
    if sbom := _sbom(wheel.path):
        contents[f"{wheel.path.name}.cdx.json"] = sbom
        _refuse_sbom(wheel.path, sbom, contents)
    subject = ResourceDescriptor(wheel.path.name, wheel.sha256)
    claims = [refuse_misstated(subject, name, data) for name, data in contents.items()]
    return contents, next((claim for claim in claims if claim), "")


def read_attached(path: Path) -> bytes:
    """A file that travels with a wheel. Raises UsageError for a link: what it leads to would be published."""
    data = read_plain(path.parent, path.name, STATEMENT_LIMIT + 1)
    if data is None or len(data) > STATEMENT_LIMIT:
        raise UsageError(
            "it is a link or not a file that can be read"
            if data is None
            else f"it has more than {STATEMENT_LIMIT >> 20} MiB",
            where=str(path),
            next="put the file itself beside the wheel, as stackbuild wrote it, or take it away",
        )
    return data


def _refuse_no_lock(name: str, contents: Mapping[str, bytes]) -> None:
    """What lies beside a wheel as its lock is one: whoever asks for wheels with a lock goes by the name. Raises UsageError."""
    if name in contents and read_lock(contents[name]) is None:
        raise UsageError(
            "it is not a lock",
            where=name,
            next="put the lock beside the wheel that it was built under, or take it away",
        )


def _refuse_other_lock(target: Path, contents: Mapping[str, bytes], rows: Mapping[str, AttachedFile]) -> None:
    """The lock beside a wheel is the one that its provenance names, as both will lie there. Raises UsageError."""
    provenance, lock = statement_name(target.name, "provenance"), rows.get(lock_name(target.name))
    if lock is None or provenance not in rows:
        return
    data = contents.get(provenance) or read_regular(target.with_name(provenance), METADATA_LIMIT)
    if data is None:  # in an object store: `verify-release` reads it
        return
    named_lock = locked_by(read_statement(data))
    if named_lock not in ("", lock.sha256):
        raise UsageError(
            f"this lock has sha256 {lock.sha256}, and the wheel's provenance names {named_lock}",
            where=lock.name,
            next="put the lock beside the wheel that it was built under, or take the file away",
        )


def _refuse_sbom(wheel: Path, sbom: bytes, contents: Mapping[str, bytes]) -> None:
    """The SBOM says what the lock and the provenance that travel with the wheel say. Raises UsageError."""
    statement = contents.get(statement_name(wheel.name, "provenance"))
    try:
        origin = read_statement(statement) if statement is not None else None
    except (ValueError, RecursionError):
        return  # refused as a statement
    if problem := sbom_problem(sbom, contents.get(lock_name(wheel.name)), origin):
        raise UsageError(
            f"its SBOM cannot be published: {problem}",
            where=str(wheel),
            next="build the wheel again, or take away what lies beside it and is of another build",
        )


def refuse_misstated(wheel: ResourceDescriptor, name: str, data: bytes) -> str:
    """What the statement in a file of that name claims of the wheel; "" where the file is another one.

    Raises UsageError where it is about other bytes, or not of the kind that its name says.
    """
    if not is_statement(name):
        return ""
    try:
        return claim_about(wheel, name, data)
    except (ValueError, RecursionError) as error:
        raise UsageError(
            f"the statement cannot be published: {error}",
            where=name,
            next=f"make it again for {wheel.name} as it is, or take it away",
        ) from None


def _sbom(wheel: Path) -> bytes:
    """The SBOM of ours in a wheel, empty for none. Raises UsageError where it is not an SBOM or cannot be unpacked."""
    with zipfile.ZipFile(wheel) as archive:
        names = [n for n in archive.namelist() if ".dist-info/sboms/" in n and n.endswith("stackbuild.cdx.json")]
        try:
            infos = [info for info in map(archive.getinfo, names) if info.file_size <= METADATA_LIMIT]
            sboms = [read_member(archive, info, METADATA_LIMIT) for info in infos]
        except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError) as error:
            raise UsageError(
                f"its SBOM cannot be unpacked: {error}", where=str(wheel), next="build the wheel again"
            ) from None
    if problem := next(filter(None, map(format_problem, sboms)), ""):
        raise UsageError(f"its SBOM cannot be published: {problem}", where=str(wheel), next="build the wheel again")
    return sboms[0] if sboms else b""


def library_names(wheel: Path, *roles: Role) -> tuple[tuple[str, ...], ...]:
    """The file names of libraries that a wheel's SBOM lists with each role; none where it has no SBOM of ours, or one whose
    components cannot be read."""
    sbom = _sbom(wheel)
    rows = digest.json_of(sbom.decode("utf-8", "replace")).get("components", []) if sbom else []
    return tuple(_names_with(rows, {"name": "stackbuild:role", "value": role}) for role in roles)


def _names_with(rows: Any, wanted_property: dict[str, str]) -> tuple[str, ...]:
    with contextlib.suppress(TypeError, AttributeError, KeyError):
        names = (str(row["name"]) for row in rows if wanted_property in row.get("properties", ()))
        return tuple(name.rpartition("/")[2] for name in names)
    return ()


def is_unchanged(file: Path, row: CatalogFile) -> bool:
    """Whether a published file has the size and time that were recorded with its digest."""
    try:
        stat = file.stat()
    except FileNotFoundError:
        return False
    return (stat.st_size, stat.st_mtime_ns) == (row.size, row.modified)


def _link(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)
    target.symlink_to(source.resolve())


def _copy(source: Path, target: Path) -> None:
    """Copy a file so that it appears whole or not at all; its bytes are never all in memory."""
    target.parent.mkdir(parents=True, exist_ok=True)
    staging_file = target.with_name(f".{target.name}{STAGING_ENDING}")
    with _removed_on_failure(staging_file):
        staging_file.unlink(missing_ok=True)
        copy_file(source, staging_file)
        atomic.flush_files(staging_file.parent, [staging_file], [])
        atomic.move_whole((staging_file, target))


def write_file(path: Path, data: bytes) -> None:
    """Whole under its name or not there; a dot file cannot be mistaken for a wheel by whoever serves the folder."""
    if path.is_file() and path.stat().st_size == len(data) and path.read_bytes() == data:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    staging_file = path.with_name(f".{path.name}{STAGING_ENDING}")
    staging_file.unlink(missing_ok=True)
    with _removed_on_failure(staging_file):
        with staging_file.open("xb") as file:
            file.write(data)
        atomic.flush_files(staging_file.parent, [staging_file], [])
        atomic.move_whole((staging_file, path))


@contextlib.contextmanager
def _removed_on_failure(staging_file: Path) -> Iterator[None]:
    """What was written of a file does not fill a disk that is full already."""
    try:
        yield
    except BaseException:
        staging_file.unlink(missing_ok=True)
        raise
