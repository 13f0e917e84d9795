"""Outputs of steps in a mirror: `objects/KEY.tar`, and beside each a card with its digest and its notes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from stackbuild.core import digest
from stackbuild.core.errors import LockError
from stackbuild.core.plain_file import read_regular
from stackbuild.sources import bundle, tree_archive
from stackbuild.sources.mirror import Mirror

MOST_CARD = 16 << 20
"""Bytes of a card that are read: its notes are versions of a root file system's packages."""


def pack_object(folder: Path, key: str, tree: Path, notes: Mapping[str, str]) -> None:
    """Write a step's output as `objects/KEY.tar`, and beside it its digest and its notes."""
    objects = folder / "objects"
    objects.mkdir(parents=True, exist_ok=True)
    archive = objects / f"{key}.tar"
    tree_archive.create(tree, archive)
    card = {"notes": dict(notes), "sha256": digest.of_file(archive)}
    (objects / f"{key}.json").write_text(digest.canonical(card) + "\n")


def unpack_object(mirror: Mirror | None, key: str, out: Path) -> dict[str, str] | None:
    """Put a step's output from the mirror into the empty folder `out`. Returns its notes, None where no mirror has it.

    Raises StepFailed where it is not an archive of a tree, MachineLacks, and LockError when its bytes are not those that its
    card and the bundle's index name. No lock knows the bytes of an output: against whom may write to the mirror only the
    index's digest helps (sources/bundle.py).
    """
    card_path = mirror.folder / "objects" / f"{key}.json" if mirror else None
    if mirror is None or card_path is None or not card_path.is_file():
        return None
    archive = card_path.with_suffix(".tar")
    notes, card_sha256 = _card(card_path)
    sha256 = digest.of_file(archive) if archive.is_file() else "none: it is not there"
    if sha256 != card_sha256:
        raise LockError(
            f"the mirror is damaged: {archive.name} has sha256 {sha256}, it was bundled with {card_sha256}",
            where=str(archive),
            next="copy the bundle again",
        )
    bundle.check(mirror.folder, mirror.index_digest, {archive: sha256, card_path: digest.of_file(card_path)})
    tree_archive.unpack_tree(archive, out, f"the mirror's {archive.name}", sha256)
    return notes


def _card(path: Path) -> tuple[dict[str, str], str]:
    """The notes and the digest of an object. Raises LockError where its card is damaged."""
    try:
        card = digest.json_of((read_regular(path, MOST_CARD) or b"").decode("utf-8"))
        return {str(name): str(value) for name, value in card["notes"].items()}, str(card["sha256"])
    except (ValueError, KeyError, TypeError, AttributeError):
        raise LockError(
            "the mirror is damaged: no card of an object", where=str(path), next="copy the bundle again"
        ) from None
