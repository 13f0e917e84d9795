"""Writes into an output folder: each file in one rename, never through a link, one run at a time.

Every component of a path below the folder is opened without following links. So nothing outside the folder is ever
written, even if somebody adds a link during the run.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from stackbuild.core.errors import UsageError

NEW = ".stackbuild-hipify.new"
"""What a file is called until it is whole. A killed run may leave one in a folder; the next removes it."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC


@dataclass(frozen=True)
class ExistingEntry:
    """What lies at a path of the output: `kind` is "", file, link, folder or other; the digest and stamp of a file."""

    kind: str
    digest: str = ""
    stamp: tuple[int, int] = (0, 0)


class OutputFolder:
    """A locked output folder. Its methods take paths relative to it and raise UsageError."""

    def __init__(self, path: Path, fd: int) -> None:
        self.path = path
        self._fd = fd
        self._last: tuple[str, int] | None = None

    def look(self, path: str) -> ExistingEntry:
        """What lies at a path. A folder on the way that is a link, or a file, is an error."""
        with self._as_usage_errors(path):
            try:
                fd = self._parent(path, make=False)
                status = os.stat(_name(path), dir_fd=fd, follow_symlinks=False)
            except FileNotFoundError:
                return ExistingEntry("")
            if not stat.S_ISREG(status.st_mode):
                return ExistingEntry(
                    "link" if stat.S_ISLNK(status.st_mode) else "folder" if stat.S_ISDIR(status.st_mode) else "other"
                )
            with open(os.open(_name(path), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=fd), "rb") as file:  # noqa: PTH123
                return ExistingEntry(
                    "file", hashlib.file_digest(file, "sha256").hexdigest(), (status.st_size, status.st_mtime_ns)
                )
        raise AssertionError  # `_as_usage_errors` raises

    def write(self, path: str, data: bytes | Path, not_before_ns: int = 0) -> tuple[int, int]:
        """Put bytes, or another file's, at a path; its size and time, which is never before `not_before_ns`."""
        with self._as_usage_errors(path):
            fd = self._parent(path, make=True)
            with suppress(FileNotFoundError):
                os.unlink(NEW, dir_fd=fd)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            try:
                with open(os.open(NEW, flags, 0o666, dir_fd=fd), "wb") as file:  # noqa: PTH123
                    if isinstance(data, Path):
                        with data.open("rb") as source:
                            shutil.copyfileobj(source, file, 1 << 20)
                    else:
                        file.write(data)
                    file.flush()
                    stamp = _not_before(file.fileno(), not_before_ns)
                os.rename(NEW, _name(path), src_dir_fd=fd, dst_dir_fd=fd)
            except BaseException:
                with suppress(OSError):
                    os.unlink(NEW, dir_fd=fd)
                raise
            return stamp
        raise AssertionError

    def touch(self, path: str, not_before_ns: int) -> tuple[int, int]:
        """Give a file at least this time; its size and time. Its bytes stay."""
        with self._as_usage_errors(path):
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
            fd = os.open(_name(path), flags, dir_fd=self._parent(path, make=False))
            try:
                return _not_before(fd, not_before_ns)
            finally:
                os.close(fd)
        raise AssertionError

    def rename(self, path: str, name: str) -> None:
        """Give a file another name in its folder."""
        with self._as_usage_errors(path):
            fd = self._parent(path, make=False)
            os.rename(_name(path), name, src_dir_fd=fd, dst_dir_fd=fd)

    def remove(self, path: str) -> None:
        """Remove a file."""
        with self._as_usage_errors(path):
            os.unlink(_name(path), dir_fd=self._parent(path, make=False))

    def clear(self, path: str) -> None:
        """Remove what a killed run left beside a path."""
        with suppress(OSError):
            os.unlink(NEW, dir_fd=self._parent(path, make=False))

    def _parent(self, path: str, make: bool) -> int:
        """The folder of a path, opened: the last one stays open, since files come in order of folders."""
        below = path.rpartition("/")[0]
        if not {"", ".", ".."}.isdisjoint(path.split("/")):  # of a state that somebody wrote
            raise OSError(errno.EINVAL, "it leads out of the folder")
        if not below:
            return self._fd
        if self._last and self._last[0] == below:
            return self._last[1]
        self.close()
        fd = os.dup(self._fd)
        for part in below.split("/"):
            before, fd = fd, -1
            try:
                if make:
                    with suppress(FileExistsError):
                        os.mkdir(part, dir_fd=before)
                fd = os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=before)
            finally:
                os.close(before)
        self._last = (below, fd)
        return fd

    def close(self) -> None:
        """Forget the folder that is open."""
        if self._last:
            os.close(self._last[1])
            self._last = None

    @contextmanager
    def _as_usage_errors(self, path: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            where = self.path / path
            for folder in reversed([f for f in where.parents if f != self.path and self.path in f.parents]):
                if folder.is_symlink():
                    raise UsageError(
                        "it is a link, and nothing is written through one",
                        where=str(folder),
                        next="remove it, or give another OUT",
                    ) from error
            what = f"cannot be written: {error.strerror}"
            raise UsageError(what, where=str(where), next="check the output folder") from error


@contextmanager
def locked_folder(folder: Path) -> Iterator[OutputFolder]:
    """The output folder, created if missing and locked against other runs into it. Raises UsageError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        fd = os.open(folder, _FOLDER)
    except OSError as error:
        what = "it is not a folder" if isinstance(error, FileExistsError) else f"cannot be written: {error.strerror}"
        raise UsageError(what, where=str(folder), next="check the output folder") from error
    output = OutputFolder(folder, fd)
    try:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(fd, fcntl.LOCK_EX)
        yield output
    finally:
        output.close()
        os.close(fd)


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _not_before(fd: int, not_before_ns: int) -> tuple[int, int]:
    """Size and time of an open file, once that is not before the time given."""
    status = os.fstat(fd)
    if status.st_mtime_ns < not_before_ns:
        os.utime(fd, ns=(not_before_ns, not_before_ns))
        status = os.fstat(fd)
    return status.st_size, status.st_mtime_ns
