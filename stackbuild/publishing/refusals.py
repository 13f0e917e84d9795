"""What may not be published: each refusal raises UsageError with its reason and the next step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from stackbuild.core.errors import UsageError
from stackbuild.core.packaging import (
    InvalidRequirement,
    InvalidVersion,
    Requirement,
    Version,
    canonicalize_name,
    parse_wheel_filename,
)
from stackbuild.publishing.catalog import Catalog, CatalogFile, Project
from stackbuild.publishing.pages import offered
from stackbuild.publishing.placement import WheelFile
from stackbuild.publishing.publication import Publication


def refuse_twice(wheels: Sequence[Path]) -> None:
    """Each wheel is given once."""
    names = [parse_wheel_filename(wheel.name) for wheel in wheels]
    for wheel, name in zip(wheels, names, strict=True):
        if names.count(name) > 1:
            raise UsageError(f"{wheel.name} is given more than once", next="give each wheel once")


def refuse_misnamed(wheel: WheelFile) -> None:
    """The file's name and version are those of its metadata.

    pip believes the file name while it chooses, and the metadata when it installs.
    """
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
    known = catalog.projects.get(wheel.project, Project())
    for other in known.files:
        if other != name and parse_wheel_filename(other) == parse_wheel_filename(name):
            raise UsageError(
                f"{name} is published already, as {other}",
                where=str(index),
                next="publish it under that name",
            )
    if row := known.files.get(name):
        if not publication.replace and row.sha256 != wheel.sha256:
            raise UsageError(
                f"{name} is published already, with other bytes",
                where=str(index),
                next="raise the version in the recipe, or publish to another index; a file name never changes its content",
            )
        return
    highest = max((Version(one) for one in known.versions), default=None)
    if highest is not None and Version(wheel.version) < highest and not (publication.older or publication.replace):
        raise UsageError(
            f"{wheel.project} {wheel.version} is lower than {highest}, which is published already",
            where=str(index),
            next="raise the version in the recipe, or add `--older` for a correction of an older line",
        )


def refuse_open(catalog: Catalog, changed: Iterable[str]) -> None:
    """Each requirement of a published wheel on a project of this index is met by a file of this index."""
    for name in sorted(changed):
        for file in catalog.projects[name].files.values():
            for text in file.requires if file.yanked is None else ():
                _refuse_unmet(file, text, catalog)


def _refuse_unmet(file: CatalogFile, text: str, catalog: Catalog) -> None:
    try:
        requirement = Requirement(text)
    except InvalidRequirement as error:
        raise UsageError(
            f"{file.name} requires {text!r}, which is not a requirement: {error}", next="build the wheel again"
        ) from None
    project = catalog.projects.get(str(canonicalize_name(requirement.name)))
    if project is None or requirement.url:
        return
    versions = [Version(one.version) for one in offered(project) if one.yanked is None]
    if not any(requirement.specifier.contains(version, prereleases=True) for version in versions):
        raise UsageError(
            f"{file.name} requires {text}, and this index has {requirement.name} "
            f"{', '.join(map(str, versions)) or 'in no version that is offered'}",
            next="publish both wheels in one command, or build the wheel with a requirement that is met",
        )
