"""Sources on this machine: where they lie, which of their files count, and the digest of their content."""

from __future__ import annotations

import fnmatch
import os
from dataclasses import dataclass
from pathlib import Path

from stackbuild.core import digest, resources
from stackbuild.core.errors import UsageError
from stackbuild.model.components import Convertible, Hipify
from stackbuild.model.loaded import Loaded
from stackbuild.model.lock import patches_of
from stackbuild.model.recipe import Recipe

ALWAYS_OUT = ("__pycache__", ".git", ".pytest_cache", ".mypy_cache", ".ruff_cache", "*.pyc")


TIME = 1_700_000_000
"""mtime of every copied file, so that compiler caches see the same tree (see steps.context.SOURCE_DATE_EPOCH)."""


@dataclass(frozen=True)
class LocalSource:
    """Where a local source lies, and which of its files are left out."""

    folder: Path
    exclude: tuple[str, ...] = ()


def local_sources(loaded: Loaded) -> dict[str, LocalSource]:
    """Where the local sources lie, by name."""
    found = {}
    for name, source in loaded.recipe.sources.items():
        if source.bundled is not None:
            found[name] = LocalSource(resources.folder(source.bundled), source.exclude)
        elif source.path is not None:
            found[name] = LocalSource((loaded.folder / source.path).resolve(), source.exclude)
        if source.patches is not None:
            found[patches_of(name)] = LocalSource(patch_folder(loaded, source.patches))
    for name, asked_for in conversions(loaded.recipe).items():
        if asked_for.patches is not None:
            found[patches_of(f"hipify.{name}")] = LocalSource(patch_folder(loaded, asked_for.patches))
    return found


def conversions(recipe: Recipe) -> dict[str, Hipify]:
    """What is to be converted to HIP, by component."""
    return {n: c.hipify for n, c in recipe.components.items() if isinstance(c, Convertible) and c.hipify}


def places(loaded: Loaded) -> dict[str, LocalSource]:
    """Where everything lies that steps take from this machine: local sources, and the recipe's folder for hipify rules."""
    converted = {f"hipify.{name}": LocalSource(loaded.folder) for name in conversions(loaded.recipe)}
    return {**local_sources(loaded), **converted}


def patch_folder(loaded: Loaded, name: str) -> Path:
    """Where a series of patches lies: beside the recipe, else with stackbuild."""
    beside = loaded.folder / "patches" / name
    return beside if beside.is_dir() else resources.folder("patches") / name


def settle(root: Path) -> None:
    """Give every file of a fetched tree the one time and a plain mode, so that equal sources are equal trees."""
    for folder, _, names in os.walk(root):
        for name in names:
            path = Path(folder) / name
            if not path.is_symlink():
                path.chmod(0o755 if path.stat().st_mode & 0o100 else 0o644)
                os.utime(path, (TIME, TIME))


def files(local: LocalSource) -> list[str]:
    """Relative paths of a local source's files, sorted. Raises UsageError where the folder is not there."""
    if not local.folder.is_dir():
        raise UsageError("the source's folder is not there", where=str(local.folder), next="mend `path` in the recipe")
    found = []
    for root, folders, names in os.walk(local.folder):
        inside = Path(root).relative_to(local.folder)
        links = [d for d in folders if (Path(root) / d).is_symlink()]  # kept as links, never followed
        folders[:] = sorted(d for d in folders if d not in links and not _out(inside / d, local.exclude))
        found += [str(inside / n) for n in (*names, *links) if not _out(inside / n, local.exclude)]
    return sorted(found)


def _out(path: Path, exclude: tuple[str, ...]) -> bool:
    return any(fnmatch.fnmatchcase(path.name, p) for p in ALWAYS_OUT) or any(
        fnmatch.fnmatchcase(str(path), p) for p in exclude
    )


def content(local: LocalSource) -> str:
    """Digest of a local source: what `survey` finds."""
    return digest.of_value(survey(local))


def survey(local: LocalSource) -> list[tuple[str, str, str]]:
    """Each file of a local source: path, whether executable, digest of the content; links by their target. Raises UsageError."""
    rows = []
    for path in files(local):
        place = local.folder / path
        if place.is_symlink():
            rows.append((path, "link", str(place.readlink())))
        elif not place.is_file():
            raise UsageError(
                f"the source has {path}, which is no file",
                where=str(local.folder),
                next="remove it, or list it under `exclude`",
            )
        else:
            rows.append((path, "x" if os.access(place, os.X_OK) else "-", digest.of_file(place)))
    return rows
