"""The Lock: what the world answered to a recipe's questions. Committed beside the recipe as `NAME.lock.yaml`.

And Inputs: everything a plan stands on: the lock as the world really is now (Debian's archive moves) and the content of
local sources.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from stackbuild import digest
from stackbuild.model import Field, Model
from stackbuild.recipe import Recipe


class Pin(Model):
    """One locked wheel of the wheelhouse."""

    version: str
    sha256: tuple[str, ...] = Field(min_length=1, description="Digests of the files that may be used.")


class Lock(Model):
    """What the world answered, and to which questions (`asked` is the digest of those)."""

    schema_: Literal[1] = Field(alias="schema")
    asked: str = Field(pattern=r"^[0-9a-f]{64}$")
    packages: dict[str, str] = Field({}, description="Debian packages of the base, name to version.")
    commits: dict[str, str] = Field({}, description="Git sources, name to commit.")
    wheelhouse: dict[str, dict[str, Pin]] = Field({}, description="Python version to distribution to pin.")


def asked(recipe: Recipe) -> str:
    """Digest of the questions a lock answers: the recipe's base, git refs, and the wheelhouse it verifies in."""
    questions = {
        "base": recipe.base,
        "git": {n: (s.git, s.ref, s.submodules) for n, s in recipe.sources.items() if s.git},
        "python": recipe.python,
        "runtime": recipe.verify.runtime if recipe.verify else (),
    }
    return digest.of_value(questions)


@dataclass(frozen=True)
class Inputs:
    """What a plan stands on: packages really installed, commits, wheel pins, digests of local trees and archives."""

    packages: tuple[tuple[str, str], ...]
    commits: tuple[tuple[str, str], ...]
    wheelhouse: tuple[tuple[str, str, str, tuple[str, ...]], ...]
    """Rows of Python version, distribution, version, sha256 digests."""
    trees: tuple[tuple[str, str], ...]
    """Local sources, name to the digest of their files."""

    @classmethod
    def of(cls, lock: Lock, trees: dict[str, str], packages: dict[str, str] | None = None) -> Inputs:
        """The lock with the content of local sources; `packages` are those really installed, where they differ."""
        return cls(
            packages=tuple(sorted((lock.packages if packages is None else packages).items())),
            commits=tuple(sorted(lock.commits.items())),
            wheelhouse=tuple(
                (python, name, pin.version, pin.sha256)
                for python, pins in sorted(lock.wheelhouse.items())
                for name, pin in sorted(pins.items())
            ),
            trees=tuple(sorted(trees.items())),
        )
