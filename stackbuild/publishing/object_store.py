"""An index in an object store (S3 and what speaks its protocol, Google's, Azure's).

A change is made in a working copy: a folder with the catalog, the statements and the pages, but without the wheels. Then
the change is written: new wheels and what lies beside them, the catalog, the pages. The catalog is put only if it is still
the one that was read. Nothing is removed and no wheel is written over. A publisher that is killed before the catalog
leaves the index as it was. One that is killed after it leaves pages of the state before, and the next change writes them.
Pages are put one after the other, those of a requirement first.

Keys: PROJECT/NAME.whl and PROJECT/index.html as in a folder; `.catalog.json`; `.publishing` while somebody publishes.
Credentials and the server come from the environment: `$AWS_ACCESS_KEY_ID`, `$AWS_ENDPOINT_URL` and so on.
"""

from __future__ import annotations

import getpass
import socket
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from stackbuild.core import digest
from stackbuild.core.cancel import worker_threads
from stackbuild.core.errors import UsageError
from stackbuild.core.model import ValidationError
from stackbuild.core.model_mistakes import first_mistake
from stackbuild.core.packaging import Requirement, canonicalize_name
from stackbuild.publishing.catalog import Catalog, CatalogFile
from stackbuild.publishing.generation import (
    CATALOG,
    CURRENT,
    REMOTE_CATALOG,
    REMOTE_LOCK,
    STATE_LIMIT,
    WHEELS_ELSEWHERE,
    read_catalog,
    switch,
)
from stackbuild.publishing.index_numbers import IndexNumbers
from stackbuild.publishing.object_worker import WorkerObjects
from stackbuild.publishing.objects import ObjectFault, ObjectStore, connect, refusal
from stackbuild.publishing.pages import pages
from stackbuild.publishing.signed_state import remember_signed
from stackbuild.publishing.snapshot import ENVELOPE, ENVELOPE_LIMIT
from stackbuild.publishing.statements import envelope_name, is_statement
from stackbuild.publishing.transaction import MOST_READ
from stackbuild.publishing.variants import is_variants_list

SCHEMES = ("s3://", "gs://", "az://")
THREADS = 16
MOST_LOCK = 1 << 10
"""Bytes of the object that says who publishes."""


def is_object_url(text: str) -> bool:
    """Whether an index is in an object store and not in a folder."""
    return text.startswith(SCHEMES)


@contextmanager
def open_objects(url: str) -> Iterator[ObjectStore]:
    """The objects below a URL. Raises UsageError for text that is not a URL, MachineLacks where the library is missing."""
    connect(url)
    objects = WorkerObjects(url)
    try:
        yield objects
    finally:
        objects.close()


@dataclass
class WorkingCopy:
    """The folder that a change is made in, and what it was read from.

    `etag` is that of the catalog, "" where there was none. `read` are the digests of the files beside wheels as they were.
    """

    store: ObjectStore
    url: str
    folder: Path
    etag: str = ""
    before: Catalog = field(default_factory=Catalog)
    read: dict[str, str] = field(default_factory=dict)


@contextmanager
def working_copy(
    store: ObjectStore,
    url: str,
    say: Callable[[str], None],
    signed: bool = False,
    numbers: IndexNumbers | None = None,
) -> Iterator[WorkingCopy]:
    """Read an index, let it be changed, write the change. `signed` reads what a signature of the index is made over, too.

    The signed state is noted in `numbers` once it is written.

    Raises UsageError where another one publishes, where the store refuses, and for what the change raises.
    """
    with tempfile.TemporaryDirectory(prefix="stackbuild-index-") as folder, _lock(store, url):
        copy = WorkingCopy(store, url, Path(folder))
        try:
            say("reading the index …")
            _read(copy, signed)
        except (ObjectFault, OSError) as error:
            raise refusal(url, str(error)) from None
        yield copy
        try:
            _write(copy, say)
            if signed and numbers:
                remember_signed(copy.folder, numbers)
        except (ObjectFault, OSError) as error:
            raise refusal(url, str(error)) from None


@contextmanager
def _lock(store: ObjectStore, url: str) -> Iterator[None]:
    """No other publisher meanwhile: the object `.publishing` is there for as long.

    Raises UsageError where it cannot be removed; an error of what was done meanwhile comes first.
    """
    who = f"{getpass.getuser()}@{socket.gethostname()} since {datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC"
    try:
        is_ours = store.create(REMOTE_LOCK, who.encode())
        holder = None if is_ours else store.get(REMOTE_LOCK, MOST_LOCK)
    except ObjectFault as fault:
        raise refusal(url, str(fault)) from None
    if not is_ours:
        text = " ".join(holder.data.decode("utf-8", "replace").split()) if holder else "it has just ended"
        raise UsageError(
            f"another one publishes there: {text[:200]}",
            where=url,
            next=f"wait for it; if it was killed, remove the object {REMOTE_LOCK} and run this again",
        )
    try:
        yield
    except BaseException:
        with suppress(ObjectFault):
            store.delete(REMOTE_LOCK)
        raise
    try:
        store.delete(REMOTE_LOCK)
    except ObjectFault as fault:
        raise UsageError(
            f"the change is written, but the object {REMOTE_LOCK} cannot be removed: {fault}",
            where=url,
            next=f"remove {REMOTE_LOCK} there: until then nobody can publish",
        ) from None


