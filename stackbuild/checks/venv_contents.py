"""What a virtual environment has of ONNX Runtime: the distributions, and whose each file of `onnxruntime/` is.

Metadata and RECORD are read, and nothing is run: a damaged environment can be read as well.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import os
import re
from collections import defaultdict
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from importlib.metadata import PathDistribution
from pathlib import Path
from typing import Literal

from stackbuild.core.errors import UsageError
from stackbuild.core.folder_walk import walk_folders
from stackbuild.core.packaging import InvalidVersion, Version, canonicalize_name
from stackbuild.core.plain_file import read_regular

ROOT = "onnxruntime"
_NAME = re.compile(r"[A-Z0-9]([A-Z0-9._-]*[A-Z0-9])?", re.IGNORECASE | re.ASCII)
"""A distribution's name (packaging.python.org, Names and normalization): no option and nothing for a shell."""
TEXT_BYTES = 64 << 20
"""The most bytes of a METADATA or RECORD that are read: half a million rows of 128 bytes."""
CONTENT_BYTES = 32 << 30
"""Bytes of all files of `onnxruntime/` that are compared with RECORD."""


_ALGORITHMS = frozenset(("sha256", "sha384", "sha512"))
"""Those that a RECORD may use (packaging.python.org, Recording installed projects) and every Python has."""
EXTENSION = re.compile(r"onnxruntime_pybind11_state(?:\.(?P<tag>cpython-\d+|abi3)[^/]*)?\.so")
"""The extension module of ONNX Runtime, with the tag of the Python that it is for."""
_STATEMENT = re.compile(r"""(?m)^(package_name|__version__)\s*=\s*["']([^"']+)""")


class ByteMatch(StrEnum):
    """A file beside the row that a distribution's RECORD has of it."""

    SAME = "same"
    """Its digest is the recorded one."""
    OTHER = "other"
    """Its digest is another; where none is recorded, its size is."""
    UNCERTAIN = "not known"
    """No digest is recorded, and the size is the recorded one or is not recorded either."""


@dataclass(frozen=True)
class RecordLine:
    """What RECORD says of one file. `digest` is "" and `size` None where it says nothing; AMD's wheels have sizes alone."""

    algorithm: str = ""
    digest: str = ""
    size: int | None = None


@dataclass(frozen=True)
class InstalledDistribution:
    """A distribution: its files as RECORD has them, by their path below site-packages."""

    name: str
    version: str
    files: dict[str, RecordLine]
    requires: tuple[str, ...]
    damage: tuple[tuple[str, str], ...]
    """Its own files that cannot be read, below site-packages, each with what is wrong."""

    @property
    def title(self) -> str:
        return f"{self.name} {self.version}"


@dataclass(frozen=True)
class FileOrigin:
    """The distribution that a file is of where several may have written it, and by what that is known."""

    distribution: InstalledDistribution
    evidence: Literal["digest", "size", "its own text"]

    @property
    def title(self) -> str:
        return self.distribution.title


