"""Whether an environment holds what the wheels installed into it hold: no file is another's, changed or nobody's.

A wheel can carry a file of another distribution (`onnxruntime/…`) or run code while others are installed (a .pth file).
What is then tested is not what its name says. The environment was writable for the wheel's code: nothing in it is
followed, and its own RECORD files are not believed. The digests are those of the wheels.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import os
import re
import stat
import zipfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from io import TextIOWrapper
from pathlib import Path

from stackbuild.core.packaging import (
    InvalidVersion,
    InvalidWheelFilename,
    Version,
    canonicalize_name,
    parse_wheel_filename,
)
from stackbuild.inspection.rules.rule import count_of, some
from stackbuild.model.findings import Finding
from stackbuild.verification.catalogue import OVERWRITTEN
from stackbuild.verification.subject import installed_path

_FILES = 200_000
_BY_PIP = frozenset(("RECORD", "INSTALLER", "REQUESTED", "direct_url.json"))
"""What pip itself writes into a .dist-info folder."""

DigestsByPath = Mapping[str, frozenset[str]]
"""Path below site-packages → the sha256 that it may have."""


def overwritten(site: Path, subject: tuple[Path, ...], wheelhouse: Path | None) -> tuple[Finding, ...]:
    """Findings about the files below `site`: two distributions' files in one place, files that are not their wheel's,
    files that no wheel has. `subject` are the wheels verified; those of other distributions are in the wheelhouse."""
    wheels = {path.name: path for path in subject}
    for path in sorted(wheelhouse.glob("*.whl")) if wheelhouse else ():
        wheels.setdefault(path.name, path)
    by_owner = {name: _owned(path) for name, path in wheels.items() if _is_installed(site, name)}
    findings = list(_findings(_digests(site), _by_distribution(by_owner)))
    return tuple(OVERWRITTEN.finding(subject, text) for subject, text in findings)


def _is_installed(site: Path, wheel: str) -> bool:
    name, version = _named(wheel)
    return bool(name) and any(_named_by_folder(folder.name) == (name, version) for folder in site.glob("*.dist-info"))


def _named(wheel: str) -> tuple[str, str]:
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


def _by_distribution(by_wheel: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, frozenset[str]]]:
    """The files of each distribution. Wheels of one version for several platforms may each have been installed."""
    merged: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for wheel, files in by_wheel.items():
        for path, sha256 in files.items():
            merged[_named(wheel)[0]][path].add(sha256)
    return {owner: {path: frozenset(digests) for path, digests in files.items()} for owner, files in merged.items()}


def _findings(here: Mapping[str, str], owners: Mapping[str, DigestsByPath]) -> Iterator[tuple[str, str]]:
    claimed: dict[str, list[str]] = defaultdict(list)
    for owner, files in owners.items():
        for path in files:
            claimed[path].append(owner)
    shared: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for path, names in claimed.items():
        if len(names) > 1 and not frozenset.intersection(*(owners[name][path] for name in names)):
            shared[tuple(sorted(names))].append(path)
    for both, paths in sorted(shared.items()):
        yield " + ".join(both), f"{count_of(len(paths), 'file')} of both in one place: {some(sorted(paths))}"
    in_conflict = {path for paths in shared.values() for path in paths}
    for owner, files in sorted(owners.items()):
        odd = [path for path, may in files.items() if path not in in_conflict and here.get(path, "") not in may]
        if odd:
            yield owner, f"{count_of(len(odd), 'file')} not as in its wheel: {some(sorted(odd))}"
    strange = sorted(path for path in here if path not in claimed and not _of_pip(path))
    if strange and owners:
        yield "site-packages", f"{count_of(len(strange), 'file')} that no wheel has: {some(strange)}"


def _of_pip(path: str) -> bool:
    folder, _, name = path.rpartition("/")
    return folder.endswith(".dist-info") and name in _BY_PIP


@cache
def _owned(wheel: Path) -> dict[str, str]:
    """Path below site-packages → sha256, of every file that installing a wheel puts there unchanged."""
    with zipfile.ZipFile(wheel) as archive:
        names = [info.filename for info in archive.infolist() if not info.is_dir()]
        recorded = _recorded(archive, names)
        return {
            place: recorded.get(name) or _sha256_of(archive, name)
            for name in names
            if not re.match(r"[^/]+\.data/", place := installed_path(name)) and not _of_pip(place)
        }


def _recorded(archive: zipfile.ZipFile, names: Iterable[str]) -> dict[str, str]:
    record = next((name for name in names if re.fullmatch(r"[^/]+\.dist-info/RECORD", name)), "")
    if not record:
        return {}
    with archive.open(record) as file:
        rows = [row for row in csv.reader(TextIOWrapper(file, "utf-8", newline="")) if len(row) > 1]
    return {path: _hex(hashed) for path, hashed, *_ in rows if hashed.startswith("sha256=")}


def _hex(hashed: str) -> str:
    text = hashed.removeprefix("sha256=")
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).hex()


def _sha256_of(archive: zipfile.ZipFile, name: str) -> str:
    with archive.open(name) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]


def _digests(site: Path) -> dict[str, str]:
    """Path → sha256 of all files below a folder, links and devices not followed: those have the digest ''."""
    digests: dict[str, str] = {}
    folders = [""]
    while folders and len(digests) < _FILES:
        folder = folders.pop()
        with os.scandir(site / folder) as entries:
            for entry in entries:
                path = f"{folder}{entry.name}"
                if entry.is_dir(follow_symlinks=False):
                    folders.append(f"{path}/")
                else:
                    digests[path] = _digest(site / path)
    return digests


def _digest(path: Path) -> str:
    """The sha256 of a regular file; '' for anything else, and for one that cannot be opened."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return ""
    with os.fdopen(descriptor, "rb") as file:
        regular = stat.S_ISREG(os.fstat(descriptor).st_mode)
        return hashlib.file_digest(file, "sha256").hexdigest() if regular else ""
