"""Signed indexes and the tools of others: ssh-keygen, sha256sum, pip, uv, pypiserver."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from stackbuild.publishing.signing import load_signing_key
from support.wheels import SignedIndex, signed_index


@pytest.fixture
def signed(tmp_path: Path) -> SignedIndex:
    return signed_index(tmp_path)


def test_ssh_keygen_verifies_the_sums_by_hand(signed: SignedIndex, tmp_path: Path) -> None:
    allowed = tmp_path / "allowed_signers"
    allowed.write_text("release@example.invalid " + signed.public.read_text())
    words = ["ssh-keygen", "-Y", "verify", "-f", str(allowed), "-I", "release@example.invalid", "-n", "stackbuild", "-s", "SHA256SUMS.sig"]
    sums = (signed.folder / "SHA256SUMS").read_bytes()
    assert subprocess.run(words, input=sums, cwd=signed.folder, capture_output=True, check=False).returncode == 0
    assert subprocess.run(words, input=sums + b"x", cwd=signed.folder, capture_output=True, check=False).returncode != 0
    done = subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=signed.folder, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout


def test_keys_that_ssh_keygen_makes_sign_and_one_with_a_passphrase_asks_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from stackbuild.core.errors import UsageError

    for name, passphrase in (("plain", ""), ("locked", "correct horse")):
        path = tmp_path / name
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-f", str(path)], check=True)
        if passphrase:
            with pytest.raises(UsageError, match="the key has a passphrase"):
                load_signing_key(path)
            monkeypatch.setenv("STACKBUILD_KEY_PASSPHRASE", passphrase)
        key = load_signing_key(path)
        printed = subprocess.run(["ssh-keygen", "-lf", f"{path}.pub"], check=True, capture_output=True, text=True).stdout
        assert key.fingerprint in printed
    path.chmod(0o644)
    with pytest.raises(UsageError, match="others may read the private key"):
        load_signing_key(path)
