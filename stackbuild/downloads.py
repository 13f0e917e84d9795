"""What the sources' own builds would download, asked of the sources at their locked commits: `stackbuild lock`."""

from __future__ import annotations

import tempfile
from pathlib import Path

from stackbuild import git, mirror
from stackbuild.errors import LockError, MachineLacks
from stackbuild.fetch import Wanted, fetch
from stackbuild.lock import FILES, Dep, Downloading, deps_of, is_elsewhere
from stackbuild.recipe import Recipe
from stackbuild.stopper import Stopper
from stackbuild.upstream import READERS


def ask(recipe: Recipe, commits: dict[str, str]) -> dict[str, tuple[Dep, ...]]:
    """Every source's downloads, each with its digest. Raises LockError, StepFailed, MachineLacks."""
    found = {}
    for name, (kind, component) in deps_of(recipe).items():
        source = recipe.sources[name]
        if source.git is not None and name in commits:
            text = git.read(source.git, source.ref or "", commits[name], FILES[kind], mirror.given())
            found[name] = tuple(_whole(dep, name, component) for dep in READERS[kind](text))
    return found


def _whole(dep: Dep, source: str, component: Downloading) -> Dep:
    """The dependency with a digest, by fetching it where its list has none; those of the base, and what nobody has, are
    left as they are."""
    if dep.digest or is_elsewhere(dep, component):
        return dep
    if dep.url.startswith("https://cget.invalid/"):
        raise LockError(
            f"sources.{source}: its requirements.txt wants {dep.name} of cget's own recipes, which have no archive",
            next=f"install it in the base and list {dep.name} in `from_base`",
        )
    try:
        with tempfile.TemporaryDirectory(prefix="stackbuild-lock-") as folder:
            sha256 = fetch(Wanted(dep.url), Path(folder) / "archive", mirror.given(), Stopper())
    except MachineLacks:
        return dep
    return dep.model_copy(update={"digest": f"sha256:{sha256}"})
