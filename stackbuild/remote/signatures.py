"""The signatures of one output on a remote: a list that all signers share, and a tag for each signer that nobody else writes.

No registry has to offer compare-and-swap. Of two signers that write the shared list at the same moment, one overwrites
the other's entry. A signer's own tag has one writer, so no signature there is lost. A signer writes its own tag before the
list. A reader asks for the list first, and for the own tags of trusted keys only where the list is there and does not have
enough of them. So an output that nobody signed costs one request. A list that cannot be read hides no own tag.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from stackbuild.publishing.ssh_keys import TrustedKey
from stackbuild.remote.faults import RemoteFault, RemoteUnreachable
from stackbuild.remote.protocol import SIGNER_DIGITS, ByteCounter, RemoteReader
from stackbuild.remote.records import SignedRecord, verified_records
from stackbuild.remote.trees import MOST_MANIFEST, listing_in


def signer_tag(tag: str, blob: bytes) -> str:
    """The tag beside `tag` that only the signer with that public key writes. `blob` is in SSH's wire format."""
    return f"{tag}.{hashlib.sha256(blob).hexdigest()[:SIGNER_DIGITS]}"


@dataclass(frozen=True)
class Signatures:
    """The records that trusted keys have signed, and why other envelopes do not count.

    `unread`: tags that cannot be read, each with its name and why. Records are signed elsewhere all the same.
    """

    records: tuple[SignedRecord, ...]
    refusals: tuple[str, ...]
    unread: tuple[str, ...] = ()


@dataclass(frozen=True)
class SignatureReader:
    """A remote with the keys that count at a time. `count` hears before each own tag that something goes on."""

    reader: RemoteReader
    keys: Sequence[TrustedKey]
    now: datetime
    count: ByteCounter = lambda size: None

    def read(
        self,
        tag: str,
        is_it: Callable[[SignedRecord], bool],
        is_enough: Callable[[Sequence[SignedRecord]], bool] = lambda records: False,
    ) -> Signatures | None:
        """What is signed under a tag; None where the remote has no list there.

        The own tag of a key is asked for unless the list has a record of it that `is_it`, until the records are enough.
        Raises RemoteUnreachable, and RemoteFault where the list cannot be read and no own tag has a record.
        """
        records, refusals, list_fault = tuple[SignedRecord, ...](), tuple[str, ...](), None
        try:
            manifest = self.reader.manifest(tag, MOST_MANIFEST)
            if manifest is None:
                return None
            records, refusals = verified_records(listing_in(manifest), self.keys, self.now)
        except RemoteUnreachable:
            raise
        except RemoteFault as fault:
            list_fault = fault
        unread = [f"{tag}: {list_fault}"] if list_fault else []
        signers = {name for one in records if is_it(one) for name in one.signers}
        for key in {key.fingerprint: key for key in self.keys}.values():  # the last line of a key counts
            if is_enough(records):
                break
            if key.fingerprint not in signers and not key.refusal(self.now):
                self.count(0)
                own = self._own(signer_tag(tag, key.blob), key)
                records, refusals = (*records, *own.records), (*refusals, *own.refusals)
                unread += own.unread
        if list_fault and not records:
            raise list_fault
        return Signatures(records, refusals, tuple(unread))

    def _own(self, tag: str, key: TrustedKey) -> Signatures:
        """What is under a key's own tag. What cannot be read there hides no signature of another key.

        Raises RemoteUnreachable.
        """
        try:
            manifest = self.reader.manifest(tag, MOST_MANIFEST)
            if manifest is None:
                return Signatures((), ())
            return Signatures(*verified_records(listing_in(manifest), (key,), self.now))
        except RemoteUnreachable:
            raise
        except RemoteFault as fault:
            return Signatures((), (str(fault),), (f"{tag}: {fault}",))
