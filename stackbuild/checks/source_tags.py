"""The verb `recipe outdated`: newer upstream tags than those that a recipe builds. Reads tags; changes nothing."""

from __future__ import annotations

import re
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

    `newest` is the highest release of all tags that are written as `ref` is, `in_line` the highest with the same first two
    numbers; "" where `ref` is that one. `problem` says why the answer is missing.
    """

    source: str
    url: str
    ref: str
    newest: str = ""
    in_line: str = ""
    problem: str = ""
    unreachable: bool = False
    """The server could not be asked."""

    @property
    def is_outdated(self) -> bool:
        return bool(self.newest or self.in_line)


def newer_tags(recipe: Recipe, mirror: Mirror | None) -> tuple[SourceTags, ...]:
    """Each git source of a recipe. A server that cannot be asked is a `problem`, not an error: the others are returned. None
    is asked about a commit, which has no place among its tags."""
    rows = []
    for name, source in sorted(recipe.sources.items()):
        if source.git is None or source.ref is None:
            continue
        try:
            tags = git.tags(source.git, mirror) if _TAG.fullmatch(source.ref) else ()
            rows.append(compare_tags(name, source.git, source.ref, tags))
        except (MachineLacks, StepFailed) as failure:
            rows.append(SourceTags(name, source.git, source.ref, problem=failure.what, unreachable=True))
    return tuple(rows)


def compare_tags(source: str, url: str, ref: str, tags: tuple[str, ...]) -> SourceTags:
    """One source against the tags of its repository. A commit or a branch has no place among them."""
    at = _TAG.fullmatch(ref)
    if at is None:
        return SourceTags(source, url, ref, problem="a commit or a branch: tags do not say what is newer")
    rows = [(numbers(m["version"]), tag) for tag in tags if (m := _TAG.fullmatch(tag)) and m["lead"] == at["lead"]]
    now = numbers(at["version"])
    newest = max(rows, default=(now, ref))
    line = max((row for row in rows if row[0][:2] == now[:2]), default=(now, ref))
    return SourceTags(
        source, url, ref, newest[1] if newest[0] > now else "", line[1] if now < line[0] < newest[0] else ""
    )
