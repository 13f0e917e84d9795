"""The verb `publish`: wheels → a static index that pip and uv install from. Receipt: what lies where, with digests.

Wheels and what travels with them come first, then all pages at once (`generation`). A file name that was published never
changes its bytes, but in an index of one's own (`replace`): the new bytes lie in a folder of their own then, and pages
name them. Nothing that was published is removed: a bad release is yanked, a bad project quarantined.
"""

from __future__ import annotations

import glob
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from stackbuild.core.errors import UsageError
from stackbuild.core.packaging import Version, distribution_of
from stackbuild.publishing.catalog import Catalog, CatalogFile, Project
from stackbuild.publishing.closure import InstallWords, NoClosureError, direct_requirement, install_words
from stackbuild.publishing.generation import WHEELS_ELSEWHERE, read_catalog
from stackbuild.publishing.install_check import check_installs
from stackbuild.publishing.pages import NO_VERIFICATION
from stackbuild.publishing.placement import (
    Placement,
    is_unchanged,
    library_names,
    plan_placement,
    read_wheel,
    write_file,
)
from stackbuild.publishing.publication import NOT_SIGNED, Publication, PublishedWheel, Receipt
from stackbuild.publishing.refusals import (
    refuse_later,
    refuse_linked,
    refuse_malformed,
    refuse_misnamed,
    refuse_names,
    refuse_open,
    refuse_taken,
)
from stackbuild.publishing.signed_state import refuse_changed
from stackbuild.publishing.ssh_keys import SigningKey
from stackbuild.publishing.transaction import (
    commit,
    is_named,
    is_signed_by,
    locked_catalog,
    refuse_unsigned,
    remove_unsigned_states,
)
from stackbuild.publishing.variants import refuse_variant


def publish(wheels: tuple[Path, ...], index: Path, publication: Publication = Publication()) -> Receipt:
    """Put wheels on the index in that folder, all at once. Raises UsageError where one may not be published, OSError."""
    fresh: set[str] = set()
    refuse_names(wheels, publication.variants)
    with locked_catalog(index, new=True) as catalog:
        refuse_changed(index, publication)
        read = [read_wheel(wheel, publication.digests.get(wheel, "")) for wheel in wheels]
        for wheel in read:
            refuse_linked(index, wheel.project)
            refuse_misnamed(wheel)
            refuse_malformed(wheel)
            refuse_taken(wheel, catalog, index, publication)
            if publication.keys:
                refuse_later(wheel, datetime.now(UTC))
        plans = []
        for wheel in read:
            file = catalog.projects.get(wheel.project, Project()).last_of(wheel.path.name)
            plan = plan_placement(wheel, file, index / wheel.project, publication.attachments.get(wheel.path, ()))
            if file is None or file.sha256 != wheel.sha256:
                fresh.add(wheel.path.name)
            plans.append(plan)
            catalog = catalog.with_file(wheel.project, plan.row)
        if publication.url:
            catalog = catalog.model_copy(update={"url": publication.url.rstrip("/")})
        if not catalog.url and (index / WHEELS_ELSEWHERE).is_file():
            raise UsageError(
                "nobody has said where this index is served",
                next="add `--url https://…`, the address that installers use",
            )
        refuse_open(catalog, [plan.row for plan in plans])
        for plan in plans:
            refuse_variant(catalog.projects[plan.wheel.project], plan.row, plan.wheel.path)
        installs = check_installs(index, catalog, plans, publication.pythons)
        before = read_catalog(index) or Catalog()
        if catalog != before or not is_signed_by(index, publication.keys) or not is_named(index, publication):
            refuse_unsigned(index, publication)
            catalog = _place(index, catalog, plans, publication)
        else:
            for path, data in (item for plan in plans for item in plan.beside.items()):
                write_file(path, data)  # the published bytes: what was lost or damaged is there again
            remove_unsigned_states(index, catalog.number, publication.keys)
    return replace(_receipt(wheels, index, catalog, fresh, publication.keys), installs=installs)


