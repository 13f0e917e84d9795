"""`publish` on the command line: what it takes along with a wheel."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from stackbuild.__main__ import run
from support.wheels import put_statements, small_wheel


def test_a_wheels_lock_and_statements_go_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A gate of the next release reads the lock there, to list the inputs that changed."""
    wheel = small_wheel(tmp_path / "built")
    names = {path.name for path in put_statements(wheel)} | {f"{wheel.name}.lock.yaml"}
    wheel.with_name(f"{wheel.name}.lock.yaml").write_text("schema: 1\n")
    monkeypatch.setattr(sys, "argv", ["stackbuild", "publish", str(wheel), "--to", str(tmp_path / "simple")])
    assert run() == 0
    assert names <= {path.name for path in (tmp_path / "simple" / "demo-pkg").iterdir()}
    monkeypatch.setattr(sys, "argv", ["stackbuild", "index", "check", str(tmp_path / "simple")])
    assert run() == 0
