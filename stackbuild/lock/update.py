"""Recipe → Lock: asks the world and writes down what it answered; reads it back; says when it is stale.

And the Inputs of a plan: the lock with what the base really got, and the content of local sources.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from stackbuild.actions import debian, image, package, snapshot, wheelhouse
from stackbuild.actions.job import Local
from stackbuild.core import digest
from stackbuild.core import yaml as yamlread
from stackbuild.core.errors import LockError, MachineLacks, RecipeError
from stackbuild.core.model import ValidationError
from stackbuild.core.resources import folder
from stackbuild.lock import dependencies as downloads
from stackbuild.model.components import Convertible, Hipify
from stackbuild.model.lock import Dep, File, Inputs, Lock, Pin, asked, deps_of, patches_of, questions
from stackbuild.model.recipe import Recipe
from stackbuild.plan.resolve import base_step
from stackbuild.recipe.load import Loaded
from stackbuild.sources import git, mirror
from stackbuild.store import atomic as files
from stackbuild.store.store import Store

HEADER = """\
# What the world answered to {file}. Written by `stackbuild lock --recipe {called}`; commit it beside the recipe.
"""


@dataclass(frozen=True)
class Made:
    """A lock, and what could not be asked for it, a line each: that stands as the lock before had it, or is open.

    `moved`: answers that changed though the question is the one of the lock before and should have the same answer for ever:
    the commit of a tag or branch, the digest of an image, of a package version, of a URL.
    """

    lock: Lock
    unasked: tuple[str, ...]
    moved: tuple[str, ...] = ()


def make(loaded: Loaded) -> Made:
    """Ask Debian's archive, git servers, registries and the package index.

    A question that cannot be asked keeps the answer it has in the lock beside the recipe, stale or not, as long as that
    question is the same; else it stays open (`lock.unlocked` names it): the rest is worth having. Raises StepFailed,
    LockError; MachineLacks where a base or a wheelhouse would be without any answer.
    """
    asking = _Asking(loaded)
    recipe, before, base = loaded.recipe, asking.before, loaded.recipe.base
    commits = _commits(recipe, asking)
    made = Lock(
        schema=1,
        asked=asked(recipe),
        questions=asking.now,
        packages=asking.needed("base.debian", before.packages, partial(debian.ask, base.debian)) if base.debian else {},
        image=(asking("base.image", before.image, partial(image.ask, base.image)) or "") if base.image else "",
        commits=commits,
        files=_files(recipe, asking),
        deps=_deps(recipe, commits, asking),
        wheelhouse=_wheelhouse(recipe, asking),
    )
    return Made(made, tuple(asking.unasked), _moved(before, made, asking.same))


Answer = TypeVar("Answer")


class _Asking:
    """Asks one question after the other; what cannot be asked is answered as before, where the question is the same."""

    def __init__(self, loaded: Loaded) -> None:
        self.now = questions(loaded.recipe)
        self.unasked: list[str] = []
        try:
            self.before = _parsed(loaded)
        except LockError:
            self.before = Lock.model_validate({"schema": 1, "asked": "0" * 64})
        fresh = self.before.asked == asked(loaded.recipe)
        self._then = self.now if fresh else self.before.questions

    def __call__(self, name: str, kept: Answer | None, ask: Callable[[], Answer]) -> Answer | None:
        """The answer now, else the one before to the same question, else None: open."""
        try:
            return self._asked(name, kept, ask)
        except MachineLacks as lacks:
            self.unasked.append(f"{name} is open: {lacks.what}")
            return None

    def needed(self, name: str, kept: Answer | None, ask: Callable[[], Answer]) -> Answer:
        """As a call, for what a lock cannot leave open. Raises MachineLacks."""
        return self._asked(name, kept, ask)

    def same(self, name: str) -> bool:
        """Whether this question was asked for the lock before too."""
        return name in self.now and self._then.get(name) == self.now[name]

    def _asked(self, name: str, kept: Answer | None, ask: Callable[[], Answer]) -> Answer:
        try:
            return ask()
        except MachineLacks as lacks:
            if not kept or not self.same(name):
                raise
            self.unasked.append(f"{name} stays as it was: {lacks.what}")
            return kept


def _commits(recipe: Recipe, asking: _Asking) -> dict[str, str]:
    known = asking.before.commits
    git_sources = {n: (s.git, s.ref or "") for n, s in recipe.sources.items() if s.git}
    found = {
        n: asking(f"sources.{n}", known.get(n), partial(git.ask, url, ref, mirror.given()))
        for n, (url, ref) in git_sources.items()
    }
    return {n: commit for n, commit in found.items() if commit}


def _files(recipe: Recipe, asking: _Asking) -> dict[str, File]:
    known = asking.before.files
    by_name = {n: s for n, s in recipe.sources.items() if s.debian or s.pypi}
    found = {n: asking(f"sources.{n}", known.get(n), partial(package.ask, s)) for n, s in by_name.items()}
    return {n: file for n, file in found.items() if file}


def _wheelhouse(recipe: Recipe, asking: _Asking) -> dict[str, dict[str, Pin]]:
    runtime = recipe.verify.runtime if recipe.verify else ()
    known = asking.before.wheelhouse
    return {
        python: asking.needed(f"wheelhouse.{python}", known.get(python), partial(wheelhouse.ask, runtime, python))
        for python in recipe.python
        if runtime
    }


def _deps(recipe: Recipe, commits: Mapping[str, str], asking: _Asking) -> dict[str, tuple[Dep, ...]]:
    """What each source's own build would download. A digest that cannot be asked is that of the same URL before."""
    found: dict[str, tuple[Dep, ...]] = {}
    for name in (n for n in deps_of(recipe) if n in commits):
        unmoved = commits[name] == asking.before.commits.get(name)
        kept = asking.before.deps.get(name) if unmoved else None
        rows = asking(f"deps.{name}", kept, partial(downloads.ask, recipe, name, commits[name]))
        if rows is not None:
            found[name] = _with_known_digests(name, rows, asking)
    return found


