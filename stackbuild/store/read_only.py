"""A store on a disk that is mounted read-only, for the verbs that only read: an archive, a snapshot, another machine's disk."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from stackbuild.core.errors import MachineLacks
from stackbuild.store.store import FORMAT_MARK, OTHERS_WRITE, Store, default_root, new_run_id


class ReadOnlyStore(Store):
    """Finds, reads and compares outputs. It holds no lock, for nothing there changes, and puts nothing into quarantine.

    `tmp` is a folder of its own below $TMPDIR, which `close` removes.
    """

    def _open(self) -> contextlib.ExitStack:
        if self.root.stat().st_mode & (stat.S_ISVTX | OTHERS_WRITE) == stat.S_ISVTX | OTHERS_WRITE:
            raise MachineLacks(
                "all users could write to the store's folder", where=str(self.root), next="copy it where you alone may write"
            )
        self._refuse_other_format((self.root / FORMAT_MARK).read_text(errors="replace").strip())
        stack = contextlib.ExitStack()
        self._scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="stackbuild-store-")))
        return stack

    @property
    def tmp(self) -> Path:
        return self._scratch

    @contextlib.contextmanager
    def lock(self, key: str, waiting: Callable[[str], None], check: Callable[[], None]) -> Iterator[None]:
        yield

    def _quarantine(self, path: Path) -> None:
        """It stays where it is."""


def is_read_only(root: Path) -> bool:
    """Whether a store lies there on a disk that is mounted read-only."""
    try:
        return bool(os.statvfs(root).f_flag & os.ST_RDONLY) and (root / FORMAT_MARK).is_file()
    except OSError:
        return False


@contextlib.contextmanager
def open_to_read() -> Iterator[Store]:
    """The store, for verbs that only read it: it may lie on a disk that is mounted read-only. Raises MachineLacks."""
    root = default_root()
    kind = ReadOnlyStore if is_read_only(root) else Store
    store = kind(root, new_run_id())
    try:
        yield store
    finally:
        store.close()
