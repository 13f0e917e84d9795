"""What is asked of a publication, and its Receipt: what lies where, with digests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from stackbuild.publishing.signing import SigningKey
from stackbuild.publishing.snapshot import DAYS


@dataclass(frozen=True)
class Publication:
    """How wheels are published.

    `replace` allows other bytes under a name that is there, `older` a version below the highest one there. `attached` are
    the files that travel with a wheel. `url` is where the index is served. `keys` sign, and the signature of the index
    holds for so many `days`. `digests` has the sha256 of wheels that were hashed before; the others are hashed.
    """

    replace: bool = False
    older: bool = False
    attached: Mapping[Path, tuple[Path, ...]] = field(default_factory=dict)
    url: str = ""
    keys: tuple[SigningKey, ...] = ()
    unsigned: bool = False
    days: float = DAYS
    digests: Mapping[Path, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Published:
    """One wheel on an index; `fresh` is False when it was there already, byte for byte.

    `path` is where it lies below the index. `requirement` names these bytes: `NAME @ URL#sha256=…`. `claim` is what their
    verification came to, or that none is known.
    """

    project: str
    version: str
    file: str
    sha256: str
    size: int
    fresh: bool
    path: str
    requirement: str
    claim: str


@dataclass(frozen=True)
class Receipt:
    """What was published where. `number` is the index's new number; `signed_by` are fingerprints of keys."""

    index: str
    wheels: tuple[Published, ...]
    number: int
    signed_by: tuple[str, ...] = ()

    @property
    def install_line(self) -> str:
        """The command that installs these wheels, by place and digest, with their dependencies from the default index.

        No other index can offer a wheel in their place.
        """
        return " ".join(["pip install", *(f'"{wheel.requirement}"' for wheel in self.wheels)])
