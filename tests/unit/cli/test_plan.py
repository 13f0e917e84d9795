"""`plan` and `build --dry-run`: what a build would stop at is said by those that only look."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from stackbuild.__main__ import run
from stackbuild.core.resources import folder
from stackbuild.recipe.load import load
from stackbuild.recipe.lock_file import parse_lock, write_lock

WORDS = "the lock does not answer for source.onnxruntime.deps"


@pytest.fixture
def open_recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of debian-sid-onnxruntime whose lock does not say what its source downloads."""
    monkeypatch.setenv("STACKBUILD_STORE", str(tmp_path / "store"))
    for end in (".yaml", ".lock.yaml"):
        shutil.copy(folder("recipes") / f"debian-sid-onnxruntime{end}", tmp_path / f"mine{end}")
    loaded = load(str(tmp_path / "mine.yaml"))
    write_lock(parse_lock(loaded).model_copy(update={"deps": {}}), loaded)
    return tmp_path / "mine.yaml"


def said_by(words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    monkeypatch.setattr("sys.argv", ["stackbuild", *words])
    code = run()
    return code, *capsys.readouterr()


def test_an_open_lock_is_said_in_the_words_of_the_build_that_stops_at_it(
    open_recipe: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    recipe = ["--recipe", str(open_recipe)]
    code, _, stopped = said_by(["build", *recipe, "--yes"], monkeypatch, capsys)
    assert code == 3 and f"{WORDS}\n  next: run `stackbuild lock --recipe {open_recipe}`" in stopped
    for words in (["plan"], ["build", "--dry-run"], ["build", "--runner", "fake"]):
        code, out, err = said_by([*words, *recipe], monkeypatch, capsys)
        assert code == 0 and "onnxruntime.cp314" in out
        assert f"warning: {open_recipe.with_suffix('.lock.yaml')}: {WORDS}\n  next: run `stackbuild lock " in err


def test_a_complete_lock_is_not_spoken_of(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = said_by(["plan", "-r", "debian-sid-onnxruntime", "--json"], monkeypatch, capsys)
    assert (code, json.loads(out)["open"], err) == (0, [], "")


def test_the_open_steps_are_in_the_document(
    open_recipe: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _, out, _ = said_by(["plan", "-r", str(open_recipe), "--json"], monkeypatch, capsys)
    assert json.loads(out)["open"] == ["source.onnxruntime.deps"]


def test_plan_says_what_a_mirror_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("STACKBUILD_STORE", str(tmp_path / "store"))
    plan = ["plan", "-r", "debian-sid-onnxruntime"]
    lines = [
        "the mirror lacks 15 things that would be taken from it:",
        "  │ github.com/microsoft/onnxruntime.git",
        "  │ github.com/onnx/onnx/archive/refs/tags/v1.17.0.zip",
    ]
    monkeypatch.setenv("STACKBUILD_MIRROR_FOR", "sources")
    code, _, err = said_by([*plan, "--mirror", str(tmp_path)], monkeypatch, capsys)
    assert code == 0 and all(line in err for line in lines)
    monkeypatch.setenv("STACKBUILD_MIRROR", str(tmp_path))
    assert lines[0] in said_by(plan, monkeypatch, capsys)[2]
    monkeypatch.setenv("STACKBUILD_MIRROR", str(tmp_path / "gone"))  # a plan takes nothing from it
    code, _, err = said_by(plan, monkeypatch, capsys)
    assert (code, err) == (0, "")