@dataclass(frozen=True)
class VenvContents:
    folder: Path
    site: Path
    python: str
    distributions: tuple[InstalledDistribution, ...]
    here: tuple[str, ...]
    """The files below `onnxruntime/`, without byte code."""
    _digests: dict[tuple[str, str], str] = field(default_factory=dict, init=False, repr=False, compare=False)

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

    def compare(self, path: str, owner: InstalledDistribution) -> ByteMatch:
        """A file that is there beside its owner's row of it."""
        row = owner.files[path]
        if row.digest:
            return ByteMatch.SAME if self._digest(path, row.algorithm) == row.digest else ByteMatch.OTHER
        if row.size is not None and (self.site / path).stat().st_size != row.size:
            return ByteMatch.OTHER
        return ByteMatch.UNCERTAIN

    def _digest(self, path: str, algorithm: str) -> str:
        """The digest of one file below the site, as RECORD has it: URL-safe base64 without padding."""
        key = path, algorithm
        if key not in self._digests:
            with (self.site / path).open("rb") as file:
                value = hashlib.file_digest(file, algorithm).digest()
            self._digests[key] = base64.urlsafe_b64encode(value).decode().rstrip("=")
        return self._digests[key]

    def origin(self, path: str) -> FileOrigin | None:
        """The distribution whose file certainly lies there, None where that is not known.

        It is certain where every other owner recorded another digest or size, and this one the file's own. Where two fit,
        the name and the version in the file itself decide.
        """
        possible = [o for o in self.owners.get(path, ()) if self.compare(path, o) is not ByteMatch.OTHER]
        if len(possible) != 1:
            own = [o for o in possible if self._names(path, o)]
            return FileOrigin(own[0], "its own text") if len(own) == 1 else None
        row = possible[0].files[path]
        if not row.digest and row.size is None:
            return None
        return FileOrigin(possible[0], "digest" if row.digest else "size")

    def _names(self, path: str, owner: InstalledDistribution) -> bool:
        """Whether the file says that it is of that distribution: ONNX Runtime's build writes name and version into two."""
        statements = self.statements(path)
        version = statements.get("__version__", "")
        name = statements.get("package_name", owner.name if path == f"{ROOT}/__init__.py" else "")
        return canonicalize_name(name) == owner.name and base_version(version) == base_version(owner.version)

    def statements(self, path: str) -> dict[str, str]:
        """`package_name` and `__version__` as a Python file of the package sets them to texts."""
        if not path.endswith(".py"):
            return {}
        text = (read_regular(self.site / path, 100_000) or b"").decode("utf-8", "replace")
        return dict(_STATEMENT.findall(text))

    @cached_property
    def extension(self) -> str:
        """The extension module that `import onnxruntime` loads, "" for none: Python's own tag goes before abi3 and none."""
        suffixes = f"cpython-{self.python.replace('.', '')}", "abi3", None
        by_tag = {match["tag"]: path for path in self.here if (match := EXTENSION.fullmatch(path.removeprefix(f"{ROOT}/capi/")))}
        return next((by_tag[suffix] for suffix in suffixes if suffix in by_tag), "")

    def version_of(self, name: str) -> str:
        return next((e.version for e in self.distributions if e.name == name), "")


def base_version(text: str) -> str:
    """The release of a version, without post, dev and local parts: an ONNX Runtime says no more of itself."""
    try:
        return Version(text).base_version
    except InvalidVersion:
        return text


def version_number(text: str) -> Version:
    """The version, 0 for a text that is none."""
    try:
        return Version(text)
    except InvalidVersion:
        return Version("0")


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
    files: dict[str, RecordLine] = {}
    try:
        files = _record_rows(distribution)
    except UnicodeDecodeError as error:
        damage.append((f"{place.name}/RECORD", f"it is not UTF-8: byte {error.start}"))
    except _UnreadableFile as error:
        damage.append((f"{place.name}/RECORD", str(error)))
    except (csv.Error, ValueError, TypeError):
        damage.append((f"{place.name}/RECORD", "it has a row that is not path, hash and size"))
    name = name if _NAME.fullmatch(name) else "unnamed"  # it stands in commands
    return InstalledDistribution(str(canonicalize_name(name)), version or "0", files, requires, tuple(damage))


def _record_rows(distribution: PathDistribution) -> dict[str, RecordLine]:
    """RECORD's rows by path: `distribution.files` of Python 3.12 leaves out what is not there.

    Raises UnicodeDecodeError, csv.Error, ValueError."""
    record = distribution.read_text("RECORD")
    if record is None:  # an egg's, or a Linux distribution's
        return {str(path): RecordLine() for path in distribution.files or ()}
    files = {}
    for path, value, size in filter(None, csv.reader(record.splitlines())):
        algorithm, _, digest = value.partition("=")
        known = algorithm in _ALGORITHMS
        files[path] = RecordLine(
            algorithm if known else "", digest.rstrip("=") if known else "", int(size) if size else None
        )
    return files
