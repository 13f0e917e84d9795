"""After a key was stolen: every output of a store that came by it, and every output that was made from one of those."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from stackbuild.core.errors import MachineLacks, UsageError
from stackbuild.remote.ancestry import (
    FINGERPRINT,
    NO_RECORD,
    NOBODY,
    ancestry_of,
    is_pulled,
    needs_of,
    noted_ancestry,
    records_by_name,
)
from stackbuild.remote.url import kind_and_root, place_of
from stackbuild.store import atomic
from stackbuild.store.maintenance import records
from stackbuild.store.records import CONTENT, Record
from stackbuild.store.revocations import Revocations, add_revocations
from stackbuild.store.store import EMULATOR, Store


@dataclass(frozen=True)
class TaintedRecord:
    """A local record that is to go: directly from the remote, or made from what is.

    `is_made_here`: this machine ran the step, so it may be on remotes under this machine's own key.
    """

    step: str
    recipe: str
    key: str
    tree: str
    is_pulled: bool
    is_made_here: bool


def tainted_records(store: Store, signed_by: str, url: str) -> tuple[TaintedRecord, ...]:
    """The records that came by a key (its fingerprint) or from a URL, and those made from them, however far.

    Raises UsageError where the text is neither.
    """
    if signed_by and not FINGERPRINT.fullmatch(signed_by):
        raise UsageError(
            f"{signed_by!r} is not the fingerprint of a key",
            next="it is SHA256: and 43 characters, as `ssh-keygen -lf KEY.pub` prints it",
        )
    if url:
        kind_and_root(url)
    stored_records = tuple(records(store))
    by_key = {record.key: record for record in stored_records if _is_named(record, signed_by, url)}
    more = True
    while more:
        names = by_key.keys() | {record.tree for record in by_key.values()} - {""}
        fresh = [
            record
            for record in stored_records
            if record.key not in by_key and (record.like in by_key or names.intersection(needs_of(record)))
        ]
        by_key.update((record.key, record) for record in fresh)
        more = bool(fresh)
    return tuple(
        TaintedRecord(
            r.step, r.recipe, r.key, r.tree, is_pulled(r) and _is_named(r, signed_by, url), not is_pulled(r)
        )
        for r in by_key.values()
    )


def _is_named(record: Record, signed_by: str, url: str) -> bool:
    """Whether the record's own notes name the key or the remote, for itself or for its inputs."""
    ancestry = noted_ancestry(record) or NOBODY
    if signed_by:
        return signed_by in ancestry.signers
    return any(place_of(one) == place_of(url) for one in ancestry.remotes - {NO_RECORD})


def unknown_records(store: Store) -> tuple[Record, ...]:
    """The outputs that were made here from inputs of which no record says where they came from.

    They are of before records kept that, and `store gc` has removed the records of inputs.
    """
    stored_records = tuple(records(store))
    by_name = records_by_name(stored_records)
    return tuple(
        record
        for record in stored_records
        if not record.key_text.startswith(CONTENT)
        and (noted_ancestry(record) or ancestry_of(needs_of(record), lambda name: by_name.get(name, ()))).is_unknown
    )


def caches_in(store: Store) -> tuple[Path, ...]:
    """What a revoked output may have filled, and no record leads to."""
    emulator_folder = store.root / EMULATOR
    emulator_caches = tuple(emulator_folder.iterdir()) if emulator_folder.is_dir() else ()
    return (*(store.root / "ccache").iterdir(), *(store.root / "memos").iterdir(), *emulator_caches)


def revoke(store: Store, signed_by: str, url: str) -> tuple[TaintedRecord, ...]:
    """Remove the records of `tainted_records`, their trees, and what steps and verbs on them may have left in caches.

    The key, and the trees of what was made from its outputs, are written down first: no remote gives such a record again.
    Caches are those of the compiler and of the emulator, and the memos of verifications and benchmarks. They go also where
    no record is left that leads to them. A call that ended early leaves what a second one finds: the caches go first, and
    an output goes after all that was made from it. Raises UsageError, OSError, and MachineLacks while another run uses the
    store.
    """
    store.reap()
    with store.collecting():
        if others := store.others():
            next = "run it again when nothing else uses this store"
            raise MachineLacks(f"in use by {', '.join(others)}", where=str(store.root), next=next)
        tainted_outputs = tainted_records(store, signed_by, url)
        trees = frozenset(one.tree for one in tainted_outputs if not one.is_pulled)
        add_revocations(store, Revocations(frozenset({signed_by} - {""}), trees))
        for cache in caches_in(store):
            atomic.remove(cache)
        for one in reversed(tainted_outputs):
            (store.root / "records" / one.key[:2] / f"{one.key}.json").unlink(missing_ok=True)
        named_trees = {record.tree for record in records(store)}
        for tree in {one.tree for one in tainted_outputs} - named_trees:
            atomic.remove(store.root / "trees" / tree[:2] / tree)
            atomic.remove(store.root / "manifests" / tree[:2] / tree)
        return tainted_outputs
