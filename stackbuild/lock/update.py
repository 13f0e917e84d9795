"""Recipe → Lock: asks archives, git servers, registries and package indexes what a recipe's names mean now."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from stackbuild.core.errors import LockError, MachineLacks, StepFailed
from stackbuild.lock import dependencies
from stackbuild.lock.dependencies import ABSEIL, PROTOBUF
from stackbuild.model.loaded_recipe import LoadedRecipe
from stackbuild.model.lock import (
    VERSION_FILES,
    Dep,
    DownloadingComponent,
    File,
    Lock,
    Pin,
    deps_of,
    is_elsewhere,
    questions,
    questions_digest,
)
from stackbuild.model.recipe import Recipe, Source
from stackbuild.recipe.lock_file import parse_lock
from stackbuild.sources import debian_archive, git, image_registry, python_index
from stackbuild.sources.mirror import Mirror


@dataclass(frozen=True)
class LockUpdate:
    """A lock, and the questions that nobody could answer for it, a line each. For those it has the previous answer, or none.

    `moves` has the answers that changed though the question did not and should always have the same answer: the commit
    of a tag or branch, the digest of an image, of a package version, of a URL.
    """

    lock: Lock
    unreachable: tuple[str, ...]
    moves: tuple[str, ...] = ()
    unchanged: bool = False
    """It says what the lock beside the recipe says: there is nothing to write."""


def update(loaded_recipe: LoadedRecipe, mirror: Mirror | None = None) -> LockUpdate:
    """Ask Debian's archive, git servers, registries and the package index.

    A question that cannot be asked keeps the answer that the lock beside the recipe has, stale or not, where the
    question is the same. Otherwise it stays open, and `lock.unlocked` names it: the other answers are of use without
    it. Raises StepFailed, LockError; MachineLacks where a base or a wheelhouse would be without any answer.
    """
    resolver = _Resolver(loaded_recipe, mirror)
    recipe, before, base = loaded_recipe.recipe, resolver.before, loaded_recipe.recipe.base
    commits = _commits(recipe, resolver)
    lock = Lock(
        schema=1,
        asked=questions_digest(recipe),
        questions=resolver.now,
        packages=resolver.require("base.debian", before.packages, partial(debian_archive.ask, base.debian, mirror))
        if base.debian
        else {},
        image=(resolver("base.image", before.image, partial(image_registry.ask, base.image, mirror)) or "")
        if base.image
        else "",
        commits=commits,
        files=_files(recipe, resolver),
        deps=_deps(recipe, commits, resolver),
        versions=_versions(recipe, commits, resolver),
        wheelhouse=_wheelhouse(recipe, resolver),
    )
    return LockUpdate(lock, tuple(resolver.unreachable), _moved_inputs(before, lock, resolver.same), lock == before)


ResponseT = TypeVar("ResponseT")


class _Resolver:
    """Asks one question after the other; what cannot be asked is answered as before, where the question is the same."""

    def __init__(self, loaded_recipe: LoadedRecipe, mirror: Mirror | None) -> None:
        self.mirror = mirror
        self.now = questions(loaded_recipe.recipe)
        self.unreachable: list[str] = []
        try:
            self.before = parse_lock(loaded_recipe)
        except LockError:
            self.before = Lock.model_validate({"schema": 1, "asked": "0" * 64})
        fresh = self.before.asked == questions_digest(loaded_recipe.recipe)
        self._then = self.now if fresh else self.before.questions

    def __call__(self, name: str, previous: ResponseT | None, ask: Callable[[], ResponseT]) -> ResponseT | None:
        """The answer now, else the previous answer to the same question, else None: the question stays open.

        A question that has no answer (a tag that is gone) is as open as one that cannot be asked: the others' answers are
        of use without it.
        """
        try:
            return self._answer(name, previous, ask)
        except (MachineLacks, StepFailed, LockError) as failure:
            self.unreachable.append(f"{name} is open: {failure.what}")
            return None

    def require(self, name: str, previous: ResponseT | None, ask: Callable[[], ResponseT]) -> ResponseT:
        """The same for a question that a lock must answer. Raises MachineLacks."""
        return self._answer(name, previous, ask)

    def same(self, name: str) -> bool:
        """Whether this question was asked for the lock before too."""
        return name in self.now and self._then.get(name) == self.now[name]

    def _answer(self, name: str, previous: ResponseT | None, ask: Callable[[], ResponseT]) -> ResponseT:
        try:
            return ask()
        except MachineLacks as lacks:
            if not previous or not self.same(name):
                raise
            self.unreachable.append(f"{name} stays as it was: {lacks.what}")
            return previous
        except (StepFailed, LockError) as failure:
            if not previous or not self.same(name):
                raise
            self.unreachable.append(f"{name} stays as it was, and has no answer now: {failure.what}")
            return previous


def _commits(recipe: Recipe, resolver: _Resolver) -> dict[str, str]:
    locked_commits = resolver.before.commits
    git_sources = {n: (s.git, s.ref or "") for n, s in recipe.sources.items() if s.git}
    commits = {
        n: resolver(f"sources.{n}", locked_commits.get(n), partial(git.ask, url, ref, resolver.mirror))
        for n, (url, ref) in git_sources.items()
    }
    return {n: commit for n, commit in commits.items() if commit}


def _files(recipe: Recipe, resolver: _Resolver) -> dict[str, File]:
    locked_files = resolver.before.files
    by_name = {n: s for n, s in recipe.sources.items() if s.debian or s.pypi}
    files = {
        n: resolver(f"sources.{n}", locked_files.get(n), partial(_ask_file, s, resolver.mirror))
        for n, s in by_name.items()
    }
    return {n: file for n, file in files.items() if file}


def _ask_file(source: Source, mirror: Mirror | None) -> File:
    if source.debian is not None:
        return debian_archive.ask_package(source.debian, source.suite or "", mirror)
    return python_index.ask_sdist(source.pypi or "", mirror)


def _wheelhouse(recipe: Recipe, resolver: _Resolver) -> dict[str, dict[str, Pin]]:
    runtime = recipe.verify.runtime if recipe.verify else ()
    locked_pins = resolver.before.wheelhouse
    return {
        python: resolver.require(
            f"wheelhouse.{python}", locked_pins.get(python), partial(python_index.ask, runtime, python, resolver.mirror)
        )
        for python in recipe.python
        if runtime
    }


def _deps(recipe: Recipe, commits: Mapping[str, str], resolver: _Resolver) -> dict[str, tuple[Dep, ...]]:
    """What each source's own build would download. A digest that cannot be asked is that of the same URL before."""
    deps: dict[str, tuple[Dep, ...]] = {}
    for name in (n for n in deps_of(recipe) if n in commits):
        unmoved = commits[name] == resolver.before.commits.get(name)
        locked_row = resolver.before.deps.get(name) if unmoved else None
        rows = resolver(
            f"deps.{name}", locked_row, partial(dependencies.ask, recipe, name, commits[name], resolver.mirror)
        )
        if rows is not None:
            whole_rows = _with_abseil(name, rows, resolver)
            deps[name] = _with_known_digests(name, whole_rows, deps_of(recipe)[name][1], resolver)
    return deps


