"""After a key was stolen: every output of a store that came by it, and every output that was made from one of those."""

from __future__ import annotations

import re
from dataclasses import dataclass

from stackbuild.core.errors import MachineLacks, UsageError
from stackbuild.remote.url import kind_and_root, place_of
from stackbuild.store import atomic
from stackbuild.store.maintenance import records
from stackbuild.store.records import Record
from stackbuild.store.store import Store

_FINGERPRINT = re.compile(r"SHA256:[A-Za-z0-9+/]{43}")
_NEED = re.compile(r"^need [^\n]*: ([0-9a-f]{64})$", re.MULTILINE)


@dataclass(frozen=True)
class TaintedRecord:
    """A local record that is to go: directly from the remote, or made from what is."""

    step: str
    recipe: str
    key: str
    tree: str
    is_pulled: bool


def tainted_records(store: Store, signed_by: str, url: str) -> tuple[TaintedRecord, ...]:
    """The records that came by a key (its fingerprint) or from a URL, and those made from them, however far.

    Raises UsageError where the text is neither.
    """
    if signed_by and not _FINGERPRINT.fullmatch(signed_by):
        raise UsageError(
            f"{signed_by!r} is not the fingerprint of a key",
            next="it is SHA256: and 43 characters, as `ssh-keygen -lf KEY.pub` prints it",
        )
    if url:
        kind_and_root(url)
    stored_records = tuple(records(store))
    by_key = {record.key: record for record in stored_records if _came_by(record, signed_by, url)}
    pulled_keys = frozenset(by_key)
    more = True
    while more:
        names = by_key.keys() | {record.tree for record in by_key.values()} - {""}
        fresh = [
            record
            for record in stored_records
            if record.key not in by_key
            and (record.like in by_key or names.intersection(_NEED.findall(record.key_text)))
        ]
        by_key.update((record.key, record) for record in fresh)
        more = bool(fresh)
    return tuple(TaintedRecord(r.step, r.recipe, r.key, r.tree, r.key in pulled_keys) for r in by_key.values())


def _came_by(record: Record, signed_by: str, url: str) -> bool:
    names = record.notes.get("signed_by", "").replace(",", " ").split()
    return signed_by in names if signed_by else place_of(record.notes.get("remote", "")) == place_of(url)


def revoke(store: Store, signed_by: str, url: str) -> tuple[TaintedRecord, ...]:
    """Remove the records of `tainted_records`, their trees, and the compiler caches that steps on them may have filled.

    A call that ended early leaves what a second one finds: the caches go first, and an output goes after all that was made
    from it. Raises UsageError, OSError, and MachineLacks while another run uses the store.
    """
    store.reap()
    with store.collecting():
        if others := store.others():
            next = "run it again when nothing else uses this store"
            raise MachineLacks(f"in use by {', '.join(others)}", where=str(store.root), next=next)
        tainted_outputs = tainted_records(store, signed_by, url)
        if not tainted_outputs:
            return ()
        for cache in (store.root / "ccache").iterdir():
            atomic.remove(cache)
        for one in reversed(tainted_outputs):
            (store.root / "records" / one.key[:2] / f"{one.key}.json").unlink(missing_ok=True)
        named_trees = {record.tree for record in records(store)}
        for tree in {one.tree for one in tainted_outputs} - named_trees:
            atomic.remove(store.root / "trees" / tree[:2] / tree)
            atomic.remove(store.root / "manifests" / tree[:2] / tree)
        return tainted_outputs
