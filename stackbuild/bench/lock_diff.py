"""What changed between two builds, by their locks: the other half of an artifact, beside the wheel's own bytes.

A published wheel has its lock beside it, as `WHEEL.lock.yaml`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from stackbuild.core import digest, yaml
from stackbuild.core.errors import RecipeError, UsageError
from stackbuild.core.model import ValidationError
from stackbuild.core.model_mistakes import first_mistake
from stackbuild.core.plain_file import read_named_file
from stackbuild.model.lock import Lock
from stackbuild.model.results import ChangedInput, InputComparison


def lock_beside(wheel: Path) -> Path:
    """Where a wheel's lock lies, if it was kept."""
    return wheel.with_name(f"{wheel.name}.lock.yaml")


def compare_inputs(baseline: Path, candidate: Path) -> InputComparison:
    """The two locks' digests, and every input that differs. Raises UsageError for a file that is not a lock."""
    before, after = _read(baseline), _read(candidate)
    theirs, ours = dict(_answers(before)), dict(_answers(after))
    moved_rows = tuple(
        ChangedInput(what, theirs.get(what, ""), ours.get(what, ""))
        for what in dict.fromkeys([*theirs, *ours])
        if theirs.get(what) != ours.get(what)
    )
    return InputComparison(digest.of_file(baseline), digest.of_file(candidate), moved_rows)


def _read(path: Path) -> Lock:
    try:
        return Lock.from_text(read_named_file(path, yaml.MAX_BYTES).decode("utf-8"), str(path))
    except FileNotFoundError:
        what = "there is no such file"
    except RecipeError as error:
        what = f"not a lock: {error.mistakes[0].what}"
    except ValidationError as error:
        what = f"not a lock: {first_mistake(error)}"
    except (OSError, ValueError) as error:
        what = f"cannot read it: {error}"
    raise UsageError(what, where=str(path), next="give the lock that the wheel was built under, as stackbuild wrote it")


def _answers(lock: Lock) -> Iterator[tuple[str, str]]:
    """Every answer of a lock by what it is of, sources first."""
    yield from _prefix_keys("source", lock.commits)
    yield from _prefix_keys("source", {name: f"{file.version} {file.sha256[:12]}" for name, file in lock.files.items()})
    for source, deps in lock.deps.items():
        yield from _prefix_keys(f"dependency of {source}:", {d.name: f"{d.url} {d.digest[:19]}".strip() for d in deps})
    if lock.image:
        yield "base image", lock.image
    yield from _prefix_keys("base package", lock.packages)
    for python, pins in lock.wheelhouse.items():
        yield from _prefix_keys(f"Python {python}:", {n: f"{p.version} {p.sha256[0][:12]}" for n, p in pins.items()})


def _prefix_keys(kind: str, answers: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    return ((f"{kind} {name}", answer) for name, answer in answers.items())
