"""What may not be published: each refusal raises UsageError with its reason and the next step."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from stackbuild.core.errors import UsageError
from stackbuild.core.install_paths import landing
from stackbuild.core.packaging import (
    InvalidRequirement,
    InvalidSpecifier,
    InvalidVersion,
    Requirement,
    SpecifierSet,
    Version,
    canonicalize_name,
    distribution_of,
    is_same_wheel,
    split_label,
)
from stackbuild.publishing.catalog import PROJECT, Catalog, CatalogFile, Project
from stackbuild.publishing.closure import is_needed
from stackbuild.publishing.placement import WheelFile
from stackbuild.publishing.publication import Publication
from stackbuild.publishing.snapshot import CLOCK_SKEW

_WHEEL_ADDRESS = re.compile(r"https?://[^\s?#]+\.whl#sha256=[0-9a-f]{64}")
"""Of which installers compare the digest. pip compares none of a repository (`git+…`) or a folder, and runs the code of an sdist."""
_WHEEL_NAME = re.compile(r"[A-Za-z0-9_.!+-]+")
LONGEST_NAME = 220
"""Characters of a wheel's file name: its longest statement is staged under 255 bytes."""


def refuse_names(wheels: Sequence[Path], variants: bool = False) -> None:
    """Each file has the name of a wheel, without control characters, and is given once; a variant only where that is asked."""
    for wheel in wheels:
        if not re.fullmatch(PROJECT, distribution_of(wheel.name)[0]):
            raise UsageError(
                "a project's name begins and ends with a letter or a digit",
                where=wheel.name,
                next="build the wheel again under such a name",
            )
        if (label := split_label(wheel.name)[1]) and not variants:
            raise UsageError(
                f"a wheel variant, with the label {label} (PEP 825, a draft): pip and older installers leave it alone",
                where=wheel.name,
                next="give the plain wheel, which has no such label; `publish --variants` puts both on an index in a folder"
                " or an object store",
            )
        if not _WHEEL_NAME.fullmatch(wheel.name):
            raise UsageError(
                "a wheel's file name has letters, digits and _ . ! + - of ASCII only",
                where=str(wheel),
                next="build the wheel again under such a name",
            )
        if len(wheel.name) > LONGEST_NAME:
            raise UsageError(
                f"the wheel's file name has {len(wheel.name)} characters; {LONGEST_NAME} leave room for its statements'",
                where=str(wheel),
                next="build the wheel again under a shorter name or version",
            )
        if sum(is_same_wheel(wheel.name, other.name) for other in wheels) > 1:
            raise UsageError(f"{wheel.name} is given more than once", next="give each wheel once")


def refuse_later(wheel: WheelFile, now: datetime) -> None:
    """The wheel was written before it is signed: a signature of a clock that is behind would expire too early."""
    wheel_time = datetime.fromtimestamp(wheel.modified_ns / 1e9, UTC)
    if wheel_time > now + CLOCK_SKEW:
        raise UsageError(
            f"this machine's clock says {now:%Y-%m-%d %H:%M} UTC, and this wheel was written at {wheel_time:%Y-%m-%d %H:%M}",
            where=str(wheel.path),
            next="set the clock; if it is right, the wheel has the time of a wrong one: `touch` it",
        )


def refuse_linked(index: Path, project: str) -> None:
    """The project's folder lies in the index."""
    folder = index / project
    if folder.is_symlink():
        raise UsageError(
            "the folder of the project is a link that leads elsewhere",
            where=str(folder),
            next="put a folder in its place",
        )


def refuse_malformed(wheel: WheelFile) -> None:
    """Installers take the wheel, and it writes nothing outside of where they install it."""
    reason = _format_problem(wheel)
    if reason:
        raise UsageError(
            f"the wheel cannot be published: {reason}", where=str(wheel.path), next="build the wheel again"
        )


def _format_problem(wheel: WheelFile) -> str:
    if twice := [name for name, count in Counter(wheel.entries).items() if count > 1]:
        return f"it has {twice[0]!r} more than once"
    for entry in wheel.entries:
        if entry.startswith("/") or "\\" in entry or re.match("[A-Za-z]:", entry) or ".." in entry.split("/"):
            return f"its entry {entry!r} leads out of the folder of the installation"
        if {"", "."} & {*entry.removesuffix("/").split("/")}:
            return f"its entry {entry!r} is not a plain path: installers differ in where they put it"
    files = [landing(entry) for entry in wheel.entries if not entry.endswith("/")]
    if twice := [path for path, count in Counter(files).items() if count > 1]:
        return f"two of its entries are installed as {twice[0]!r}"
    for entry in wheel.entries:
        top = entry.partition("/")[0]
        if top.endswith(".dist-info") and not _is_named(top.removesuffix(".dist-info"), wheel):
            return f"its folder {top} is not named after {wheel.project} {wheel.version}"
    try:
        SpecifierSet(wheel.fields.requires_python)
    except InvalidSpecifier:
        return f"its Requires-Python {wheel.fields.requires_python!r} is not a set of versions"
    return ""