def _versions(recipe: Recipe, commits: Mapping[str, str], resolver: _Resolver) -> dict[str, str]:
    """What the sources say they are. One that cannot be read is what it was before at the same commit, or is not
    checked against anything: `_deps` names the source."""
    versions = {}
    for name, (kind, _) in deps_of(recipe).items():
        if name not in commits or kind not in VERSION_FILES:
            continue
        before = resolver.before
        version_before = (
            before.versions.get(name, "") if commits[name].startswith(before.commits.get(name) or "-") else ""
        )
        try:
            versions[name] = dependencies.version(recipe, name, commits[name], resolver.mirror)
        except (MachineLacks, StepFailed, LockError):
            versions[name] = version_before
    return {name: version for name, version in versions.items() if version}


def _moved_inputs(before: Lock, after: Lock, same: Callable[[str], bool]) -> tuple[str, ...]:
    """Each input whose meaning differs from the previous lock's, a line each. An abbreviated commit that is longer
    now is the same input."""
    changes = [(f"sources.{n}", before.commits.get(n, ""), now) for n, now in after.commits.items()]
    changes.append(("base.image", before.image, after.image))
    for name, now in after.files.items():
        then = before.files.get(name)
        if then and then.version == now.version:
            changes.append((f"sources.{name}", then.sha256, now.sha256))
    lines = [f"{n}: {old} → {new}" for n, old, new in changes if same(n) and old and new and not new.startswith(old)]
    digests = {dep.url: dep.digest for rows in before.deps.values() for dep in rows if dep.digest}
    for name, rows in after.deps.items():
        changed_rows = (d for d in rows if d.digest and digests.get(d.url, d.digest) != d.digest)
        lines += [f"deps.{name}: {d.url}: {digests[d.url]} → {d.digest}" for d in changed_rows]
    return tuple(lines)


def _with_abseil(name: str, rows: tuple[Dep, ...], resolver: _Resolver) -> tuple[Dep, ...]:
    """The rows, with what an archive names that cannot be read now as it was before: the abseil that protobuf would clone."""
    before = {dep.name: dep for dep in resolver.before.deps.get(name, ())}
    abseil = before.get(ABSEIL)
    if abseil is None or any(dep.name == ABSEIL for dep in rows):
        return rows
    unread = (
        dep for dep in rows if dep.name == PROTOBUF and not dep.digest and dep.url == before.get(PROTOBUF, dep).url
    )
    at = next((rows.index(dep) + 1 for dep in unread), None)
    return rows if at is None else (*rows[:at], abseil, *rows[at:])


def _with_known_digests(
    name: str, rows: tuple[Dep, ...], component: DownloadingComponent, resolver: _Resolver
) -> tuple[Dep, ...]:
    digests = {dep.url: dep.digest for dep in resolver.before.deps.get(name, ()) if dep.digest}
    urls = (dep.url for dep in rows if not dep.digest and dep.url in digests and not is_elsewhere(dep, component))
    resolver.unreachable += [f"deps.{name}: the digest of {url} stays as it was: it cannot be fetched" for url in urls]
    return tuple(d if d.digest else d.model_copy(update={"digest": digests.get(d.url, "")}) for d in rows)
