"""Sources on this machine: where they lie, which of their files count, and the digest of their content."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from stackbuild.core import digest, resources
from stackbuild.core.errors import UsageError
from stackbuild.core.shell_words import shell_word
from stackbuild.core.tree_walk import OutOfBounds, open_folder, walk
from stackbuild.model.loaded_recipe import LoadedRecipe
from stackbuild.model.lock import patches_of

ALWAYS_OUT = ("__pycache__", ".git", ".pytest_cache", ".mypy_cache", ".ruff_cache", "*.pyc")


TIME = 1_700_000_000
"""mtime of every copied file, so that compiler caches see the same tree (see steps.context.SOURCE_DATE_EPOCH)."""


@dataclass(frozen=True)
class LocalSource:
    """Where a local source lies, and which of its files are left out."""

    folder: Path
    exclude: tuple[str, ...] = ()


def refuse_outside(loaded_recipe: LoadedRecipe) -> None:
    """Every path that a recipe names leads into the recipe's folder, its index into the working directory, or into a
    folder that was allowed. Links count by where they lead. Raises UsageError."""
    for place, path, start in _named_paths(loaded_recipe):
        target = (start / path).resolve()
        if not any(target.is_relative_to(folder.resolve()) for folder in (start, *loaded_recipe.allowed)):
            raise UsageError(
                f"`{path}` leads to {target}, outside of {start.resolve()}",
                where=_place_of(place, loaded_recipe),
                next=f"move it there or, if that is meant, add --allow-path {shell_word(target)}",
            )


def _place_of(key: str, loaded_recipe: LoadedRecipe) -> str:
    """`file:line:column: key` of a key such as `sources.tool.path`; without the place where the text has none."""
    at = loaded_recipe.places.values.get(tuple(key.split(".")))
    return f"{loaded_recipe.given_name}:{at[0]}:{at[1]}: {key}" if at else f"{loaded_recipe.given_name}: {key}"


def _named_paths(loaded_recipe: LoadedRecipe) -> Iterator[tuple[str, str, Path]]:
    """The paths of a recipe: the key, the path as written, the folder that it starts from."""
    recipe, folder = loaded_recipe.recipe, loaded_recipe.folder
    for name, source in recipe.sources.items():
        if source.path is not None:
            yield f"sources.{name}.path", source.path, folder
        if source.patches is not None:
            yield f"sources.{name}.patches", f"patches/{source.patches}", folder
    for name, asked_for in recipe.conversions.items():
        if asked_for.patches is not None:
            yield f"components.{name}.hipify.patches", f"patches/{asked_for.patches}", folder
        for rules in asked_for.rules:
            if rules.endswith((".yaml", ".yml")):
                yield f"components.{name}.hipify.rules", rules, folder
    if recipe.bench is not None:
        yield "bench.suite", recipe.bench.suite, folder
    yield "publish.index", recipe.destination.index, Path.cwd()


def local_sources(loaded_recipe: LoadedRecipe) -> dict[str, LocalSource]:
    """Where the local sources lie, by name. Raises UsageError where a path of the recipe leads outside."""
    refuse_outside(loaded_recipe)
    sources = {}
    for name, source in loaded_recipe.recipe.sources.items():
        if source.bundled is not None:
            sources[name] = LocalSource(resources.folder(source.bundled), source.exclude)
        elif source.path is not None:
            sources[name] = LocalSource((loaded_recipe.folder / source.path).resolve(), source.exclude)
        if source.patches is not None:
            sources[patches_of(name)] = LocalSource(loaded_recipe.patch_folder(source.patches))
    for name, asked_for in loaded_recipe.recipe.conversions.items():
        if asked_for.patches is not None:
            sources[patches_of(f"hipify.{name}")] = LocalSource(loaded_recipe.patch_folder(asked_for.patches))
    return sources


def local_digests(loaded_recipe: LoadedRecipe) -> dict[str, str]:
    """Digests of the content of the local sources now, by name. Raises UsageError."""
    return {name: content(local) for name, local in local_sources(loaded_recipe).items()}


def places(loaded_recipe: LoadedRecipe) -> dict[str, LocalSource]:
    """Where everything lies that steps take from this machine: local sources, and the recipe's folder for hipify rules."""
    conversions_by_name = {
        f"hipify.{name}": LocalSource(loaded_recipe.folder) for name in loaded_recipe.recipe.conversions
    }
    return {**local_sources(loaded_recipe), **conversions_by_name}


def settle(root: Path) -> None:
    """Give every file of a fetched tree the one time and a plain mode, so that equal sources are equal trees.

    Raises OutOfBounds, OSError.
    """
    with open_folder(root) as top:
        for path, kind, status in walk(top):
            if kind == "f":
                os.chmod(path, 0o755 if status.st_mode & 0o100 else 0o644, dir_fd=top)
                os.utime(path, (TIME, TIME), dir_fd=top)


def files(local: LocalSource) -> list[str]:
    """Relative paths of a local source's files and links, sorted. Raises UsageError where the folder is not there or
    holds more than an output may."""
    if not local.folder.is_dir():
        raise UsageError("the source's folder is not there", where=str(local.folder), next="fix `path` in the recipe")
    try:
        with open_folder(local.folder) as top:
            entries = walk(top, accepts=lambda path: not _out(path, local.exclude))
            return sorted(entry.path for entry in entries if entry.kind != "d")
    except OutOfBounds as beyond:
        raise UsageError(f"the source is too large: {beyond.what}", where=str(local.folder), next=_LEAVE_OUT) from None


_LEAVE_OUT = "move it out, or list it under `exclude`"


def _out(path: str, exclude: tuple[str, ...]) -> bool:
    name = path.rpartition("/")[2]
    return any(fnmatch.fnmatchcase(name, p) for p in ALWAYS_OUT) or any(fnmatch.fnmatchcase(path, p) for p in exclude)


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
                f"the source has {path}, which is not a file",
                where=str(local.folder),
                next="remove it, or list it under `exclude`",
            )
        else:
            rows.append((path, "x" if os.access(place, os.X_OK) else "-", digest.of_file(place)))
    return rows
