"""Looking after a store: what is in it, whether it is whole, and what can go."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from stackbuild.core.errors import MachineLacks
from stackbuild.store import atomic, tree
from stackbuild.store.records import Record
from stackbuild.store.store import Store, named_key
from stackbuild.store.unfinished import UnfinishedMark


@dataclass(frozen=True)
class StoredOutput:
    """One record with the size of its tree in bytes."""

    step: str
    recipe: str
    key: str
    tree: str
    size: int
    seconds: float
    made_at: str


@dataclass(frozen=True)
class Unfinished:
    """The folders of a step that did not end, RECIPE.STEP, with their bytes on the disk. `waits`: the next build
    resumes in them; otherwise they are there to be looked at."""

    name: str
    size: int
    waits: bool


@dataclass(frozen=True)
class Damage:
    """A tree that is not as its manifest says; it is in quarantine now."""

    tree: str
    reason: str


@dataclass(frozen=True)
class GcReport:
    """What a clean-up removed, and how many bytes of trees and of unfinished steps went."""

    records: int
    trees: int
    size: int


def records(store: Store) -> Iterator[Record]:
    """Every whole record of the store."""
    for path in sorted((store.root / "records").glob("*/*.json")):
        if record := store.find(path.stem):
            yield record


def listing(store: Store) -> tuple[StoredOutput, ...]:
    """What is in the store, newest first; a tree made under several keys is listed once."""
    rows = {}
    for r in records(store):
        if r.tree not in rows or not r.like:
            rows[r.tree] = StoredOutput(r.step, r.recipe, r.key, r.tree, _size(store, r.tree), r.seconds, r.made_at)
    return tuple(sorted(rows.values(), key=lambda row: row.made_at, reverse=True))


def _size(store: Store, name: str) -> int:
    manifest = store.root / "manifests" / name[:2] / name
    with contextlib.suppress(OSError, ValueError):
        return tree.size_of(manifest.read_text("utf-8"))
    return 0


def unfinished(store: Store) -> tuple[Unfinished, ...]:
    """What steps that did not end have left, by name."""
    found = []
    for folder in sorted((store.root / "failed").iterdir()):
        mark = UnfinishedMark.of(folder)
        found.append(Unfinished(folder.name, _on_disk(folder), mark is not None and mark.is_intact))
    return tuple(found)


def _on_disk(folder: Path) -> int:
    """Bytes that the files of a folder take. What goes meanwhile, is closed to us (overlay's work folders) or lies deeper
    than any output may counts nothing."""
    size = 0
    with contextlib.suppress(OSError), tree.opened(folder) as top:
        for found in tree.walk(top, lenient=True):
            size += 0 if found.kind == "d" else found.status.st_blocks * 512
    return size


def check_store(store: Store) -> tuple[Damage, ...]:
    """Read every tree and compare it with its manifest; what differs goes into quarantine."""
    names = sorted(path.name for path in (store.root / "trees").glob("*/*"))
    return tuple(Damage(name, reason) for name in names if (reason := store.check(name)))


def collect(store: Store, keep_days: float, now: float, max_size: int = 0) -> GcReport:
    """Remove records not written in `keep_days` days unless they are a recipe's latest, then trees nothing names.

    Failed steps' folders, compiler caches and the quarantine go too when they are that old, and what killed runs left
    but for build trees. With `max_size` (bytes of outputs, 0: no bound) the oldest outputs go until no more is left, the latest too.
    `now` is in seconds since the epoch. Raises MachineLacks while another run uses the store.
    """
    store.reap()
    with store.collecting():
        if others := store.others():
            raise MachineLacks(
                f"in use by {', '.join(others)}",
                where=str(store.root),
                next="run it again when nothing else uses this store",
            )
        report = _collect(store, now - keep_days * 86400)
        return _shrink(store, max_size, report) if max_size else report


def _shrink(store: Store, max_size: int, report: GcReport) -> GcReport:
    """Remove outputs, those made first before all others, until the rest have `max_size` bytes together."""
    rows = listing(store)  # newest first
    total = 0
    gone = set()
    for row in rows:
        total += row.size
        if total > max_size:
            gone.add(row.tree)
    removed = 0
    for record in tuple(records(store)):
        if record.tree in gone:
            (store.root / "records" / record.key[:2] / f"{record.key}.json").unlink(missing_ok=True)
            removed += 1
    for name in gone:
        atomic.remove(store.root / "trees" / name[:2] / name)
        atomic.remove(store.root / "manifests" / name[:2] / name)
    freed = sum(row.size for row in rows if row.tree in gone)
    return GcReport(report.records + removed, report.trees + len(gone), report.size + freed)


def _collect(store: Store, limit: float) -> GcReport:
    latest = {named_key(path) for path in (store.root / "latest").glob("*.key")}
    named_by = [(record.key, record.like) for record in records(store)]
    latest |= {like for key, like in named_by if key in latest} | {key for key, like in named_by if like in latest}
    gone = 0
    for path in (store.root / "records").glob("*/*.json"):
        if path.stem not in latest and path.stat().st_mtime < limit:
            path.unlink()
            gone += 1
    named = {record.tree for record in records(store)}
    trees, size = 0, 0
    for path in (store.root / "trees").glob("*/*"):
        if path.name not in named and path.stat().st_mtime < limit:
            size += _size(store, path.name)
            trees += 1
            atomic.remove(path)
            atomic.remove(store.root / "manifests" / path.name[:2] / path.name)
    for path in (store.root / "failed").iterdir():
        if os.lstat(path).st_mtime < limit:
            size += _on_disk(path)
            store.forget_failed(path.name)
    for path in (*(store.root / "quarantine").iterdir(), *(store.root / "ccache").iterdir()):
        if os.lstat(path).st_mtime < limit:  # a compiler cache's is that of its last use
            size += _on_disk(path)
            atomic.remove(path)
    return GcReport(gone, trees, size)
