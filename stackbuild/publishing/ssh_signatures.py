"""SSHSIG files, which `ssh-keygen -Y verify` reads: signatures for people without stackbuild."""

from __future__ import annotations

import base64
import hashlib
import struct
from collections.abc import Sequence

from stackbuild.publishing.ssh_keys import (
    KEY_BYTES,
    KEY_TYPE,
    NAMESPACE,
    SigningKey,
    TrustedKey,
    ssh_string,
)

_LINE_WIDTH = 70
_SIGNATURE_BYTES = 64


def ssh_signature(message: bytes, key: SigningKey) -> bytes:
    """A signature that `ssh-keygen -Y verify -n stackbuild` takes (OpenSSH's PROTOCOL.sshsig)."""
    message_digest = hashlib.sha512(message).digest()
    parts = (NAMESPACE.encode(), b"", b"sha512")
    signed_bytes = b"SSHSIG" + b"".join(map(ssh_string, (*parts, message_digest)))
    signature = ssh_string(KEY_TYPE.encode()) + ssh_string(key.private.sign(signed_bytes))
    blob = b"SSHSIG" + struct.pack(">I", 1) + b"".join(map(ssh_string, (key.blob, *parts, signature)))
    text = base64.b64encode(blob).decode()
    lines = [text[at : at + _LINE_WIDTH] for at in range(0, len(text), _LINE_WIDTH)]
    return "\n".join(["-----BEGIN SSH SIGNATURE-----", *lines, "-----END SSH SIGNATURE-----", ""]).encode()


def is_ssh_signature(message: bytes, text: bytes, keys: Sequence[TrustedKey]) -> bool:
    """Whether that is a file of `ssh_signature` for the message by one of the keys."""
    lines = text.decode("ascii", "replace").splitlines()
    try:
        blob = base64.b64decode("".join(lines[1:-1]), validate=True)
    except ValueError:
        return False
    parts = b"".join(map(ssh_string, (NAMESPACE.encode(), b"", b"sha512")))
    signed_bytes = b"SSHSIG" + parts + ssh_string(hashlib.sha512(message).digest())
    for key in keys:
        head = b"SSHSIG" + struct.pack(">I", 1) + ssh_string(key.blob) + parts
        body = ssh_string(KEY_TYPE.encode()) + struct.pack(">I", _SIGNATURE_BYTES)
        start = head + struct.pack(">I", len(body) + _SIGNATURE_BYTES) + body
        if not blob.startswith(start) or len(blob) != len(start) + _SIGNATURE_BYTES:
            continue
        public_key = key.public_key()
        try:
            public_key.verify(blob[len(start) :], signed_bytes)
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
    key = TrustedKey(blob[at : at + KEY_BYTES])
    return key if len(key.blob) == KEY_BYTES and is_ssh_signature(message, text, (key,)) else None
