"""Generations of an index: all its pages in one folder each, switched in by the rename of one link.

The folder of an index:

    INDEX/.current             → .generations/00000007, the only thing that a switch changes
    INDEX/.generations/…       catalog.json and the pages of one state of the index
    INDEX/index.html, .json    → .current/…
    INDEX/PROJECT/index.html   → ../.current/PROJECT/index.html, and index.json likewise
    INDEX/PROJECT/NAME.whl     wheels, never changed and never removed; beside them statements, which newer ones replace

A wheel that no page of the current generation names is not on the index yet. So a reader sees the state before a release
or the state after it, whenever the program is killed.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path

from stackbuild.core.errors import UsageError
from stackbuild.core.model_mistakes import reason_of
from stackbuild.core.plain_file import read_plain, read_regular
from stackbuild.core.shell_words import shell_word
from stackbuild.publishing.catalog import Catalog
from stackbuild.store import atomic

CURRENT, GENERATIONS, STAGING_ENDING, CATALOG = ".current", ".generations", ".staged", "catalog.json"
WHEELS_ELSEWHERE = ".wheels-elsewhere"
"""A file in the working copy of an index whose published wheels lie in an object store."""
MAX_GENERATIONS = 2
"""Generations that stay: a reader may have begun with the last one."""
STATE_LIMIT = 256 << 20
"""Bytes of a file of an index's state that are read at most."""
_NUMBER = re.compile(r"[0-9]{8,16}")
LOCK_FILE = ".lock"
REMOTE_CATALOG, REMOTE_LOCK = ".catalog.json", ".publishing"
"""Objects of an index in an object store, which a copy of it has."""


def refuse_foreign(index: Path) -> None:
    """What changes are made through is what stackbuild makes: a link elsewhere would be written and removed through.

    Raises UsageError. Who writes to the folder at the same moment is not seen.
    """
    for name, kind in ((GENERATIONS, stat.S_IFDIR), (LOCK_FILE, stat.S_IFREG), (CURRENT, stat.S_IFLNK)):
        path = index / name
        try:
            mode = path.lstat().st_mode
        except FileNotFoundError:
            continue
        leads = path.readlink().parts if stat.S_ISLNK(mode) else ()
        if stat.S_IFMT(mode) != kind or (leads and (leads[:-1] != (GENERATIONS,) or not _NUMBER.fullmatch(leads[-1]))):
            raise UsageError(
                "this is not what stackbuild makes of that name: somebody else has put it there",
                where=str(path),
                next=f"see who may write to {index}, take it away, and run `stackbuild index check {shell_word(index)} --rebuild`",
            )


def generation_numbers(index: Path) -> dict[int, Path]:
    """The generations that lie there by their number, lowest first."""
    folders = (path for path in (index / GENERATIONS).glob("[0-9]*") if _NUMBER.fullmatch(path.name))
    return {int(path.name): path for path in sorted(folders, key=lambda path: int(path.name))}


def read_state(index: Path, name: str) -> bytes | None:
    """A file of the state that stands; None where there is none. Raises UsageError for a FIFO, a device and one too long."""
    path = index / CURRENT / name
    data = read_regular(path, STATE_LIMIT + 1)
    if data is None and not os.path.lexists(path):
        return None
    if data is None or len(data) > STATE_LIMIT:
        raise UsageError(
            "this is not a file that can be read, or a longer one than stackbuild writes",
            where=str(path),
            next=f"take it away and run `stackbuild index check {shell_word(index)} --rebuild`",
        )
    return data


def read_catalog(index: Path) -> Catalog | None:
    """The catalog of the current generation; None where the folder has no generation. Raises UsageError where it is damaged."""
    file = index / CURRENT / CATALOG
    if (data := read_state(index, CATALOG)) is None:
        return None
    try:
        return Catalog.model_validate_json(data)
    except ValueError as error:
        raise UsageError(
            f"the catalog of the index cannot be read: {reason_of(error)}",
            where=str(file),
            next=f"remove {index / CURRENT} and run `stackbuild index check {shell_word(index)} --rebuild`: it reads every wheel again",
        ) from None


