"""Who signed what an output was made from, however far back: two notes of each record that is made here.

`store gc` removes records of inputs, and with them what leads from a key to all that was made from its outputs. So an
output keeps the signers and the remotes of its inputs itself. A push signs the first note where there are signers, for
whoever pulls the output. The remotes are this machine's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from stackbuild.store.maintenance import records
from stackbuild.store.records import INPUT_REMOTES, INPUT_SIGNERS, Record
from stackbuild.store.store import Store

NO_RECORD = "?"
"""In place of a signer and of a remote where the records of inputs are gone, and a record of before these notes needs them."""
FINGERPRINT = re.compile(r"SHA256:[A-Za-z0-9+/]{43}")
_NEED = re.compile(r"^need [^\n]*: ([0-9a-f]{64})$", re.MULTILINE)


@dataclass(frozen=True)
class Ancestry:
    """Fingerprints of the keys that signed an output's inputs, however far back, and the URLs that these came from."""

    signers: frozenset[str]
    remotes: frozenset[str]

    @property
    def is_unknown(self) -> bool:
        return NO_RECORD in self.signers

    def notes(self) -> dict[str, str]:
        return {INPUT_SIGNERS: "\n".join(sorted(self.signers)), INPUT_REMOTES: "\n".join(sorted(self.remotes))}


NOBODY = Ancestry(frozenset(), frozenset())
NO_RECORD_ANCESTRY = Ancestry(frozenset((NO_RECORD,)), frozenset((NO_RECORD,)))


def signers_in(notes: Mapping[str, str]) -> frozenset[str]:
    """The keys that signed an output's inputs by its note, local or from a remote."""
    return frozenset(filter(FINGERPRINT.fullmatch, notes.get(INPUT_SIGNERS, "").split()))


def needs_of(record: Record) -> list[str]:
    """What it was made from: keys of steps, or under a content key digests of trees."""
    return _NEED.findall(record.key_text)


def is_pulled(record: Record) -> bool:
    return "remote" in record.notes


def noted_ancestry(record: Record) -> Ancestry | None:
    """What the record's own notes say, with its own signers; None for one of before these notes."""
    notes = record.notes
    if is_pulled(record):
        words = notes.get("signed_by", "").replace(",", " ").split()
        signers = frozenset(filter(FINGERPRINT.fullmatch, words)) | signers_in(notes)
        return Ancestry(signers, frozenset((notes["remote"],)))
    if INPUT_SIGNERS not in notes:
        return None
    return Ancestry(*(frozenset(notes.get(name, "").split("\n")) - {""} for name in (INPUT_SIGNERS, INPUT_REMOTES)))


def ancestry_of(needs: Iterable[str], records_of: Callable[[str], Sequence[Record]]) -> Ancestry:
    """That of an output with these inputs. `records_of` has the records of a key or of a tree's digest."""
    sum_of, known_needs, todo = NOBODY, set[str](), list(needs)
    while todo:
        need = todo.pop()
        if need in known_needs:
            continue
        known_needs.add(need)
        need_records = records_of(need)
        parts = [noted_ancestry(record) for record in need_records] or [NO_RECORD_ANCESTRY]
        for part in filter(None, parts):
            sum_of = Ancestry(sum_of.signers | part.signers, sum_of.remotes | part.remotes)
        todo += [name for record in need_records if noted_ancestry(record) is None for name in needs_of(record)]
    return sum_of


def records_by_name(rows: Iterable[Record]) -> dict[str, list[Record]]:
    """The records by key and by digest of tree, as `needs_of` names them."""
    by_name: dict[str, list[Record]] = {}
    for record in rows:
        by_name.setdefault(record.key, []).append(record)
        by_name.setdefault(record.tree, []).append(record)
    return by_name


def input_notes(store: Store, trees_by_need: Mapping[str, str]) -> dict[str, str]:
    """The two notes of an output that is made here from these inputs: the digest of each tree by its step's key."""
    by_name = cache(lambda: records_by_name(records(store)))  # of use where a record is gone or old: it reads them all

    def records_of(need: str) -> Sequence[Record]:
        if record := store.find(need):
            return (record,)
        tree = trees_by_need.get(need, need)  # a worker of a cluster may have the tree by another key
        return tuple(record for record in by_name().get(tree, ()) if record.tree == tree)

    return ancestry_of(trees_by_need, records_of).notes()
