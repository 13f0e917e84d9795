"""Fixtures of several packages' tests."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from stackbuild.core.output_style import OUTPUT_STYLE


@pytest.fixture(autouse=True)
def default_output_style(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test is quiet or coloured since another one was."""
    monkeypatch.setattr(OUTPUT_STYLE, "verbosity", 0)
    monkeypatch.setattr(OUTPUT_STYLE, "color", "auto")


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