def _read(copy: WorkingCopy, signed: bool) -> None:
    (copy.folder / WHEELS_ELSEWHERE).write_text(copy.url, "utf-8")
    answer = copy.store.get(REMOTE_CATALOG, STATE_LIMIT)
    if answer is None:
        return
    if not answer.etag:
        raise ObjectFault("it names no ETag of the catalog, so another one's change could not be seen")
    copy.etag = answer.etag
    try:
        copy.before = Catalog.model_validate_json(answer.data)
    except ValidationError as error:
        raise UsageError(
            f"the catalog of the index cannot be read: {first_mistake(error)}",
            where=f"{copy.url}/{REMOTE_CATALOG}",
            next="put an earlier version of this object back",
        ) from None
    envelope = copy.store.get(ENVELOPE, ENVELOPE_LIMIT)
    switch(copy.folder, copy.before, pages(copy.before) | ({ENVELOPE: envelope.data} if envelope else {}))
    if signed:
        with worker_threads(THREADS) as pool:
            for path, sha256 in pool.map(lambda path: _fetch(copy, path), _beside(copy.before)):
                copy.read |= {path: sha256} if sha256 else {}


def _beside(catalog: Catalog) -> list[str]:
    """The files beside the wheels that a signature is made over or kept in."""
    paths = []
    for project, row in _rows(catalog):
        names = [one.name for one in row.attached if is_statement(one.name)]
        names += [f"{row.name}.metadata", *map(envelope_name, names)]
        paths += [f"{project}/{row.beside(name)}" for name in names]
    return paths


def _fetch(copy: WorkingCopy, path: str) -> tuple[str, str]:
    """Read a file into the working copy; its path and digest, "" where the store has none."""
    answer = copy.store.get(path, MOST_READ)
    if answer is None:
        return path, ""
    target = copy.folder / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(answer.data)
    return path, digest.of_bytes(answer.data)


def _rows(catalog: Catalog) -> Iterator[tuple[str, CatalogFile]]:
    for name, project in catalog.projects.items():
        for row in project.all_files:
            yield name, row


def _write(copy: WorkingCopy, say: Callable[[str], None]) -> None:
    catalog = read_catalog(copy.folder)
    if catalog is None:
        return
    published_paths = {f"{project}/{row.path}" for project, row in _rows(copy.before)}
    new = sorted(
        path
        for project in catalog.projects
        for file in (copy.folder / project).rglob("*")
        if file.is_file() and (file.suffix == ".whl" or not file.is_symlink())  # a page is a link, too
        if (path := str(file.relative_to(copy.folder))) not in published_paths
    )
    for number, path in enumerate(new, 1):
        file = copy.folder / path
        if path.endswith(".whl") or copy.read.get(path) != digest.of_file(file):
            say(f"uploading {file.name} ({file.stat().st_size / 1e6:.1f} MB; {number} of {len(new)}) …")
            copy.store.put_file(path, file)
    if catalog != copy.before:
        _put_catalog(copy, catalog)
    say("writing the pages …")
    current = (copy.folder / CURRENT).resolve()
    contents = {str(path.relative_to(current)): path for path in current.rglob("*") if path.is_file()}
    del contents[CATALOG]
    order = {name: place for place, name in enumerate(_needed_first(catalog))}
    for path in sorted(
        contents, key=lambda p: (order.get(p.partition("/")[0], len(order)), p == ENVELOPE, not is_variants_list(p), p)
    ):
        copy.store.put_file(path, contents[path])


def _needed_first(catalog: Catalog) -> list[str]:
    """The projects, each after those that its wheels require: no page offers a wheel whose requirement is not offered yet."""
    needs = {
        name: {
            str(canonicalize_name(Requirement(text).name)) for file in project.files.values() for text in file.requires
        }
        for name, project in catalog.projects.items()
    }
    try:
        return [name for name in TopologicalSorter(needs).static_order() if name in needs]
    except CycleError:
        return sorted(needs)


def _put_catalog(copy: WorkingCopy, catalog: Catalog) -> None:
    """The change holds from here on. It is refused where the catalog is not the one that was read."""
    data = catalog.model_dump_json(indent=1).encode()
    is_put = (
        copy.store.replace(REMOTE_CATALOG, data, copy.etag) if copy.etag else copy.store.create(REMOTE_CATALOG, data)
    )
    if not is_put:
        raise UsageError(
            "another one has published there meanwhile; nothing of this change is on the index",
            where=copy.url,
            next="run it again",
        )
