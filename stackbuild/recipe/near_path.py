"""The path that a person probably meant, where the one that was written is not there."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from pathlib import Path

from stackbuild.tables.near_words import nearest

_MOST_NAMES = 10_000
"""A folder with more names is not looked through."""


def near_path(text: str, folder: Path | None = None, same_ending: bool = False) -> str:
    """The path that was meant in place of one that is not there; "" where none is near, or where it is there.

    `folder` is where relative paths begin: the present one by default. The first of these: its stem with another ending in
    the same folder; the only one of its name below `folder`; a near name in the same folder; the only one of its stem
    below `folder`. A path with an ending stands for a file. With `same_ending` no file of another ending is meant.
    """
    here = folder or Path()
    path = Path(text)
    try:
        if not path.name or (here / path).exists():
            return ""
    except (OSError, ValueError):
        return ""
    is_inside = not path.is_absolute() and text[:1] != "~"
    below = list(_paths_below(here, 3, _of_file(path))) if is_inside else []
    names = _names(here / path.parent, path)
    if same_ending:
        below = [each for each in below if each.suffix == path.suffix]
        names = [name for name in names if Path(name).suffix == path.suffix]
    same_stem = [name for name in names if Path(name).stem == path.stem]
    if len(same_stem) == 1:
        return str(path.parent / same_stem[0])
    same_name = [each for each in below if each.name == path.name]
    if len(same_name) == 1:
        return same_name[0].relative_to(here).as_posix()
    if not (here / path.parent).is_dir():
        owner = near_path(str(path.parent), folder)
        if owner and (here / owner / path.name).exists():
            return str(Path(owner) / path.name)
    near = nearest(path.name, names)
    if near and difflib.SequenceMatcher(None, Path(near).stem.lower(), path.stem.lower()).ratio() >= 0.6:
        return str(path.parent / near)  # not alike by the ending alone
    of_stem = [each for each in below if each.stem == path.stem]
    return of_stem[0].relative_to(here).as_posix() if len(of_stem) == 1 else ""


def _of_file(path: Path) -> bool:
    """Whether a path ends as that of a file does: not as a version, such as `1.22.1`."""
    return re.fullmatch(r"\.[A-Za-z]\w{0,5}", path.suffix) is not None


def _names(folder: Path, path: Path) -> list[str]:
    """The names in a folder that may stand for that path; none where it cannot be read."""
    try:
        entries = [each for each, _ in zip(folder.iterdir(), range(_MOST_NAMES), strict=False)]
        return sorted(each.name for each in entries if not (_of_file(path) and each.is_dir()))
    except (OSError, ValueError):
        return []


def _paths_below(folder: Path, depth: int, are_files: bool) -> Iterator[Path]:
    """The paths in a folder, so many levels deep, without those whose names begin with a dot."""
    try:
        entries = sorted(path for path, _ in zip(folder.iterdir(), range(_MOST_NAMES // 10), strict=False))
    except OSError:
        return
    for path in entries:
        if path.name[:1] != ".":
            is_folder = path.is_dir()
            if not (is_folder and are_files):
                yield path
            if depth > 1 and is_folder and not path.is_symlink():
                yield from _paths_below(path, depth - 1, are_files)
