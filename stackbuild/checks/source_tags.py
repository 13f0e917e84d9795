"""The verb `recipe outdated`: newer upstream tags than those that a recipe builds. Reads tags; changes nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from stackbuild.core.errors import MachineLacks, StepFailed
from stackbuild.core.versions import numbers
from stackbuild.model.recipe import Recipe
from stackbuild.sources import git
from stackbuild.sources.mirror import Mirror

_TAG = re.compile(r"(?P<lead>[A-Za-z_-]*?)(?P<version>[0-9]+(?:\.[0-9]+)+)")
"""A release's tag: words, then a version of two numbers or more, and nothing after it (no `-rc1`)."""


@dataclass(frozen=True)
class SourceTags:
    """What a git source is at, and what is newer upstream.

    `newest` is the highest release of all tags that are written as the source's own, `in_line` the highest with the same first
    two numbers; "" where the source is at that one. `tag` is the release that a commit was tagged with. `problem` says why a
    source was not compared.
    """

    source: str
    url: str
    ref: str
    newest: str = ""
    in_line: str = ""
    problem: str = ""
    unreachable: bool = False
    """The server could not be asked, or a repository that should have tags has none."""
    tag: str = ""

    @property
    def is_outdated(self) -> bool:
        return bool(self.newest or self.in_line)


def newer_tags(recipe: Recipe, mirror: Mirror | None) -> tuple[SourceTags, ...]:
    """Each git source of a recipe. A server that cannot be asked is a `problem`, not an error: the others are returned."""
    rows = []
    for name, source in sorted(recipe.sources.items()):
        if source.git is None or source.ref is None:
            continue
        try:
            tags = git.tags(source.git, mirror)
        except (MachineLacks, StepFailed) as failure:
            rows.append(SourceTags(name, source.git, source.ref, problem=failure.what, unreachable=True))
            continue
        if tags or not (mirror or _TAG.fullmatch(source.ref)):
            rows.append(compare_tags(name, source.git, source.ref, tags))
        else:  # a repository that was fetched by its commit alone
            where = "the mirror's repository" if mirror else "its repository"
            rows.append(SourceTags(name, source.git, source.ref, problem=f"{where} has no tags", unreachable=True))
    return tuple(rows)


def compare_tags(source: str, url: str, ref: str, tags: Mapping[str, str]) -> SourceTags:
    """One source against the tags of its repository, each with its commit. A commit is what it was tagged with; one that no
    release's tag names has no place among them, and neither has a branch."""
    tag = ref if _TAG.fullmatch(ref) else _highest(name for name, commit in tags.items() if _is_at(ref, commit))
    at = _TAG.fullmatch(tag)
    if at is None:
        latest = _highest(tags)
        what = "a commit that no release's tag names" if git.is_commit(ref) else "a branch"
        hint = f"look at {latest}, the highest of its tags" if latest else "its repository has no release's tag"
        return SourceTags(source, url, ref, problem=f"not compared: {what}; {hint}")
    rows = [(numbers(m["version"]), name) for name in tags if (m := _TAG.fullmatch(name)) and m["lead"] == at["lead"]]
    now = numbers(at["version"])
    newest = max(rows, default=(now, tag))
    line = max((row for row in rows if row[0][:2] == now[:2]), default=(now, tag))
    return SourceTags(
        source,
        url,
        ref,
        newest[1] if newest[0] > now else "",
        line[1] if now < line[0] < newest[0] else "",
        tag=tag if tag != ref else "",
    )


def _is_at(ref: str, commit: str) -> bool:
    return git.is_commit(ref) and commit.startswith(ref)


def _highest(names: Iterable[str]) -> str:
    """The release's tag with the highest numbers, however it is written; "" where there is none."""
    rows = [(numbers(m["version"]), name) for name in names if (m := _TAG.fullmatch(name))]
    return max(rows, default=((), ""))[1]
