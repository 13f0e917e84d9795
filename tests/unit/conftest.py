"""Fixtures of several packages' tests."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest


@pytest.fixture
def empty_mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty mirror, on a machine where no process can be started."""
    folder = tmp_path / "mirror"
    folder.mkdir()

    def refused(*words: object, **more: object) -> None:
        raise AssertionError(f"a process was started: {words}")

    for name in ("run", "Popen", "call", "check_output"):
        monkeypatch.setattr(subprocess, name, refused)
    return folder
