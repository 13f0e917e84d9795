"""Signed records: what a builder says of one output, and the list of envelopes that a remote has for a key.

A record is canonical JSON in a DSSE envelope (securesystemslib, ed25519 keys of OpenSSH). Each builder signs a record
of its own run, so one key can have several envelopes. No envelope's payload is parsed before a trusted key's signature
of it is verified. The text that a key is the digest of is not in it: who asks has that text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from stackbuild.core import digest
from stackbuild.core.errors import safe
from stackbuild.publishing.envelopes import SignatureRefused, envelope_text, good_signatures
from stackbuild.publishing.ssh_keys import SigningKey, TrustedKey
from stackbuild.remote.faults import RemoteFault
from stackbuild.store.records import INPUT_REMOTES, INPUT_SIGNERS, PEAK_MEMORY, patches_in, refuse_form

PAYLOAD_TYPE = "application/vnd.stackbuild.record+json"
SCHEMA = "stackbuild.remote-record/1"
MOST_ENVELOPES = 16
"""Envelopes of one key that are read, and written."""
NOTES_HERE = frozenset(("remote", "signed_by", "signed_run", INPUT_REMOTES, PEAK_MEMORY))
"""Notes that are this machine's: where an output and its inputs came from, and its memory. Never signed, never taken from
a remote."""
MOST_SIZE = 1 << 62
"""Bytes that a record may name: what a pull takes is bounded by the store."""
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}[+-][0-9]{2}:[0-9]{2}")
_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class RemoteRecord:
    """What was made: `tree` is the output's digest, `size` the bytes of its files, `manifest_size` those of its manifest.

    `content_key` is "" where the builder's store has none. `seconds`, `made_by` and `made_at` are of the builder's run.
    """

    key: str
    content_key: str
    tree: str
    size: int
    manifest_size: int
    step: str
    recipe: str
    seconds: float
    made_by: str
    made_at: str
    notes: dict[str, str]

    @property
    def output(self) -> tuple[object, ...]:
        """All of it but the key and what each run says of itself: builders of the same output have the same.

        The notes are in it: a base's packages are in the keys of all steps on it. Who signed a builder's inputs is not.
        """
        notes = {name: text for name, text in self.notes.items() if name != INPUT_SIGNERS}
        return self.tree, self.size, self.manifest_size, notes

    def payload(self) -> bytes:
        """The bytes that are signed."""
        return digest.canonical({"schema": SCHEMA, **asdict(self)}).encode("utf-8", "surrogatepass")

    @classmethod
    def read(cls, payload: bytes) -> RemoteRecord:
        """Raises RemoteFault where those bytes are not a record."""
        try:
            data = digest.json_of(payload.decode("utf-8", "surrogatepass"))
            if data.pop("schema") != SCHEMA:
                raise ValueError("another schema")
            record = cls(**data)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise RemoteFault(f"not a signed record: {error}") from None
        try:
            refuse_form(record.seconds, record.notes)
            patch_list = patches_in(record.notes) or ()
        except ValueError as error:
            raise RemoteFault(f"a signed record is refused: {error}") from None
        digests = (record.key, record.tree, *([record.content_key] if record.content_key else []))
        texts = (
            record.step,
            record.recipe,
            record.made_by,
            *record.notes,
            *(text for row in patch_list for text in row),
        )
        numbers = (record.size, record.manifest_size)
        if (
            not all(isinstance(one, str) and _DIGEST.fullmatch(one) for one in digests)
            or not all(isinstance(one, str) and one.isprintable() for one in texts)
            or not all(safe(one) == one for one in record.notes.values())
            or not all(type(one) is int and 0 <= one <= MOST_SIZE for one in numbers)
            or not _is_time(record.made_at)
        ):
            raise RemoteFault("a signed record with a field of another type or form")
        return record


def _is_time(text: object) -> bool:
    """Whether it is a time as a build writes it, with its zone."""
    if not isinstance(text, str) or not _TIME.fullmatch(text):
        return False
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


@dataclass(frozen=True)
class SignedRecord:
    """A record with the fingerprints of the trusted keys that signed it."""

    record: RemoteRecord
    signers: frozenset[str]


def sign(record: RemoteRecord, key: SigningKey) -> bytes:
    """The record's envelope."""
    return envelope_text(record.payload(), PAYLOAD_TYPE, (key,))


def listing_of(envelopes: Sequence[bytes]) -> bytes:
    """The blob that a remote has for a key: its envelopes, oldest first."""
    return digest.canonical([json.loads(envelope) for envelope in envelopes]).encode("utf-8", "surrogatepass")


def envelopes_of(listing: bytes) -> tuple[bytes, ...]:
    """The envelopes of such a blob, unverified. Raises RemoteFault."""
    try:
        rows = digest.json_of(listing.decode("utf-8", "surrogatepass"))
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            raise ValueError("not a list of envelopes")
        return tuple(json.dumps(row).encode() for row in rows[:MOST_ENVELOPES])
    except (ValueError, RecursionError) as error:
        raise RemoteFault(f"the record cannot be read: {error}") from None


def verified_records(
    listing: bytes, keys: Sequence[TrustedKey], now: datetime
) -> tuple[tuple[SignedRecord, ...], tuple[str, ...]]:
    """The records of a blob that trusted keys have signed, oldest first, and why others do not count.

    Raises RemoteFault where it is not such a blob.
    """
    valid, why = list[SignedRecord](), list[str]()
    for envelope in envelopes_of(listing):
        try:
            payload, good, refusals = good_signatures(envelope, PAYLOAD_TYPE, keys, now)
            if good:
                valid.append(SignedRecord(RemoteRecord.read(payload), good))
            else:
                why += refusals or ("nobody has signed it",)
        except (SignatureRefused, RemoteFault, ValueError, TypeError, RecursionError) as error:
            why.append(str(error))
    return tuple(valid), tuple(why)


def agreement(signatures: Sequence[SignedRecord], threshold: int) -> SignedRecord | None:
    """The first record whose output at least `threshold` keys have signed for, with all these keys; None where none is."""
    for one in signatures:
        alike = (other.signers for other in signatures if other.record.output == one.record.output)
        signers = frozenset[str]().union(*alike)
        if len(signers) >= threshold:
            return SignedRecord(one.record, signers)
    return None
