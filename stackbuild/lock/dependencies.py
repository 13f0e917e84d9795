"""What the sources' own builds would download, asked of the sources at their locked commits: `stackbuild lock`."""

from __future__ import annotations

import tempfile
from pathlib import Path

from stackbuild.core.cancel import Stopper
from stackbuild.core.errors import LockError, MachineLacks
from stackbuild.model.components import MIGraphXEp
from stackbuild.model.lock import FILES, VERSION_FILES, Dep, DownloadingComponent, deps_of, is_elsewhere
from stackbuild.model.recipe import Recipe
from stackbuild.sources import git
from stackbuild.sources.archive import unpack
from stackbuild.sources.http import DownloadRequest, fetch
from stackbuild.sources.mirror import Mirror
from stackbuild.sources.upstream import READERS, abseil_of_protobuf, version_in

PROTOBUF, ABSEIL = "protobuf", "absl"
"""The download of AMD's plugin EPs that would download more, and what that is."""


def ask(recipe: Recipe, name: str, commit: str, mirror: Mirror | None) -> tuple[Dep, ...]:
    """What the build of one source would download, each with its digest where its server could be reached.

    Raises LockError, StepFailed, MachineLacks where the source itself cannot be read.
    """
    kind, component = deps_of(recipe)[name]
    source = recipe.sources[name]
    text = git.read(git.Revision(source.git or "", source.ref or "", commit, mirror), FILES[kind])
    rows = [dep for listed_file in READERS[kind](text) for dep in _whole(listed_file, name, component, mirror)]
    return tuple({dep.name: dep for dep in rows}.values())


def version(recipe: Recipe, name: str, commit: str, mirror: Mirror | None) -> str:
    """The version that a source says it is at its commit, "" where it says none. Raises StepFailed, MachineLacks."""
    kind, _ = deps_of(recipe)[name]
    source = recipe.sources[name]
    return version_in(git.read(git.Revision(source.git or "", source.ref or "", commit, mirror), VERSION_FILES[kind]))


def _whole(dep: Dep, source: str, component: DownloadingComponent, mirror: Mirror | None) -> tuple[Dep, ...]:
    """The dependency with a digest, and what it would download itself. It is fetched where its list has no digest.

    Dependencies of the base, and those that cannot be reached, stay as they are."""
    nested = isinstance(component, MIGraphXEp) and dep.name == PROTOBUF
    if (dep.digest and not nested) or is_elsewhere(dep, component):
        return (dep,)
    if dep.url.startswith("https://cget.invalid/"):
        raise LockError(
            f"sources.{source}: its requirements.txt wants {dep.name} of cget's own recipes, which have no archive",
            next=f"install it in the base and list {dep.name} in `from_base`",
        )
    try:
        with tempfile.TemporaryDirectory(prefix="stackbuild-lock-") as folder:
            archive = Path(folder) / "archive"
            sha256 = fetch(DownloadRequest(dep.url, dep.digest), archive, mirror, Stopper())
            inner = _abseil_of(archive, Path(folder) / "tree") if nested else None
    except MachineLacks:
        return (dep,)
    whole = dep if dep.digest else dep.model_copy(update={"digest": f"sha256:{sha256}"})
    return (whole, *(_whole(inner, source, component, mirror) if inner else ()))


def _abseil_of(archive: Path, tree: Path) -> Dep | None:
    tree.mkdir()
    unpack(archive, tree)
    listed_file = tree / "cmake" / "dependencies.cmake"
    return abseil_of_protobuf(listed_file.read_text("utf-8", "replace")) if listed_file.is_file() else None
