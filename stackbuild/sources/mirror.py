"""The mirror: a folder that stands for the network, `HOST/PATH` of each URL, for archives and git repositories alike.

Where a mirror is given, nothing else is asked: what it lacks is refused. A mirror of sources stands for git servers,
archives and images alone; Debian's archive and the package index are then asked as apt and pip are set up to.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from stackbuild.core.errors import MachineLacks, UsageError
from stackbuild.sources import bundle

VARIABLE = "STACKBUILD_MIRROR"
SCOPE = "STACKBUILD_MIRROR_FOR"
DIGEST = "STACKBUILD_MIRROR_DIGEST"
SOURCES = "sources"


@dataclass(frozen=True)
class Mirror:
    """An absolute folder that stands for the network.

    `has_packages`: it stands for Debian's archive and the package index too. `index_digest`: the sha256 in hex that the
    index of its bundle must have, "" where none is required.
    """

    folder: Path
    has_packages: bool = True
    index_digest: str = ""

    def lacks(self, what: str, next: str = "") -> MachineLacks:
        """The error for what the mirror does not have, a path in it where no `next` is said. No network is asked in its place."""
        return MachineLacks(
            f"the mirror lacks {what}",
            where=str(self.folder),
            next=next or f"put it there: {self.folder / what}",
            topic="network",
        )

    def lacks_all(self, places: tuple[str, ...]) -> MachineLacks:
        """The error for all places in the mirror that a build would look for and not find."""
        packages = f"; {SCOPE}={SOURCES} asks for packages instead" if self.has_packages else ""
        return MachineLacks(lacking_words(places), where=str(self.folder), next=FILLING + packages, topic="network")


FILLING = (
    "put each there (its path is its URL without https://, and `git clone --mirror` makes one that ends in .git), or let "
    "`stackbuild fetch --bundle DIR` make a mirror where the network is"
)


def lacking_words(places: tuple[str, ...]) -> str:
    """What is missing, a line each below the first."""
    count = f"{len(places)} things" if len(places) > 1 else "one thing"
    return "\n".join((f"the mirror lacks {count} that would be taken from it:", *places))


def mirror_of(folder: Path | None, environ: Mapping[str, str], index_digest: str = "") -> Mirror | None:
    """The mirror that a command's options name, else the one that the environment names, else None.

    `index_digest` is the option's; `$STACKBUILD_MIRROR_DIGEST` stands in for an empty one. Raises UsageError where the
    folder is not there or a value is not understood.
    """
    scope = environ.get(SCOPE, "")
    if scope not in ("", SOURCES):
        raise UsageError(f"{SCOPE} is {scope!r}", next=f"unset it, or set it to `{SOURCES}`")
    folder_name = str(folder or environ.get(VARIABLE, ""))
    if not folder_name:
        return None
    if not Path(folder_name).is_dir():
        raise UsageError(
            "the mirror is not a folder", where=folder_name, next=f"give --mirror a folder, or unset {VARIABLE}"
        )
    index = bundle.digits(index_digest) if index_digest else environ.get(DIGEST, "")
    return Mirror(Path(folder_name).absolute(), not scope, index)


def refuse_packages(mirror: Mirror | None, what: str) -> None:
    """Before a package archive or index is asked: nothing where no mirror stands for it. Raises MachineLacks."""
    if mirror is not None and mirror.has_packages:
        next = f"bundle it where the network is: `stackbuild fetch --bundle DIR`; or set {SCOPE}={SOURCES} to ask for packages"
        raise mirror.lacks(what, next)
