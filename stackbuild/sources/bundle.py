"""A bundle's index: `bundle.json` in its folder, the sha256 of every file but those in git repositories.

A repository is checked against the commit in the lock. Who may write to a bundle can write its index too. So `fetch
--bundle` prints the index's own digest. Send it over a separate channel: `fetch --mirror DIR --digest SHA256` accepts
only that bundle.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from stackbuild.core import digest
from stackbuild.core.errors import LockError, UsageError
from stackbuild.core.plain_file import read_regular
from stackbuild.core.tree_walk import open_folder, walk

INDEX = "bundle.json"
MOST_INDEX = 256 << 20
"""Bytes of an index that are read: a row takes some 150."""
MOST = 10
"""Damaged files that are named; the others are counted."""


def seal(folder: Path) -> str:
    """Write the index of a finished bundle; its sha256, in hex."""
    files = {name: digest.of_file(folder / name) for name in _files(folder)}
    (folder / INDEX).write_text(digest.canonical({"schema": "stackbuild.bundle/1", "files": files}) + "\n")
    return digest.of_file(folder / INDEX)


def _files(folder: Path) -> list[str]:
    """Paths below the folder, without the index and what lies in git repositories."""
    with open_folder(folder) as top:
        entries = walk(top, accepts=lambda path: not (folder / path / "HEAD").is_file())
        return sorted(entry.path for entry in entries if entry.kind != "d" and entry.path != INDEX)


def digits(text: str) -> str:
    """The 64 digits of a sha256 that a person typed, with or without `sha256:`. Raises UsageError."""
    hex_digits = text.removeprefix("sha256:").lower()
    if len(hex_digits) != 64 or set(hex_digits) - set("0123456789abcdef"):
        raise UsageError("no sha256", where="--digest", next="give the 64 digits that `fetch --bundle` printed")
    return hex_digits


def index(folder: Path, index_sha256: str) -> dict[str, str]:
    """The sha256 of each file of a bundle, by path. Empty for a mirror that has no index and need not have one.

    `index_sha256` is the sha256 that the index must have, "" for any. Raises LockError.
    """
    path = folder / INDEX
    if not path.is_file() and not index_sha256:
        return {}
    sha256 = digest.of_file(path) if path.is_file() else "none: it is not there"
    if index_sha256 and sha256 != index_sha256:
        raise LockError(
            f"the bundle's index has sha256 {sha256}, it must have {index_sha256}",
            where=str(path),
            next="this is not the bundle that was sealed: copy it again, or compare the digest with its maker's",
        )
    try:
        files = digest.json_of((read_regular(path, MOST_INDEX) or b"").decode("utf-8"))["files"]
        return {str(name): str(value) for name, value in files.items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        raise LockError("the bundle's index cannot be read", where=str(path), next="copy the bundle again") from None


def verify(folder: Path, index_digest: str) -> int:
    """Read every file of the index and compare; how many there are. Raises LockError with each that is damaged or
    gone."""
    files = index(folder, index_digest)
    wrong = [problem for name, sha256 in sorted(files.items()) if (problem := _wrong(folder, name, sha256))]
    if wrong:
        more = f"; and {len(wrong) - MOST} more" if len(wrong) > MOST else ""
        raise LockError(
            f"the bundle is damaged: {'; '.join(wrong[:MOST])}{more}", where=str(folder), next="copy the bundle again"
        )
    return len(files)


def check(folder: Path, index_digest: str, sha256_by_path: Mapping[Path, str]) -> None:
    """Files about to be used, each with the digest it has: as the index says, where there is one. Raises LockError."""
    files = index(folder, index_digest)
    for path, sha256 in sha256_by_path.items() if files else ():
        name = str(path.relative_to(folder))
        expectation = files.get(name, "" if index_digest else sha256)
        if sha256 != expectation:
            reason = f"its index says {expectation}" if expectation else "its index does not know it"
            raise LockError(
                f"the bundle is damaged: {name} has sha256 {sha256}, {reason}",
                where=str(path),
                next="copy the bundle again",
            )


def _wrong(folder: Path, name: str, indexed_sha256: str) -> str:
    """What is wrong with one file; "" when nothing is."""
    path = folder / name
    if not path.resolve().is_relative_to(folder.resolve()):
        return f"{name} lies outside"
    if not path.is_file():
        return f"{name} is not there"
    sha256 = digest.of_file(path)
    return "" if sha256 == indexed_sha256 else f"{name} has sha256 {sha256}, its index says {indexed_sha256}"
