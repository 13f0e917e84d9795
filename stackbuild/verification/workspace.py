"""The folder that verification works in. It is removed at the end; that of a killed `verify` at the next start."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from stackbuild.store import atomic, locks

_PREFIX = "stackbuild-verify-"
_ALIVE = ".alive"


@contextlib.contextmanager
def workspace() -> Iterator[Path]:
    """A new folder in the folder for temporary files."""
    _reap(Path(tempfile.gettempdir()))
    work = Path(tempfile.mkdtemp(prefix=_PREFIX)).resolve()
    try:
        with locks.hold(work / _ALIVE, lambda pid: None, lambda: None):
            yield work
    finally:
        atomic.remove(work)


def _reap(folder: Path) -> None:
    """Remove our own folders that no live process holds."""
    for old_folder in folder.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):  # another's, or gone meanwhile
            mine = os.lstat(old_folder).st_uid == os.geteuid() and not old_folder.is_symlink()
            if mine and (old_folder / _ALIVE).is_file():
                locks.remove_dead(old_folder / _ALIVE, partial(atomic.remove, old_folder))
