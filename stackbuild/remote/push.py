"""Outputs of this store onto a remote: packs first, then the tree, the signed record last.

A registry refuses a manifest whose blobs it lacks, and a record is written once its tree has been read back. It goes under
this signer's own tag first, then into the list that all signers share (`remote/signatures.py`). So a push
that ends anywhere leaves blobs that nothing names, and the next one sends what is missing. Every file is compared with
its digest while it is packed: a damaged output is never signed.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from stackbuild.core import digest
from stackbuild.core.cancel import worker_threads
from stackbuild.publishing.envelopes import load_signing_types
from stackbuild.publishing.ssh_keys import SigningKey, TrustedKey
from stackbuild.remote.ancestry import signers_in
from stackbuild.remote.faults import BlobAbsent, RemoteFault, RemoteUnreachable
from stackbuild.remote.packing import BlobSpool, CoreBudget, FileDiffers, compress
from stackbuild.remote.packs import Pack, entries_of, packs_of
from stackbuild.remote.protocol import PARALLEL, BlobContent, ByteCounter, RemoteReader, RemoteWriter
from stackbuild.remote.records import (
    MOST_ENVELOPES,
    NOTES_HERE,
    RemoteRecord,
    SignedRecord,
    envelopes_of,
    listing_of,
    sign,
    verified_records,
)
from stackbuild.remote.signatures import SignatureReader, signer_tag
from stackbuild.remote.trees import (
    MOST_MANIFEST,
    StoredBlob,
    layer_of,
    layers_in,
    listing_in,
    read_pack,
    record_manifest,
    tree_manifest,
)
from stackbuild.store.atomic import read_whole
from stackbuild.store.records import CONTENT, INPUT_SIGNERS, Record
from stackbuild.store.store import Store

LEVELS = (1, 2, 3)
"""Levels of zstd: the next one gives a pack another blob where the remote's is damaged and cannot be replaced."""
MOST_ABSENCES = 3
"""Outputs of a run that may fail because the remote does not see a blob. From then on no manifest is tried again, and such a
failure is a strike like any other."""

Outcome = Literal["pushed", "signed", "there", "conflict", "damaged", "refused", "failed"]
"""pushed: with its tree · signed: the tree was there · there: nothing to do · conflict: this key has signed another
output of the same step · damaged: the local output is not as its manifest says · refused: it holds what no pull takes, such as a setuid file of an
older stackbuild · failed: the remote did not take it."""


@dataclass(frozen=True)
class Push:
    """What became of one output: bytes sent, and why it is not there where it is not."""

    step: str
    recipe: str
    key: str
    outcome: Outcome
    sent: int = 0
    why: str = ""


