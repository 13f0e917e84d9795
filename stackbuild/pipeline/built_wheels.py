"""The wheels of a build: what the stages after it take."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from stackbuild.core import digest
from stackbuild.core.digest import plain
from stackbuild.model.lock import Lock
from stackbuild.model.materials import materials_of
from stackbuild.model.plan import Plan
from stackbuild.model.recipe import Recipe
from stackbuild.pipeline.judges import judges_digest
from stackbuild.recipe.lock_file import lock_text

DRIFT_HEADER = "# The lock {name}, with the Debian packages that the base got: the archive had moved on.\n"


@dataclass(frozen=True)
class BuiltWheels:
    """The build's result: the wheels, and the wheelhouse that they are verified in, with its digest (None and "" without).

    `plan` can make the wheelhouse again where its stored files turn out damaged. `lock` is the file that they were
    built under.
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

    @cached_property
    def lock_data(self) -> bytes:
        """The lock's bytes, or where Debian's archive moved on, a lock with the packages that the base really got.

        It is published beside the wheels, whose SBOM lists those packages.
        """
        data = self.lock.read_bytes()
        packages = {
            material.name: material.version
            for material in materials_of(self.plan.steps)
            if material.role == "build-package"
        }
        lock = Lock.from_text(data.decode("utf-8"), str(self.lock))
        if not packages or packages == lock.packages:
            return data
        changed_lock = lock.model_copy(update={"packages": packages})
        return (DRIFT_HEADER.format(name=self.lock.name) + lock_text(changed_lock)).encode()

    def stage_key(self, stage: str, *more: object) -> str:
        """The key under which a stage's result is remembered: these bytes, this recipe's settings, this stackbuild."""
        files = list(self.digests.values())
        return digest.of_value([stage, judges_digest(), files, self.wheelhouse_digest, *map(plain, more)])
