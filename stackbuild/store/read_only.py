"""A store for the verbs that only read it, where it lies on a disk that is mounted read-only, or is not there yet.

Such a disk has an archive, a snapshot, another machine's store. A verb that only reads makes no store where none is.
"""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from stackbuild.core.errors import MachineLacks
from stackbuild.store.store import FORMAT_MARK, OTHERS_WRITE, Store, default_root, new_run_id, open_store, unusable


class ReadOnlyStore(Store):
    """Finds, reads and compares outputs. It holds no lock, for nothing there changes, and puts nothing into quarantine.

    `tmp` is a folder of its own below $TMPDIR, which `close` removes.
    """

    def _open(self) -> contextlib.ExitStack:
        if is_there(self.root):
            self._refuse_untrusted()
        stack = contextlib.ExitStack()
        self._scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="stackbuild-store-")))
        return stack

    def _refuse_untrusted(self) -> None:
        if self.root.stat().st_mode & (stat.S_ISVTX | OTHERS_WRITE) == stat.S_ISVTX | OTHERS_WRITE:
            raise MachineLacks(
                "all users could write to the store's folder", where=str(self.root), next="copy it where you alone may write"
            )
        self._refuse_other_format((self.root / FORMAT_MARK).read_text(errors="replace").strip())

    @property
    def tmp(self) -> Path:
        return self._scratch

    @contextlib.contextmanager
    def lock(self, key: str, waiting: Callable[[str], None], check: Callable[[], None]) -> Iterator[None]:
        yield

    def _quarantine(self, path: Path) -> None:
        """It stays where it is."""


def is_there(root: Path) -> bool:
    """Whether anything lies there. Raises MachineLacks where that is not a folder, or cannot be looked into."""
    try:
        return root.exists() and any(root.iterdir())
    except OSError as error:
        raise unusable(error, root) from None


def is_read_only(root: Path) -> bool:
    """Whether a store lies there on a disk that is mounted read-only."""
    try:
        return bool(os.statvfs(root).f_flag & os.ST_RDONLY) and (root / FORMAT_MARK).is_file()
    except OSError:
        return False


@contextlib.contextmanager
def open_to_read() -> Iterator[Store]:
    """The store, for verbs that only read it: it may lie on a disk that is mounted read-only. One that is not there is
    empty, and is not made. Raises MachineLacks."""
    root = default_root()
    kind = ReadOnlyStore if not is_there(root) or is_read_only(root) else Store
    store = kind(root, new_run_id())
    try:
        yield store
    finally:
        store.close()


@contextlib.contextmanager
def open_existing() -> Iterator[Store]:
    """The store, for verbs that repair or clean what is in it. One that is not there is not made. Raises MachineLacks."""
    with open_store() if is_there(default_root()) else open_to_read() as store:
        yield store