@dataclass
class Pusher:
    """A remote that is written to, and the key that signs. `count` hears of the bytes that were sent.

    With `check`, the packs of trees that are there already are read back; a damaged one is replaced.
    """

    store: Store
    writer: RemoteWriter
    key: SigningKey
    check: bool = False
    count: ByteCounter = lambda size: None
    sent_bytes: int = field(default=0, init=False)
    strikes: int = field(default=0, init=False)
    """Outputs that the remote did not take. The first `MOST_ABSENCES` whose blob it does not see are not among them."""
    _absences: int = field(default=0, init=False)
    """Outputs whose blob the remote did not see."""
    _last_list: StoredBlob | None = field(default=None, init=False)
    """The list of envelopes that was sent last."""
    _cores: CoreBudget = field(default_factory=CoreBudget, init=False)

    def push(self, record: Record, content_key: str) -> Push:
        """Put one output and its signed record on the remote. Raises OSError."""
        before = self.sent_bytes
        outcome: Outcome = "failed"
        try:
            outcome, why = self._push(record, content_key)
        except BlobAbsent as fault:
            why = str(fault)
            self.strikes += not self._is_patient
            self._absences += 1
        except RemoteFault as fault:
            why = str(fault)
            self.strikes += 1
        return Push(record.step, record.recipe, record.key, outcome, self.sent_bytes - before, why)

    @property
    def _is_patient(self) -> bool:
        return self._absences < MOST_ABSENCES

    def _push(self, record: Record, content_key: str) -> tuple[Outcome, str]:
        tag = f"r-{record.key}"
        listing = self._listing(tag)
        own = self._own(listing, record.key)
        if listing is not None and not own:  # another builder may have overwritten this one's entry
            earlier = self._own(self._listing(signer_tag(tag, self.key.blob)), record.key)
        else:
            earlier = own
        if any(one.record.tree != record.tree for one in earlier):
            return "conflict", "signed by this key for another output: the step is not reproducible"
        is_signed = bool(own) and self._is_signed_as_content(content_key)
        if is_signed and not self.check:
            return "there", ""
        text = self._text(record)
        if text is None:
            return "damaged", self.store.check(record.tree) or "its manifest is gone"
        try:
            size = _size(text)
            packs = packs_of(entries_of(text, size))
            remote_record = _remote_record(record, content_key, text, size)
            RemoteRecord.read(remote_record.payload())
        except RemoteFault as fault:
            return "refused", str(fault)
        remote_tree = self._tree(record, text, packs)
        if remote_tree is None:
            return "damaged", self.store.check(record.tree) or "its files differ from its manifest"
        if not is_signed:
            self._sign(remote_record)
        return ("there" if is_signed and not remote_tree else "pushed" if remote_tree else "signed"), ""

    def _is_signed_as_content(self, content_key: str) -> bool:
        """Whether this builder's record is under the content key, if there is one: a push may have ended before that."""
        records = self._verify(self._listing(f"c-{content_key}")) if content_key else ()
        return not content_key or any(one.record.content_key == content_key for one in records)

    def _listing(self, tag: str) -> bytes | None:
        """The envelopes under a tag, None where there is nothing. What is there and cannot be read counts as none."""
        manifest = self.writer.manifest(tag, MOST_MANIFEST)
        try:
            return None if manifest is None else listing_in(manifest)
        except RemoteFault:
            return b"[]"

    def _own(self, listing: bytes | None, key: str) -> tuple[SignedRecord, ...]:
        """The records of a step's key in it that this builder has signed."""
        return tuple(one for one in self._verify(listing) if one.record.key == key)

    def _verify(self, listing: bytes | None) -> tuple[SignedRecord, ...]:
        """The records in it that this builder has signed."""
        try:
            return verified_records(listing or b"[]", (TrustedKey(self.key.blob),), datetime.now(UTC))[0]
        except RemoteFault:
            return ()

    def _text(self, record: Record) -> str | None:
        """The manifest text of a local tree, "" for one without files; None where it is not the tree's."""
        try:
            text = read_whole(self.store.root / "manifests" / record.tree[:2] / record.tree)
        except (OSError, ValueError):
            return None
        return text if digest.of_text(text) == record.tree else None

    # --- the tree

    def _tree(self, record: Record, text: str, packs: tuple[Pack, ...]) -> bool | None:
        """Put the tree there: True where something was sent, None where the local one is damaged. Raises RemoteFault."""
        tag = f"t-{record.tree}"
        there = self._layers(tag)
        if there is not None and not self.check:
            return False
        layers_there = there if there is not None and len(there) == len(packs) else (None,) * len(packs)
        root = self.store.tree(record.tree)
        order = sorted(range(len(packs)), key=lambda at: -packs[at].size)  # the one that takes longest is not the last
        try:
            with worker_threads(PARALLEL, self.writer.abort) as pool:
                pool.submit(
                    load_signing_types
                )  # the record waits for it otherwise; what it raises, `sign` raises again
                blobs = dict(
                    zip(order, pool.map(lambda at: self._pack(root, packs[at], layers_there[at]), order), strict=True)
                )
        except FileDiffers:
            return None
        layers = tuple(blobs[at] for at in range(len(packs)))
        if layers == there:
            return False
        data = text.encode("utf-8", "surrogateescape")
        self._send(layer_of(data), io.BytesIO(data))
        manifest = tree_manifest(layer_of(data), layers)
        self.writer.put_manifest(tag, manifest, self._is_patient)
        if self.writer.manifest(tag, MOST_MANIFEST) != manifest:
            raise RemoteFault("the tree's manifest reads back as another", blob=tag)
        return True

    def _layers(self, tag: str) -> tuple[StoredBlob, ...] | None:
        manifest = self.writer.manifest(tag, MOST_MANIFEST)
        try:
            return None if manifest is None else layers_in(manifest)[1]
        except RemoteFault:
            return None

    def _pack(self, root: Path, pack: Pack, blob: StoredBlob | None) -> StoredBlob:
        """The blob of a pack, which the remote has afterwards: at the first level of zstd whose blob is not damaged there."""
        if blob is not None and self._is_whole(pack, blob):
            return blob
        for level in LEVELS:
            with BlobSpool(self.store.tmp) as spool:
                with self._cores.take(pack):
                    layer = compress(root, pack, level, spool)
                if self.check and self.writer.blob_size(layer.digest) is not None and not self._is_whole(pack, layer):
                    continue
                if self._blob(layer, spool):
                    return layer
        raise RemoteFault("the remote has a damaged blob for each level of compression", blob=layer.digest)

    def _is_whole(self, pack: Pack, layer: StoredBlob) -> bool:
        try:
            read_pack(self.writer, pack, layer, None, lambda size: None)
        except RemoteFault:
            return False
        return True

    def _blob(self, layer: StoredBlob, content: BlobContent) -> bool:
        """Send a blob unless it is there; False where it is there with another length."""
        size = self.writer.blob_size(layer.digest)
        if size is None:
            self._send(layer, content)
        return size in (None, layer.size)

    def _send(self, layer: StoredBlob, content: BlobContent) -> None:
        content.seek(0)
        self.writer.put_blob(layer.digest, content, layer.size, self.count)
        self.sent_bytes += layer.size

    # --- the record

    def _sign(self, record: RemoteRecord) -> None:
        """Add this builder's envelope under the key and under the content key.

        The key comes first: what ends between the two is there for whoever asks by the key. Raises RemoteFault.
        """
        envelope = sign(record, self.key)
        self._add(f"r-{record.key}", envelope, lambda one: one.key == record.key)
        if content_key := record.content_key:
            self._add(f"c-{content_key}", envelope, lambda one: one.content_key == content_key)

    def _add(self, tag: str, envelope: bytes, is_it: Callable[[RemoteRecord], bool]) -> None:
        """Add an envelope to those under a tag, unless one of this builder `is_it` already.

        It goes under this builder's own tag first. So whoever sees it in the list may rely on that one, and a builder
        that overwrites the list at this moment takes nothing away.
        """
        listing = self._listing(tag)
        if any(is_it(one.record) for one in self._verify(listing)):
            return
        try:
            others = envelopes_of(listing or b"[]")[: MOST_ENVELOPES - 1]
        except RemoteFault:
            others = ()
        self._put_records(signer_tag(tag, self.key.blob), (envelope,))
        self._put_records(tag, (*others, envelope))

    def _put_records(self, tag: str, envelopes: Sequence[bytes]) -> None:
        """Put envelopes under a tag, in place of what is there."""
        listing = listing_of(envelopes)
        layer = layer_of(listing)
        if layer != self._last_list:  # a builder's first envelope is the same blob under all its tags
            self._send(layer, io.BytesIO(listing))
            self._last_list = layer
        self.writer.put_manifest(tag, record_manifest(listing), self._is_patient)


