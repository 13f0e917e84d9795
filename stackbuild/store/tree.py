"""Trees and their manifests: every path with what it is, so that a flipped bit, a lost file or a changed mode shows."""

from __future__ import annotations

import errno
import json
import os
import stat
from dataclasses import dataclass
from pathlib import Path

from stackbuild.core import digest
from stackbuild.core.cancel import until_stopped, worker_threads
from stackbuild.core.tree_walk import BOUNDS, WHOLESOME, Bounds, OutOfBounds, WalkEntry, open_folder, walk

SERIAL_FILES, SERIAL_BYTES = 64, 1 << 20
"""A tree of no more is read by one thread: starting threads takes longer than reading it."""
_DECODER = json.JSONDecoder()


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
        what, end = _DECODER.raw_decode(rest)
        return cls(_DECODER.decode(rest[end + 1 :]), kind, "" if mode == "-" else mode, int(size), what)


def seal(root: Path) -> None:
    """Take the write bits, setuid, setgid and extended attributes from every file, and give the owner access to every file
    and folder.

    Of a folder the owner alone may write to it, and of a FIFO or a socket no other has anything: in the store nobody else
    is to leave a file, or to wait for a reader. No manifest tells these modes, nor extended attributes: those give a file
    capabilities, and to others what its mode does not. Raises OutOfBounds, Stopped, OSError.
    """
    _strip_attributes(str(root), root.stat().st_mode)
    root.chmod(stat.S_IMODE(root.stat().st_mode) & 0o755 | 0o700)
    with open_folder(root) as top:
        for path, kind, status in walk(top):
            if _strip_attributes(f"/proc/self/fd/{top}/{path}", status.st_mode):
                status = os.stat(path, dir_fd=top, follow_symlinks=False)
            mode = stat.S_IMODE(status.st_mode)
            if kind == "d":
                permissions = mode & 0o755 | 0o700
            elif kind == "f":
                permissions = mode & 0o777 & ~0o222 | 0o400
            elif kind == "s":
                permissions = mode & 0o700
            else:
                continue
            if permissions != mode:
                os.chmod(path, permissions, dir_fd=top)


def _strip_attributes(path: str, mode: int) -> bool:
    """Remove the extended attributes of a file of that mode, access control lists and file capabilities among them; no link
    is followed. Whether it had any: its mode may be another one then. Raises OSError.
    """
    names = [name for name in _attributes(path) if not name.startswith(KERNEL_ATTRIBUTES)]
    if names and not stat.S_ISLNK(mode) and mode & 0o600 != 0o600:  # who may not write to it may not remove them
        os.chmod(path, stat.S_IMODE(mode) | 0o600)
    for name in names:
        os.removexattr(path, name, follow_symlinks=False)
    return bool(names)


def _attributes(path: str) -> list[str]:
    """Names of a file's extended attributes; none on a file system without them. Raises OSError."""
    try:
        return os.listxattr(path, follow_symlinks=False)
    except OSError as error:
        if error.errno == errno.ENOTSUP:
            return []
        raise


KERNEL_ATTRIBUTES = ("security.selinux", "security.SMACK64", "security.ima", "security.evm")
"""Extended attributes that a security module of this machine gives to every file, and that only it removes."""


def survey(root: Path, bounds: Bounds = BOUNDS) -> tuple[Entry, ...]:
    """The manifest's entries of a tree, sorted by path. Reads every file; of a large tree two at a time.

    Raises OutOfBounds before a file is read, Stopped soon after a signal, OSError.
    """
    with open_folder(root) as top:
        walk_entries = []
        size = blocks = 0
        for one in walk(top, bounds):
            walk_entries.append(one)
            if one.kind == "f":
                size += one.status.st_size
                blocks += one.status.st_blocks
            _refuse_beyond(bounds, one, len(walk_entries), size)
        if size > bounds.sparse + 8 * 512 * blocks:
            what = f"its files are {size >> 30} GiB long and take {blocks >> 11} MiB of the disk: they are nearly all holes"
            raise OutOfBounds(what, next=WHOLESOME)
        if len(walk_entries) <= SERIAL_FILES and size <= SERIAL_BYTES:
            entries = [_entry(top, one) for one in walk_entries]
        else:
            with worker_threads(2) as pool:
                entries = list(pool.map(lambda one: _entry(top, one), until_stopped(walk_entries)))
    return tuple(sorted(entries, key=lambda e: e.path))


def _refuse_beyond(bounds: Bounds, last: WalkEntry, entries: int, size: int) -> None:
    if entries > bounds.entries:
        raise OutOfBounds(f"it holds more than {bounds.entries} files and folders", next=WHOLESOME)
    if size > bounds.bytes:
        what = f"its files are longer than {bounds.bytes >> 30} GiB together, with {last.path!r}"
        raise OutOfBounds(what, next=WHOLESOME)
    if stat.S_ISBLK(last.status.st_mode) or stat.S_ISCHR(last.status.st_mode):
        raise OutOfBounds(f"{last.path!r} is a device", next=WHOLESOME)


def _entry(root: int, walk_entry: WalkEntry) -> Entry:
    path, kind, status = walk_entry
    match kind:
        case "l":
            return Entry(path, "l", what=os.readlink(path, dir_fd=root))
        case "d":
            return Entry(path, "d")
        case "f":
            fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=root)
            return Entry(path, "f", f"{stat.S_IMODE(status.st_mode):o}", status.st_size, digest.of_open_file(fd))
        case _:
            return Entry(path, "s", what="special file")


def manifest(entries: tuple[Entry, ...]) -> str:
    """The manifest's text; its sha256 is the tree's digest."""
    return "".join(entry.line() for entry in until_stopped(entries))


def size_of(text: str) -> int:
    """Bytes of the files of a manifest. Raises ValueError for a text that is not a manifest."""
    return sum(Entry.read(line).size for line in until_stopped(text.splitlines()))


def difference(text: str, root: Path) -> str:
    """ "" when the tree is exactly as its manifest says, else the first difference in words."""
    try:
        entries = survey(root)
        if manifest(entries) == text:
            return ""
        manifest_entries = {e.path: e for e in map(Entry.read, until_stopped(text.splitlines()))}
        by_path = {e.path: e for e in entries}
    except OutOfBounds as beyond:
        return beyond.what
    except (ValueError, OSError) as error:
        return str(error)
    for path in sorted(manifest_entries.keys() | by_path.keys()):
        if manifest_entries.get(path) != by_path.get(path):
            verb = (
                "is missing"
                if path not in by_path
                else "should not be there"
                if path not in manifest_entries
                else "has changed"
            )
            return f"{path} {verb}"
    return ""
