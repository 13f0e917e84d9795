"""Shows a compiler's messages about converted files against the CUDA files they came from."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection
from pathlib import Path

from stackbuild.core.errors import safe
from stackbuild.hipify.cpp.edits import LineMap
from stackbuild.hipify.tree import report_file, state

Place = tuple[str, str, LineMap]
"""An output's path, its source's, and the map from lines of the one to lines of the other."""

_PLACE = re.compile(r"(?P<sep>:|\(|(?:\"|'), line )(?P<line>\d+)")
_EDGE = re.compile(r"\x1b\[[\d;]*[A-Za-z]|[\s\"'`(<,=\[]|\u2018")
"""What may stand before a path: in messages, and in the colours of them."""
_LONGEST = 4096  # characters of a path: PATH_MAX
_EDGES = 64


def relocate(log: str, out: Path) -> str:
    """The text of a log with each `OUT/file:line` as `SRC/file:line`; other places stay as they are.

    Lines that conversion added count as the line they were added before.
    """
    last = state.load(out if out.is_dir() else out.parent)
    return _relocate_lines(log, [(k.report.output, k.report.source, k.report.lines) for k in last.files.values()])


def relocate_step(log: str, record: Path, at: str) -> str:
    """The same for a step that saw a recipe's converted source at `at`, `/src/NAME`: places become `NAME/file:line`.

    `record` is what the conversion left; without one the log stays as it is.
    """
    try:
        places = report_file.places(record)
    except (OSError, ValueError, KeyError, TypeError):
        return log
    label = at.rpartition("/")[2]
    return _relocate_lines(log, [(f"{at}/{output}", f"{label}/{source}", lines) for output, source, lines in places])


def _relocate_lines(log: str, places: list[Place]) -> str:
    by_path = {_real(place[0]): place for place in places}
    names = {path.rpartition("/")[2] for path in (place[0] for place in places)}
    tails = {name[-2:] for name in names}
    suffixes = _by_suffix(places)

    def at(path: str) -> Place | None:
        if path.rpartition("/")[2] not in names:
            return None
        return by_path.get(_real(path)) or suffixes.get(re.sub(r"^(\.\.?/)+", "", path))

    return "".join(_line(line, tails, at) for line in log.splitlines(keepends=True))


def _line(line: str, tails: Collection[str], at: Callable[[str], Place | None]) -> str:
    """A line with the places in it replaced. A path may have spaces: the longest that is known counts.

    `tails` are how names end, for a quick look.
    """
    pieces: list[str] = []
    end = 0
    for match in _PLACE.finditer(line):
        if line[max(0, match.start() - 2) : match.start()] not in tails:
            continue
        start = max(end, match.start() - _LONGEST)
        edges = [start, *(e.end() for e in _EDGE.finditer(line, start, match.start()))]
        for edge in edges[:1] + edges[1:][-_EDGES:]:
            if place := at(line[edge : match.start()]):
                location = f"{safe(place[1], '')}{match.group('sep')}{place[2].original(int(match.group('line')))}"
                pieces += [line[end:edge], location]
                end = match.end()
                break
    return "".join((*pieces, line[end:]))


def _real(path: str) -> str:
    return os.path.realpath(path)


def _by_suffix(places: list[Place]) -> dict[str, Place]:
    """Places by every tail of their output's path that only one has: a build prints paths from its own folder."""
    by_tail: dict[str, list[Place]] = {}
    for place in places:
        parts = Path(place[0]).parts
        for start in range(1, len(parts)):
            by_tail.setdefault("/".join(parts[start:]), []).append(place)
    return {tail: one[0] for tail, one in by_tail.items() if len(one) == 1}
