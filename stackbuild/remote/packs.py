"""Which file is in which pack, and what a manifest text from elsewhere may say. Pure: no file is read here.

A blob for each file costs six times the CPU time of packs, and one archive of everything uses one core and cannot be
resumed (docs/sharing.md has the figures). So a file of 1 MiB or more is a pack by itself, and smaller ones share packs
of 16 MiB in the order of their paths. Both sides compute this from the manifest text. No archive format is read, so no
header of one can name a path.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from stackbuild.core.tree_walk import BOUNDS
from stackbuild.remote.faults import RemoteFault
from stackbuild.store.tree import Entry

ALONE = 1 << 20
"""Bytes from which on a file is a pack by itself."""
SHARED_PACK = 16 << 20
"""Bytes of small files up to which they share a pack."""
MOST_PACKS = 4000
"""Packs of a tree: registries take manifests of up to 4 MB, and a layer takes some 250 bytes of it."""
_MODE = re.compile(r"[0-7]{3}")
_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Pack:
    """Files whose contents follow one another, and the bytes of all of them."""

    files: tuple[Entry, ...]

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files)


def packs_of(entries: Sequence[Entry]) -> tuple[Pack, ...]:
    """The packs of a tree, in a fixed order. Empty files are in none.

    Where there would be more than `MOST_PACKS`, both sizes are doubled until there are not.
    """
    files = [entry for entry in entries if entry.kind == "f" and entry.size]
    alone, shared_size = ALONE, SHARED_PACK
    while len(packs := _packs(files, alone, shared_size)) > MOST_PACKS:
        alone, shared_size = alone * 2, shared_size * 2
    return packs


def _packs(files: Sequence[Entry], alone: int, shared_size: int) -> tuple[Pack, ...]:
    packs, small, size = [], list[Entry](), 0
    for file in files:
        if file.size >= alone:
            packs.append(Pack((file,)))
            continue
        if small and size + file.size > shared_size:
            packs.append(Pack(tuple(small)))
            small, size = [], 0
        small.append(file)
        size += file.size
    if small:
        packs.append(Pack(tuple(small)))
    return tuple(packs)


def entries_of(text: str, size: int) -> tuple[Entry, ...]:
    """The entries of a manifest text whose files have `size` bytes together.

    Raises RemoteFault on anything that this program would not have written: another spelling, an order other than by
    path, a path that leads out of the tree or through a link, a mode that the store does not give, a size beyond bounds.
    """
    if text.count("\n") > BOUNDS.entries:
        raise _refusal(f"it has more than {BOUNDS.entries} entries", "")
    entries = tuple(_entry(line) for line in text.split("\n")[:-1])
    if "".join(entry.line() for entry in entries) != text:
        raise _refusal("it is not spelt as the store spells it", "")
    folders, before = {""}, ""
    for entry in entries:
        folder = _folder(entry.path)
        if entry.path <= before:
            raise _refusal("its paths are not sorted, or one is there twice", entry.path)
        before = entry.path
        if entry.kind == "d":
            folders.add(entry.path)
        if folder not in folders:
            raise _refusal("a path whose folder is not in the tree", entry.path)
        if reason := _wrong(entry):
            raise _refusal(reason, entry.path)
    total = sum(entry.size for entry in entries)
    if total != size or total > BOUNDS.bytes:
        raise RemoteFault("the manifest's files have another size", promise=f"{size} bytes", actual=f"{total}")
    return entries


def _entry(line: str) -> Entry:
    try:
        return Entry.read(line)
    except (ValueError, TypeError, IndexError, RecursionError) as error:
        raise _refusal(f"not a line of an index: {error}", line) from None


def _folder(path: str) -> str:
    """The folder that a path of a manifest lies in. Raises RemoteFault for a path that leads out of the tree."""
    if not isinstance(path, str):
        raise _refusal("a path that is not text", str(path))
    parts = path.split("/")
    if any(part in ("", ".", "..") for part in parts):
        raise _refusal("a path that leads out of the tree", path)
    if not _is_name(path, BOUNDS.path) or not all(_is_name(part, 255) for part in parts):
        raise _refusal("a path that no file can have", path)
    if why := BOUNDS.of_path(path, len(parts) - 1):
        raise _refusal(why, path)
    return "/".join(parts[:-1])


def _wrong(entry: Entry) -> str:
    match entry.kind:
        case "f":
            mode = int(entry.mode, 8) if _MODE.fullmatch(entry.mode) else 0
            if mode & 0o222 or not mode & 0o400:
                return f"a file of mode {entry.mode[:20]!r}"
            return "" if entry.size >= 0 and _is_digest(entry.what) else "a file without size or digest"
        case "l":
            is_target = isinstance(entry.what, str) and _is_name(entry.what, 4095)
            return "" if is_target and (entry.mode, entry.size) == ("", 0) else "a link without a target"
        case "d":
            return "" if (entry.mode, entry.size, entry.what) == ("", 0, "") else "a folder with a size or a mode"
        case kind:
            return f"an entry of kind {kind[:20]!r}"


def _is_name(text: str, most: int) -> bool:
    """Whether the system takes that text as a name, a path or a link's target of at most so many bytes."""
    try:
        return 0 < len(text.encode("utf-8", "surrogateescape")) <= most and "\0" not in text
    except UnicodeEncodeError:
        return False


def _is_digest(what: object) -> bool:
    return isinstance(what, str) and _DIGEST.fullmatch(what) is not None


def _refusal(what: str, path: str) -> RemoteFault:
    return RemoteFault(f"the manifest is refused: {what}", actual=repr(path)[:80] if path else "")
