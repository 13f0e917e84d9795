"""The signatures of one output on a remote: a list that all signers share, and a tag for each signer that nobody else writes.

No registry has to offer compare-and-swap. Of two signers that write the shared list at the same moment, one overwrites
the other's entry. A signer's own tag has one writer, so no signature there is lost. A signer writes its own tag before the
list. A reader asks for the list first, and for the own tags of trusted keys only where the list is there and does not have
enough of them. So an output that nobody signed costs one request.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from stackbuild.publishing.ssh_keys import TrustedKey
from stackbuild.remote.faults import RemoteFault, RemoteUnreachable
from stackbuild.remote.protocol import SIGNER_DIGITS, RemoteReader
from stackbuild.remote.records import SignedRecord, verified_records
from stackbuild.remote.trees import MOST_MANIFEST, listing_in


def signer_tag(tag: str, blob: bytes) -> str:
    """The tag beside `tag` that only the signer with that public key writes. `blob` is in SSH's wire format."""
    return f"{tag}.{hashlib.sha256(blob).hexdigest()[:SIGNER_DIGITS]}"


@dataclass(frozen=True)
class Signatures:
    """The records that trusted keys have signed, and why other envelopes do not count."""

    records: tuple[SignedRecord, ...]
    refusals: tuple[str, ...]


@dataclass(frozen=True)
class SignatureReader:
    """A remote with the keys that count at a time."""

    reader: RemoteReader
    keys: Sequence[TrustedKey]
    now: datetime

    def read(
        self,
        tag: str,
        is_it: Callable[[SignedRecord], bool],
        is_enough: Callable[[Sequence[SignedRecord]], bool] = lambda records: False,
    ) -> Signatures | None:
        """What is signed under a tag; None where the remote has no list there. Raises RemoteFault.

        The own tag of a key is asked for unless the list has a record of it that `is_it`, until the records are enough.
        """
        manifest = self.reader.manifest(tag, MOST_MANIFEST)
        if manifest is None:
            return None
        records, refusals = verified_records(listing_in(manifest), self.keys, self.now)
        signers = {name for one in records if is_it(one) for name in one.signers}
        for key in {key.fingerprint: key for key in self.keys}.values():  # the last line of a key counts
            if is_enough(records):
                break
            if key.fingerprint not in signers and not key.refusal(self.now):
                own_records, own_refusals = self._own(tag, key)
                records, refusals = (*records, *own_records), (*refusals, *own_refusals)
        return Signatures(records, refusals)

    def _own(self, tag: str, key: TrustedKey) -> tuple[tuple[SignedRecord, ...], tuple[str, ...]]:
        """What is under a key's own tag. What cannot be read there hides no signature of another key.

        Raises RemoteUnreachable.
        """
        try:
            manifest = self.reader.manifest(signer_tag(tag, key.blob), MOST_MANIFEST)
            return verified_records(listing_in(manifest), (key,), self.now) if manifest is not None else ((), ())
        except RemoteUnreachable:
            raise
        except RemoteFault as fault:
            return (), (str(fault),)
