"""The Store itself: find, stage, keep, check, restore, quarantine."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from stackbuild.core import digest
from stackbuild.core.errors import MachineLacks
from stackbuild.core.user_folders import cache_home
from stackbuild.store import atomic, locks, resume_mark, tree
from stackbuild.store.records import Record
from stackbuild.store.resume_mark import UnfinishedMark
from stackbuild.store.tree import Entry

FORMAT, FORMAT_MARK = "1", "format"
FOLDERS = ("records", "trees", "manifests", "locks", "tmp", "quarantine", "failed", "runs", "ccache", "memos")
EMULATOR = "emulator"
"""The folder of translated kernels and compiled runtimes beside those: a cache, which may be removed at any time."""
PRIVATE = ("tmp", "failed", "quarantine", "ccache")
"""Folders with what steps wrote as they liked, setuid programs too: only the store's owner can enter."""
_KEY = re.compile(r"[0-9a-f]{64}")


def default_root() -> Path:
    """`$STACKBUILD_STORE`, else `$XDG_CACHE_HOME/stackbuild/store`, else `~/.cache/stackbuild/store`."""
    if text := os.environ.get("STACKBUILD_STORE"):
        return Path(text).absolute()
    return cache_home("the store", "STACKBUILD_STORE").absolute() / "stackbuild" / "store"


@dataclass(frozen=True)
class StagingFolder:
    """The folders of one step under way, all on the store's disk: `out` becomes the tree; the rest is scratch."""

    root: Path

    @property
    def out(self) -> Path:
        return self.root / "out"

    @property
    def build(self) -> Path:
        return self.root / "build"

    @property
    def upper(self) -> Path:
        return self.root / "upper"

    @property
    def work(self) -> Path:
        return self.root / "work"

    def unmark(self) -> None:
        """No run resumes in this build tree."""
        (self.root / resume_mark.MARK).unlink(missing_ok=True)

    def remove(self) -> None:
        """Remove all of it; the mark first, so that what a killed removal leaves is trusted by nobody."""
        self.unmark()
        atomic.remove(self.root)


@dataclass(frozen=True)
class ReapReport:
    """What dead runs left: their ids, and as RECIPE.STEP the build trees that are kept to resume in, and those lost with
    the machine's going down."""

    runs: tuple[str, ...]
    resumable: tuple[str, ...]
    lost_steps: tuple[str, ...]


