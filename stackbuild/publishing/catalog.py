"""The Catalog of an index: which wheel files it offers, what is known of each, and what was yanked or quarantined.

The pages are written from the catalog alone. It is also the cache that keeps `publish` from reading wheels again: a file
whose size and modification time are as recorded has the recorded digest.
"""

from __future__ import annotations

from typing import Annotated, Literal

from stackbuild.core.model import Field, Model
from stackbuild.core.packaging import canonicalize_name, distribution_of, parse_email, version_of
from stackbuild.publishing.wheel_readme import WheelUsage, read_usage

SHA256 = r"^[0-9a-f]{64}$"
PROJECT = r"^[a-z0-9]+(-[a-z0-9]+)*$"
FILE = r"^[^./\\\x00-\x1f][^/\\\x00-\x1f]*$"
"""A name that no folder is left by: a catalog may come from a folder or a bucket that others write to."""
MAX_NUMBER = 10**15
ProjectStatus = Literal["active", "archived", "deprecated", "quarantined"]
"""The statuses of PEP 792."""


class AttachedFile(Model):
    """A file that lies beside a wheel: its SBOM, its statements, its lock. `size` is in bytes."""

    name: str = Field(pattern=FILE)
    sha256: str = Field(pattern=SHA256)
    size: int = Field(ge=0)


class VariantMetadata(Model):
    """What a wheel variant says of itself (PEP 825, a draft): its label, and variant.json.

    `properties` are the values of each feature of each namespace. `others` is variant.json without its variants, as JSON.
    """

    label: str = Field(pattern=r"^[0-9a-z_.]+$")
    properties: dict[str, dict[str, tuple[str, ...]]]
    others: str

    @property
    def lines(self) -> tuple[str, ...]:
        """Each property as `namespace :: feature :: value`."""
        table = sorted(self.properties.items())
        return tuple(f"{n} :: {f} :: {v}" for n, features in table for f, vs in sorted(features.items()) for v in vs)


class CatalogFile(Model):
    """One wheel file of an index. `size` is in bytes, `modified` in nanoseconds since 1970."""

    name: str = Field(pattern=FILE)
    folder: str = Field(default="", pattern=r"^([0-9a-f]{16})?$", description="Folder of the project that it lies in.")
    sha256: str = Field(pattern=SHA256)
    size: int = Field(ge=0)
    modified: int
    metadata_sha256: str = Field(pattern=SHA256)
    requires_python: str = ""
    requires: tuple[str, ...] = ()
    summary: str = ""
    uploaded: str
    yanked: str | None = Field(default=None, description="Why it was yanked; None where it was not.")
    claim: str = Field(default="", description="What its verification claims; empty where none came with it.")
    attached: tuple[AttachedFile, ...] = ()
    variant: VariantMetadata | None = None
    usage: WheelUsage = WheelUsage()

    @property
    def path(self) -> str:
        """Where it lies, relative to its project's folder."""
        return f"{self.folder}/{self.name}" if self.folder else self.name

    @property
    def version(self) -> str:
        return distribution_of(self.name)[1]

    def beside(self, name: str) -> str:
        """Where a file beside it lies, relative to its project's folder."""
        return f"{self.folder}/{name}" if self.folder else name


class Project(Model):
    """One project of an index.

    `earlier` are files whose names have other bytes now (`--replace`): no page names them, and they lie where they lay.
    """

    status: ProjectStatus = "active"
    reason: str = ""
    files: dict[str, CatalogFile] = Field(default={})
    earlier: tuple[CatalogFile, ...] = ()

    @property
    def all_files(self) -> tuple[CatalogFile, ...]:
        """The files that lie in its folder: those of the pages, and earlier ones."""
        return (*self.files.values(), *self.earlier)

    def last_of(self, name: str) -> CatalogFile | None:
        """The file that was published last under a name; it is an earlier one where somebody removed the later one."""
        return self.files.get(name) or next((row for row in reversed(self.earlier) if row.name == name), None)

    @property
    def versions(self) -> tuple[str, ...]:
        """The versions that have a file, lowest first."""
        return tuple(sorted({file.version for file in self.files.values()}, key=version_of))

    @property
    def current_files(self) -> tuple[CatalogFile, ...]:
        """The files that the project's page lists, of the newest version first: none of a quarantined project (PEP 792)."""
        if self.status == "quarantined":
            return ()
        by_name = sorted(self.files.values(), key=lambda file: file.name)
        return tuple(sorted(by_name, key=lambda file: version_of(file.version), reverse=True))


class Catalog(Model):
    """All of an index. `number` rises with each change of it; `url` is where it is served, "" where that is not known."""

    format: Literal[1] = 1
    number: int = Field(default=0, ge=0, le=MAX_NUMBER)
    url: str = ""
    projects: dict[Annotated[str, Field(pattern=PROJECT)], Project] = Field(default={})

    def with_file(self, project: str, file: CatalogFile) -> Catalog:
        """The catalog with that file in place of any of the same name; one with other bytes becomes an earlier one."""
        project_row = self.projects.get(project, Project())
        before = project_row.files.get(file.name)
        earlier = {row.path: row for row in (*project_row.earlier, *([before] if before else []))}
        earlier.pop(file.path, None)
        files = dict(sorted({**project_row.files, file.name: file}.items()))
        return self.with_project(
            project, project_row.model_copy(update={"files": files, "earlier": tuple(earlier.values())})
        )

    def with_project(self, name: str, project: Project) -> Catalog:
        return self.model_copy(update={"projects": dict(sorted({**self.projects, name: project}.items()))})


class CoreMetadata(Model):
    """The fields of a wheel's METADATA that an index needs.

    `unreadable` are the names, in lower case, of fields that have no single value: given twice, or not in UTF-8.
    """

    name: str
    version: str
    requires_python: str
    requires: tuple[str, ...]
    summary: str
    usage: WheelUsage = WheelUsage()
    unreadable: tuple[str, ...] = ()


def core_metadata(text: bytes) -> CoreMetadata:
    """Reads a METADATA file. `name` is normalised; `version` is as it is spelt."""
    fields, unreadable = parse_email(text)
    return CoreMetadata(
        name=str(canonicalize_name(fields.get("name", ""))),
        version=fields.get("version", ""),
        requires_python=fields.get("requires_python", ""),
        requires=tuple(fields.get("requires_dist", ())),
        summary=fields.get("summary", ""),
        usage=read_usage(fields.get("description", "")),
        unreadable=tuple(sorted(unreadable)),
    )
