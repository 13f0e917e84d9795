"""What `store forget` has revoked, for as long as the store lives: no remote gives it again.

It is a file of the store's folder. `store gc` leaves it, and whoever wants all of it back removes it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from stackbuild.core import digest
from stackbuild.core.digest import json_of
from stackbuild.core.errors import MachineLacks
from stackbuild.store import atomic
from stackbuild.store.store import Store

SCHEMA = "stackbuild.revoked/1"


@dataclass(frozen=True)
class Revocations:
    """Fingerprints of keys, and digests of trees that were made from what those keys had signed."""

    keys: frozenset[str] = frozenset()
    trees: frozenset[str] = frozenset()

    def __or__(self, other: Revocations) -> Revocations:
        return Revocations(self.keys | other.keys, self.trees | other.trees)


def revocations_path(store: Store) -> Path:
    return store.root / "revoked.json"


def read_revocations(store: Store) -> Revocations:
    """Those of a store. Raises MachineLacks where the file is not as it was written: it must not count as empty."""
    path = revocations_path(store)
    try:
        data = json_of(atomic.read_whole(path))
        if data["schema"] != SCHEMA:
            raise ValueError("another schema")
        return Revocations(frozenset(map(str, data["keys"])), frozenset(map(str, data["trees"])))
    except FileNotFoundError:
        return Revocations()
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise MachineLacks(
            f"what `store forget` has revoked cannot be read: {error}", where=str(path),
            next="remove it, and run `stackbuild store forget` again for each stolen key",
        ) from None  # fmt: skip


def add_revocations(store: Store, more: Revocations) -> None:
    """Write them down beside the earlier ones. Raises OSError, MachineLacks."""
    all_of = read_revocations(store) | more
    if all_of != Revocations():
        body = {"schema": SCHEMA, "keys": sorted(all_of.keys), "trees": sorted(all_of.trees)}
        atomic.write_whole(revocations_path(store), digest.canonical(body), store.tmp)