class Store:
    """One store on one disk, opened by one run. Raises MachineLacks where the folder cannot be used.

    `verified` are digests of trees that need not be read again: several runs of one process may share that set.
    """

    def __init__(self, root: Path, run: str, verified_trees: set[str] | None = None) -> None:
        self.root = root
        self._root = str(root)
        self.run = run
        self._verified_trees: set[str] = set() if verified_trees is None else verified_trees
        try:
            self._alive = self._open()
        except OSError as error:
            raise unusable(error, root) from None

    def _open(self) -> contextlib.ExitStack:
        """Make what the store lacks, and say that this run uses it until that is closed. Raises OSError, MachineLacks."""
        root = self.root
        os.umask(os.umask(0o077) | OTHERS_WRITE)  # from here on nobody else may write to what this process makes
        for name in FOLDERS:
            (root / name).mkdir(parents=True, exist_ok=True)
        _shut(root)
        for name in PRIVATE:
            if (root / name).stat().st_mode & 0o077:
                (root / name).chmod(0o700)
        with contextlib.ExitStack() as stack:
            stack.enter_context(self._hold_alive())
            with self.collecting():  # a clean-up that did not see this run alive ends first
                pass
            self._check_format()
            return stack.pop_all()

    def _check_format(self) -> None:
        mark = self.root / FORMAT_MARK
        text = mark.read_text(errors="replace").strip() if mark.exists() else ""
        if not text.isdigit():  # a new store, or a damaged mark: all else is verified on use
            atomic.write_whole(mark, FORMAT + "\n", self.tmp)
        else:
            self._refuse_other_format(text)

    def _refuse_other_format(self, text: str) -> None:
        if text.isdigit() and text != FORMAT:
            raise MachineLacks(
                f"the store has format {text!r}, this stackbuild reads {FORMAT}",
                where=str(self.root),
                next="set STACKBUILD_STORE to another folder, or remove this one",
            )

    def _hold_alive(self) -> contextlib.ExitStack:
        stack = contextlib.ExitStack()
        alive = self.root / "tmp" / f"{self.run}.alive"
        stack.enter_context(locks.hold(alive, lambda pid: None, lambda: None))

        def leave() -> None:
            self._clear(self.run, [], at_rest=True)
            atomic.remove(alive)  # where clearing failed it stays, and the next run finds by it what there is to clear

        stack.callback(leave)
        self.tmp.mkdir(parents=True, exist_ok=True)
        return stack

    @property
    def tmp(self) -> Path:
        """This run's staging folder."""
        return self.root / "tmp" / self.run

    def collecting(self) -> AbstractContextManager[None]:
        """Held while a clean-up removes things; no run begins meanwhile."""
        return self.lock("gc", lambda pid: None, lambda: None)

    def others(self) -> tuple[str, ...]:
        """The runs that use this store at this moment, but for this one."""
        runs = (path for path in sorted((self.root / "tmp").glob("*.alive")) if path.stem != self.run)
        return tuple(path.stem for path in runs if locks.is_held(path))

    def close(self) -> None:
        self._alive.close()

    def reap(self) -> ReapReport:
        """Remove the staging folders of dead runs but for the build trees to resume in; nothing of a live run is touched."""
        dead: list[str] = []
        marks: list[UnfinishedMark] = []
        for alive in sorted((self.root / "tmp").glob("*.alive")):
            run = alive.name.removesuffix(".alive")
            if run != self.run and locks.remove_dead(alive, partial(self._clear, run, marks)):
                dead.append(run)
        names = tuple(mark.name for mark in marks if mark.is_intact)
        return ReapReport(tuple(dead), names, tuple(mark.name for mark in marks if not mark.is_intact))

    def _clear(self, run: str, marks: list[UnfinishedMark], at_rest: bool = False) -> None:
        """Remove a run's staging folders, all but those with a mark that holds: they are kept. All `marks` found are reported."""
        folder = self.root / "tmp" / run
        for path in sorted(folder.glob(f"*/{resume_mark.MARK}")):
            mark, staging = UnfinishedMark.of(path.parent), StagingFolder(path.parent)
            if mark and mark.names_step(staging.root.name) and self.find(mark.inputs) is None:
                marks.append(mark)
                if mark.is_intact:
                    self.keep_failed(mark.name, staging, at_rest)
        atomic.remove(folder)

    # --- finding

    def find(self, key: str) -> Record | None:
        """The record of a key, if it is whole, its text has that key and its tree is there; a broken one is put into
        quarantine."""
        path = self._path("records", key, ".json")
        try:
            record = Record.read(atomic.read_whole(path))
        except FileNotFoundError:
            return None
        except ValueError:
            self._quarantine(path)
            return None
        except OSError:  # it may be readable the next time: a miss, and left where it is
            return None
        if record.key != key:
            self._quarantine(path)
            return None
        return record if self.tree(record.tree).is_dir() and self._path("manifests", record.tree).is_file() else None

    def find_all(self, keys: Iterable[str]) -> dict[str, Record]:
        """The records of those keys that the store has, by key."""
        return {key: record for key in keys if (record := self.find(key)) is not None}

    def tree(self, tree_digest: str) -> Path:
        """Where the tree of that digest lies."""
        return self._path("trees", tree_digest)

    def _path(self, kind: str, name: str, suffix: str = "") -> Path:
        return Path(f"{self._root}/{kind}/{name[:2]}/{name}{suffix}")

    def check(self, tree_digest: str, begins: Callable[[int], None] = lambda size: None) -> str:
        """ "" when every file of the tree has its digest; else the tree is put into quarantine and the reason returned.

        A tree is read once a run. `begins` gets the bytes to read before one is read that takes seconds.
        """
        if tree_digest in self._verified_trees:
            return ""
        reason = self._difference(tree_digest, begins)
        if reason:
            self._quarantine(self.tree(tree_digest))
            self._quarantine(self._path("manifests", tree_digest))
        else:
            self._verified_trees.add(tree_digest)
        return reason

    def _difference(self, tree_digest: str, begins: Callable[[int], None]) -> str:
        try:
            text = atomic.read_whole(self._path("manifests", tree_digest))
        except (OSError, ValueError) as error:
            return f"its manifest cannot be read: {error}"
        if digest.of_text(text) != tree_digest:
            return "its manifest has changed"
        if (size := tree.size_of(text)) >= WORTH_SAYING:
            begins(size)
        return tree.difference(text, self.tree(tree_digest))

    def _quarantine(self, path: Path) -> None:
        if os.path.lexists(path):
            kind = path.relative_to(self.root).parts[0]  # a tree and its manifest have one name
            target = self.root / "quarantine" / f"{time.strftime('%Y%m%dT%H%M%S')}.{time.time_ns()}.{kind}.{path.name}"
            with contextlib.suppress(FileNotFoundError):
                path.rename(target)

    # --- keeping

    def stage(self, step: str) -> StagingFolder:
        """Fresh folders for one step."""
        staging = StagingFolder(self.tmp / step)
        staging.remove()
        for folder in (staging.out, staging.build, staging.upper, staging.work):
            folder.mkdir(parents=True)
        return staging

    def keep(self, staging: StagingFolder) -> str:
        """Make `out` a tree of the store; its digest. The staging folder is gone afterwards. Raises OutOfBounds, OSError."""
        tree.seal(staging.out)
        entries = tree.survey(staging.out)
        return self._place(staging, tree.manifest(entries), entries)

    def adopt(self, staging: StagingFolder, text: str) -> str:
        """The same for an `out` of which every file has just been compared with that manifest text; none is read again.

        Raises ValueError where the text is not a manifest, OSError.
        """
        return self._place(staging, text, tuple(map(Entry.read, text.splitlines())))

    def _place(self, staging: StagingFolder, text: str, entries: tuple[Entry, ...]) -> str:
        """Flush and rename a tree and its manifest; its digest."""
        name = digest.of_text(text)
        with locks.hold(self.root / "locks" / f"tree.{name}", lambda pid: None, lambda: None):
            if self.tree(name).exists() and (not self._path("manifests", name).exists() or self.check(name)):
                self._quarantine(self.tree(name))
            if not self.tree(name).exists():
                manifest = self._path("manifests", name)
                staging_file = atomic.stage_text(manifest, text, self.tmp)
                folders = [staging.out, *(staging.out / e.path for e in entries if e.kind == "d")]
                atomic.flush_files(staging.out, (staging.out / e.path for e in entries if e.kind == "f"), folders)
                atomic.move_whole((staging.out, self.tree(name)), (staging_file, manifest))
        self._verified_trees.add(name)
        staging.remove()
        return name

    def record(self, record: Record) -> None:
        """Write a record: the last act of a step."""
        atomic.write_whole(self._path("records", record.key, ".json"), record.text(), self.tmp)
        atomic.write_hint(self.root / "latest" / f"{record.recipe}.{record.step}.key", record.key + "\n", self.tmp)

    def record_alike(self, record: Record, content_text: str) -> None:
        """Let the same inputs, however they were made, find this output too (early cut-off). Losing it costs a rebuild.

        `content_text` is what the content key is the digest of.
        """
        alike = replace(record, key=digest.of_text(content_text), key_text=content_text, like=record.key)
        atomic.write_hint(self._path("records", alike.key, ".json"), alike.text(), self.tmp)

    def latest(self, recipe: str) -> tuple[Record, ...]:
        """The last record of each of a recipe's steps."""
        keys = (named_key(path) for path in (self.root / "latest").glob(f"{recipe}.*.key"))
        return tuple(record for key in keys if key and (record := self.find(key)))

    # --- what steps that did not end have left

    def mark(self, staging: StagingFolder, mark: UnfinishedMark) -> None:
        """Say whose build tree that is: from now on a run that is killed leaves it to the next."""
        atomic.write_whole(staging.root / resume_mark.MARK, mark.text(), staging.root)

    def keep_failed(self, name: str, staging: StagingFolder, at_rest: bool = True) -> None:
        """Keep the folders of a step for `stackbuild shell` and the next run; those of its last failure go.

        `at_rest`: all that wrote there has ended, so a marked tree can be flushed, and a power cut does it no more harm.
        """
        if at_rest and (mark := UnfinishedMark.of(staging.root)):
            with contextlib.suppress(OSError):  # a full disk: it is there until the machine goes down
                atomic.flush_all(staging.build)
                self.mark(staging, replace(mark, boot=""))
        with self._lock_failed(name):
            self.failed_folder(name).remove()
            staging.root.rename(self.failed_folder(name).root)

    def failed_folder(self, name: str) -> StagingFolder:
        """Where the folders of a step that did not end are, if they are."""
        return StagingFolder(self.root / "failed" / name)

    def resume(
        self, mark: UnfinishedMark, staging: StagingFolder, unfit: Callable[[Path, UnfinishedMark], str]
    ) -> str | None:
        """Take the build tree that the same step on the same inputs left into `staging`, if there is one.

        None when it was taken; else why not in words, "" where there is none to take. `unfit` looks at the tree and its
        mark. Killed at any moment, the tree is in one of the two places, with a mark.
        """
        folder = self.failed_folder(mark.name)
        with self._lock_failed(mark.name):
            left_mark = UnfinishedMark.of(folder.root)
            if left_mark is None or left_mark.inputs != mark.inputs:
                return ""
            if why := unfit(folder.root, left_mark):
                return why
            staging.remove()
            folder.root.rename(staging.root)
        self.mark(staging, mark)  # on the disk before the first command: from here on a power cut does harm
        beside = (path for path in staging.build.iterdir() if path.name != staging.root.name)
        for path in (staging.out, staging.upper, staging.work, staging.root / "kept", *beside):
            atomic.remove(path)
        for path in (staging.out, staging.upper, staging.work):
            path.mkdir()
        return None

    def forget_failed(self, name: str) -> None:
        """The step was made: what its last failure left is of no more use."""
        if self.failed_folder(name).root.exists():
            with self._lock_failed(name):
                self.failed_folder(name).remove()

    def _lock_failed(self, name: str) -> AbstractContextManager[None]:
        return self.lock(f"failed.{name}", lambda pid: None, lambda: None)

    @contextlib.contextmanager
    def lock(self, key: str, waiting: Callable[[str], None], check: Callable[[], None]) -> Iterator[None]:
        """One writer a key, among all processes."""
        with locks.hold(self.root / "locks" / key, waiting, check):
            yield

    # --- memos: results of verbs (verification, benchmarks) by key

    def recall(self, key: str) -> object | None:
        """The JSON value remembered under a key, or None."""
        path = self._path("memos", key, ".json")
        try:
            memo = digest.json_of(atomic.read_whole(path))
            if memo["sha256"] == digest.of_value([key, memo["value"]]):
                return memo["value"]  # type: ignore[no-any-return]
        except (ValueError, KeyError, TypeError):
            pass
        except OSError:  # absent, or not readable this time: a miss, and left where it is
            return None
        self._quarantine(path)
        return None

    def remember(self, key: str, value: object) -> None:
        """Remember a JSON value under a key, with a digest that it is checked by when recalled."""
        body = digest.json_of(digest.canonical(value))
        memo = {"sha256": digest.of_value([key, body]), "value": body}
        atomic.write_whole(self._path("memos", key, ".json"), digest.canonical(memo), self.tmp)


