"""`publish` on the command line: what it takes along with a wheel."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from stackbuild.__main__ import run
from support.wheels import SMALL_LOCK, put_statements, small_wheel


def test_a_wheels_lock_and_statements_go_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A gate of the next release reads the lock there, to list the inputs that changed."""
    wheel = small_wheel(tmp_path / "built")
    names = {path.name for path in put_statements(wheel)} | {f"{wheel.name}.lock.yaml"}
    wheel.with_name(f"{wheel.name}.lock.yaml").write_text(SMALL_LOCK)
    monkeypatch.setattr(sys, "argv", ["stackbuild", "publish", str(wheel), "--to", str(tmp_path / "simple")])
    assert run() == 0
    assert names <= {path.name for path in (tmp_path / "simple" / "demo-pkg").iterdir()}
    monkeypatch.setattr(sys, "argv", ["stackbuild", "index", "check", str(tmp_path / "simple")])
    assert run() == 0


@pytest.mark.parametrize("end", ["lock.yaml", "verification.json"])
@pytest.mark.parametrize("kind", ["link", "FIFO", "holes"])
def test_what_lies_beside_a_wheel_is_a_file_or_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], end: str, kind: str
) -> None:
    """Who gives away a wheel chooses what lies beside it: a link would publish a file of whoever publishes."""
    secret = tmp_path / "id_ed25519"
    secret.write_text("a private key\n")
    wheel = small_wheel(tmp_path / "built")
    beside = wheel.with_name(f"{wheel.name}.{end}")
    if kind == "link":
        beside.symlink_to(secret)
    elif kind == "FIFO":
        os.mkfifo(beside)
    else:
        beside.touch()
        os.truncate(beside, 1 << 40)
    monkeypatch.setattr(sys, "argv", ["stackbuild", "publish", str(wheel), "--to", str(tmp_path / "simple")])
    assert run() == 2
    words = "more than 16 MiB" if kind == "holes" else "a link or not a file"
    assert words in capsys.readouterr().err
    assert not any(path.is_file() and b"private" in path.read_bytes() for path in (tmp_path / "simple").rglob("*"))


@pytest.mark.parametrize("text", ["", "schema: 1\n", "a private note\n", "a: &a [*a]\n", "[" * 10_000, '{"schema": 1' + "1" * 5000])
def test_a_lock_beside_a_wheel_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    wheel = small_wheel(tmp_path / "built")
    wheel.with_name(f"{wheel.name}.lock.yaml").write_text(text)
    monkeypatch.setattr(sys, "argv", ["stackbuild", "publish", str(wheel), "--to", str(tmp_path / "simple")])
    assert run() == 2 and "it is not a lock" in capsys.readouterr().err
    assert not (tmp_path / "simple" / "index.html").exists()