def _place(index: Path, catalog: Catalog, plans: Sequence[Placement], publication: Publication) -> Catalog:
    """Put the wheels in the folder and switch to that catalog. What was put there is taken away again where that fails."""
    new = [plan.target for plan in plans if not plan.unchanged and not plan.target.exists()]
    try:
        for plan in plans:
            catalog = catalog.with_file(plan.wheel.project, plan.put())
        return commit(index, catalog, publication, {k: v for plan in plans for k, v in plan.beside.items()})
    except BaseException:
        published_catalog = read_catalog(index) or Catalog()
        named_files = {
            index / name / row.path for name, project in published_catalog.projects.items() for row in project.all_files
        }
        for target in new:
            if target not in named_files:
                for old_file in (target, *target.parent.glob(f"{glob.escape(target.name)}.*")):
                    old_file.unlink(missing_ok=True)
        raise


def is_published(digests: Mapping[Path, str], index: Path) -> bool:
    """Whether each wheel is on the index with the same bytes. `digests` are the sha256 of the wheels' bytes."""
    catalog = read_catalog(index)
    return catalog is not None and all(
        (row := _row(catalog, wheel.name)) is not None
        and row.sha256 == sha256
        and is_unchanged(index / distribution_of(wheel.name)[0] / row.path, row)
        for wheel, sha256 in digests.items()
    )


def _receipt(
    wheels: tuple[Path, ...], index: Path, catalog: Catalog, fresh: set[str], keys: tuple[SigningKey, ...]
) -> Receipt:
    url = catalog.url or index.resolve().as_uri()
    rows = []
    for wheel in wheels:
        project, version = distribution_of(wheel.name)
        row = catalog.projects[project].files[wheel.name]
        outside, bundled_libraries = library_names(wheel, "external-library", "bundled-library")
        rows.append(
            PublishedWheel(
                project=project,
                version=version,
                file=row.name,
                sha256=row.sha256,
                size=row.size,
                fresh=row.name in fresh,
                path=f"{project}/{row.path}",
                requirement=direct_requirement(project, row, url),
                claim=row.claim or NO_VERIFICATION,
                outside=outside,
                bundled=bundled_libraries,
                label=row.variant.label if row.variant else "",
                withdrawn=_withdrawal(catalog.projects[project], row),
                usage=row.usage,
            )
        )
    signed_by = tuple(key.fingerprint for key in keys)
    words, reason = _install_words(rows, catalog, url)
    unpublished_wheels = _unpublished_wheels(index, catalog)
    return Receipt(
        str(index), tuple(rows), catalog.number, signed_by, unpublished_wheels, words.requirements, reason,
        words.from_default_index, not_signed="" if signed_by else NOT_SIGNED,
    )  # fmt: skip


def _install_words(rows: Sequence[PublishedWheel], catalog: Catalog, url: str) -> tuple[InstallWords, str]:
    """What the command names that installs the published wheels, and why it names nothing."""
    wheels = [row for row in rows if not row.label and not row.withdrawn]
    highest: dict[str, Version] = {}
    for row in wheels:
        highest[row.project] = max(highest.get(row.project, Version(row.version)), Version(row.version))
    roots: dict[str, list[CatalogFile]] = {}
    for row in wheels:
        if Version(row.version) == highest[row.project]:
            roots.setdefault(row.project, []).append(catalog.projects[row.project].files[row.file])
    try:
        return install_words(catalog, roots, url), ""
    except NoClosureError as error:
        return InstallWords(), str(error)


def _withdrawal(project: Project, row: CatalogFile) -> str:
    if project.status == "quarantined":
        return f"the project is quarantined: {project.reason or 'no reason was given'}"
    return f"yanked: {row.yanked or 'no reason was given'}" if row.yanked is not None else ""


def _unpublished_wheels(index: Path, catalog: Catalog) -> tuple[str, ...]:
    """The wheels in the folders of projects that the catalog does not know by name. Replaced bytes have a known name."""
    return tuple(
        str(wheel.relative_to(index))
        for wheel in sorted(index.glob("[!.]*/[!.]*.whl"))
        if wheel.name not in catalog.projects.get(wheel.parent.name, Project()).files
    )


def _row(catalog: Catalog, file: str) -> CatalogFile | None:
    project = catalog.projects.get(distribution_of(file)[0])
    return project.files.get(file) if project else None
