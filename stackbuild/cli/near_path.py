"""The path that a person probably meant, where the one that was written is not there."""

from __future__ import annotations

import difflib
from pathlib import Path

from stackbuild.tables.near_words import nearest

_MOST_NAMES = 10_000
"""A folder with more names is not looked through."""


def near_path(text: str) -> str:
    """The path with a near name in the same folder, in place of one that is not there; "" where none is near."""
    path = Path(text)
    try:
        if path.exists() or not path.name:
            return ""
        if not path.parent.is_dir():
            folder = near_path(str(path.parent))
            return str(Path(folder) / path.name) if folder and (Path(folder) / path.name).exists() else ""
        names = [each.name for each, _ in zip(path.parent.iterdir(), range(_MOST_NAMES), strict=False)]
    except (OSError, ValueError):
        return ""
    same_stem = [name for name in names if Path(name).stem == path.stem and name != path.name]
    near = same_stem[0] if len(same_stem) == 1 else nearest(path.name, names)
    if near and difflib.SequenceMatcher(None, Path(near).stem.lower(), path.stem.lower()).ratio() < 0.6:
        near = ""  # alike by the ending alone
    return str(path.parent / near) if near else ""
