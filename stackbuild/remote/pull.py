"""Outputs from remotes into the store: record, signatures, key, tree, packs, in this order, each checked before the next.

Whatever is wrong is a miss with a warning. Nothing of it is kept, so the next run asks again. After three wrong answers
a remote is not asked again in this run; one that cannot be reached at all is not asked a second time.

Where a remote lacks many keys, its tags are listed once in place of asking for each. The list is a hint: a key that it
lacks is a miss, as if the remote had said so itself; the record of one that it has is read and verified as ever.
"""

from __future__ import annotations

import contextlib
import secrets
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Literal, TypeVar

from stackbuild.core.tree_walk import BOUNDS
from stackbuild.publishing.ssh_keys import TrustedKey
from stackbuild.remote.ancestry import signers_in
from stackbuild.remote.faults import ListDamaged, NoRoom, RecordRevoked, RemoteFault, RemoteUnreachable, excerpt
from stackbuild.remote.origin import Origin
from stackbuild.remote.protocol import ByteCounter, RemoteReader
from stackbuild.remote.records import NOTES_HERE, SignedRecord, agreement
from stackbuild.remote.signatures import SignatureReader
from stackbuild.remote.trees import RemoteTree, read_tree, write_tree
from stackbuild.remote.watch import DEFAULT_RATE, MinimumRate, Progress, Watch
from stackbuild.store.records import Record
from stackbuild.store.revocations import Revocations, read_revocations, revocations_path
from stackbuild.store.store import StagingFolder, Store

STRIKES = 3
"""Wrong answers of a remote after which it is not asked again in this run."""
LISTED_AFTER = 16
"""Keys that a remote did not have, after which its tags are listed."""
LISTING_SECONDS = 60.0
"""How long a list of tags is used: others push meanwhile."""
ROOM = 256 << 20
"""Bytes of the disk that a pull leaves free."""
MOST_REASON = 150
"""Characters that are shown of why an envelope does not count."""
WORTH_SAYING = 20_000_000
"""Bytes of an output from which on a line says that it is being taken."""
_Result = TypeVar("_Result")


@dataclass(frozen=True)
class PullRequest:
    """A key that is asked for, the text it is the digest of, and whose output it names.

    `kind` is r for a step's key and c for a content key.
    """

    key: str
    text: str
    step: str
    recipe: str
    kind: Literal["r", "c"] = "r"

    @property
    def tag(self) -> str:
        return f"{self.kind}-{self.key}"


@dataclass(frozen=True)
class PulledOutput:
    """An output that was taken over: the local record, its bytes, and where from."""

    record: Record
    size: int
    origin: Origin


