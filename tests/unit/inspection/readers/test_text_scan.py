"""Paths and secrets in a library's text."""

from __future__ import annotations

import pytest

from stackbuild.inspection.readers.text_scan import TextScan


def test_text_is_found_once_even_across_chunks():
    text = (
        b"x" * 300
        + b"\0/home/alice/src/ort/session.cc\0"
        + b"y" * 300
        + b"git-branch=rel-1.22.0, git-commit-id=f217402897,"
    )
    for step in (1, 5, 64, 400, 1000):
        scan = TextScan()
        for at in range(0, len(text), step):
            scan.push(text[at : at + step])
        kinds = {hit.kind: (hit.count, hit.samples) for hit in scan.hits("f")}
        assert kinds == {
            "home-path": (1, ("/home/alice/src/ort/session.cc",)),
            "build-info": (1, ("git-branch=rel-1.22.0, git-commit-id=f217402897",)),
        }, step


def test_a_match_at_the_very_end_counts():
    scan = TextScan()
    scan.push(b"x /home/alice/a.c")
    scan.gap()
    scan.push(b"/b.c /home/bob/c.c")
    assert scan.hits("f")[0].count == 2


@pytest.mark.parametrize(
    "text",
    [
        b"AKIAIOSFODNN7EXAMPLE ", b"glpat-abcdefghij0123456789 ", b"pypi-AgEIcHlwaS5vcmc" + b"x" * 60,
        b"-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7bq3mPp0c2Ww5l0p1m3Jm9v8yq6h2k4n8s7d6f5g4h3j2k1l\n",
        b"https://user:s3cretpass@host.example.com/p",
        b"ASIAIOSFODNN7EXAMPLE ", b"aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY\n",
        b'"AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"', b"xoxb-123456789012-1234567890123-abcdefghijklmnop",
        b"AIzaSyA1234567890abcdefghijklmnopqrstuvw ", b"hf_abcdefghijklmnopqrstuvwxyzABCDEFGH ",
        b"npm_abcdefghijklmnopqrstuvwxyz0123456789 ", b"sk-proj-abcdefghijklmnopqrstuvwxyz0123456789abcdefghij",
        b"sk_live_abcdefghijklmnopqrstuvwx", b"AccountKey=" + b"a1B2" * 21 + b"cd==", b"Authorization: Bearer abcdefghijklmnop123456",
        b"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
        b"machine example.org\n  login ci\n  password zzzzzzzzz\n", b"https://ghtoken1234567@github.com/x.git",
    ],
)  # fmt: skip
def test_secrets_are_found_and_not_shown(text: bytes):
    scan = TextScan()
    scan.push(b"  " + text)
    (hit,) = scan.hits("f")
    assert hit.kind == "secret" and text.decode().strip() not in hit.samples[0]


@pytest.mark.parametrize(
    "text",
    [
        b"-----BEGIN PRIVATE KEY-----\0",
        b"https://%s:%s@host/",
        b"https://user:{password}@host.example",
        b"AKIA",
        b"http://a.b/c:d@e",
        b"task-abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnop",
        b"Bearer authentication-is-described-in-this-chapter",
        b"https://contributors@github.com/x.git",
        b"the password of the machine and its login",
        b"hf_hub_download_the_whole_repository_of_it",
    ],
)
def test_what_only_looks_a_little_like_a_secret_is_left_alone(text: bytes):
    scan = TextScan()
    scan.push(b"  " + text)
    assert not scan.hits("f")
