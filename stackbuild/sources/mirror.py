"""The mirror: a folder that stands for the network, `HOST/PATH` of each URL, for archives and git repositories alike.

Where a mirror is given, nothing else is asked: what it lacks is refused. A mirror of sources stands for git servers,
archives and images alone; Debian's archive and the package index are then asked as apt and pip are set up to.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from stackbuild.core import digest
from stackbuild.core.errors import LockError, MachineLacks, StepFailed, UsageError
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
        """The error for what the mirror does not have: no network is asked in its place."""
        return MachineLacks(
            f"the mirror lacks {what}",
            where=str(self.folder),
            next=next or f"put it there, in {self.folder}",
            topic="network",
        )


def mirror_of(folder: Path | None, environ: Mapping[str, str], index_digest: str = "") -> Mirror | None:
    """The mirror that a command's options name, else the one that the environment names, else None.

    `index_digest` is the option's; `$STACKBUILD_MIRROR_DIGEST` stands in for an empty one. Raises UsageError where the
    folder is not there or a value is not understood.
    """
    scope = environ.get(SCOPE, "")
    if scope not in ("", SOURCES):
        raise UsageError(f"{SCOPE} is {scope!r}", next=f"unset it, or set it to `{SOURCES}`")
    named = str(folder or environ.get(VARIABLE, ""))
    if not named:
        return None
    if not Path(named).is_dir():
        raise UsageError("the mirror is not a folder", where=named, next=f"give --mirror a folder, or unset {VARIABLE}")
    index = bundle.digits(index_digest) if index_digest else environ.get(DIGEST, "")
    return Mirror(Path(named).absolute(), not scope, index)


def refuse_packages(mirror: Mirror | None, what: str) -> None:
    """Before a package archive or index is asked: nothing where no mirror stands for it. Raises MachineLacks."""
    if mirror is not None and mirror.has_packages:
        next = f"bundle it where the network is: `stackbuild fetch --bundle DIR`; or set {SCOPE}={SOURCES} to ask for packages"
        raise mirror.lacks(what, next)


def pack_object(folder: Path, key: str, tree: Path, notes: Mapping[str, str]) -> None:
    """Write a step's output as `objects/KEY.tar`, and beside it its digest and its notes."""
    objects = folder / "objects"
    objects.mkdir(parents=True, exist_ok=True)
    archive = objects / f"{key}.tar"
    words = ["tar", "--create", "--sort=name", "--numeric-owner", "--owner=0", "--group=0", "--mtime=@1700000000"]
    subprocess.run([*words, f"--file={archive}", f"--directory={tree}", "."], check=True)
    card = {"notes": dict(notes), "sha256": digest.of_file(archive)}
    (objects / f"{key}.json").write_text(digest.canonical(card) + "\n")


def unpack_object(mirror: Mirror | None, key: str, out: Path) -> dict[str, str] | None:
    """Put a step's output from the mirror into the empty folder `out`. Returns its notes, None where no mirror has it.

    Raises StepFailed where it is not an archive, LockError when its bytes are not those that its card and the bundle's index name. No lock knows the bytes of
    an output: against whom may write to the mirror only the index's digest helps (sources/bundle.py).
    """
    card_path = mirror.folder / "objects" / f"{key}.json" if mirror else None
    if mirror is None or card_path is None or not card_path.is_file():
        return None
    archive = card_path.with_suffix(".tar")
    notes, bundled = _card(card_path)
    sha256 = digest.of_file(archive) if archive.is_file() else "none: it is not there"
    if sha256 != bundled:
        raise LockError(
            f"the mirror is damaged: {archive.name} has sha256 {sha256}, it was bundled with {bundled}",
            where=str(archive),
            next="copy the bundle again",
        )
    bundle.check(mirror.folder, mirror.index_digest, {archive: sha256, card_path: digest.of_file(card_path)})
    words = [
        "tar",
        "--extract",
        f"--file={archive}",
        f"--directory={out}",
        "--no-same-owner",
        "--delay-directory-restore",
    ]
    process = subprocess.run(words, capture_output=True, text=True, errors="replace", check=False)
    if process.returncode != 0:
        raise StepFailed(f"the mirror's {archive.name} cannot be unpacked: {process.stderr.strip()[-300:]}", where=key)
    return notes


def _card(path: Path) -> tuple[dict[str, str], str]:
    """The notes and the digest of an object. Raises LockError where its card is none."""
    try:
        card = digest.json_of(path.read_text("utf-8"))
        return {str(name): str(value) for name, value in card["notes"].items()}, str(card["sha256"])
    except (ValueError, KeyError, TypeError, AttributeError):
        raise LockError(
            "the mirror is damaged: no card of an object", where=str(path), next="copy the bundle again"
        ) from None
