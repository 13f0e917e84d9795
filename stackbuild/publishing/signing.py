"""Signatures with OpenSSH ed25519 keys: DSSE envelopes for programs, SSHSIG files for `ssh-keygen -Y verify`.

A private key is a file that `ssh-keygen -t ed25519` makes. A public key is its `.pub` file, or a line of an
`allowed_signers` file (ssh-keygen(1)) with the times that the key is valid between. securesystemslib signs and verifies
envelopes. Both libraries are imported when a key is used, and only then.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import shlex
import stat
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from stackbuild.core import digest
from stackbuild.core.errors import MachineLacks, UsageError
from stackbuild.core.plain_file import open_named_file, read_named_file

if TYPE_CHECKING:
    from securesystemslib.dsse import Envelope
    from securesystemslib.signer import SSlibKey

NAMESPACE = "stackbuild"
PASSPHRASE = "STACKBUILD_KEY_PASSPHRASE"
KEY_TYPE = "ssh-ed25519"
_KEY_BYTES = 51
"""Of a public key in SSH's wire format: its type and 32 bytes, each with its length."""
INSTALL = 'pip install "stackbuild[publish]"'
_LINE_WIDTH = 70
_SIGNATURE_BYTES = 64
_LIST_OPTIONS = frozenset(("valid-after", "valid-before", "namespaces"))
_SIGSTORE_TIME = re.compile(r"([0-9]{8})([0-9]{4}([0-9]{2})?)?(Z)?")
_OPTION = re.compile(r'([A-Za-z-]+)="([^"]*)"')
_Key = TypeVar("_Key")
MAX_REASONS = 5
"""So many reasons why signatures do not count are printed: an envelope may name a million keys."""


class SignatureRefused(Exception):
    """Why signatures are not enough; the text is for people."""


def _library(load: Callable[[], _Key]) -> _Key:
    try:
        return load()
    except ImportError as error:
        raise MachineLacks(f"signatures need {error.name}, which is not installed", next=INSTALL) from None


@dataclass(frozen=True)
class SigningKey:
    """A private key: `private` is cryptography's object, `blob` its public key in SSH's wire format."""

    private: Any
    blob: bytes

    @property
    def fingerprint(self) -> str:
        """As `ssh-keygen -lf` prints it."""
        return fingerprint(self.blob)


@dataclass(frozen=True)
class TrustedKey:
    """A public key in SSH's wire format, who it is, and between which times it is valid (None: no bound)."""

    blob: bytes
    name: str = ""
    valid_after: datetime | None = None
    valid_before: datetime | None = None

    @property
    def fingerprint(self) -> str:
        return fingerprint(self.blob)

    def refusal(self, now: datetime) -> str:
        """Why the key does not count at that time, "" where it does."""
        if self.valid_after and now < self.valid_after:
            return f"key {self.fingerprint} is not valid before {self.valid_after:%Y-%m-%d}"
        if self.valid_before and now >= self.valid_before:
            return f"key {self.fingerprint} expired on {self.valid_before:%Y-%m-%d}"
        return ""


def fingerprint(blob: bytes) -> str:
    """SHA256 of a public key in SSH's wire format, base64 without padding."""
    return "SHA256:" + base64.b64encode(hashlib.sha256(blob).digest()).rstrip(b"=").decode()


def load_signing_key(path: Path) -> SigningKey:
    """The private key in a file. Its passphrase, if it has one, comes from `$STACKBUILD_KEY_PASSPHRASE`.

    Raises UsageError where it is not an ed25519 key, where others may read it, or where the passphrase is wrong.
    """

    def load() -> Any:
        from cryptography.hazmat.primitives import serialization

        return serialization

    serialization = _library(load)
    try:
        with os.fdopen(open_named_file(path), "rb") as file:
            mode, data = os.fstat(file.fileno()).st_mode, file.read(1 << 16)
    except OSError as error:
        raise UsageError(f"the key cannot be read: {error.strerror}", where=str(path), next="give the path of a private key") from None  # fmt: skip
    except ValueError:  # a FIFO, a folder, a device
        data, mode = b"", 0
    _refuse_public(path, data)
    if not data.lstrip().startswith(b"-----BEGIN "):
        raise UsageError(
            "this is not a private key", where=str(path), next="make one with `ssh-keygen -t ed25519 -f release.key`"
        )
    if stat.S_IMODE(mode) & 0o077:
        raise UsageError("others may read the private key", where=str(path), next=f"chmod 600 {shlex.quote(str(path))}")
    try:
        private = _private_key(serialization, data)
    except TypeError:
        raise UsageError("the key has a passphrase", where=str(path), next=f"set ${PASSPHRASE}") from None
    except WrongPassphraseError:
        raise UsageError(
            f"the passphrase in ${PASSPHRASE} is not that of this key",
            where=str(path),
            next=f"set ${PASSPHRASE} to the key's own; `ssh-keygen -y -f {shlex.quote(str(path))}` asks for it and shows"
            " whether it is right",
        ) from None
    except ValueError as error:
        raise UsageError(
            f"not an OpenSSH private key: {error}",
            where=str(path),
            next="make one with `ssh-keygen -t ed25519 -f release.key`",
        ) from None
    line = private.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    if not line.startswith(KEY_TYPE.encode()):
        raise UsageError(
            f"the key is of type {line.split()[0].decode()}, ed25519 is needed",
            where=str(path),
            next="make one with `ssh-keygen -t ed25519 -f release.key`",
        )
    return SigningKey(private, base64.b64decode(line.split()[1]))


