"""Files that are whole or not there: flush, rename, flush the folder."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import secrets
import stat
from collections.abc import Iterable
from pathlib import Path

FSYNC_EACH = 256
"""Up to so many files are flushed one by one; above, one syncfs(2) flushes the whole file system at once."""


def write_whole(path: Path, text: str, scratch: Path) -> None:
    """Write a file so that it appears under its name whole or not at all. `scratch` is a folder on the same disk."""
    move_whole((stage_text(path, text, scratch), path))


def stage_text(path: Path, text: str, scratch: Path) -> Path:
    """Write what is to be that file into `scratch`, and flush it; where it lies there."""
    staging_file = scratch / f"{path.name}.{os.getpid()}.{id(text)}"
    with staging_file.open("w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    return staging_file


def read_whole(path: Path) -> str:
    """The text of a regular file. Raises ValueError where there is another thing or no text, OSError.

    No link is followed, and nobody is waited for at a FIFO.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO):
            raise ValueError("a link or a socket") from None
        raise
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise ValueError("not a file")
    with os.fdopen(fd, "rb") as file:
        return file.read().decode("utf-8")


def write_hint(path: Path, text: str, scratch: Path) -> None:
    """The same without the flushes, for what may be lost: after a power cut it is there, broken or gone, and only costs time.

    A folder that lies in its place is removed: no hint is a folder.
    """
    staging_file = scratch / f"{path.name}.{os.getpid()}.{id(text)}"
    staging_file.write_text(text, encoding="utf-8", errors="surrogateescape")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        staging_file.rename(path)
    except IsADirectoryError:
        remove(path)
        staging_file.rename(path)


def move_whole(*moves: tuple[Path, Path]) -> None:
    """Rename to the final name and flush its folder, so that the name survives a power cut.

    A move is the staged and the final path. Several are renamed one after the other and their folders flushed after the
    last: no order among them survives a power cut, and they are there together once this returns.
    """
    folders: list[Path] = []
    for staging_file, final in moves:
        fresh = not final.parent.exists()
        final.parent.mkdir(parents=True, exist_ok=True)
        staging_file.rename(final)
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
    """Remove a file or tree, whatever its modes (overlay's work folders have none), its depth and its paths' length.

    Nothing there is no error, nor is another process that removes the same. No call recurses, follows a link or takes a
    path longer than one name: what lies deeper than one folder is moved up first. Raises OSError.
    """
    try:
        above = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return
    try:
        while not _unlink(path.name, above):
            top = _open_folder(path.name, above)
            if top is not None:
                try:
                    _empty(top)
                finally:
                    os.close(top)
    finally:
        os.close(above)


def _unlink(name: str, above: int) -> bool:
    """Remove a file, link or empty folder of the open folder `above`; False where it is a folder with something in it."""
    try:
        os.unlink(name, dir_fd=above)
    except FileNotFoundError:
        return True
    except IsADirectoryError:
        return _unlink_folder(name, above)
    return True


def _unlink_folder(name: str, above: int) -> bool:
    try:
        os.rmdir(name, dir_fd=above)
    except FileNotFoundError:
        return True
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
        return False
    return True


def _open_folder(name: str, above: int) -> int | None:
    """The folder of that name, open to read and write for its owner; None where it is gone."""
    try:
        fd = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=above)
    except FileNotFoundError:
        return None
    try:
        mode = stat.S_IMODE(os.fstat(fd).st_mode)
        if mode & 0o700 != 0o700:
            os.chmod(f"/proc/self/fd/{fd}", mode | 0o700)
        return os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=fd)
    except FileNotFoundError:
        return None
    finally:
        os.close(fd)


def _empty(top: int) -> None:
    """Remove what is in the open folder `top`: each folder below is emptied into it, then what came of that."""
    fresh, number = secrets.token_hex(8), 0
    todo = [name for name in _names(top) if not _unlink(name, top)]
    while todo:
        name = todo.pop()
        fd = _open_folder(name, top)
        if fd is not None:
            try:
                for inner in _names(fd):
                    if not _unlink(inner, fd):
                        number += 1
                        _move_up(inner, fd, f"{fresh}.{number}", top)
                        todo.append(f"{fresh}.{number}")
            finally:
                os.close(fd)
        _unlink(name, top)


def _names(folder: int) -> list[str]:
    with os.scandir(folder) as entries:
        return [entry.name for entry in entries]


def _move_up(name: str, folder: int, fresh: str, top: int) -> None:
    inner = _open_folder(name, folder)  # a folder's owner must be able to write into it to give it another parent
    if inner is not None:
        os.close(inner)
        with contextlib.suppress(FileNotFoundError):
            os.rename(name, fresh, src_dir_fd=folder, dst_dir_fd=top)