def _is_named(stem: str, wheel: WheelFile) -> bool:
    name, _, version = stem.rpartition("-")
    try:
        return (str(canonicalize_name(name)), str(Version(version))) == (wheel.project, wheel.version)
    except InvalidVersion:
        return False


def refuse_misnamed(wheel: WheelFile) -> None:
    """The file's name and version are those of its metadata.

    pip believes the file name while it chooses, and the metadata when it installs.
    """
    if wrong := sorted({"name", "version", "requires-python"}.intersection(wheel.fields.unreadable)):
        raise UsageError(
            f"its metadata has the field {wrong[0]} more than once, or not in UTF-8",
            where=str(wheel.path),
            next="build the wheel again",
        )
    try:
        inside = wheel.fields.name, str(Version(wheel.fields.version))
    except InvalidVersion as error:
        raise UsageError(
            f"its metadata has no version: {error}", where=str(wheel.path), next="build the wheel again"
        ) from None
    if inside != (wheel.project, wheel.version):
        raise UsageError(
            f"the file name says {wheel.project} {wheel.version}, the metadata inside {' '.join(inside)}",
            where=str(wheel.path),
            next="a renamed wheel is not another release: build it again",
        )


def refuse_taken(wheel: WheelFile, catalog: Catalog, index: Path, publication: Publication) -> None:
    """The name is new, or has these bytes; the version is not below the highest one."""
    name = wheel.path.name
    project = catalog.projects.get(wheel.project, Project())
    for other in project.files:
        if other != name and is_same_wheel(other, name):
            raise UsageError(
                f"{name} is published already, as {other}",
                where=str(index),
                next="publish it under that name",
            )
    if row := project.last_of(name):
        if not publication.replace and row.sha256 != wheel.sha256:
            raise UsageError(
                f"{name} is published already, with other bytes",
                where=str(index),
                next="raise the version in the recipe, or publish to another index; a file name never changes its content",
            )
        return
    highest = max((Version(one) for one in project.versions), default=None)
    if highest is not None and Version(wheel.version) < highest and not (publication.older or publication.replace):
        raise UsageError(
            f"{wheel.project} {wheel.version} is lower than {highest}, which is published already",
            where=str(index),
            next="raise the version in the recipe, or add `--older` for a correction of an older line",
        )


def refuse_open(catalog: Catalog, files: Iterable[CatalogFile]) -> None:
    """Each requirement of these files on a project of this index is met by a file of this index; an address has its digest.

    Files that were published before are not asked: a yank may have left one open, and its correction must be published.
    """
    for file in files:
        for text in file.requires if file.yanked is None else ():
            _refuse_unmet(file, text, catalog)


def _refuse_unmet(file: CatalogFile, text: str, catalog: Catalog) -> None:
    try:
        requirement = Requirement(text)
    except InvalidRequirement as error:
        raise UsageError(
            f"{file.name} requires {text!r}, which is not a requirement: {error}", next="build the wheel again"
        ) from None
    if requirement.url and not _WHEEL_ADDRESS.fullmatch(requirement.url):
        raise UsageError(
            f"{file.name} requires {text!r}: installers take whatever lies at that address, and no index can check or replace it",
            next=f"build the wheel with a requirement by name and version, and publish {requirement.name} where users look;"
            " or give the https address of a wheel, and end it in #sha256=…",
        )
    project = catalog.projects.get(str(canonicalize_name(requirement.name)))
    if project is None or requirement.url or not is_needed(requirement, file):
        return
    versions = [Version(one.version) for one in project.current_files if one.yanked is None]
    if not any(requirement.specifier.contains(version, prereleases=True) for version in versions):
        raise UsageError(
            f"{file.name} requires {text}, and this index has {requirement.name} "
            f"{', '.join(map(str, versions)) or 'in no version that is offered'}",
            next="publish both wheels in one command, or build the wheel with a requirement that is met",
        )
