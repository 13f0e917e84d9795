"""DSSE envelopes with ed25519 signatures, and which of their signatures count.

securesystemslib signs and verifies. It is imported when an envelope is read or signed, and only then.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from stackbuild.core import digest
from stackbuild.publishing.ssh_keys import SigningKey, TrustedKey, load_library

if TYPE_CHECKING:
    from securesystemslib.dsse import Envelope
    from securesystemslib.signer import SSlibKey

MAX_REASONS = 5
"""So many reasons why signatures do not count are printed: an envelope may name a million keys."""


class SignatureRefused(Exception):
    """Why signatures are not enough; the text is for people."""


def load_signing_types() -> tuple[Any, Any, Any]:
    """Envelope, signer and key of securesystemslib, whose import takes a tenth of a second. Raises MachineLacks."""

    def load() -> tuple[Any, Any, Any]:
        from securesystemslib.dsse import Envelope
        from securesystemslib.signer import CryptoSigner, SSlibKey

        return Envelope, CryptoSigner, SSlibKey

    return load_library(load)


def envelope_text(payload: bytes, payload_type: str, keys: Sequence[SigningKey], before: bytes = b"") -> bytes:
    """A DSSE envelope of the payload with a signature of each key, as JSON.

    Signatures of an envelope `before` with the same payload are kept: several people sign one after the other.
    """
    envelope_type, signer_type, key_type = load_signing_types()
    envelope = envelope_type(payload, payload_type, {})
    if before:
        earlier = read_envelope(before)
        if (earlier.payload, earlier.payload_type) == (payload, payload_type):
            envelope.signatures.update(earlier.signatures)
    for key in keys:
        public = key_type.from_crypto(key.private.public_key(), key.fingerprint)
        envelope.sign(signer_type(key.private, public))
    return json.dumps(envelope.to_dict(), indent=1, sort_keys=True).encode() + b"\n"


def read_envelope(data: bytes) -> Envelope:
    """The envelope in those bytes, unverified. Raises SignatureRefused where they are not one."""

    def load() -> Any:
        from securesystemslib import dsse, exceptions

        return dsse, exceptions

    dsse, exceptions = load_library(load)
    try:
        envelope: Envelope = dsse.Envelope.from_dict(digest.unique_json_of(data.decode("utf-8")))
    except (ValueError, KeyError, TypeError, AttributeError, exceptions.FormatError) as error:
        reason = f"it has no {error}" if isinstance(error, KeyError) else error
        raise SignatureRefused(f"it is not a DSSE envelope: {reason}") from None
    return envelope


def signers(data: bytes) -> frozenset[str]:
    """The fingerprints of the keys that an envelope names; none of its signatures is verified."""
    return frozenset(read_envelope(data).signatures)


class SignatureCheck(NamedTuple):
    """The payload of an envelope, the fingerprints of the trusted keys that signed it, and why other signatures do not
    count. The payload is not parsed."""

    payload: bytes
    good: frozenset[str]
    refusals: tuple[str, ...]

    def payload_of(self, threshold: int) -> bytes:
        """The payload, where at least so many trusted keys have signed it. Raises SignatureRefused with the reason."""
        if len(self.good) < threshold:
            more = f"; and {len(self.refusals) - MAX_REASONS} more" if len(self.refusals) > MAX_REASONS else ""
            reasons = (
                "; ".join(self.refusals[:MAX_REASONS]) + more or f"nobody {'else ' if self.good else ''}has signed it"
            )
            raise SignatureRefused(f"{len(self.good)} of {threshold} needed signatures are good: {reasons}")
        return self.payload


def good_signatures(data: bytes, payload_type: str, keys: Sequence[TrustedKey], now: datetime) -> SignatureCheck:
    """Which signatures of an envelope count at that time. Raises SignatureRefused where it is not one of this type."""
    *_, key_type = load_signing_types()
    envelope = read_envelope(data)
    if envelope.payload_type != payload_type:
        raise SignatureRefused(f"its payload is {envelope.payload_type!r}, not {payload_type!r}")
    keys_by_fingerprint = {key.fingerprint: key for key in keys}
    good, why = set(), []
    for name, signature in envelope.signatures.items():
        key = keys_by_fingerprint.get(name)
        if key is None:
            why.append(f"key {name} is not trusted")
        elif reason := key.refusal(now):
            why.append(reason)
        else:
            public: SSlibKey = key_type.from_crypto(key.public_key(), name)
            try:
                public.verify_signature(signature, envelope.pae())
                good.add(name)
            except Exception as error:
                why.append(f"the signature of key {name} is wrong ({type(error).__name__})")
    return SignatureCheck(bytes(envelope.payload), frozenset(good), tuple(why))