class WrongPassphraseError(ValueError):
    """The passphrase of the environment does not open the key."""


def _refuse_public(path: Path, data: bytes) -> None:
    """Raises UsageError for the public half of a key, which anybody may read."""
    if not data.startswith((b"ssh-", b"ecdsa-", b"sk-ssh-")):
        return
    private = path.with_suffix("") if path.suffix == ".pub" else None
    raise UsageError(
        "this is a public key: it verifies, and only the private key signs",
        where=str(path),
        next=f"give the private key that belongs to it: {f'`--sign {shlex.quote(str(private))}`' if private else 'the file without .pub'}",
    )


def _private_key(serialization: Any, data: bytes) -> Any:
    """The key in those bytes; a key without a passphrase takes none, whatever the environment has for another one.

    Raises TypeError where it needs a passphrase and there is none, WrongPassphraseError, ValueError where it is not a key.
    """
    try:
        return serialization.load_ssh_private_key(data, None)
    except TypeError:
        passphrase = os.environ.get(PASSPHRASE, "").encode()
        if not passphrase:
            raise
    try:
        return serialization.load_ssh_private_key(data, passphrase)
    except ValueError as error:
        raise WrongPassphraseError(str(error)) from None


MOST_KEYS = 1 << 20
"""Bytes of a file of public keys that are read."""


def load_trusted_keys(paths: Sequence[Path]) -> tuple[TrustedKey, ...]:
    """The public keys of `.pub` and `allowed_signers` files. Raises UsageError where a line is neither."""
    keys: dict[str, TrustedKey] = {}
    for path in paths:
        try:
            lines = read_named_file(path, MOST_KEYS).decode("utf-8").splitlines()
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else error
            raise UsageError(f"the key cannot be read: {reason}", where=str(path), next="give a .pub file") from None
        for key in trusted_keys_of(lines, str(path)):
            first = keys.setdefault(key.fingerprint, key)
            if (first.valid_after, first.valid_before) != (key.valid_after, key.valid_before):
                raise UsageError(
                    f"the key {key.fingerprint} is there twice, with other times of validity",
                    where=str(path),
                    next="keep one of them",
                )
    if not keys:
        raise UsageError("there is no public key in it", where=", ".join(map(str, paths)), next="give a .pub file")
    return tuple(keys.values())


def trusted_keys_of(lines: Sequence[str], where: str) -> tuple[TrustedKey, ...]:
    """The public keys of such lines; empty ones and comments are left out. Raises UsageError where a line is neither."""
    return tuple(
        _trusted_key(line.strip(), f"{where}:{number}")
        for number, line in enumerate(lines, 1)
        if line.strip() and not line.lstrip().startswith("#")
    )


def _trusted_key(line: str, where: str) -> TrustedKey:
    if "PRIVATE KEY" in line:
        raise UsageError("this is a private key", where=where, next="give the .pub file that lies beside it")
    words = line.split()
    at = next((i for i, word in enumerate(words) if word == KEY_TYPE), -1)
    if at < 0 or at + 1 >= len(words) or at > 2:
        raise UsageError(
            "not an ed25519 public key", where=where, next="a line is `ssh-ed25519 AAAA…`, or one of allowed_signers"
        )
    try:
        blob = base64.b64decode(words[at + 1], validate=True)
    except ValueError as error:
        raise UsageError(f"not a public key: {error}", where=where, next="give a .pub file") from None
    if len(blob) != _KEY_BYTES or not blob.startswith(_string(KEY_TYPE.encode()) + struct.pack(">I", 32)):
        raise UsageError("not an ed25519 public key", where=where, next="make one with `ssh-keygen -t ed25519`")
    options = _options(words[1], where) if at == 2 else {}
    if "namespaces" in options and NAMESPACE not in options["namespaces"].split(","):
        raise UsageError(f"the key is not for the namespace {NAMESPACE}", where=where, next="add it to `namespaces`")
    name = words[0] if at > 0 else " ".join(words[at + 2 :])
    after, before = (_time(options[o], where) if o in options else None for o in ("valid-after", "valid-before"))
    return TrustedKey(blob, name, after, before)