@dataclass
class TagListing:
    """What is known of a remote's tags: keys that it lacked since the last list, and the list, until it is too old.

    `tags` is None where there is no list; `is_refused` once the remote gave none.
    """

    miss_count: int = 0
    tags: frozenset[str] | None = None
    until: float = 0.0
    is_refused: bool = False
    newer: set[str] = field(default_factory=set)
    """Tags that the remote had when it was asked for them: a list of before may lack them."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def lacks(self, tag: str, read: Callable[[], frozenset[str] | None], now: float) -> bool:
        """Whether a list that is new enough lacks a tag. `read` asks the remote; it may raise RemoteFault."""
        with self._lock:
            self._renew(read, now)
            return self.tags is not None and tag not in self.tags and tag not in self.newer

    def _renew(self, read: Callable[[], frozenset[str] | None], now: float) -> None:
        if self.tags is not None and now > self.until:
            self.tags, self.miss_count = None, 0
        if self.tags is None and self.miss_count >= LISTED_AFTER and not self.is_refused:
            try:
                self.tags = read()
            except RemoteFault:  # many registries let nobody list; what is asked next shows whether it answers at all
                self.tags = None
            self.is_refused, self.until = self.tags is None, now + LISTING_SECONDS


@dataclass
class TrustedRemote:
    """A remote with the keys that are trusted for it. `off` says why it is not asked any more."""

    reader: RemoteReader
    keys: tuple[TrustedKey, ...]
    threshold: int = 1
    strikes: int = 0
    off: str = ""
    listing: TagListing = field(default_factory=TagListing)

    def strike(self, fault: RemoteFault) -> None:
        self.strikes += not isinstance(fault, (NoRoom, RecordRevoked))
        if isinstance(fault, RemoteUnreachable):
            self.off = "it cannot be reached"
        elif self.strikes >= STRIKES:
            self.off = f"{STRIKES} wrong answers"

    def names(self, signers: Iterable[str]) -> str:
        """Keys by fingerprint and by the name that the user gave them."""
        names_by_fingerprint = {key.fingerprint: key.name for key in self.keys}
        return ", ".join(
            f"{one} ({names_by_fingerprint[one]})" if names_by_fingerprint.get(one) else one for one in sorted(signers)
        )


@dataclass
class Puller:
    """The remotes of one run. `say` hears warnings and news; `check` raises once the run is to stop."""

    store: Store
    remotes: Sequence[TrustedRemote]
    say: Callable[[Literal["info", "warning"], str], None]
    check: Callable[[], None]
    minimum_rate: MinimumRate = DEFAULT_RATE
    missing: set[str] = field(default_factory=set)
    """Tags that no remote had: they are not asked for again in this run."""
    no_room: set[str] = field(default_factory=set)
    """Tags of outputs that remotes have and this disk has no room for."""
    _revocations: Revocations = field(init=False)

    def __post_init__(self) -> None:
        """Raises MachineLacks where it cannot be read what was revoked."""
        self._revocations = read_revocations(self.store)

    def pull(self, request: PullRequest) -> PulledOutput | None:
        """Take an output over into the store, with its record; None where no remote has it.

        Whoever calls holds the key's lock. Raises OSError of this disk, and what `check` raises.
        """
        if request.tag in self.missing:
            return None
        pulled_record = self._first(request, self._pull)
        if pulled_record is None:
            self.missing.add(request.tag)
        return pulled_record

    def look_up(self, request: PullRequest, *, is_new: bool) -> SignedRecord | None:
        """The record of an output, without its tree.

        `is_new`: it may have been pushed this minute, so it is asked for again where it was missing, and no list of tags
        is used. Raises what `check` raises.
        """
        if is_new:
            self.missing.discard(request.tag)
            return self._first(request, self._ask)
        if request.tag in self.missing:
            return None
        signed_record = self._first(request, self._read_if_listed)
        if signed_record is None:
            self.missing.add(request.tag)
        return signed_record

    def _first(
        self, request: PullRequest, answer: Callable[[PullRequest, TrustedRemote], _Result | None]
    ) -> _Result | None:
        """What the first remote that has it answers. A fault is a warning, and a strike against its remote."""
        for remote in self.remotes:
            if remote.off:
                continue
            try:
                if result := answer(request, remote):
                    return result
            except RemoteFault as fault:
                remote.strike(fault)
                if isinstance(fault, NoRoom):
                    self.no_room.add(request.tag)
                off = f"; not asked again in this run: {remote.off}" if remote.off else ""
                self.say("warning", f"{request.step}: nothing is taken from {remote.reader.url}: {fault}{off}")
        return None

    def close(self) -> None:
        for remote in self.remotes:
            remote.reader.close()

    def _ask(self, request: PullRequest, remote: TrustedRemote) -> SignedRecord | None:
        unread: list[str] = []
        try:
            signed_record = self._watch(remote, lambda count: ask(remote, request, count, unread, self._refusal))
        finally:
            for what in unread:
                self.say("warning", f"{request.step}: {remote.reader.url}: {what}; the other signatures are read")
        if signed_record is not None:
            remote.listing.newer.add(request.tag)
        return signed_record

    def _refusal(self, one: SignedRecord) -> str:
        """Why a record does not count by what was revoked in this store, "" where it does."""
        keys = self._revocations.keys & (one.signers | signers_in(one.record.notes))
        if not keys and one.record.tree not in self._revocations.trees:
            return ""
        why = f"came by {', '.join(sorted(keys))}, or was made from what did" if keys else "was made from revoked outputs"
        return f"it {why}, which `store forget` has revoked ({revocations_path(self.store)})"

    def _read_if_listed(self, request: PullRequest, remote: TrustedRemote) -> SignedRecord | None:
        """The same, or None where a list of the remote's tags lacks it."""

        def read() -> frozenset[str] | None:
            try:
                return self._watch(remote, lambda count: remote.reader.tags())
            except ListDamaged as fault:
                self.say("warning", f"{remote.reader.url}: {fault}")
                return None

        if remote.listing.lacks(request.tag, read, time.monotonic()):
            return None
        signed_record = self._ask(request, remote)
        remote.listing.miss_count += signed_record is None
        return signed_record

    def _pull(self, request: PullRequest, remote: TrustedRemote) -> PulledOutput | None:
        signed_record = self._read_if_listed(request, remote)
        if signed_record is None:
            return None
        remote_record = signed_record.record
        if not (self.store.tree(remote_record.tree).is_dir() and not self.store.check(remote_record.tree)):
            self._take(request, remote, signed_record)
        origin = Origin(
            remote.reader.url, remote.names(signed_record.signers), remote_record.made_by, remote_record.made_at
        )
        notes = {name: text for name, text in remote_record.notes.items() if name not in NOTES_HERE}
        record = Record(
            key=request.key,
            step=request.step,
            recipe=request.recipe,
            tree=remote_record.tree,
            key_text=request.text,
            seconds=remote_record.seconds,
            made_by=remote_record.made_by,
            made_at=remote_record.made_at,
            notes={**notes, "remote": origin.url, "signed_by": origin.signed_by, "signed_run": origin.run},
        )
        self.store.record(record)
        return PulledOutput(record, remote_record.size, origin)

    def _take(self, request: PullRequest, remote: TrustedRemote, signed_record: SignedRecord) -> None:
        """Stream the tree into a staging folder, then let the store keep it. Raises RemoteFault, OSError."""
        size = signed_record.record.size
        free = shutil.disk_usage(self.store.root).free
        if size > BOUNDS.bytes or size > free - ROOM:
            raise NoRoom(
                "there is no room for it on this disk",
                promise=f"{-(-size >> 20)} MiB and {ROOM >> 20} MiB that a pull leaves free", actual=f"{free >> 20} MiB",
            )  # fmt: skip
        if size > WORTH_SAYING:
            self.say("info", f"{request.step}: taking {size / 1e6:.0f} MB from {remote.reader.url}")
        with self._staging(request) as staging:
            tree = self._watch(remote, partial(_fetch, remote.reader, signed_record, staging.out))
            if self.store.adopt(staging, tree.text) != signed_record.record.tree:
                raise RemoteFault("the tree has another digest", promise=signed_record.record.tree)

    @contextlib.contextmanager
    def _staging(self, request: PullRequest) -> Iterator[StagingFolder]:
        """A folder of its own for each try: a thread that was given up may still write into that of another."""
        staging = self.store.stage(f"pull.{request.key[:16]}.{secrets.token_hex(4)}")
        try:
            yield staging
        finally:
            staging.remove()

    def _watch(self, remote: TrustedRemote, work: Callable[[ByteCounter], _Result]) -> _Result:
        """The work's result. Data that nobody foresaw is a fault of the remote's, not of the build's."""
        progress = Progress()
        try:
            return Watch(partial(work, progress.count), progress, remote.reader.abort).run(
                self.check, self.minimum_rate
            )
        except (ValueError, KeyError, TypeError, IndexError, RecursionError, OverflowError, MemoryError) as error:
            raise RemoteFault(f"an answer that is not understood: {type(error).__name__}: {error}"[:300]) from None