def _size(text: str) -> int:
    """Bytes of the files of a manifest text that this store wrote: the third word of each line."""
    return sum(int(line.split(" ", 3)[2]) for line in text.split("\n")[:-1])


def _remote_record(record: Record, content_key: str, text: str, size: int) -> RemoteRecord:
    notes = {name: note for name, note in record.notes.items() if name not in (*NOTES_HERE, INPUT_SIGNERS)}
    if signers := signers_in(record.notes):
        notes[INPUT_SIGNERS] = "\n".join(sorted(signers))
    return RemoteRecord(
        key=record.key,
        content_key=content_key,
        tree=record.tree,
        size=size,
        manifest_size=len(text.encode("utf-8", "surrogateescape")),
        step=record.step,
        recipe=record.recipe,
        seconds=record.seconds,
        made_by=record.made_by,
        made_at=record.made_at,
        notes=notes,
    )


def made_here(local_records: Sequence[Record]) -> tuple[tuple[Record, str], ...]:
    """The records of a store that a push signs, each with its content key ("" where the store has none).

    Those of outputs that came from a remote are left out: who signs says that it made them. Records under content keys
    are not records of their own.
    """
    alike = {record.like: record.key for record in local_records if record.key_text.startswith(CONTENT)}
    content = set(alike.values())
    return tuple(
        (record, alike.get(record.key, record.like if record.like in content else ""))
        for record in local_records
        if not record.key_text.startswith(CONTENT) and "remote" not in record.notes
    )


@dataclass(frozen=True)
class Conflict:
    """A key with several outputs: tree digests, each with who has it."""

    step: str
    key: str
    trees: dict[str, str]


MOST_UNREAD = 16
"""Keys in a row that cannot be read, after which no more of them are asked for."""


def disagreements(
    local: Sequence[Record], reader: RemoteReader, keys: Sequence[TrustedKey], unread: Callable[[str], None]
) -> Iterable[Conflict]:
    """The keys of local records that a trusted key has signed for another output, or two keys for two.

    Such a step is not reproducible, or one of the signers was deceived. `unread` hears of each tag that cannot be read.
    Raises RemoteUnreachable.
    """
    signature_reader = SignatureReader(reader, keys, datetime.now(UTC))
    faults_in_a_row = 0
    for number, record in enumerate(local):
        if faults_in_a_row == MOST_UNREAD:
            unread(f"{len(local) - number} more outputs are not asked for: {MOST_UNREAD} in a row could not be read")
            return
        try:
            signatures = signature_reader.read(f"r-{record.key}", lambda one: one.record.key == record.key)  # noqa: B023
        except RemoteUnreachable:
            raise
        except RemoteFault as fault:
            unread(f"{record.step}: r-{record.key}: {fault}")
            faults_in_a_row += 1
            continue
        faults_in_a_row = 0
        if signatures is None:
            continue
        for what in signatures.unread:
            unread(f"{record.step}: {what}")
        trees = {record.tree: "this store"}
        for one in signatures.records:
            if one.record.key == record.key:
                who = f"{', '.join(sorted(one.signers))}, {one.record.made_at}"
                trees[one.record.tree] = f"{trees[one.record.tree]}; {who}" if one.record.tree in trees else who
        if len(trees) > 1:
            yield Conflict(record.step, record.key, trees)
