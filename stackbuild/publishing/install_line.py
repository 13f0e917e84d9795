"""Which of several wheels of one version an installation takes: the environment marker of each.

pip refuses two files of one project in one command, and a file for another Python. A marker leaves one of them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from stackbuild.core.packaging import build_number_of, tags_of

_EXACT = re.compile(r"cp3(\d+)")
_LINUX = re.compile(r"(?:linux|manylinux[0-9_]*|musllinux_[0-9_]+)_([a-z].*)")


def markers_of(files: Sequence[str]) -> dict[str, str]:
    """The environment marker of each wheel of one project and version, by file name; "" for an only one.

    Of wheels for the same environment the one with the highest build number is in it, else the first by name. A Python that no wheel is for takes the wheel of its
    neighbour, which installers refuse: a command that installs nothing would look like one that worked.
    """
    if len(files) == 1:  # most files of an index: nothing of their names is parsed
        return {files[0]: ""}
    by_build = sorted(sorted(files), key=build_number_of, reverse=True)
    machines_by_file = {file: machine_of(file) for file in by_build}
    anywhere = [file for file, machine in machines_by_file.items() if not machine]
    machines = sorted(set(machines_by_file.values()) - {""})
    if not machines or (len(machines) == 1 and not anywhere):
        return _python_markers(tuple(machines_by_file))
    markers: dict[str, list[str]] = {}
    groups = [
        (f"platform_machine == '{m}'", [file for file, machine in machines_by_file.items() if machine in ("", m)])
        for m in machines
    ]
    groups += [(" and ".join(f"platform_machine != '{m}'" for m in machines), anywhere)] if anywhere else []
    for condition, group in groups:
        for file, marker in _python_markers(group).items():
            markers.setdefault(file, []).append(f"{marker} and {condition}" if marker else condition)
    return {file: parts[0] if len(parts) == 1 else f"({') or ('.join(parts)})" for file, parts in markers.items()}


def _python_markers(files: Sequence[str]) -> dict[str, str]:
    if len(files) == 1:
        return {files[0]: ""}
    exact = {minor for file in files for minor in _exact_pythons(file)}
    floors = {_floor(file) for file in files if not _exact_pythons(file)}
    markers: dict[str, str] = {}
    for file in files:
        pythons = _exact_pythons(file)
        if pythons and floors:
            marker = " or ".join(f"python_version == '3.{minor}'" for minor in sorted(pythons))
            marker = f"({marker})" if len(pythons) > 1 else marker
        elif pythons:
            marker = _interval(min(pythons), sorted(exact), ())
        else:
            marker = _interval(_floor(file), sorted(floors), sorted(exact))
        if marker not in markers.values():
            markers[file] = marker
    return markers


def _interval(floor: int, floors: Sequence[int], others: Sequence[int]) -> str:
    """From that minor version of Python 3 up to the next of `floors`, without `others`. The first has no lower bound."""
    place = floors.index(floor)
    following = floors[place + 1] if place + 1 < len(floors) else None
    parts = [f"python_version >= '3.{floor}'"] if place else []
    parts += [f"python_version < '3.{following}'"] if following is not None else []
    inside = [minor for minor in others if (not place or minor >= floor) and (following is None or minor < following)]
    return " and ".join([*parts, *(f"python_version != '3.{minor}'" for minor in inside)])


def _exact_pythons(file: str) -> set[int]:
    """The minor versions that a wheel for CPython's own ABI is for; none for another wheel."""
    return {int(m[1]) for tag in tags_of(file) if tag.abi != "abi3" and (m := _EXACT.fullmatch(tag.interpreter))}


def _floor(file: str) -> int:
    """The first minor version of Python 3 that a wheel of the stable ABI is for, 0 for one of any Python."""
    return min((int(m[1]) for tag in tags_of(file) if (m := _EXACT.fullmatch(tag.interpreter))), default=0)


def machine_of(file: str) -> str:
    """The processor that a Linux wheel is for, "" for any."""
    return next((m[1] for tag in tags_of(file) if (m := _LINUX.fullmatch(tag.platform))), "")