def _moved(before: Lock, after: Lock, same: Callable[[str], bool]) -> tuple[str, ...]:
    """What means something else now than in the lock before, a line each. An abbreviated commit that got longer has not
    moved."""
    found = [(f"sources.{n}", before.commits.get(n, ""), now) for n, now in after.commits.items()]
    found.append(("base.image", before.image, after.image))
    for name, now in after.files.items():
        then = before.files.get(name)
        if then and then.version == now.version:
            found.append((f"sources.{name}", then.sha256, now.sha256))
    lines = [f"{n}: {old} → {new}" for n, old, new in found if same(n) and old and new and not new.startswith(old)]
    known = {dep.url: dep.digest for rows in before.deps.values() for dep in rows if dep.digest}
    for name, rows in after.deps.items():
        changed = (d for d in rows if d.digest and known.get(d.url, d.digest) != d.digest)
        lines += [f"deps.{name}: {d.url}: {known[d.url]} → {d.digest}" for d in changed]
    return tuple(lines)


def _with_known_digests(name: str, rows: tuple[Dep, ...], asking: _Asking) -> tuple[Dep, ...]:
    known = {dep.url: dep.digest for dep in asking.before.deps.get(name, ()) if dep.digest}
    kept = (dep.url for dep in rows if not dep.digest and dep.url in known)
    asking.unasked += [f"deps.{name}: the digest of {url} stays as it was: it cannot be fetched" for url in kept]
    return tuple(d if d.digest else d.model_copy(update={"digest": known.get(d.url, "")}) for d in rows)


def write(lock: Lock, loaded: Loaded) -> None:
    """Write the lock beside its recipe, whole or not at all. Raises OSError."""
    text = HEADER.format(file=_file(loaded), called=loaded.called) + "".join(
        _lines(lock.model_dump(mode="json", by_alias=True), 0)
    )
    files.write_whole(loaded.lock_path, text, loaded.lock_path.parent)


def _file(loaded: Loaded) -> str:
    """The name of the recipe's file: that of its lock without `.lock`."""
    return loaded.lock_path.name.removesuffix(".lock.yaml") + ".yaml"


def _lines(data: Mapping[str, object], depth: int) -> list[str]:
    """Block-style YAML of nested mappings with JSON scalars: diffs of a lock are read by people."""
    made = []
    for name, value in sorted(
        data.items(), key=lambda item: (item[0] not in ("schema", "asked", "questions"), item[0])
    ):
        lead = "  " * depth + (name if name.replace("-", "").replace("_", "").isalpha() else json.dumps(name))
        if isinstance(value, dict) and value:
            made += [f"{lead}:\n", *_lines(value, depth + 1)]
        elif isinstance(value, list) and value and isinstance(value[0], dict):
            made += [f"{lead}:\n", *(f"{'  ' * (depth + 1)}- {json.dumps(row)}\n" for row in value)]
        else:
            made.append(f"{lead}: {json.dumps(value)}\n")
    return made


