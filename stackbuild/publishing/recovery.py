"""The catalog of an index whose own one is gone: from its pages, from what lies beside its wheels, and from older states.

Pages are made of a catalog alone. Where the catalog that was recovered makes the pages that stand, byte for byte, no
withdrawal, statement or address is missing from it. Each page that it does not make is a loss.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from stackbuild.core import digest
from stackbuild.core.model import ValidationError
from stackbuild.core.plain_file import read_regular
from stackbuild.publishing.catalog import AttachedFile, Catalog, CatalogFile, Project
from stackbuild.publishing.generation import CATALOG, CURRENT, STATE_LIMIT, generation_numbers
from stackbuild.publishing.page_links import catalog_of_pages
from stackbuild.publishing.pages import pages
from stackbuild.publishing.placement import refuse_misstated
from stackbuild.publishing.statements import NAMES, ResourceDescriptor

BESIDE = ("lock.yaml", "cdx.json", *(f"{kind}.json" for kind in NAMES))
"""What the names of files that travel with a wheel end in."""
_ADDRESS = re.compile(r" @ ((?:https?|file)://[^\s<>]*?)/[a-z0-9-]+/[^/\s<>]+\.whl#")


def recover_catalog(index: Path) -> tuple[Catalog, tuple[str, ...]]:
    """The catalog, and a line for each page that it does not make as it stands. Raises UsageError as `catalog_of_pages` does."""
    state = _last_state(index)
    older_catalogs = tuple(_catalogs(index))
    catalog = catalog_of_pages(index)
    for page in sorted(state.glob("[!.]*/index.json")):
        name = page.parent.name
        project = _project(index, name, catalog.projects.get(name, Project()), _json_page(page), older_catalogs)
        catalog = catalog.with_project(name, project)
    urls = [older.url for older in older_catalogs]
    for page in sorted(state.glob("[!.]*/index.html")):
        urls += _ADDRESS.findall((read_regular(page, STATE_LIMIT) or b"").decode("utf-8", "replace"))
    candidates = (catalog.model_copy(update={"url": url}) for url in dict.fromkeys(["", *urls]))
    return min(((candidate, _losses(state, candidate)) for candidate in candidates), key=lambda result: len(result[1]))


def _last_state(index: Path) -> Path:
    """The folder of the pages that stand, or else of the newest ones."""
    folders = (index / CURRENT, *reversed(generation_numbers(index).values()))
    return next((folder for folder in folders if any(folder.glob("[!.]*/index.html"))), index / CURRENT)


def _catalogs(index: Path) -> Iterator[Catalog]:
    """The catalogs of the states that lie there, newest first, as far as they are whole."""
    for folder in reversed(generation_numbers(index).values()):
        try:
            yield Catalog.model_validate_json(read_regular(folder / CATALOG, STATE_LIMIT) or b"")
        except (ValidationError, ValueError):
            continue


def _json_page(page: Path) -> dict[str, Any]:
    try:
        value = digest.json_of((read_regular(page, STATE_LIMIT) or b"").decode("utf-8"))
    except ValueError:
        return {}  # no catalog makes these bytes: a loss
    return value if isinstance(value, dict) else {}


def _project(
    index: Path, name: str, project: Project, page: dict[str, Any], older_catalogs: tuple[Catalog, ...]
) -> Project:
    """A project with what its page says of it. A page of a quarantined one names no file: an older catalog does."""
    match page.get("project-status"):
        case {"status": "active" | "archived" | "deprecated" | "quarantined" as status, **other}:
            project = project.model_copy(update={"status": status, "reason": str(other.get("reason", ""))})
    if not project.files:
        for older in older_catalogs:
            rows = older.projects.get(name, Project()).files
            files = {row.name: row for row in rows.values() if _is_there(index / name, row)}
            if files:
                return project.model_copy(update={"files": files})
    page_rows = page.get("files")
    by_name = (
        {row.get("filename"): row for row in page_rows if isinstance(row, dict)} if isinstance(page_rows, list) else {}
    )
    files = {file: _row(index / name, row, by_name.get(file, {})) for file, row in project.files.items()}
    paths = {row.path for row in files.values()}
    earlier = {
        row.path: row
        for older in reversed(older_catalogs)
        for row in older.projects.get(name, Project()).all_files
        if row.path not in paths and _is_there(index / name, row)
    }
    return project.model_copy(update={"files": files, "earlier": tuple(earlier.values())})


def _is_there(folder: Path, row: CatalogFile) -> bool:
    file = folder / row.path
    return file.is_file() and digest.of_file(file) == row.sha256


def _row(folder: Path, row: CatalogFile, page_row: dict[str, Any]) -> CatalogFile:
    """A wheel with what its page and the files beside it say."""
    value = page_row.get("yanked", False)
    reason = value if isinstance(value, str) else "" if value else None
    attachments = {one.name: one for one in row.attached}
    claim = ""
    for ending in BESIDE:
        name = f"{row.name}.{ending}"
        if (data := read_regular(folder / row.beside(name), STATE_LIMIT)) is not None:
            claim = refuse_misstated(ResourceDescriptor(row.name, row.sha256), name, data) or claim
            attachments[name] = AttachedFile(name=name, sha256=digest.of_bytes(data), size=len(data))
    return row.model_copy(
        update={
            "yanked": reason,
            "uploaded": str(page_row.get("upload-time", row.uploaded)),
            "claim": claim,
            "attached": tuple(attachments[name] for name in sorted(attachments)),
        }
    )


def _losses(state: Path, catalog: Catalog) -> tuple[str, ...]:
    contents = pages(catalog)
    paths = {str(page.relative_to(state)) for page in (*state.glob("index.*"), *state.glob("[!.]*/index.*"))}
    lines = [
        f"{path} would change"
        for path in sorted(paths | contents.keys())
        if read_regular(state / path, STATE_LIMIT) != contents.get(path)
    ]
    lines += [
        f"no file of {name} is known, which is quarantined"
        for name, project in catalog.projects.items()
        if project.status == "quarantined" and not project.files
    ]
    return tuple(lines)
