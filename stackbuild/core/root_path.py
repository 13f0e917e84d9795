"""Paths inside a root file system that somebody else made: its links lead where they lead in it, not on this machine."""

from __future__ import annotations

import os
from pathlib import Path

MOST_LINKS = 40
"""Links that one path may lead through, as in the kernel."""


def path_inside(root: Path, name: str) -> Path | None:
    """Where `name` is below `root` once every link is followed as a process with that root would follow it.

    An absolute link begins at `root`, and `..` does not lead above it. No part of the returned path below `root` is a
    link. None where there is nothing, or the links are more than 40.
    """
    todo, parts, links = name.split("/")[::-1], list[str](), 0
    while todo:
        part = todo.pop()
        if part in ("", "."):
            continue
        if part == "..":
            del parts[-1:]
            continue
        here = root.joinpath(*parts, part)
        try:
            target = os.readlink(here)
        except FileNotFoundError:
            return None
        except OSError:  # EINVAL: no link. ENOTDIR and the like are seen at the end
            parts.append(part)
            continue
        links += 1
        if links > MOST_LINKS:
            return None
        if target.startswith("/"):
            parts.clear()
        todo += target.split("/")[::-1]
    place = root.joinpath(*parts)
    return place if os.path.lexists(place) else None
