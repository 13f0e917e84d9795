"""A command that only reads makes no store where none is."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.cli.test_option_forms import answer


@pytest.mark.parametrize(
    "words",
    ["plan -r lc0", "plan -r lc0 --json", "explain -r lc0 lc0", "store ls", "store ls --json", "store check", "store gc", "store gc --dry-run",
     "store copy lc0 -r lc0 --to out", "logs", "report", "recipe check -r lc0", "rules SB-VENV-LOAD", "start --gpu MI300X", "env --gpu MI300X"],
)  # fmt: skip
def test_a_command_that_reads_makes_no_store(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STACKBUILD_STORE", str(tmp_path / "none/store"))
    code, said = answer(words.split(), monkeypatch, capsys)
    assert code in (0, 2) and "cannot be used" not in said
    assert not (tmp_path / "none").exists()
