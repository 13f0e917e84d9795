"""One change of an index: under a lock, from the catalog that stands to the next one, switched in at once."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

from stackbuild.core import digest
from stackbuild.core.errors import MachineLacks, UsageError
from stackbuild.core.shell_words import shell_word
from stackbuild.publishing.catalog import Catalog
from stackbuild.publishing.envelopes import envelope_text, read_envelope, signers
from stackbuild.publishing.generation import (
    CATALOG,
    CURRENT,
    GENERATIONS,
    LOCK_FILE,
    STAGING_ENDING,
    WHEELS_ELSEWHERE,
    adopt,
    generation_numbers,
    has_lost_catalog,
    read_catalog,
    read_state,
    refuse_foreign,
    remove_unnumbered,
    state_name,
    switch,
)
from stackbuild.publishing.index_file import read_file
from stackbuild.publishing.index_numbers import IndexNumbers
from stackbuild.publishing.page_links import catalog_of_pages
from stackbuild.publishing.pages import pages
from stackbuild.publishing.placement import is_unchanged, read_metadata, write_file
from stackbuild.publishing.publication import Publication
from stackbuild.publishing.signed_state import place_names, places_of, remember_signed
from stackbuild.publishing.snapshot import ENVELOPE, OWN_STAGED, index_name, last_snapshot, root_of_places, signed_files
from stackbuild.publishing.ssh_keys import SigningKey, TrustedKey
from stackbuild.publishing.statements import STATEMENT_LIMIT, STATEMENT_TYPE, envelope_name, is_statement
from stackbuild.publishing.unsigned_files import TrustedIndex, state_problem
from stackbuild.store import atomic, locks

NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EMLINK)
"""Errors of a file system that makes no second link to a file."""
MOST_READ = 64 << 20
"""Bytes of a statement and of its envelope that are read at most."""


@contextmanager
def locked_catalog(index: Path, read: bool = True, new: bool = False) -> Iterator[Catalog]:
    """The index's catalog, with no other writer meanwhile. `new` makes the folder where it is not there.

    Raises UsageError where there is no such folder, MachineLacks where its disk is full.
    """
    if new:
        index.mkdir(parents=True, exist_ok=True)
    elif not index.is_dir():
        raise UsageError("there is no such index", where=str(index), next="give the folder that was published to")
    try:
        refuse_foreign(index)
        with locks.hold(index / LOCK_FILE, lambda pid: None, lambda: None):
            refuse_foreign(index)
            _remove_staged(index)
            adopt(index)
            if read and has_lost_catalog(index):
                raise UsageError(
                    "this index has pages and no catalog: what was yanked and quarantined would be forgotten",
                    where=str(index / CURRENT / CATALOG),
                    next=f"put it back from a copy, or run `stackbuild index check {shell_word(index)} --rebuild`",
                )
            catalog = read_catalog(index) if read else None
            if read and (catalog is None or (catalog.number == 0 and not catalog.projects)):
                catalog = catalog_of_pages(index)
            _refuse_links(index, catalog or Catalog())
            if catalog and not (index / WHEELS_ELSEWHERE).is_file():
                catalog = _present(catalog, index)
            yield catalog or Catalog()
    except OSError as error:
        if error.errno in (errno.EISDIR, errno.ENOTDIR, errno.ELOOP, errno.ENOTEMPTY):
            raise UsageError(
                f"something else lies in the index where a file or folder of its own belongs ({error.strerror})",
                where=str(error.filename2 or error.filename or index),
                next="take it away and run this again",
            ) from None
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise MachineLacks(
            f"the disk of the index is full ({error.strerror}); its state is the one from before",
            where=str(index),
            next="make space on that disk and run this again",
        ) from error


def _remove_staged(index: Path) -> None:
    """Remove what a change that was killed has staged; other files stay, whatever they are called."""
    remove_unnumbered(index)
    for pattern in (".*", "[!.]*/.*", "[!.]*/[0-9a-f]*/.*", f"{GENERATIONS}/[0-9]*/.*"):
        for staging_file in index.glob(f"{pattern}{STAGING_ENDING}"):
            is_linked = any(
                folder.is_symlink() for folder in staging_file.parents[: len(staging_file.relative_to(index).parts) - 1]
            )
            if OWN_STAGED.fullmatch(staging_file.name) and not is_linked:
                atomic.remove(staging_file)


def _refuse_links(index: Path, catalog: Catalog) -> None:
    """The folders of the projects lie in the index: pages are written to all of them. Raises UsageError."""
    for name, project in catalog.projects.items():
        for folder in {name, *(f"{name}/{row.folder}" for row in project.all_files if row.folder)}:
            if (index / folder).is_symlink():
                raise UsageError(
                    "the folder of a project is a link that leads elsewhere",
                    where=str(index / folder),
                    next="put a folder in its place",
                )


def _present(catalog: Catalog, index: Path) -> Catalog:
    """The catalog without the files that somebody removed; a lost METADATA is written again.

    Raises UsageError where a file has other bytes than were published. Only files with another size or time are read.
    """
    for name, project in catalog.projects.items():
        rows = []
        for row in project.all_files:
            file = index / name / row.path
            if not file.is_file():
                continue
            if not is_unchanged(file, row):
                if digest.of_file(file) != row.sha256:
                    raise UsageError(
                        "this file has other bytes than were published",
                        where=str(file),
                        next="put the published file back; a published name never changes its content",
                    )
                row = row.model_copy(update={"modified": file.stat().st_mtime_ns})
            beside = file.with_name(f"{row.name}.metadata")
            if not beside.is_file():
                write_file(beside, read_metadata(file))
            rows.append(row)
        earlier_paths = {row.path for row in project.earlier}
        files = {row.name: row for row in rows if row.path not in earlier_paths}
        earlier = tuple(row for row in rows if row.path in earlier_paths)
        if (files, earlier) != (project.files, project.earlier):
            catalog = catalog.with_project(name, project.model_copy(update={"files": files, "earlier": earlier}))
    return catalog


def refuse_unsigned(index: Path, publication: Publication) -> None:
    """An index that is signed stays signed, unless its owner ends that."""
    was_signed = (index / CURRENT / ENVELOPE).exists()
    if was_signed and not publication.keys and not publication.unsigned:
        raise UsageError(
            "this index is signed, and no key is given to sign its next state",
            where=str(index),
            next="add `--sign KEY`; `--unsigned` ends the signing, and who verifies the index then refuses it",
        )


def commit(
    index: Path, catalog: Catalog, publication: Publication, beside: Mapping[Path, bytes] | None = None
) -> Catalog:
    """Switch the index to that catalog under the next number. `beside` are the files beside wheels that change with it.

    They are written last before the switch: whatever is refused is refused before.
    """
    refuse_unsigned(index, publication)
    numbers = IndexNumbers(publication.numbers) if publication.numbers else None
    last = _last_number(index, numbers) if numbers and publication.keys else 0
    if numbers and (publication.keys or publication.unsigned):
        numbers.refuse_unwritable()
    number = max(catalog.number, last, publication.at_least)
    catalog = catalog.model_copy(update={"number": number + 1})
    contents = pages(catalog)
    if publication.keys:
        holds = timedelta(days=publication.days)
        root = publication.root or _root(index)
        contents |= signed_files(index, catalog, contents, publication.keys, holds, publication.accept_changes, root)
    with _restored_on_failure(index, (beside or {}).keys()):
        for path, data in (beside or {}).items():
            write_file(path, data)
        if publication.keys:
            sign_statements(index, catalog, publication.keys)
        switch(index, catalog, contents)
    remove_unsigned_states(index, catalog.number, publication.keys)
    if numbers and publication.unsigned:
        numbers.forget(*place_names(index))
        numbers.forget_places(places_of(index))
    if numbers and publication.keys and not (index / WHEELS_ELSEWHERE).is_file():
        remember_signed(index, numbers)
    return catalog


@contextmanager
def _restored_on_failure(index: Path, paths: Iterable[Path]) -> Iterator[None]:
    """Put the files at these paths and their envelopes back where the index was not switched.

    A second link keeps the old bytes meanwhile: on a full disk they could not be written again. Where the file system
    has no links, what was overwritten stays so.
    """
    before = state_name(index)
    envelopes = (path.with_name(envelope_name(path.name)) for path in paths if is_statement(path.name))
    links: dict[Path, Path] = {}
    fresh = []
    try:
        for path in (*paths, *envelopes):
            if not path.is_file():
                fresh.append(path)
                continue
            link = path.with_name(f".{path.name}.before{STAGING_ENDING}")
            try:
                os.link(path, link)
                links[path] = link
            except OSError as error:
                if error.errno not in NO_LINKS:
                    raise
        yield
    except BaseException:
        if state_name(index) == before:
            for path in fresh:
                path.unlink(missing_ok=True)
            for path, link in links.items():
                link.replace(path)
        raise
    finally:
        for link in links.values():
            link.unlink(missing_ok=True)


def remove_unsigned_states(index: Path, number: int, keys: tuple[SigningKey, ...]) -> None:
    """Remove the states before that number that are not of this index, or not as one of the keys signed them: who verifies a
    signed index takes no other."""
    trusted_keys = [TrustedKey(key.blob) for key in keys]
    snapshot = last_snapshot(index) if keys else None
    if not snapshot:
        return
    trusted_index = TrustedIndex(index, snapshot, trusted_keys)
    for old_number, folder in generation_numbers(index).items():
        if old_number < number and state_problem(trusted_index, folder):
            atomic.remove(folder)


def _root(index: Path) -> str:
    """The name that the index has; that of its place where it has none: of the path that names a ROCm, if one of them does."""
    last = last_snapshot(index)
    return (last.root if last else "") or root_of_places(places_of(index))


def is_named(index: Path, publication: Publication) -> bool:
    """Whether the signature of the index binds it to the name that is asked for."""
    last = last_snapshot(index) if publication.keys and publication.root else None
    return last is None or last.root == publication.root


def _last_number(index: Path, numbers: IndexNumbers) -> int:
    """The highest number of this index that was seen here: the next one is above it, also where an older state was accepted."""
    snapshot = last_snapshot(index)
    return max((numbers.last(name) for name in index_name(snapshot)), default=0) if snapshot else 0


def is_signed_by(index: Path, keys: tuple[SigningKey, ...]) -> bool:
    """Whether the index has a signature of each key."""
    if not keys:
        return True
    envelope = read_state(index, ENVELOPE)
    return envelope is not None and {key.fingerprint for key in keys} <= signers(envelope)


def sign_statements(index: Path, catalog: Catalog, keys: tuple[SigningKey, ...]) -> None:
    """Put a signed envelope beside every statement; one of these bytes with a signature of each key stays as it is."""
    fingerprints = {key.fingerprint for key in keys}
    for name, project in catalog.projects.items():
        for row in project.all_files:
            for one in row.attached:
                if not is_statement(one.name):
                    continue
                plain = f"{name}/{row.beside(one.name)}"
                envelope = index / envelope_name(plain)
                before = _content(index, envelope_name(plain), MOST_READ) if os.path.lexists(envelope) else b""
                payload = _content(index, plain, STATEMENT_LIMIT)
                stale = not before or bytes(read_envelope(before).payload) != payload
                if stale or not fingerprints <= signers(before):
                    write_file(envelope, envelope_text(payload, STATEMENT_TYPE, keys, before))


def _content(index: Path, path: str, limit: int) -> bytes:
    """The bytes of a file of the index. Raises UsageError for a link out of it, a FIFO and a file that is too long; OSError."""
    try:
        return read_file(index, path, limit)
    except ValueError as error:
        raise UsageError(
            f"the file cannot be signed: {error}", where=str(index / path), next="put the published file in its place"
        ) from None
