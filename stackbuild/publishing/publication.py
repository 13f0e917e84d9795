"""What is asked of a publication, and its Receipt: what lies where, with digests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from stackbuild.core.errors import UsageError
from stackbuild.core.web_address import is_index_address
from stackbuild.publishing.install_check import InstallCheck
from stackbuild.publishing.snapshot import DAYS, is_root_name
from stackbuild.publishing.ssh_keys import SigningKey, TrustedKey
from stackbuild.publishing.wheel_readme import WheelUsage
from stackbuild.tables.packages import packages_of

NOT_SIGNED = "whoever serves this index can change it unseen. `ssh-keygen -t ed25519 -f release.key` makes a key, and `--sign release.key` signs"
"""What is said of an index that nobody signed."""
MOST_DAYS = 36500
"""The longest that a signature of an index may hold: a hundred years."""


@dataclass(frozen=True)
class Publication:
    """How wheels are published.

    `replace` allows other bytes under a name that is there, `older` a version below the highest one there, `variants` wheel
    variants. `attachments` are
    the files that travel with a wheel. `url` is where the index is served. `keys` sign, and the signature of the index
    holds for so many `days`. The signature that stands must be one of `keys` or of `trusted_keys`, and the files as they were
    signed, unless `accept_changes`. `numbers` is the file with the numbers of indexes seen before, None for none. The number
    of the signed state must be `at_least` so high: what a machine knows that has no such file. `digests` has the sha256 of
    wheels that were hashed before; the others are hashed. Each of `pythons` (`3.11`) must get a file, or nothing is published.
    `root` is the name that the signature binds the index to, as `rocm-7.2/simple`; "" for the one that it has, or its folder's.
    """

    replace: bool = False
    older: bool = False
    attachments: Mapping[Path, tuple[Path, ...]] = field(default_factory=dict)
    url: str = ""
    keys: tuple[SigningKey, ...] = ()
    unsigned: bool = False
    days: float = DAYS
    digests: Mapping[Path, str] = field(default_factory=dict)
    trusted_keys: tuple[TrustedKey, ...] = ()
    accept_changes: bool = False
    numbers: Path | None = None
    at_least: int = 0
    variants: bool = False
    pythons: tuple[str, ...] = ()
    root: str = ""

    def __post_init__(self) -> None:
        if self.at_least and not self.keys:
            raise UsageError(
                f"the number {self.at_least} is expected of a signed index, and no key is given to sign the next state",
                next="add `--sign KEY`, or leave out `--at-least` and $STACKBUILD_INDEX_AT_LEAST",
            )
        if self.url and not is_index_address(self.url):
            raise UsageError(
                f"{self.url!r} is not an address that an index is served at",
                next="give `--url` an http, https or file URL without a login, quotes, spaces and signs of a shell, as"
                " https://example.org/simple; other characters of a path are percent-encoded",
            )
        if self.root and not is_root_name(self.root):
            raise UsageError(
                f"{self.root!r} is not a name of an index",
                where="--root",
                next="give letters, digits, . _ + - with a slash between, as `rocm-7.2/simple`",
            )
        if not 0 < self.days <= MOST_DAYS:  # nan is neither
            raise UsageError(
                f"a signature cannot hold for {self.days:g} days", next=f"give `--days` above 0, up to {MOST_DAYS}"
            )


@dataclass(frozen=True)
class PublishedWheel:
    """One wheel on an index; `fresh` is False when it was there already, byte for byte.

    `path` is where it lies below the index. `requirement` names these bytes: `NAME @ URL#sha256=…`. `claim` is what their
    verification came to, or that none is known. `outside` are the sonames that its SBOM says the machine must have, `bundled`
    the file names of its own libraries.
    `label` is that of a wheel variant, "" for a plain wheel. `withdrawn` says that nobody should install it, "" for nothing.
    `usage` is how it is used and what runs where, as its METADATA says.
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
    outside: tuple[str, ...] = ()
    bundled: tuple[str, ...] = ()
    label: str = ""
    withdrawn: str = ""
    usage: WheelUsage = WheelUsage()


@dataclass(frozen=True)
class Receipt:
    """What was published where. `number` is the index's new number; `signed_by` are fingerprints of keys.

    `requirements` are the words of the command that installs them; `no_install` is why there is none, "" where there is one.
    `not_signed` says that nobody signed the index and what to do, "" where somebody did.
    `from_default_index` are the projects that this command leaves to the installer's default index. `installs` are the
    files that each Python gets, where that was asked. `unpublished` are wheels in the index's folder that no page names: left by a publish that was killed, or put there by
    somebody else.
    """

    index: str
    wheels: tuple[PublishedWheel, ...]
    number: int
    signed_by: tuple[str, ...] = ()
    unpublished: tuple[str, ...] = ()
    requirements: tuple[str, ...] = ()
    no_install: str = ""
    from_default_index: tuple[str, ...] = ()
    installs: tuple[InstallCheck, ...] = ()
    not_signed: str = ""

    @property
    def usages(self) -> tuple[WheelUsage, ...]:
        """How the wheels are used: those of one project for several Pythons are used alike."""
        return tuple(dict.fromkeys(wheel.usage for wheel in self.wheels if wheel.usage.places and not wheel.withdrawn))

    @property
    def install_line(self) -> str:
        """The command that installs these wheels, by place and digest; "" for none.

        It names what they require of this index, too, and leaves the rest to the default index. No other index can offer a
        wheel in the place of one that is named. Of a project's versions it takes the highest, and of that version's files
        the one for the Python that runs it.
        """
        return " ".join(["pip install", *self.requirements]) if self.requirements else ""

    @property
    def packages_needed(self) -> tuple[str, ...]:
        """A line for each soname of ROCm that the machine must have: the package of Debian that has it, and AMD's.

        What another of these wheels has, the machine need not have.
        """
        bundled_libraries = {name for wheel in self.wheels for name in wheel.bundled}
        sonames = dict.fromkeys(soname for wheel in self.wheels for soname in wheel.outside)
        packages = ((soname, *packages_of(soname)) for soname in sonames if soname not in bundled_libraries)
        return tuple(f"{name}: package {debian} of Debian, {amd} of AMD" for name, debian, amd in packages if debian)
