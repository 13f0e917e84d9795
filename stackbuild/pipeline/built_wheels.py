"""The wheels of a build: what the stages after it take."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from stackbuild.core import digest
from stackbuild.core.digest import plain
from stackbuild.model.plan import Plan
from stackbuild.model.recipe import Recipe
from stackbuild.pipeline.judges import judges_digest


@dataclass(frozen=True)
class BuiltWheels:
    """The build's result: the wheels, and the wheelhouse that they are verified in, with its digest (None and "" without).

    `plan` can make the wheelhouse again where its stored files turn out damaged. `lock` is what they were built under.
    """

    recipe: Recipe
    plan: Plan
    wheels: tuple[Path, ...]
    wheelhouse: Path | None
    wheelhouse_digest: str
    lock: Path

    @cached_property
    def digests(self) -> dict[Path, str]:
        """sha256 of each wheel's bytes: they are hashed once in a run."""
        return {wheel: digest.of_file(wheel) for wheel in self.wheels}

    def stage_key(self, stage: str, *more: object) -> str:
        """The key under which a stage's result is remembered: these bytes, this recipe's settings, this stackbuild."""
        files = list(self.digests.values())
        return digest.of_value([stage, judges_digest(), files, self.wheelhouse_digest, *map(plain, more)])
