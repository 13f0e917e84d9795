"""Every command that plans refuses what a build would: a wrong word, and what the lock read in the sources."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from stackbuild.__main__ import run
from stackbuild.core.resources import folder
from stackbuild.recipe import prepare


@pytest.fixture
def stale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """rocm-6.4, whose lock read another version in ONNX Runtime's tree than the recipe's."""
    monkeypatch.setenv("STACKBUILD_STORE", str(tmp_path / "store"))
    for end in (".yaml", ".lock.yaml"):
        shutil.copy(folder("recipes") / f"rocm-6.4{end}", tmp_path / f"mine{end}")
    lock = tmp_path / "mine.lock.yaml"
    text = lock.read_text()
    (line,) = (line for line in text.splitlines() if line.startswith("  onnxruntime: ") and line.count(".") == 2)
    lock.write_text(text.replace(line, "  onnxruntime: 1.99.0"))
    return tmp_path / "mine.yaml"


@pytest.mark.parametrize(
    "words",
    [["plan"], ["explain", "base"], ["build", "--dry-run"], ["build", "--yes"], ["fetch"], ["shell", "base"]],
    ids=lambda words: words[0],
)
def test_a_tree_of_another_version_is_refused_by_every_command(
    words: list[str], stale: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    checked_recipes = []
    whole = prepare.refuse_mistakes
    monkeypatch.setattr(prepare, "refuse_mistakes", lambda recipe: checked_recipes.append(recipe) or whole(recipe))
    monkeypatch.setattr(sys, "argv", ["stackbuild", *words, "-r", str(stale)])
    assert run() != 0
    assert len(checked_recipes) == 1
    assert not (stale.parent / "store").exists(), "the store was opened for a recipe that is refused"
    assert "SB-STACK-TREE-VERSION" in capsys.readouterr().err
