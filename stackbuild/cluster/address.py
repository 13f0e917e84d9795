"""Where a scheduler listens, and the certificates that open it: `tcp+tls://HOST:PORT`, or `tcp://` on loopback."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

from stackbuild.core.errors import UsageError
from stackbuild.core.loopback import is_loopback

FORM = "tcp+tls://HOST:PORT, or tcp://127.0.0.1:PORT on one machine"
OPEN_PORT = (
    "an open scheduler port is remote code execution: whoever reaches it runs any Python code as the user of each worker"
    " and of the scheduler"
)
HANDSHAKE_TURNS = 4
"""Messages that each side of a handshake sends at most."""
INVALID_PURPOSE = 26
"""OpenSSL's X509_V_ERR_INVALID_PURPOSE."""


@dataclass(frozen=True)
class TlsFiles:
    """PEM files: the authority that signs all certificates of the cluster, and this process's certificate and key."""

    ca: Path | None = None
    cert: Path | None = None
    key: Path | None = None

    @property
    def files(self) -> tuple[Path, ...]:
        return tuple(path for path in (self.ca, self.cert, self.key) if path is not None)


@dataclass(frozen=True)
class ClusterAddress:
    """A scheduler's address; `tls` is None for plain TCP on loopback."""

    host: str
    port: int
    tls: TlsFiles | None

    @property
    def url(self) -> str:
        """As Dask writes it."""
        return f"{'tls' if self.tls else 'tcp'}://{_bracket(self.host)}:{self.port}"

    def __str__(self) -> str:
        return f"{'tcp+tls' if self.tls else 'tcp'}://{_bracket(self.host)}:{self.port}"


def _bracket(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def parse_address(text: str, files: TlsFiles) -> ClusterAddress:
    """The address that a person wrote. Raises UsageError: also for plain TCP beyond loopback, and for missing certificates."""
    try:
        parts = urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise UsageError(f"{text!r} is not an address: {error}", next=f"write {FORM}") from None
    is_bare = not (parts.path.strip("/") or parts.query or parts.fragment or parts.username)
    if parts.scheme not in ("tcp", "tcp+tls") or not host or not port or not is_bare:
        raise UsageError(f"{text!r} is not the address of a scheduler", next=f"write {FORM}")
    if parts.scheme == "tcp":
        if files.files:
            raise UsageError(f"{text} is plain TCP, and certificates are given", next=f"write tcp+tls://{host}:{port}")
        if not is_loopback(host):
            raise UsageError(
                f"plain TCP beyond loopback is refused: {OPEN_PORT}", where=text,
                next=f"write tcp+tls://{host}:{port} with --tls-ca, --tls-cert and --tls-key; docs/cluster.md makes them",
            )  # fmt: skip
        return ClusterAddress(host, port, None)
    if len(files.files) < 3:
        raise UsageError(
            "TLS needs three files: the authority, this process's certificate and its key", where=text,
            next="give --tls-ca, --tls-cert and --tls-key, or STACKBUILD_TLS_CA, _CERT and _KEY; docs/cluster.md makes them",
        )  # fmt: skip
    for path in files.files:
        if not path.is_file():
            raise UsageError("no such file", where=str(path), next="correct --tls-ca, --tls-cert or --tls-key")
    _refuse_unusable(files)
    return ClusterAddress(host, port, files)


def _refuse_unusable(files: TlsFiles) -> None:
    """Raises UsageError for files that no connection can be opened with: else every try would fail, and say less."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    assert files.ca and files.cert and files.key
    makes = "docs/cluster.md says how to make them"
    try:
        context.load_verify_locations(files.ca)
    except (OSError, ValueError) as error:
        raise UsageError(f"not a certificate of an authority: {error}", where=str(files.ca), next=makes) from None
    try:
        context.load_cert_chain(files.cert, files.key, password=_no_passphrase)
    except (OSError, ValueError) as error:
        raise UsageError(
            f"the certificate and its key cannot be used: {error}", where=f"{files.cert}, {files.key}", next=makes
        ) from None
    if reason := _refusal_of_own(files):
        now = datetime.now(UTC).isoformat(" ", "minutes")
        raise UsageError(
            f"no member of the cluster would take this certificate: {reason}", where=f"{files.cert}, {files.ca}",
            next=f"sign a new one with the cluster's authority; is the clock right (it says {now})? {makes}",
        )  # fmt: skip


def _refusal_of_own(files: TlsFiles) -> str:
    """Why a connection of this member with itself fails, as OpenSSL says it: expired, not yet valid, another authority's.

    The handshake is made in memory. A certificate for clients alone, or for servers alone, is left to its peers.
    """
    assert files.ca and files.cert and files.key
    contexts = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    for context in contexts:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(files.ca)
        context.load_cert_chain(files.cert, files.key, password=_no_passphrase)
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    sides = (
        contexts[1].wrap_bio(to_client, to_server),
        contexts[0].wrap_bio(to_server, to_client, server_side=True),
    )
    for _ in range(HANDSHAKE_TURNS):
        for side in sides:
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
            except ssl.SSLCertVerificationError as error:
                return "" if error.verify_code == INVALID_PURPOSE else error.verify_message
            except ssl.SSLError as error:
                return str(error)
    return ""


def _no_passphrase() -> str:
    """Never asks at the terminal: Dask would ask at each connection."""
    raise ValueError("the key has a passphrase")