OTHERS_WRITE = 0o022
"""Modes that let others put their own records and trees into the store, where they would be believed."""


def _shut(root: Path) -> None:
    """Take the others' right to write from the store's own folders, which a mask of 0 or 002 had given them."""
    if root.stat().st_mode & (stat.S_ISVTX | OTHERS_WRITE) == stat.S_ISVTX | OTHERS_WRITE:
        raise MachineLacks(
            "all users may write to the store's folder",
            where=str(root),
            next="set STACKBUILD_STORE to a folder below it",
        )
    _shut_one(root)
    for name in FOLDERS:
        if _shut_one(root / name):
            deep = "*/*" if name in ("records", "manifests", "memos") else "*"
            for below in (*(root / name).glob("*"), *(root / name).glob(deep)):
                _shut_one(below)


def _shut_one(path: Path) -> bool:
    """Whether others could write to it."""
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode) or not mode & OTHERS_WRITE:
        return False
    path.chmod(stat.S_IMODE(mode) & ~OTHERS_WRITE)
    return True


def named_key(pointer: Path) -> str:
    """The key in a pointer to the latest record; "" where it holds none."""
    try:
        key = atomic.read_whole(pointer).strip()
    except (OSError, ValueError):
        return ""
    return key if _KEY.fullmatch(key) else ""


