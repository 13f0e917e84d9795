"""The indexes that a rendered pipeline publishes onto, one for each folder that its recipes name: a root for each ROCm."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from stackbuild.core.errors import UsageError
from stackbuild.core.web_address import is_index_address
from stackbuild.model.recipe import Recipe

BUILD_FOLDER = "dist"
"""The folder that a build job keeps: a recipe's index lies in it."""
NUMBER = "STACKBUILD_INDEX_AT_LEAST"
"""The variable with the lowest number of the index `simple`; that of another root has the root's name behind it."""
_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*(/[A-Za-z0-9_][A-Za-z0-9._-]*)*")


@dataclass(frozen=True)
class IndexRoot:
    """One index of a release. `path` is its folder below that of all, as `rocm-7.2/simple`.

    `folders` are those of the build jobs, with the wheels that belong onto it. `options` are those of `publish`, with a
    space behind each. `variable` holds the lowest number that is accepted.
    """

    path: str
    folders: tuple[str, ...]
    options: str
    variable: str

    @property
    def number(self) -> str:
        """What stands before the command in a shell, so that `publish` reads the number of this index."""
        return "" if self.variable == NUMBER else f'{NUMBER}="${{{self.variable}:-}}" '


def root_of(recipe: Recipe) -> str:
    """The recipe's index below `dist/`: `rocm-7.2/simple` for `publish: {index: dist/rocm-7.2/simple}`. Raises UsageError."""
    index = PurePosixPath(recipe.destination.index)
    root = index.relative_to(BUILD_FOLDER).as_posix() if index.is_relative_to(BUILD_FOLDER) else ""
    if not _PLAIN.fullmatch(root) or ".." in index.parts:
        raise UsageError(
            f"a build job keeps what lies below {BUILD_FOLDER}/, and the recipe publishes to {recipe.destination.index}",
            where=f"recipe {recipe.name}, publish.index",
            next=f"name a folder below {BUILD_FOLDER}/ by letters, digits, . _ -, as `index: {BUILD_FOLDER}/rocm-7.2/simple`",
        )
    return root


def index_roots(
    recipes: Mapping[str, Sequence[Recipe]],
    folders: Mapping[str, Sequence[str]],
    proofs: Mapping[str, Sequence[str]],
    url: str,
) -> tuple[IndexRoot, ...]:
    """The indexes in the order of their roots. Of each root: its recipes, the folders of its builds, those of its proofs.

    `url` is where they are served, `{root}` in it stands for each one's path. Without it a recipe's own `publish.url`
    counts. Raises UsageError for indexes that would have one address or one variable, or that lie in each other.
    """
    roots = tuple(sorted(recipes))
    _refuse_nested(roots)
    addresses = {root: _address(root, recipes[root], roots, url) for root in roots}
    variables = {root: _variable(root) for root in roots}
    for root in roots:
        if like := [other for other in roots if variables[other] == variables[root] and other < root]:
            raise UsageError(
                f"the numbers of the indexes {like[0]} and {root} would be one variable, {variables[root]}",
                where="publish.index",
                next="give them folders whose names differ in a letter or a digit",
            )
    return tuple(
        IndexRoot(
            root,
            tuple(dict.fromkeys(folders[root])),
            "".join(f"--proof {folder} " for folder in dict.fromkeys(proofs.get(root, ())))
            + (f"--url {addresses[root]} " if addresses[root] else ""),
            variables[root],
        )
        for root in roots
    )


def _refuse_nested(roots: Sequence[str]) -> None:
    for root in roots:
        for other in roots:
            if other.startswith(f"{root}/"):
                raise UsageError(
                    f"the index {other} would lie in the index {root}",
                    where="publish.index",
                    next=f"give each index a folder of its own, as `{BUILD_FOLDER}/rocm-7.2/simple` and `{BUILD_FOLDER}/rocm-6.4/simple`",
                )


def _address(root: str, recipes: Sequence[Recipe], roots: Sequence[str], url: str) -> str:
    if not url:
        own = tuple(dict.fromkeys(recipe.destination.url for recipe in recipes if recipe.destination.url))
        if len(own) > 1:
            raise UsageError(
                f"the index {root} would be served at {own[0]} and at {own[1]}",
                where="publish.url",
                next="let the recipes of one index name one address, or give --url",
            )
        return own[0] if own else ""
    if not is_index_address(url.replace("{root}", root)):
        raise UsageError(
            f"{url!r} is not an address that an index is served at",
            where="--url",
            next="give the http or https URL that installers use, as https://example.org/simple",
        )
    if len(roots) > 1 and "{root}" not in url:
        raise UsageError(
            f"the indexes {roots[0]} and {roots[1]} would have one address, {url}",
            where="--url",
            next="write {root} where their folders stand in it, as https://example.org/{root}",
        )
    return url.replace("{root}", root)


def _variable(root: str) -> str:
    name = re.sub(r"[^A-Z0-9]+", "_", re.sub(r"(^|/)simple$", "", root).upper())
    return f"{NUMBER}_{name}" if name else NUMBER
