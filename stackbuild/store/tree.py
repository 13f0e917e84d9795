"""Trees and their manifests: every path with what it is, so that a flipped bit, a lost file or a changed mode shows."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from stackbuild.core import digest

SERIAL_FILES, SERIAL_BYTES = 64, 1 << 20
"""A tree of no more is read by one thread: starting threads takes longer than reading it."""


@dataclass(frozen=True)
class Entry:
    """One path of a tree: `kind` f, l or d; `mode` in octal; `what` the sha256, link target or ""."""

    path: str
    kind: str
    mode: str = ""
    size: int = 0
    what: str = ""

    def line(self) -> str:
        return f"{self.kind} {self.mode or '-'} {self.size} {json.dumps(self.what)} {json.dumps(self.path)}\n"

    @classmethod
    def read(cls, line: str) -> Entry:
        """Raises ValueError on a line that is not one."""
        kind, mode, size, rest = line.split(" ", 3)
        what, end = json.JSONDecoder().raw_decode(rest)
        return cls(json.loads(rest[end + 1 :]), kind, "" if mode == "-" else mode, int(size), what)


def walk(root: Path) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Every path under `root` with its entry, folders before what is in them, in no set order."""
    todo = [""]
    while todo:
        prefix = todo.pop()
        with os.scandir(root / prefix) as found:
            for entry in found:
                yield prefix + entry.name, entry
                if entry.is_dir(follow_symlinks=False):
                    todo.append(f"{prefix}{entry.name}/")


def seal(root: Path) -> None:
    """Take the write bits from every file, and give the owner access to every file and folder."""
    for _, entry in walk(root):
        if entry.is_dir(follow_symlinks=False):
            mode = entry.stat(follow_symlinks=False).st_mode & 0o7777
            if mode & 0o700 != 0o700:
                os.chmod(entry.path, mode | 0o700)
        elif not entry.is_symlink():
            mode = entry.stat(follow_symlinks=False).st_mode & 0o7777
            if mode & 0o222 or not mode & 0o400:
                os.chmod(entry.path, mode & ~0o222 | 0o400)


def survey(root: Path) -> tuple[Entry, ...]:
    """The manifest's entries of a tree, sorted by path. Reads every file; of a large tree two at a time. Raises OSError."""
    found = [(path, entry, entry.stat(follow_symlinks=False)) for path, entry in walk(root)]
    if len(found) <= SERIAL_FILES and sum(status.st_size for _, _, status in found) <= SERIAL_BYTES:
        entries: Iterable[Entry] = (_entry(*row) for row in found)
    else:
        with ThreadPoolExecutor(max_workers=2) as pool:
            entries = pool.map(lambda row: _entry(*row), found, chunksize=64)
    return tuple(sorted(entries, key=lambda e: e.path))


def _entry(path: str, entry: os.DirEntry[str], status: os.stat_result) -> Entry:
    if entry.is_symlink():
        return Entry(path, "l", what=os.readlink(entry.path))
    if entry.is_dir(follow_symlinks=False):
        return Entry(path, "d")
    if not entry.is_file(follow_symlinks=False):
        return Entry(path, "s", what="special file")
    return Entry(path, "f", f"{status.st_mode & 0o7777:o}", status.st_size, digest.of_file(Path(entry.path)))


def manifest(entries: tuple[Entry, ...]) -> str:
    """The manifest's text; its sha256 is the tree's digest."""
    return "".join(entry.line() for entry in entries)


def difference(text: str, root: Path) -> str:
    """ "" when the tree is exactly as its manifest says, else the first difference in words."""
    try:
        entries = survey(root)
        if manifest(entries) == text:
            return ""
        wanted = {e.path: e for e in map(Entry.read, text.splitlines())}
        found = {e.path: e for e in entries}
    except (ValueError, OSError) as error:
        return str(error)
    for path in sorted(wanted.keys() | found.keys()):
        if wanted.get(path) != found.get(path):
            verb = "is missing" if path not in found else "should not be there" if path not in wanted else "has changed"
            return f"{path} {verb}"
    return ""


def restore(text: str, root: Path, target: Path) -> None:
    """Hardlink a tree into the new folder `target`; files are copied where the disk differs. Raises OSError."""
    target.mkdir(parents=True)
    for entry in map(Entry.read, text.splitlines()):
        place = target / entry.path
        if entry.kind == "d":
            place.mkdir()
        elif entry.kind == "l":
            place.symlink_to(entry.what)
        else:
            _link(root / entry.path, place)


def _link(source: Path, place: Path) -> None:
    try:
        os.link(source, place)
    except OSError:  # another disk, or a file system without links
        shutil.copy2(source, place)
