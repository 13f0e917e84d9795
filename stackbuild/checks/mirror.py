"""What a mirror lacks of what a plan's steps fetch, all of it at once: a half-filled one is found before the first step."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from stackbuild.model.plan import Step
from stackbuild.plan.inputs import is_unlocked
from stackbuild.sources import git, image_registry
from stackbuild.sources.http import in_mirror, place_inside
from stackbuild.sources.mirror import Mirror
from stackbuild.sources.oci import reference

FIRST_DIGITS = 12
"""So much of a commit is shown."""


def lacking(steps: Iterable[Step], mirror: Mirror) -> tuple[str, ...]:
    """The places in the mirror that those steps would look for and not find, in order, each once.

    An archive's and a repository's place is its URL without `https://`. A repository that is there is asked for the commit.
    Packages need the whole output of their step, as a bundle has it. Which wheels pip would want is not looked at, and neither
    are digests: those are checked as the files are read.
    """
    return tuple(dict.fromkeys(place for step in steps for place in _lacking_of(step, mirror)))


def refuse_lacking(steps: Iterable[Step], mirror: Mirror) -> None:
    """Before the first step. Raises MachineLacks with all that the mirror lacks."""
    if places := lacking(steps, mirror):
        raise mirror.lacks_all(places)


def _lacking_of(step: Step, mirror: Mirror) -> Iterable[str]:
    params = dict(step.params)
    if is_unlocked(step.params):
        return []  # what it would fetch is not known
    match step.action:
        case "deps":
            return [place_inside(url, mirror) for url in params if in_mirror(url, mirror) is None]
        case "archive":
            return [place_inside(url, mirror) for url in (params["url"],) if in_mirror(url, mirror) is None]
        case "git":
            return _lacking_commit(git.Revision(params["url"], params["ref"], params["commit"], mirror))
        case "debian" | "image" | "package" if mirror.has_packages:
            return [] if _has_output(step, mirror) else [f"{_output(step)} (the output of {step.name})"]
        case "image" if not _has_output(step, mirror) and image_registry.in_mirror(params["image"], mirror) is None:
            return [f"images/{'/'.join(reference(params['image']))}"]
        case "wheelhouse" if mirror.has_packages and not (mirror.folder / "wheels").is_dir():
            return ["wheels/"]
    return []


def _lacking_commit(revision: git.Revision) -> list[str]:
    place = git.in_mirror(revision.url, revision.mirror)
    if place is None:
        return [git.usual_place(revision.url)]
    if git.has_commit(place, revision.commit):
        return []
    return [f"{git.usual_place(revision.url)}: its commit {revision.commit[:FIRST_DIGITS]}"]


def _has_output(step: Step, mirror: Mirror) -> bool:
    return (mirror.folder / _output(step)).is_file()


def _output(step: Step) -> Path:
    return Path("objects", f"{step.key}.json")
