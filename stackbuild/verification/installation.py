"""Whether an environment has exactly the files of the wheels installed into it, unchanged.

A wheel can carry a file of another distribution (`onnxruntime/…`) or run code while others are installed (a .pth file).
What is then tested is not what its name says. The environment was writable for the wheel's code: nothing in it is
followed, and its own RECORD files are not believed. The digests are those of the wheels. No more is read of it than the
wheels hold: a file of another length has changed.
"""

from __future__ import annotations

import base64
import csv
import os
import re
import zipfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from io import StringIO
from pathlib import Path
from typing import NamedTuple

from stackbuild.core import digest
from stackbuild.core.packaging import (
    InvalidVersion,
    InvalidWheelFilename,
    Version,
    canonicalize_name,
    parse_wheel_filename,
)
from stackbuild.core.tree_walk import Bounds, OutOfBounds, open_folder, walk
from stackbuild.core.zip_member import open_member, read_member
from stackbuild.inspection.rules.rule import count_of, some
from stackbuild.model.findings import Finding
from stackbuild.verification.catalogue import OVERWRITTEN_FILE
from stackbuild.verification.probe_sandbox import ProbeSandbox, interpreter_files
from stackbuild.verification.subject import installed_path

_FILES = 200_000
_RECORD_BYTES = 32 << 20
_BOUNDS = Bounds()
_HASH = re.compile(r"sha256=[A-Za-z0-9_-]{43}")
_BY_PIP = frozenset(("RECORD", "INSTALLER", "REQUESTED", "direct_url.json"))
"""What pip itself writes into a .dist-info folder."""


class FileContent(NamedTuple):
    """What a file of a wheel holds."""

    size: int
    sha256: str


ContentsByPath = Mapping[str, frozenset[FileContent]]
"""Path below site-packages → what it may hold."""


def overwritten_files(site: Path, subject: tuple[Path, ...], wheelhouse: Path | None) -> tuple[Finding, ...]:
    """Findings about the files below `site`: two distributions' files in one place, files that are not their wheel's,
    files that no wheel has. `subject` are the wheels verified; those of other distributions are in the wheelhouse."""
    wheels = {path.name: path for path in subject}
    for path in sorted(wheelhouse.glob("*.whl")) if wheelhouse else ():
        wheels.setdefault(path.name, path)
    try:
        here = _sizes(site)
    except (OutOfBounds, OSError) as error:
        what = error.what if isinstance(error, OutOfBounds) else f"it cannot be read: {error.strerror}"
        name = " + ".join(path.name for path in subject)
        return (OVERWRITTEN_FILE.finding(name, f"its code or another's changed site-packages: {what}"),)
    by_owner = {name: _owned_files(path) for name, path in wheels.items() if _is_installed(site, name)}
    findings = list(_findings(site, here, _by_distribution(by_owner)))
    return tuple(OVERWRITTEN_FILE.finding(subject, text) for subject, text in findings)


def environment_findings(
    sandbox: ProbeSandbox, subject: tuple[Path, ...], wheelhouse: Path | None
) -> tuple[Finding, ...]:
    """What of an environment is not as its wheels have it: its interpreter, and the files of site-packages."""
    return (*_interpreter_findings(sandbox, subject), *overwritten_files(sandbox.site, subject, wheelhouse))


def _interpreter_findings(sandbox: ProbeSandbox, subject: tuple[Path, ...]) -> tuple[Finding, ...]:
    """A finding where a wheel's code changed the interpreter of its environment while others were installed."""
    if not sandbox.interpreter or interpreter_files(sandbox.folder / "env") == sandbox.interpreter:
        return ()
    name = " + ".join(path.name for path in subject)
    return (OVERWRITTEN_FILE.finding(name, "its code or another's changed the interpreter of the environment"),)


def _is_installed(site: Path, wheel: str) -> bool:
    name, version = _project_of(wheel)
    return bool(name) and any(_named_by_folder(folder.name) == (name, version) for folder in site.glob("*.dist-info"))


def _project_of(wheel: str) -> tuple[str, str]:
    try:
        name, version, _, _ = parse_wheel_filename(wheel)
    except (InvalidWheelFilename, ValueError):
        return "", ""
    return str(name), str(version)


def _named_by_folder(folder: str) -> tuple[str, str]:
    name, _, version = folder.removesuffix(".dist-info").partition("-")
    try:
        return str(canonicalize_name(name)), str(Version(version))
    except InvalidVersion:
        return "", ""


