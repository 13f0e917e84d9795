"""The entries below an open folder that somebody else filled, within bounds: no call recurses, and no link is followed."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from stackbuild.core.cancel import check_signals
from stackbuild.core.errors import StepFailed


class OutOfBounds(StepFailed):
    """A folder holds more than the store takes: too deep, too long a path, too many entries, too many bytes, a device."""


@dataclass(frozen=True)
class Bounds:
    """What one output may hold at most. `depth` counts the folders above an entry, `path` the bytes of its relative path.

    `bytes` are those of its files together, holes of sparse files included. They may be no more than `sparse` and eight
    times the disk space that the files take: holes cost a step nothing, and all who read it the time of bytes. No file
    system that compresses comes near it.
    """

    depth: int = 128
    path: int = 2048
    entries: int = 2_000_000
    bytes: int = 64 << 30
    sparse: int = 8 << 30

    def of_path(self, path: str, depth: int) -> str:
        """Why an entry at that path is beyond them, "" where it is not."""
        if depth > self.depth:
            return f"folders {depth} deep: {path[:60]!r}…; at most {self.depth}"
        if len(path) * 4 > self.path and (size := len(os.fsencode(path))) > self.path:
            return f"a path of {size} bytes: {path[:60]!r}…; at most {self.path}"
        return ""


BOUNDS = Bounds()


class WalkEntry(NamedTuple):
    """One entry of a folder: its relative path, what it is (f, l, d, or s for all else), and its lstat(2)."""

    path: str
    kind: str
    status: os.stat_result


@contextlib.contextmanager
def open_folder(root: Path) -> Iterator[int]:
    """The folder, for calls relative to it: what lies there is reached through no link and by no long path."""
    fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield fd
    finally:
        os.close(fd)


def walk(
    root: int, bounds: Bounds = BOUNDS, *, lenient: bool = False, accepts: Callable[[str], bool] = lambda path: True
) -> Iterator[WalkEntry]:
    """Every `accepts` entry below the open folder `root`, folders before what is in them, in no set order. What lies in a
    folder that is not wanted is left out with it.

    No call recurses and no link is followed. Raises OutOfBounds at an entry that is too deep or whose path is too long,
    Stopped soon after a signal, and OSError; with `lenient` such an entry, a folder that cannot be read and what goes
    meanwhile are left out.
    """
    todo = [("", 0)]
    while todo:
        prefix, depth = todo.pop()
        try:
            fd = os.open(prefix or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=root)
        except OSError:
            if not lenient:
                raise
            continue
        try:
            for entry in _entries(fd, prefix, lenient):
                check_signals()
                if not accepts(entry.path):
                    continue
                if why := bounds.of_path(entry.path, depth):
                    if lenient:
                        continue
                    raise OutOfBounds(f"it holds {why}", next=WHOLESOME)
                yield entry
                if entry.kind == "d":
                    todo.append((f"{entry.path}/", depth + 1))
        finally:
            os.close(fd)


def _entries(folder: int, prefix: str, lenient: bool) -> Iterator[WalkEntry]:
    with os.scandir(folder) as entries:
        for entry in entries:
            try:
                status = entry.stat(follow_symlinks=False)
            except OSError:
                if not lenient:
                    raise
                continue
            yield WalkEntry(prefix + entry.name, _KINDS.get(stat.S_IFMT(status.st_mode), "s"), status)


_KINDS = {stat.S_IFDIR: "d", stat.S_IFLNK: "l", stat.S_IFREG: "f"}
WHOLESOME = "let it hold less: what is not needed can be removed at the end of the step, or left out of the source"
"""What to do about a tree that is beyond the bounds."""
