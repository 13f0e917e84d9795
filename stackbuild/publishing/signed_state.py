"""The signed state that a next signature of an index rests on: checked before anything of the index is changed.

Without this check a signature would take on whatever somebody put into the folder since the last one.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from stackbuild.core import digest
from stackbuild.core.cancel import worker_threads
from stackbuild.core.errors import UsageError
from stackbuild.core.packaging import distribution_of
from stackbuild.publishing.catalog import Catalog
from stackbuild.publishing.envelopes import SignatureRefused, good_signatures, read_envelope
from stackbuild.publishing.generation import CATALOG, CURRENT, STATE_LIMIT, WHEELS_ELSEWHERE, read_catalog
from stackbuild.publishing.index_file import THREADS, difference, read_file
from stackbuild.publishing.index_numbers import IndexNumbers, below
from stackbuild.publishing.pages import pages
from stackbuild.publishing.placement import read_attached
from stackbuild.publishing.publication import Publication
from stackbuild.publishing.snapshot import (
    ENVELOPE,
    ENVELOPE_LIMIT,
    SNAPSHOT_TYPE,
    Snapshot,
    SnapshotFile,
    index_name,
    read_snapshot,
    root_problem,
)
from stackbuild.publishing.ssh_keys import TrustedKey
from stackbuild.publishing.statements import is_statement

MAX_LINES = 5
"""So many differences are listed."""

AttachedFiles = Mapping[tuple[str, str], SnapshotFile]
"""Files that are to lie beside wheels, by project and name."""


def refuse_changed(index: Path, publication: Publication, catalog: bool = True) -> None:
    """Before a change that will be signed: the index is as it was signed, by one of the keys or of `trusted_keys`.

    An index without a signature is taken as it is. `catalog` is False where the catalog is about to be made anew. A file
    that has the bytes which the change itself puts there was left by the same change, which was killed. Raises UsageError.
    """
    if not publication.keys or publication.accept_changes:
        return
    numbers = IndexNumbers(publication.numbers) if publication.numbers else None
    if not (index / CURRENT / ENVELOPE).is_file():
        _refuse_missing(index, publication.at_least)
        if numbers:
            _refuse_stripped(index, numbers)
        return
    keys = (*(TrustedKey(key.blob) for key in publication.keys), *publication.trusted_keys)
    snapshot = signed_snapshot(index, keys, numbers, publication.at_least, publication.root)
    refuse_differences(index, snapshot, catalog, _attached_files(publication))


def _attached_files(publication: Publication) -> AttachedFiles:
    return {
        (distribution_of(wheel.name)[0], path.name): SnapshotFile(sha256=digest.of_bytes(data), size=len(data))
        for wheel, paths in publication.attachments.items()
        for path in paths
        for data in (read_attached(path),)
    }


def place_names(index: Path) -> list[str]:
    """An index in a table of numbers, by where it is changed; an index in an object store by its URL."""
    return [f"changed at {place}" for place in places_of(index)]


def places_of(index: Path) -> tuple[str, ...]:
    """Where an index lies: its folder as it was named and with all links followed, or the URL of one in an object store.

    A link can lead from the place of one index to another one.
    """
    elsewhere = index / WHEELS_ELSEWHERE
    if elsewhere.is_file():
        return (elsewhere.read_text("utf-8"),)
    linked_path = os.path.normpath(Path(_working_folder(), index))
    return tuple(dict.fromkeys((linked_path, str(index.resolve()))))


def _working_folder() -> str:
    """The working folder with the links that the shell came through, where it says them."""
    folder = os.environ.get("PWD", "")
    with contextlib.suppress(OSError):
        if Path(folder).is_absolute() and Path(folder).samefile("."):
            return folder
    return str(Path.cwd())


def remember_signed(index: Path, numbers: IndexNumbers) -> None:
    """Note the state that stands, which this machine has signed. Raises UsageError, OSError."""
    payload = bytes(read_envelope(read_file(index, f"{CURRENT}/{ENVELOPE}", ENVELOPE_LIMIT)).payload)
    snapshot = read_snapshot(payload)
    names = [*index_name(snapshot), *place_names(index)]
    numbers.remember(names, snapshot.number, digest.of_bytes(payload))
    numbers.remember_places(places_of(index), snapshot.index, snapshot.number)


def _refuse_missing(index: Path, at_least: int) -> None:
    """Where a number is expected, there is a signature that has one."""
    if at_least:
        raise UsageError(
            f"a signed index with number {at_least} or above is expected, and what lies there is not signed",
            where=str(index / ENVELOPE),
            next="put the signed state back; for a new index leave out `--at-least` and $STACKBUILD_INDEX_AT_LEAST",
        )


def _refuse_stripped(index: Path, numbers: IndexNumbers) -> None:
    """An index without a signature was not signed here before, or there is nothing in it."""
    last = max(map(numbers.last, place_names(index)))
    if last and (read_catalog(index) or Catalog()).projects:
        raise UsageError(
            f"this index was signed here with number {last}, and its signature is gone",
            where=str(index / ENVELOPE),
            next="put the signed state back; if you have read what lies there and want it signed:"
            " `stackbuild index sign INDEX --sign KEY --accept-changes`",
        )


def signed_snapshot(
    index: Path, keys: Sequence[TrustedKey], numbers: IndexNumbers | None = None, at_least: int = 0, root: str = ""
) -> Snapshot:
    """The snapshot that stands.

    Raises UsageError where none of the keys has signed it, its number is below `at_least`, a later one is among
    `numbers`, or it is that of another index than `root`.
    """
    try:
        data = read_file(index, f"{CURRENT}/{ENVELOPE}", ENVELOPE_LIMIT)
        payload, good, why = good_signatures(data, SNAPSHOT_TYPE, keys, datetime.now(UTC))
        if not good:
            raise SignatureRefused("; ".join(why) or "it has no signature")
        snapshot = read_snapshot(payload)
        if problem := below(snapshot.number, at_least):
            raise SignatureRefused(problem)
        if problem := root_problem(snapshot, root if snapshot.root else "", places_of(index)):
            raise SignatureRefused(problem)
        if numbers:
            if problem := numbers.place_problem(places_of(index), snapshot.index, snapshot.number):
                raise SignatureRefused(problem)
            for name in index_name(snapshot):
                if problem := numbers.problem(name, snapshot.number, digest.of_bytes(payload)):
                    raise SignatureRefused(problem)
        return snapshot
    except (SignatureRefused, ValueError, OSError) as error:
        raise UsageError(
            f"the signature of the index as it stands is not one to build on: {error}",
            where=str(index / ENVELOPE),
            next="if another key signed it: `stackbuild index sign INDEX --sign KEY --key OTHER.pub`; if you have"
            " read what lies there: `stackbuild index sign INDEX --sign KEY --accept-changes`",
        ) from None


def refuse_differences(
    index: Path, snapshot: Snapshot, catalog: bool = True, attached_files: AttachedFiles | None = None
) -> None:
    """Every file of the snapshot is there as it was signed, and so is the catalog.

    A file beside a wheel may also be the one that `attached_files` has under its project and name. Raises UsageError.
    """
    lines = list(_differences(index, snapshot, catalog, attached_files or {}))
    if lines:
        more = f", and {len(lines) - MAX_LINES} more" if len(lines) > MAX_LINES else ""
        raise UsageError(
            f"the index is not as it was signed: {'; '.join(lines[:MAX_LINES])}{more}",
            where=str(index),
            next="if a publish was killed here, run the same command again; else put the signed files back; if you have"
            " read what lies there and want it signed: `stackbuild index sign INDEX --sign KEY --accept-changes`",
        )


def _differences(index: Path, snapshot: Snapshot, catalog: bool, attached_files: AttachedFiles) -> Iterator[str]:
    elsewhere = (index / WHEELS_ELSEWHERE).is_file()
    stands = (read_catalog(index) or Catalog()) if catalog else Catalog()
    if catalog:
        yield from _catalog_differences(index, snapshot, stands)
    # of an index in an object store, the statements and the METADATA files are here; the pages were made of the catalog
    here = [path for path in snapshot.files if not elsewhere or is_statement(path) or path.endswith(".metadata")]
    with worker_threads(THREADS) as pool:
        differences = pool.map(lambda path: difference(index, path, snapshot.files[path]), here)
        for path, line in zip(here, differences, strict=True):
            entry = attached_files.get((path.partition("/")[0], path.rpartition("/")[2]))
            if line and (entry is None or difference(index, path, entry)):
                yield line


def _catalog_differences(index: Path, snapshot: Snapshot, catalog: Catalog) -> Iterator[str]:
    """The catalog is not among the files, but the next pages are made of it."""
    if snapshot.number != catalog.number:
        yield f"the catalog has number {catalog.number}, {snapshot.number} was signed"
    elif snapshot.catalog:
        data = read_file(index, f"{CURRENT}/{CATALOG}", STATE_LIMIT)
        if digest.of_bytes(data) != snapshot.catalog:
            yield f"{CURRENT}/{CATALOG} has other bytes than were signed"
    else:  # signed before the snapshot named the catalog: it makes the signed pages
        for path, data in pages(catalog).items():
            if path not in snapshot.files or digest.of_bytes(data) != snapshot.files[path].sha256:
                yield f"{CURRENT}/{CATALOG} does not make the {path} that was signed"
