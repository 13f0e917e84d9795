"""Where a wheel's members come to lie when it is installed, and which of them fall on each other.

Source: the wheel's specification, ".data" directory: `NAME-VERSION.data/purelib/…` and `…/platlib/…` go beside the modules.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

_KEYS = ("purelib", "platlib", "headers", "scripts", "data")


def landing(path: str) -> str:
    """The place of a member as a path that only equal places share: empty parts and dots left out, `.data` resolved."""
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if len(parts) > 2 and parts[0].endswith(".data") and parts[1] in ("purelib", "platlib"):
        parts = parts[2:]
    return "/".join(parts)


def landings(paths: list[str]) -> Iterator[tuple[str, str]]:
    """(path, what is wrong) for members that overwrite each other once installed, or that nobody can install."""
    first: dict[str, str] = {}
    for path in paths:
        if path.endswith("/"):
            continue
        place = landing(path)
        if first.setdefault(place, path) != path:
            yield path, f"is installed over {first[place][:120]}"
        parts = path.split("/", 2)
        if len(parts) > 2 and parts[0].endswith(".data") and parts[1] not in _KEYS:
            yield path, f"{parts[1][:40]} is not part of a .data folder that installers know"
    ordered_paths = sorted(first)
    for place in ordered_paths:
        at = bisect_left(ordered_paths, f"{place}/")
        if at < len(ordered_paths) and ordered_paths[at].startswith(f"{place}/"):
            yield first[place], f"is a file, and a folder for {first[ordered_paths[at]][:120]}"
