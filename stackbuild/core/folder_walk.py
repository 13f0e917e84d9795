"""The files below a folder that somebody else filled: no call recurses, and no link is followed.

`os.walk` and `Path.rglob` of Python 3.11 call themselves for each level, and end in a RecursionError at a thousand.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from stackbuild.core.cancel import check_signals


def walk_folders(
    top: Path, onerror: Callable[[OSError], None] = lambda error: None
) -> Iterator[tuple[str, list[str], list[str]]]:
    """As `os.walk`: each folder before what is in it, with its folders and its other entries by name.

    The caller may remove folders from the list, which are then left out, and sort it. A folder that cannot be listed, as its
    path may be too long, goes to `onerror`. Raises Stopped.
    """
    todo = [str(top)]
    while todo:
        here = todo.pop()
        check_signals()
        folders: list[str] = []
        others: list[str] = []
        links: set[str] = set()
        try:
            with os.scandir(here) as entries:
                for entry in entries:
                    (folders if is_folder(entry) else others).append(entry.name)
                    links |= {entry.name} if entry.is_symlink() else set()
        except OSError as error:
            onerror(error)
            continue
        yield here, folders, others
        todo += [os.path.join(here, name) for name in reversed(folders) if name not in links]  # noqa: PTH118


def is_folder(entry: os.DirEntry[str]) -> bool:
    """Whether an entry is a folder, or a link to one."""
    try:
        return entry.is_dir()
    except OSError:
        return False