def unusable(error: OSError, path: Path) -> MachineLacks:
    """What to say when the store's folder does not do what a folder should."""
    if error.errno in NO_SPACE:
        return disk_full(path)
    return MachineLacks(
        f"the store cannot be used: {error.strerror}",
        where=str(error.filename or path),
        next="make the folder writable, or set STACKBUILD_STORE to another one",
    )


WORTH_SAYING = 256 << 20
"""Bytes of a tree from which on reading it takes seconds."""
NO_SPACE = (28, 122)
"""errno ENOSPC and EDQUOT."""


def disk_full(path: Path, root: Path | None = None) -> MachineLacks:
    """What to say when the disk is full: the store stays as it is and the next run resumes there.

    `root` is the store's folder where `path` may be on another disk: there `store gc` makes no room.
    """
    free = os.statvfs(path).f_bavail * os.statvfs(path).f_frsize if path.exists() else 0
    is_other_disk = root is not None and root.exists() and path.exists() and root.stat().st_dev != path.stat().st_dev
    help = " there" if is_other_disk else " (`stackbuild store gc` helps)"
    return MachineLacks(
        f"the disk is full ({free >> 20} MiB free)",
        where=str(path),
        next=f"make room{help} and run the same command again: finished steps are kept",
        topic="disk",
    )


def new_run_id() -> str:
    """An id that sorts by time and that no other run has, also where two process namespaces share one store."""
    return f"{time.strftime('%Y%m%dT%H%M%S')}-{os.getpid()}-{secrets.token_hex(3)}"


@contextlib.contextmanager
def open_store() -> Iterator[Store]:
    """The store, for the verbs that look after it. Raises MachineLacks."""
    store = Store(default_root(), new_run_id())
    try:
        yield store
    finally:
        store.close()