def _fetch(reader: RemoteReader, signed_record: SignedRecord, out: Path, count: ByteCounter) -> RemoteTree:
    tree = read_tree(reader, signed_record.record, count)
    write_tree(reader, tree, out, count)
    return tree


def ask(
    remote: TrustedRemote,
    request: PullRequest,
    count: ByteCounter,
    unread: list[str],
    refusal: Callable[[SignedRecord], str],
) -> SignedRecord | None:
    """The record of a key that enough trusted keys have signed; None where the remote has none. Raises RemoteFault.

    It is about the key that was asked for: another key's record, however well signed, is refused. `unread` gets the tags
    of it that cannot be read. `refusal` says why a record does not count, "" where it does: others may agree without it.
    """

    def is_it(one: SignedRecord) -> bool:
        return request.key == (one.record.key if request.kind == "r" else one.record.content_key)

    def agreement_of(records: Sequence[SignedRecord]) -> SignedRecord | None:
        return agreement([one for one in records if is_it(one) and not refusal(one)], remote.threshold)

    signature_reader = SignatureReader(remote.reader, remote.keys, datetime.now(UTC), count)
    signatures = signature_reader.read(request.tag, is_it, lambda rows: agreement_of(rows) is not None)
    if signatures is None:
        return None
    unread += signatures.unread
    if signed_record := agreement_of(signatures.records):
        return signed_record
    own = [one for one in signatures.records if is_it(one)]
    if why_revoked := [why for one in own if (why := refusal(one))]:
        raise RecordRevoked(why_revoked[0], blob=request.tag)
    if others := [one for one in signatures.records if one not in own]:
        raise RemoteFault("a record of another key", blob=request.tag, promise=request.key, actual=others[0].record.key)
    signers = {name for one in own for name in one.signers}
    if own:
        raise RemoteFault(
            "too few trusted keys agree on one output",
            blob=request.tag, promise=f"{remote.threshold} keys", actual=remote.names(signers),
        )  # fmt: skip
    reasons = "; ".join(excerpt(one, MOST_REASON) for one in signatures.refusals[:3]) or "nobody has signed it"
    raise RemoteFault(f"its record is not trusted: {reasons}", blob=request.tag)
