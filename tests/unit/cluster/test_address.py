"""Which addresses of schedulers are taken: TLS anywhere, plain TCP on loopback alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from stackbuild.cluster.address import TlsFiles, parse_address
from stackbuild.core.errors import UsageError
from support.clusters import certificates


@pytest.fixture
def files(tmp_path: Path) -> TlsFiles:
    return certificates(tmp_path / "tls")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
def test_plain_tcp_on_loopback(host: str) -> None:
    address = parse_address(f"tcp://{host}:8786", TlsFiles())
    assert address.tls is None and str(address) == address.url == f"tcp://{host}:8786"


@pytest.mark.parametrize("host", ["0.0.0.0", "10.0.0.1", "build.acme.org", "127.0.0.2", "[::]", "localhost.acme.org"])
def test_plain_tcp_beyond_loopback_is_refused(host: str) -> None:
    with pytest.raises(UsageError, match="an open scheduler port is remote code execution") as refused:
        parse_address(f"tcp://{host}:8786", TlsFiles())
    assert "--tls-ca" in refused.value.next


def test_tls(files: TlsFiles) -> None:
    address = parse_address("tcp+tls://0.0.0.0:8786", files)
    assert address.url == "tls://0.0.0.0:8786" and str(address) == "tcp+tls://0.0.0.0:8786"
    with pytest.raises(UsageError, match="TLS needs three files"):
        parse_address("tcp+tls://a:1", TlsFiles(ca=files.ca, cert=files.cert))
    with pytest.raises(UsageError, match="no such file"):
        parse_address("tcp+tls://a:1", TlsFiles(files.ca, files.cert, Path("/nowhere.pem")))
    with pytest.raises(UsageError, match="certificates are given"):
        parse_address("tcp://127.0.0.1:1", files)


def test_files_that_no_connection_can_be_opened_with(files: TlsFiles, tmp_path: Path) -> None:
    strange, empty = certificates(tmp_path / "strange"), tmp_path / "empty.pem"
    empty.touch()
    with pytest.raises(UsageError, match=r"cannot be used: .*mismatch"):
        parse_address("tcp+tls://a:1", replace(files, key=strange.key))
    with pytest.raises(UsageError, match="not a certificate of an authority"):
        parse_address("tcp+tls://a:1", replace(files, ca=empty))
    assert files.key is not None
    secret = load_pem_private_key(files.key.read_bytes(), None)
    files.key.write_bytes(secret.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"words")))
    with pytest.raises(UsageError, match="the key has a passphrase"):
        parse_address("tcp+tls://a:1", files)


@pytest.mark.parametrize(
    ("hours", "reason"), [((-3, -1), "certificate has expired"), ((1, 3), "certificate is not yet valid")]
)
def test_a_certificate_that_does_not_hold_now(tmp_path: Path, hours: tuple[int, int], reason: str) -> None:
    """Expired, or by a clock that is behind: each try of a connection would fail."""
    with pytest.raises(UsageError, match=reason) as refused:
        parse_address("tcp+tls://a:1", certificates(tmp_path / "tls", hours))
    assert "is the clock right" in refused.value.next and "sign a new one" in refused.value.next


def test_a_certificate_of_another_authority(files: TlsFiles, tmp_path: Path) -> None:
    strange = certificates(tmp_path / "strange")
    with pytest.raises(UsageError, match="no member of the cluster would take this certificate"):
        parse_address("tcp+tls://a:1", replace(files, cert=strange.cert, key=strange.key))


@pytest.mark.parametrize(
    "text", ["", "8786", "build.acme.org:8786", "tls://a:1", "tcp://127.0.0.1", "tcp://127.0.0.1:99999",
             "tcp://u@127.0.0.1:1", "tcp://127.0.0.1:1/x", "tcp://[::1:8786", "http://127.0.0.1:1"],
)  # fmt: skip
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(UsageError, match=r"is not (the|an) address") as refused:
        parse_address(text, TlsFiles())
    assert "tcp+tls://HOST:PORT" in refused.value.next
