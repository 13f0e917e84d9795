"""What a virtual environment has of ONNX Runtime: the distributions, and whose each file of `onnxruntime/` is.

Metadata and RECORD are read, and nothing is run: a damaged environment can be read as well.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import os
import re
import shlex
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import PathDistribution
from pathlib import Path

from stackbuild.core.errors import UsageError
from stackbuild.core.folder_walk import walk_folders
from stackbuild.core.packaging import canonicalize_name
from stackbuild.core.plain_file import read_regular

ROOT = "onnxruntime"
_NAME = re.compile(r"[A-Z0-9]([A-Z0-9._-]*[A-Z0-9])?", re.IGNORECASE | re.ASCII)
"""A distribution's name (packaging.python.org, Names and normalization): no option and nothing for a shell."""
TEXT_BYTES = 64 << 20
"""The most bytes of a METADATA or RECORD that are read: half a million rows of 128 bytes."""
CONTENT_BYTES = 32 << 30
"""Bytes of all files of `onnxruntime/` that are compared with RECORD."""


@dataclass(frozen=True)
class InstalledDistribution:
    """A distribution: its files as RECORD has them, path below site-packages to the digest, "" where none is recorded."""

    name: str
    version: str
    files: dict[str, str]
    requires: tuple[str, ...]
    damage: tuple[tuple[str, str], ...]
    """Its own files that cannot be read, below site-packages, each with what is wrong."""

    @property
    def title(self) -> str:
        return f"{self.name} {self.version}"


@dataclass(frozen=True)
class VenvContents:
    folder: Path
    site: Path
    python: str
    distributions: tuple[InstalledDistribution, ...]
    here: tuple[str, ...]
    """The files below `onnxruntime/`, without byte code."""
    _digests: dict[str, str] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def pip(self) -> str:
        """The environment's pip, as a shell takes it."""
        return f"{shell_quoted(self.folder / 'bin/python')} -m pip"

    @cached_property
    def owners(self) -> dict[str, tuple[InstalledDistribution, ...]]:
        by_path: dict[str, list[InstalledDistribution]] = defaultdict(list)
        for each in self.distributions:
            for path in each.files:
                if path.startswith(f"{ROOT}/") and "__pycache__" not in path:
                    by_path[path].append(each)
        return {path: tuple(owners) for path, owners in by_path.items()}

    @property
    def runtimes(self) -> tuple[InstalledDistribution, ...]:
        """The distributions that are an ONNX Runtime: they have its package's `__init__.py`, or recorded files of it."""
        return tuple(e for e in self.distributions if any(path.startswith(f"{ROOT}/capi/") for path in e.files))

    def digest(self, path: str) -> str:
        """The sha256 of one file below the site, as RECORD has it: URL-safe base64 without padding."""
        if path not in self._digests:
            with (self.site / path).open("rb") as file:
                sha256 = hashlib.file_digest(file, "sha256").digest()
            self._digests[path] = base64.urlsafe_b64encode(sha256).decode().rstrip("=")
        return self._digests[path]

    def is_as_recorded(self, path: str, owner: InstalledDistribution) -> bool:
        return not owner.files[path] or self.digest(path) == owner.files[path]

    def version_of(self, name: str) -> str:
        return next((e.version for e in self.distributions if e.name == name), "")


def shell_quoted(path: Path) -> str:
    """A path in a command that people copy."""
    return shlex.quote(str(path))


def read_contents(folder: Path) -> VenvContents:
    """What the environment in that folder has. Raises UsageError where it is not one, or is too large."""
    site = _site_packages(folder)
    places = [place for place in site.iterdir() if place.suffix in (".dist-info", ".egg-info")]
    environments = tuple(sorted(map(_read_distribution, places), key=lambda e: e.title))
    package = site / ROOT
    here = tuple(
        sorted(
            path.relative_to(site).as_posix()
            for place, _, names in walk_folders(package)
            for path in (Path(place, name) for name in names)
            if path.is_file() and "__pycache__" not in path.parts
        )
    )
    version = re.search(r"python(3\.\d+)", str(site))
    contents = VenvContents(folder, site, version[1] if version else "", environments, here)
    _refuse_giants(contents)
    return contents


