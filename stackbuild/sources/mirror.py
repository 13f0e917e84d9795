"""The mirror: a folder that stands for the network, `HOST/PATH` of each URL, for archives and git repositories alike.

Named by `--mirror DIR` or `$STACKBUILD_MIRROR`. Where one is named, nothing else is asked: what it lacks is refused. With
`$STACKBUILD_MIRROR_FOR=sources` it stands for git servers, archives and images alone, and Debian's archive and the package
index are asked as apt and pip are set up to.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from stackbuild.core import digest
from stackbuild.core.errors import LockError, MachineLacks, UsageError
from stackbuild.sources import bundle

VARIABLE = "STACKBUILD_MIRROR"
SCOPE = "STACKBUILD_MIRROR_FOR"
SOURCES = "sources"


def use(folder: Path | None) -> None:
    """Take this folder for the rest of the process. Raises UsageError where it is none."""
    if folder is not None:
        os.environ[VARIABLE] = str(folder.absolute())
        given()


def given() -> Path | None:
    """The mirror, as an absolute path, or None. Raises UsageError where it is no folder."""
    named = os.environ.get(VARIABLE)
    if not named:
        return None
    if not Path(named).is_dir():
        raise UsageError("the mirror is no folder", where=named, next=f"give --mirror a folder, or unset {VARIABLE}")
    return Path(named).absolute()


def for_packages() -> Path | None:
    """The mirror, where it stands for Debian's archive and the package index too; else None. Raises UsageError."""
    scope = os.environ.get(SCOPE, "")
    if scope not in ("", SOURCES):
        raise UsageError(f"{SCOPE} is {scope!r}", next=f"unset it, or set it to `{SOURCES}`")
    return given() if not scope else None


def lacks(what: str, folder: Path, next: str = "") -> MachineLacks:
    """The refusal of what a mirror does not have: a network is not asked in its place."""
    return MachineLacks(f"the mirror lacks {what}", where=str(folder), next=next or f"put it there, in {folder}")


def refuse(what: str) -> None:
    """Before a package archive or index is asked: nothing where no mirror stands for it. Raises MachineLacks."""
    if (folder := for_packages()) is not None:
        next = f"bundle it where the network is: `stackbuild fetch --bundle DIR`; or set {SCOPE}={SOURCES} to ask for packages"
        raise lacks(what, folder, next)


def pack(folder: Path, key: str, tree: Path, notes: Mapping[str, str]) -> None:
    """Write a step's output as `objects/KEY.tar`, and beside it its digest and its notes."""
    objects = folder / "objects"
    objects.mkdir(parents=True, exist_ok=True)
    archive = objects / f"{key}.tar"
    words = ["tar", "--create", "--sort=name", "--numeric-owner", "--owner=0", "--group=0", "--mtime=@1700000000"]
    subprocess.run([*words, f"--file={archive}", f"--directory={tree}", "."], check=True)
    card = {"notes": dict(notes), "sha256": digest.of_file(archive)}
    (objects / f"{key}.json").write_text(digest.canonical(card) + "\n")


def unpacked(key: str, out: Path) -> dict[str, str] | None:
    """Put a step's output from the mirror into the empty folder `out`; its notes, or None where no mirror has it.

    Raises LockError when its bytes are not those that its card and the bundle's index name. No lock knows the bytes of an
    output: against whom may write to the mirror only the index's digest helps (stackbuild/bundle.py).
    """
    folder = given()
    card_path = folder / "objects" / f"{key}.json" if folder else None
    if folder is None or card_path is None or not card_path.is_file():
        return None
    archive = card_path.with_suffix(".tar")
    notes, bundled = _card(card_path)
    found = digest.of_file(archive) if archive.is_file() else "none: it is not there"
    if found != bundled:
        raise LockError(
            f"the mirror is damaged: {archive.name} has sha256 {found}, it was bundled with {bundled}",
            where=str(archive),
            next="copy the bundle again",
        )
    bundle.check(folder, {archive: found, card_path: digest.of_file(card_path)})
    subprocess.run(
        ["tar", "--extract", f"--file={archive}", f"--directory={out}", "--no-same-owner", "--delay-directory-restore"],
        check=True,
    )
    return notes


def _card(path: Path) -> tuple[dict[str, str], str]:
    """The notes and the digest of an object. Raises LockError where its card is none."""
    try:
        card = json.loads(path.read_text("utf-8"))
        return {str(name): str(value) for name, value in card["notes"].items()}, str(card["sha256"])
    except (ValueError, KeyError, TypeError, AttributeError):
        raise LockError(
            "the mirror is damaged: no card of an object", where=str(path), next="copy the bundle again"
        ) from None