def has_lost_catalog(index: Path) -> bool:
    """Whether the index has the links of a state and no catalog; the catalog of a state comes before its links."""
    has_links = (index / CURRENT).is_symlink() or (index / "index.html").is_symlink()
    return has_links and not os.path.lexists(index / CURRENT / CATALOG)


def state_name(index: Path) -> str:
    """The name of the state that is served, "" for none. Raises OSError."""
    link = index / CURRENT
    return link.readlink().name if link.is_symlink() else ""


def catalog_text(catalog: Catalog) -> bytes:
    """The bytes of the file of a catalog."""
    return catalog.model_dump_json(indent=1).encode()


def switch(index: Path, catalog: Catalog, contents: Mapping[str, bytes]) -> None:
    """Make that catalog and those files (by their path below the index) the index's state, all at once. Raises OSError."""
    name = f"{catalog.number:08d}"
    folder, staging_file = index / GENERATIONS / name, index / GENERATIONS / f"{name}{STAGING_ENDING}"
    atomic.remove(staging_file)
    atomic.remove(folder)  # of a publish that was killed before the switch: the current number is always lower
    whole = {**contents, CATALOG: catalog_text(catalog)}
    try:
        for path, data in whole.items():
            target = staging_file / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
        folders = sorted({(staging_file / path).parent for path in whole} | {staging_file})
        atomic.flush_files(staging_file, [staging_file / path for path in whole], folders)
    except BaseException:
        atomic.remove(staging_file)
        raise
    atomic.move_whole((staging_file, folder))
    if not (
        index / CURRENT
    ).is_symlink():  # the first one: what is under the names of pages now stays until it is linked
        _link(index / CURRENT, Path(GENERATIONS, name))
    for path in contents:  # a page of a project that is new leads nowhere until the switch
        _link(index / path, Path(*[".."] * path.count("/"), CURRENT, path))
    _link(index / CURRENT, Path(GENERATIONS, name))
    _remove_dangling(index)
    _remove_old(index, catalog.number)


def add_page(index: Path, name: str, data: bytes) -> None:
    """Add one file to the state that stands: its content is whole before its name is there. Raises OSError."""
    folder = (index / CURRENT).resolve()
    atomic.write_whole(folder / name, data.decode(), index / GENERATIONS)
    _link(index / name, Path(CURRENT, name))


def _link(link: Path, target: Path) -> None:
    """Make that symbolic link, in place of whatever file or link has its name."""
    if link.is_symlink() and link.readlink() == target:
        return
    link.parent.mkdir(parents=True, exist_ok=True)
    staging_file = link.with_name(f".{link.name.lstrip('.')}{STAGING_ENDING}")
    staging_file.unlink(missing_ok=True)
    staging_file.symlink_to(target)
    staging_file.replace(link)
    atomic.flush_folder(link.parent)


def _remove_dangling(index: Path) -> None:
    """Remove links to files that the state no longer has: signatures of more keys, and lists of variants whose wheels were
    taken out of the folder."""
    for link in (*index.glob("[!.]*"), *index.glob("[!.]*/*-variants.json")):
        if link.is_symlink() and not link.exists() and CURRENT in link.readlink().parts:
            link.unlink()


def _remove_old(index: Path, number: int) -> None:
    remove_unnumbered(index)
    for old_number, folder in generation_numbers(index).items():
        if old_number <= number - MAX_GENERATIONS:
            atomic.remove(folder)


def remove_unnumbered(index: Path) -> None:
    """Remove what a change that was killed has left beside the states."""
    if (index / GENERATIONS).is_dir():
        for entry in (index / GENERATIONS).iterdir():
            if not _NUMBER.fullmatch(entry.name):
                atomic.remove(entry)


def adopt(index: Path) -> None:
    """Make a generation of the pages of an index that was written before there were generations. Readers see no change."""
    if (index / CURRENT).is_symlink() or not (index / "index.html").is_file():
        return
    pages = [*index.glob("index.*"), *index.glob("[!.]*/index.*")]
    contents = {}
    for page in (str(page.relative_to(index)) for page in pages):
        if (data := read_plain(index, page, STATE_LIMIT)) is None:
            raise UsageError(
                "this page is a link, or not a file", where=str(index / page), next="put the page itself in its place"
            )
        contents[page] = data
    switch(index, Catalog(), contents)
