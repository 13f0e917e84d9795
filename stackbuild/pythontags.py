"""Names and versions of Python distributions: the one module that imports packaging."""

from __future__ import annotations

from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.tags import parse_tag
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import InvalidVersion, Version

from stackbuild.errors import UsageError

__all__ = [
    "InvalidRequirement", "InvalidVersion", "InvalidWheelFilename", "Requirement", "Version", "by_python", "canonicalize_name", "distribution_of",
    "parse_tag", "parse_wheel_filename",
]  # fmt: skip


def distribution_of(file_name: str) -> tuple[str, str]:
    """Normalised project name and version of a wheel's file name. Raises UsageError on another file."""
    try:
        project, version, _, _ = parse_wheel_filename(file_name)
    except InvalidWheelFilename as error:
        raise UsageError(f"not a wheel's file name: {error}", where=file_name, next="give the path of a .whl file") from None
    return str(project), str(version)


def by_python(wheels: tuple[Path, ...]) -> dict[str, tuple[Path, ...]]:
    """Wheels by their Python tag, such as `py3` or `cp312`: only those of one tag can be in one environment."""
    found: dict[str, tuple[Path, ...]] = {}
    for wheel in wheels:
        _, _, _, tags = parse_wheel_filename(wheel.name)
        tag = min(tag.interpreter for tag in tags)
        found[tag] = (*found.get(tag, ()), wheel)
    return found