def _options(text: str, where: str) -> dict[str, str]:
    """The options of a line of `allowed_signers`, by name in lower case. One that is not understood may be a bound: raises
    UsageError."""
    options: dict[str, str] = {}
    names = ", ".join(f'{name}="…"' for name in sorted(_LIST_OPTIONS))
    for option in text.split(",") if text.count('"') == 0 else re.findall(r'(?:[^,"]|"[^"]*"?)+', text):
        match = _OPTION.fullmatch(option)
        if match is None or match[1].lower() not in _LIST_OPTIONS:
            raise UsageError(f"the option {option} is not known", where=where, next=f"known are {names}")
        name = match[1].lower()
        if name in options:
            raise UsageError(f"the option {name} is there twice", where=where, next="keep one of them")
        options[name] = match[2]
    return options


def _time(text: str, where: str) -> datetime:
    """A time of `allowed_signers`: YYYYMMDD[HHMM[SS]][Z]; taken as UTC."""
    if not _SIGSTORE_TIME.fullmatch(text):
        raise UsageError(f"{text!r} is not a time", where=where, next="write YYYYMMDD or YYYYMMDDHHMMZ")
    digits = text.rstrip("Z").ljust(14, "0")
    try:
        return datetime.strptime(digits, "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    except ValueError as error:
        raise UsageError(f"{text!r} is not a time: {error}", where=where, next="write YYYYMMDD") from None


# --- DSSE


def load_signing_types() -> tuple[Any, Any, Any]:
    """Envelope, signer and key of securesystemslib, whose import takes a tenth of a second. Raises MachineLacks."""

    def load() -> tuple[Any, Any, Any]:
        from securesystemslib.dsse import Envelope
        from securesystemslib.signer import CryptoSigner, SSlibKey

        return Envelope, CryptoSigner, SSlibKey

    return _library(load)


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

    dsse, exceptions = _library(load)
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

    def load() -> tuple[Any, Any]:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
        from securesystemslib.signer import SSlibKey

        return Ed25519PublicKey, SSlibKey

    public_type, key_type = _library(load)
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
            public: SSlibKey = key_type.from_crypto(public_type.from_public_bytes(key.blob[-32:]), name)
            try:
                public.verify_signature(signature, envelope.pae())
                good.add(name)
            except Exception as error:
                why.append(f"the signature of key {name} is wrong ({type(error).__name__})")
    return SignatureCheck(bytes(envelope.payload), frozenset(good), tuple(why))


# --- SSHSIG


def ssh_signature(message: bytes, key: SigningKey) -> bytes:
    """A signature that `ssh-keygen -Y verify -n stackbuild` takes (OpenSSH's PROTOCOL.sshsig)."""
    message_digest = hashlib.sha512(message).digest()
    parts = (NAMESPACE.encode(), b"", b"sha512")
    signed_bytes = b"SSHSIG" + b"".join(map(_string, (*parts, message_digest)))
    signature = _string(KEY_TYPE.encode()) + _string(key.private.sign(signed_bytes))
    blob = b"SSHSIG" + struct.pack(">I", 1) + b"".join(map(_string, (key.blob, *parts, signature)))
    text = base64.b64encode(blob).decode()
    lines = [text[at : at + _LINE_WIDTH] for at in range(0, len(text), _LINE_WIDTH)]
    return "\n".join(["-----BEGIN SSH SIGNATURE-----", *lines, "-----END SSH SIGNATURE-----", ""]).encode()


def is_ssh_signature(message: bytes, text: bytes, keys: Sequence[TrustedKey]) -> bool:
    """Whether that is a file of `ssh_signature` for the message by one of the keys."""

    def load() -> Any:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        return Ed25519PublicKey

    public_type = _library(load)
    lines = text.decode("ascii", "replace").splitlines()
    try:
        blob = base64.b64decode("".join(lines[1:-1]), validate=True)
    except ValueError:
        return False
    parts = b"".join(map(_string, (NAMESPACE.encode(), b"", b"sha512")))
    signed_bytes = b"SSHSIG" + parts + _string(hashlib.sha512(message).digest())
    for key in keys:
        head = b"SSHSIG" + struct.pack(">I", 1) + _string(key.blob) + parts
        body = _string(KEY_TYPE.encode()) + struct.pack(">I", _SIGNATURE_BYTES)
        start = head + struct.pack(">I", len(body) + _SIGNATURE_BYTES) + body
        if not blob.startswith(start) or len(blob) != len(start) + _SIGNATURE_BYTES:
            continue
        try:
            public_type.from_public_bytes(key.blob[-32:]).verify(blob[len(start) :], signed_bytes)
        except Exception:
            continue
        return True
    return False


def ssh_signer(message: bytes, text: bytes) -> TrustedKey | None:
    """The key that a file of `ssh_signature` says it is by, where it is a signature of the message by that key.

    Nobody trusts the key for that.
    """
    lines = text.decode("ascii", "replace").splitlines()
    try:
        blob = base64.b64decode("".join(lines[1:-1]), validate=True)
    except ValueError:
        return None
    at = len(b"SSHSIG") + 8  # behind the version and the length of the key
    key = TrustedKey(blob[at : at + _KEY_BYTES])
    return key if len(key.blob) == _KEY_BYTES and is_ssh_signature(message, text, (key,)) else None


def _string(data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + data