def _site_packages(folder: Path) -> Path:
    candidates = [
        *sorted(folder.glob("lib/python3*/site-packages")),
        *sorted(folder.glob("lib64/python3*/site-packages")),
    ]
    if not candidates and folder.is_dir() and any(folder.glob("*.dist-info")):
        candidates = [folder]
    if not candidates:
        raise UsageError(
            "it has no lib/python3.*/site-packages" if folder.is_dir() else "there is no such folder",
            where=str(folder),
            next="give the folder of a virtual environment, or a site-packages",
        )
    return candidates[0]


class _UnreadableFile(Exception):
    """A file of metadata that is not read, and why."""


class _Metadata(PathDistribution):
    """A distribution whose files are regular and of a bounded size, or are not read: nothing is waited for."""

    def __init__(self, place: Path) -> None:
        super().__init__(place)
        self.place = place

    def read_text(self, filename: str | os.PathLike[str]) -> str | None:
        """None where there is no such file. Raises UnicodeDecodeError, and _UnreadableFile where it is not a regular file or too long."""
        path = self.place / filename
        if not path.exists() or (path.is_dir() and path == self.place):
            return None
        data = read_regular(path, TEXT_BYTES + 1)
        if data is None:
            raise _UnreadableFile("it is not a regular file")
        if len(data) > TEXT_BYTES:
            raise _UnreadableFile(f"it is longer than {TEXT_BYTES >> 20} MiB")
        return data.decode("utf-8")


def _refuse_giants(environment: VenvContents) -> None:
    """Raises UsageError where the files to compare are larger than any installation: a sparse file costs nobody a disk."""
    paths = [environment.site / path for path in {*environment.here, *environment.owners}]
    sizes = {path: path.stat().st_size for path in paths if path.is_file()}
    if sum(sizes.values()) > CONTENT_BYTES:
        largest = max(sizes, key=lambda path: sizes[path])
        raise UsageError(
            f"the files of {ROOT}/ are {sum(sizes.values()) / 1e9:.0f} GB, which no installation of it is",
            where=str(environment.site), next=f"look at the largest, {largest}, and remove it",
        )  # fmt: skip


def _read_distribution(place: Path) -> InstalledDistribution:
    """The distribution of that `.dist-info`. Of one whose METADATA cannot be read, the folder's name says which it is."""
    distribution = _Metadata(place)
    damage: list[tuple[str, str]] = []
    name, _, version = place.stem.partition("-")
    requires: tuple[str, ...] = ()
    try:
        if not place.is_dir() or distribution.read_text("METADATA") or distribution.read_text("PKG-INFO"):
            text = distribution.metadata
            title, version = str(text["Name"] or "unnamed"), str(text["Version"] or "0")
            requires = tuple(distribution.requires or ())
            if _NAME.fullmatch(title):
                name = title
            else:
                damage.append((f"{place.name}/METADATA", f"its name is not that of a distribution: {title[:100]}"))
        else:
            damage.append((f"{place.name}/METADATA", "it is missing or empty"))
    except UnicodeDecodeError as error:
        damage.append((f"{place.name}/METADATA", f"it is not UTF-8: byte {error.start}"))
    except _UnreadableFile as error:
        damage.append((f"{place.name}/METADATA", str(error)))
    files: dict[str, str] = {}
    try:
        files = _record_hashes(distribution)
    except UnicodeDecodeError as error:
        damage.append((f"{place.name}/RECORD", f"it is not UTF-8: byte {error.start}"))
    except _UnreadableFile as error:
        damage.append((f"{place.name}/RECORD", str(error)))
    except (csv.Error, ValueError, TypeError):
        damage.append((f"{place.name}/RECORD", "it has a row that is not path, hash and size"))
    name = name if _NAME.fullmatch(name) else "unnamed"  # it stands in commands
    return InstalledDistribution(str(canonicalize_name(name)), version or "0", files, requires, tuple(damage))


def _record_hashes(distribution: PathDistribution) -> dict[str, str]:
    """Path to sha256 (URL-safe base64, no padding; "" without one) by RECORD: `distribution.files` of Python 3.12 leaves out
    what is not there. Raises UnicodeDecodeError, csv.Error, ValueError."""
    record = distribution.read_text("RECORD")
    if record is None:  # an egg's, or a Linux distribution's
        return {str(path): "" for path in distribution.files or ()}
    files = {}
    for path, value, size in filter(None, csv.reader(record.splitlines())):
        int(size or 0)
        mode, _, sha256 = value.partition("=")
        files[path] = sha256 if mode == "sha256" else ""
    return files