def read(loaded: Loaded) -> Lock:
    """The lock beside the recipe. Raises LockError where there is none, it is broken, or it answers other questions."""
    lock = _parsed(loaded)
    if lock.asked != asked(loaded.recipe):
        raise LockError(
            "the lock is stale: the recipe asks for other things now",
            where=str(loaded.lock_path),
            next=_again(loaded),
        )
    return lock


def _again(loaded: Loaded) -> str:
    return f"run `stackbuild lock --recipe {loaded.called}`"


def _parsed(loaded: Loaded) -> Lock:
    again = _again(loaded)
    try:
        data, _ = yamlread.compose(loaded.lock_path.read_text("utf-8"), str(loaded.lock_path))
        return Lock.model_validate(data)
    except FileNotFoundError:
        raise LockError("the recipe has no lock", where=str(loaded.lock_path), next=again) from None
    except ValidationError as error:
        said = f"the lock is broken: {error.errors()[0]['msg']}"
        raise LockError(said, where=str(loaded.lock_path), next=again) from None
    except (RecipeError, UnicodeDecodeError) as error:
        first = str(error.mistakes[0]).split("\n")[0] if isinstance(error, RecipeError) else "it is not UTF-8"
        raise LockError(f"the lock is broken: {first}", where=str(loaded.lock_path), next=again) from None


def local_sources(loaded: Loaded) -> dict[str, Local]:
    """Where the local sources lie, by name."""
    found = {}
    for name, source in loaded.recipe.sources.items():
        if source.bundled is not None:
            found[name] = Local(folder(source.bundled), source.exclude)
        elif source.path is not None:
            found[name] = Local((loaded.folder / source.path).resolve(), source.exclude)
        if source.patches is not None:
            found[patches_of(name)] = Local(patch_folder(loaded, source.patches))
    for name, asked_for in conversions(loaded.recipe).items():
        if asked_for.patches is not None:
            found[patches_of(f"hipify.{name}")] = Local(patch_folder(loaded, asked_for.patches))
    return found


def conversions(recipe: Recipe) -> dict[str, Hipify]:
    """What is to be converted to HIP, by component."""
    return {n: c.hipify for n, c in recipe.components.items() if isinstance(c, Convertible) and c.hipify}


def places(loaded: Loaded) -> dict[str, Local]:
    """Where everything lies that steps take from this machine: local sources, and the recipe's folder for hipify rules."""
    converted = {f"hipify.{name}": Local(loaded.folder) for name in conversions(loaded.recipe)}
    return {**local_sources(loaded), **converted}


def _trees(loaded: Loaded) -> dict[str, str]:
    """Digests of what lies on this machine and decides: local sources, patches, hipify rules with the code they steer."""
    trees = {name: snapshot.content(local) for name, local in local_sources(loaded).items()}
    for name, asked_for in conversions(loaded.recipe).items():
        from stackbuild.hipify.stage import code_and_rules, rules_of  # recipes without `hipify:` need none of it

        trees[f"hipify.{name}"] = code_and_rules(rules_of(asked_for.rules, loaded.folder))
    return trees


def patch_folder(loaded: Loaded, name: str) -> Path:
    """Where a series of patches lies: beside the recipe, else with stackbuild."""
    beside = loaded.folder / "patches" / name
    return beside if beside.is_dir() else folder("patches") / name


def observe(loaded: Loaded, lock: Lock, store: Store) -> Inputs:
    """The lock, the content of local sources now, and what the base really got if it has been built."""
    trees = _trees(loaded)
    if loaded.recipe.base.image is not None:
        return Inputs.of(lock, trees, dockerfile=digest.of_file(folder("Dockerfile.base")))
    inputs = Inputs.of(lock, trees)
    record = store.find(base_step(loaded.recipe, inputs).key)
    if record is not None and "packages" in record.notes:
        return Inputs.of(lock, trees, json.loads(record.notes["packages"]))
    return inputs


def drift(lock: Lock, inputs: Inputs) -> tuple[str, ...]:
    """How the packages really installed differ from the locked ones, a line each."""
    now = dict(inputs.packages)
    lines = []
    for name in sorted(lock.packages.keys() | now.keys()):
        before, after = lock.packages.get(name), now.get(name)
        if before != after:
            lines.append(f"{name} {before or '(not in the lock)'} → {after or '(not installed)'}")
    return tuple(lines)
