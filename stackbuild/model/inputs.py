"""Inputs: what a plan is made from beside the recipe."""

from __future__ import annotations

from dataclasses import dataclass

from stackbuild.model.lock import Dep, Lock


@dataclass(frozen=True)
class Inputs:
    """What a plan depends on: packages really installed, commits, wheel pins, digests of local trees and archives."""

    packages: tuple[tuple[str, str], ...]
    commits: tuple[tuple[str, str], ...]
    wheelhouse: tuple[tuple[str, str, str, tuple[str, ...]], ...]
    """Rows of Python version, distribution, version, sha256 digests."""
    trees: tuple[tuple[str, str], ...]
    """Local sources, name to the digest of their files."""
    image: str = ""
    """Digest of the base's image, "" where it is not known or there is none."""
    deps: tuple[tuple[str, tuple[Dep, ...]], ...] = ()
    files: tuple[tuple[str, str, str], ...] = ()
    """Sources by package name: source, version, sha256."""
    dockerfile: str = ""
    """Digest of `Dockerfile.base`, for a base from an image."""

    @classmethod
    def of(
        cls, lock: Lock, trees: dict[str, str], packages: dict[str, str] | None = None, dockerfile: str = ""
    ) -> Inputs:
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
            image=lock.image,
            dockerfile=dockerfile,
            deps=tuple(sorted(lock.deps.items())),
            files=tuple((name, f.version, f.sha256) for name, f in sorted(lock.files.items())),
        )
