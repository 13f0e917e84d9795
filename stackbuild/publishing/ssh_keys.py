"""OpenSSH ed25519 keys: private ones that sign, and public ones that are trusted.

A private key is a file that `ssh-keygen -t ed25519` makes. A public key is its `.pub` file, or a line of an
`allowed_signers` file (ssh-keygen(1)) with the times that the key is valid between. cryptography reads a private key. It
is imported when one is read, and only then.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import stat
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from stackbuild.core.errors import MachineLacks, UsageError
from stackbuild.core.plain_file import open_named_file, read_named_file
from stackbuild.core.shell_words import shell_word

NAMESPACE = "stackbuild"
PASSPHRASE = "STACKBUILD_KEY_PASSPHRASE"
KEY_TYPE = "ssh-ed25519"
KEY_BYTES = 51
"""Of a public key in SSH's wire format: its type and 32 bytes, each with its length."""
INSTALL = 'pip install "stackbuild[publish]"'
_LIST_OPTIONS = frozenset(("valid-after", "valid-before", "namespaces"))
_SIGSTORE_TIME = re.compile(r"([0-9]{8})([0-9]{4}([0-9]{2})?)?(Z)?")
_OPTION = re.compile(r'([A-Za-z-]+)="([^"]*)"')
_PackageParts = TypeVar("_PackageParts")


def load_library(load: Callable[[], _PackageParts]) -> _PackageParts:
    """What `load` imports. Raises MachineLacks where that is not installed."""
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

    def public_key(self) -> Any:
        """cryptography's object of this key. Raises MachineLacks."""

        def load() -> Any:
            from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

            return Ed25519PublicKey

        return load_library(load).from_public_bytes(self.blob[-32:])

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

    serialization = load_library(load)
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
        raise UsageError("others may read the private key", where=str(path), next=f"chmod 600 {shell_word(path)}")
    try:
        private = _private_key(serialization, data)
    except TypeError:
        raise UsageError("the key has a passphrase", where=str(path), next=f"set ${PASSPHRASE}") from None
    except WrongPassphraseError:
        raise UsageError(
            f"the passphrase in ${PASSPHRASE} is not that of this key",
            where=str(path),
            next=f"set ${PASSPHRASE} to the key's own; `ssh-keygen -y -f {shell_word(path)}` asks for it and shows"
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
        next=f"give the private key that belongs to it: {f'`--sign {shell_word(private)}`' if private else 'the file without .pub'}",
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
    keys: tuple[TrustedKey, ...] = ()
    for path in paths:
        try:
            lines = read_named_file(path, MOST_KEYS).decode("utf-8").splitlines()
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else error
            raise UsageError(f"the key cannot be read: {reason}", where=str(path), next="give a .pub file") from None
        keys = distinct_keys((*keys, *trusted_keys_of(lines, str(path))), str(path))
    if not keys:
        raise UsageError("there is no public key in it", where=", ".join(map(str, paths)), next="give a .pub file")
    return keys


def distinct_keys(keys: Sequence[TrustedKey], where: str) -> tuple[TrustedKey, ...]:
    """Each key once, in the first of its lines. Raises UsageError where a line of it has other times of validity."""
    distinct: dict[str, TrustedKey] = {}
    for key in keys:
        first = distinct.setdefault(key.fingerprint, key)
        if (first.valid_after, first.valid_before) != (key.valid_after, key.valid_before):
            raise UsageError(
                f"the key {key.fingerprint} is there twice, with other times of validity",
                where=where,
                next="keep one of them",
            )
    return tuple(distinct.values())


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
    if len(blob) != KEY_BYTES or not blob.startswith(ssh_string(KEY_TYPE.encode()) + struct.pack(">I", 32)):
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


def ssh_string(data: bytes) -> bytes:
    """Bytes with their length before them, as SSH's wire format has them (RFC 4251, section 5)."""
    return struct.pack(">I", len(data)) + data
