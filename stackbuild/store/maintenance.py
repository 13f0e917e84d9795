"""Looking after a store: what is in it, whether it is whole, and what can go."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from stackbuild.core.errors import MachineLacks
from stackbuild.core.tree_walk import open_folder, walk
from stackbuild.store import atomic, tree
from stackbuild.store.records import Record
from stackbuild.store.resume_mark import UnfinishedMark
from stackbuild.store.store import Store, named_key


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
class UnfinishedStep:
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


def unfinished_steps(store: Store) -> tuple[UnfinishedStep, ...]:
    """What steps that did not end have left, by name."""
    rows = []
    for folder in sorted((store.root / "failed").glob("*")):
        mark = UnfinishedMark.of(folder)
        rows.append(UnfinishedStep(folder.name, _on_disk(folder), mark is not None and mark.is_intact))
    return tuple(rows)


def _on_disk(folder: Path) -> int:
    """Bytes that the files of a folder take. What goes meanwhile, is closed to us (overlay's work folders) or lies deeper
    than any output may counts nothing."""
    size = 0
    with contextlib.suppress(OSError), open_folder(folder) as top:
        for entry in walk(top, lenient=True):
            size += 0 if entry.kind == "d" else entry.status.st_blocks * 512
    return size


def check_store(store: Store) -> tuple[Damage, ...]:
    """Read every tree and compare it with its manifest; what differs goes into quarantine."""
    names = sorted(path.name for path in (store.root / "trees").glob("*/*"))
    return tuple(Damage(name, reason) for name in names if (reason := store.check(name)))


def collect(store: Store, keep_days: float, now: float, max_size: int = 0, rehearsed: bool = False) -> GcReport:
    """Remove records not written in `keep_days` days unless they are a recipe's latest, then trees nothing names.

    Failed steps' folders, compiler caches and the quarantine go too when they are that old, and what killed runs left
    but for build trees. With `max_size` (bytes of outputs, 0: no bound) the oldest outputs go until no more is left, the latest too.
    `now` is in seconds since the epoch. A `rehearsed` one removes nothing and reports what would go, but for what killed runs left.
    Raises MachineLacks while another run uses the store, unless rehearsed.
    """
    sweep = _Sweep(store, rehearsed)
    if rehearsed:  # it may look beside a run that is under way
        _sweep_all(sweep, now - keep_days * 86400, max_size)
        return sweep.report()
    store.reap()
    with store.collecting():
        if others := store.others():
            raise MachineLacks(
                f"in use by {', '.join(others)}",
                where=str(store.root),
                next="run it again when nothing else uses this store",
            )
        _sweep_all(sweep, now - keep_days * 86400, max_size)
        return sweep.report()


@dataclass
class _Sweep:
    """One clean-up: what it took so far, and whether it is only rehearsed. Records are named by key, trees by digest."""

    store: Store
    rehearsed: bool
    records: set[str] = field(default_factory=set)
    trees: set[str] = field(default_factory=set)
    size: int = 0

    def drop_record(self, key: str) -> None:
        self.records.add(key)
        if not self.rehearsed:
            (self.store.root / "records" / key[:2] / f"{key}.json").unlink(missing_ok=True)

    def drop_tree(self, name: str) -> None:
        self.size += _size(self.store, name)
        self.trees.add(name)
        self.drop(self.store.root / "trees" / name[:2] / name)
        self.drop(self.store.root / "manifests" / name[:2] / name)

    def drop(self, path: Path) -> None:
        if not self.rehearsed:
            atomic.remove(path)

    def drop_failed(self, path: Path) -> None:
        self.size += _on_disk(path)
        if not self.rehearsed:
            self.store.forget_failed(path.name)

    def report(self) -> GcReport:
        return GcReport(len(self.records), len(self.trees), self.size)


def _sweep_all(sweep: _Sweep, limit: float, max_size: int) -> None:
    _collect(sweep, limit)
    if max_size:
        _shrink(sweep, max_size)


def _shrink(sweep: _Sweep, max_size: int) -> None:
    """Remove outputs, those made first before all others, until the rest have `max_size` bytes together."""
    total, removed_names = 0, set()
    for row in listing(sweep.store):  # newest first
        if row.tree not in sweep.trees:
            total += row.size
            if total > max_size:
                removed_names.add(row.tree)
    for record in tuple(records(sweep.store)):  # before their trees: a record without its tree does not count
        if record.tree in removed_names:
            sweep.drop_record(record.key)
    for name in sorted(removed_names):
        sweep.drop_tree(name)


def _collect(sweep: _Sweep, limit: float) -> None:
    store = sweep.store
    latest = {named_key(path) for path in (store.root / "latest").glob("*.key")}
    named_by = [(record.key, record.like) for record in records(store)]
    latest |= {like for key, like in named_by if key in latest} | {key for key, like in named_by if like in latest}
    for path in tuple((store.root / "records").glob("*/*.json")):
        if path.stem not in latest and path.stat().st_mtime < limit:
            sweep.drop_record(path.stem)
    named_trees = {record.tree for record in records(store) if record.key not in sweep.records}
    for path in tuple((store.root / "trees").glob("*/*")):
        if path.name not in named_trees and path.stat().st_mtime < limit:
            sweep.drop_tree(path.name)
    for path in tuple((store.root / "failed").glob("*")):
        if os.lstat(path).st_mtime < limit:
            sweep.drop_failed(path)
    for path in (*(store.root / "quarantine").glob("*"), *(store.root / "ccache").glob("*")):
        if os.lstat(path).st_mtime < limit:  # a compiler cache's is that of its last use
            sweep.size += _on_disk(path)
            sweep.drop(path)
