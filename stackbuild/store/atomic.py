"""Files that are whole or not there: flush, rename, flush the folder."""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Any

FSYNC_EACH = 256
"""Up to so many files are flushed one by one; above, one syncfs(2) flushes the whole file system at once."""


def write_whole(path: Path, text: str, scratch: Path) -> None:
    """Write a file so that it appears under its name whole or not at all. `scratch` is a folder on the same disk."""
    move_whole(stage_text(path, text, scratch), path)


def stage_text(path: Path, text: str, scratch: Path) -> Path:
    """Write what is to be that file into `scratch`, and flush it; where it lies there."""
    staged = scratch / f"{path.name}.{os.getpid()}.{id(text)}"
    with staged.open("w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    return staged


def write_hint(path: Path, text: str, scratch: Path) -> None:
    """The same without the flushes, for what may be lost: after a power cut it is there, broken or gone, and only costs time."""
    staged = scratch / f"{path.name}.{os.getpid()}.{id(text)}"
    staged.write_text(text, encoding="utf-8", errors="surrogateescape")
    path.parent.mkdir(parents=True, exist_ok=True)
    staged.rename(path)


def move_whole(*moves: Path) -> None:
    """Rename to the final name and flush its folder, so that the name survives a power cut.

    `moves` are pairs of staged and final path. Several are renamed one after the other and their folders flushed after the
    last: no order among them survives a power cut, and they are there together once this returns.
    """
    folders: list[Path] = []
    for staged, final in zip(moves[::2], moves[1::2], strict=True):
        fresh = not final.parent.exists()
        final.parent.mkdir(parents=True, exist_ok=True)
        staged.rename(final)
        folders += [final.parent, final.parent.parent] if fresh else [final.parent]
    for folder in folders:
        flush_folder(folder)


def flush_folder(folder: Path) -> None:
    _flush(folder, os.O_DIRECTORY)


def _flush(path: Path, kind: int) -> None:
    fd = os.open(path, os.O_RDONLY | kind)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def flush_files(root: Path, files: Iterable[Path], folders: Iterable[Path]) -> None:
    """Flush the files and then the folders of a tree to the disk."""
    paths = list(files)
    if len(paths) > FSYNC_EACH:
        flush_all(root)
        return
    for path in paths:
        _flush(path, os.O_NOFOLLOW)
    for folder in folders:
        flush_folder(folder)


def flush_all(root: Path) -> None:
    """Flush the file system that a folder is on. Raises OSError."""
    libc = ctypes.CDLL(None, use_errno=True)
    fd = os.open(root, os.O_RDONLY)
    try:
        if libc.syncfs(fd) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(root))
    finally:
        os.close(fd)


def remove(path: Path) -> None:
    """Remove a file or tree, whatever its modes (overlay's work folders have none). Nothing there is no error, nor is
    another process that removes the same."""

    def retry(function: Any, name: str, info: Any) -> None:
        if isinstance(info[1], FileNotFoundError):
            return
        with contextlib.suppress(FileNotFoundError):
            Path(name).parent.chmod(0o700)
            if not Path(name).is_symlink() and Path(name).is_dir():
                Path(name).chmod(0o700)
                shutil.rmtree(name, onerror=_absent_is_fine)
            else:
                Path(name).unlink(missing_ok=True)

    if path.is_symlink() or (path.exists() and not stat.S_ISDIR(path.lstat().st_mode)):
        path.unlink(missing_ok=True)
    elif path.exists():
        shutil.rmtree(path, onerror=retry)


def _absent_is_fine(function: Any, name: str, info: Any) -> None:
    if not isinstance(info[1], FileNotFoundError):
        raise info[1]