def _by_distribution(by_wheel: Mapping[str, Mapping[str, FileContent]]) -> dict[str, ContentsByPath]:
    """The files of each distribution. Wheels of one version for several platforms may each have been installed."""
    contents: dict[str, dict[str, set[FileContent]]] = defaultdict(lambda: defaultdict(set))
    for wheel, files in by_wheel.items():
        for path, content in files.items():
            contents[_project_of(wheel)[0]][path].add(content)
    return {owner: {path: frozenset(may) for path, may in files.items()} for owner, files in contents.items()}


def _findings(
    site: Path, here: Mapping[str, int | None], owners: Mapping[str, ContentsByPath]
) -> Iterator[tuple[str, str]]:
    claims: dict[str, list[str]] = defaultdict(list)
    for owner, files in owners.items():
        for path in files:
            claims[path].append(owner)
    shared_files: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for path, names in claims.items():
        if len(names) > 1 and not frozenset.intersection(*(owners[name][path] for name in names)):
            shared_files[tuple(sorted(names))].append(path)
    for both, paths in sorted(shared_files.items()):
        yield " + ".join(both), f"{count_of(len(paths), 'file')} of both in one place: {some(sorted(paths))}"
    in_conflict = {path for paths in shared_files.values() for path in paths}
    for owner, files in sorted(owners.items()):
        odd = [p for p, may in files.items() if p not in in_conflict and not _holds(site / p, here.get(p), may)]
        if odd:
            yield owner, f"{count_of(len(odd), 'file')} not as in its wheel: {some(sorted(odd))}"
    strange = sorted(path for path in here if path not in claims and not _of_pip(path))
    if strange and owners:
        yield "site-packages", f"{count_of(len(strange), 'file')} that no wheel has: {some(strange)}"


def _of_pip(path: str) -> bool:
    folder, _, name = path.rpartition("/")
    return folder.endswith(".dist-info") and name in _BY_PIP


@cache
def _owned_files(wheel: Path) -> dict[str, FileContent]:
    """Path below site-packages → its content, of every file that installing a wheel puts there unchanged."""
    with zipfile.ZipFile(wheel) as archive:
        sizes = {info.filename: info.file_size for info in archive.infolist() if not info.is_dir()}
        recorded_hashes = _record_hashes(archive, sizes)
        return {
            place: FileContent(size, recorded_hashes.get(name) or _sha256_of(archive, name))
            for name, size in sizes.items()
            if not re.match(r"[^/]+\.data/", place := installed_path(name)) and not _of_pip(place)
        }


def _record_hashes(archive: zipfile.ZipFile, names: Iterable[str]) -> dict[str, str]:
    record = next((name for name in names if re.fullmatch(r"[^/]+\.dist-info/RECORD", name)), "")
    if not record:
        return {}
    try:
        text = read_member(archive, archive.getinfo(record), _RECORD_BYTES).decode("utf-8", "replace")
        rows = csv.reader(StringIO(text, newline=""))
        return {row[0]: _hex(row[1]) for row in rows if len(row) > 1 and _HASH.fullmatch(row[1])}
    except (csv.Error, zipfile.BadZipFile):  # `inspect` says what is wrong with it; the files themselves are read
        return {}


def _hex(encoded_digest: str) -> str:
    text = encoded_digest.removeprefix("sha256=")
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).hex()


def _sha256_of(archive: zipfile.ZipFile, name: str) -> str:
    """The digest, "" where it cannot be read within bounds: the installed file is then not the wheel's."""
    try:
        with open_member(archive, archive.getinfo(name)) as file:
            return digest.of_stream(file)
    except zipfile.BadZipFile:
        return ""


def _sizes(site: Path) -> dict[str, int | None]:
    """Path → size of all files below a folder, links and devices not followed: those have None.

    Raises OutOfBounds, OSError.
    """
    sizes: dict[str, int | None] = {}
    with open_folder(site) as top:
        for path, kind, status in walk(top, _BOUNDS):
            if kind != "d":
                sizes[path] = status.st_size if kind == "f" else None
            if len(sizes) > _FILES:
                raise OutOfBounds(f"it holds more than {_FILES} files")
    return sizes


def _holds(path: Path, size: int | None, may: frozenset[FileContent]) -> bool:
    """Whether a file holds what it may; it is read where its size is right. One that cannot be opened does not."""
    if size is None or all(content.size != size for content in may):
        return False
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    return FileContent(size, digest.of_open_file(descriptor)) in may
