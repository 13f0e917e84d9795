"""Every command that plans refuses what a build would: a wrong word, and what the lock read in the sources."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from stackbuild.__main__ import run
from stackbuild.core.errors import LockError, PlanError, RecipeError, UsageError
from stackbuild.core.resources import folder
from stackbuild.model.choice import Choice
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


def test_a_wrong_word_comes_before_what_cannot_work_and_that_before_the_lock(tmp_path: Path) -> None:
    text = (folder("recipes") / "rocm-6.4.yaml").read_text()
    assert "gfx: [gfx908, gfx90a," in text and "\nbench:" not in text
    recipe = tmp_path / "mine.yaml"
    impossible = text.replace("gfx: [gfx908, gfx90a,", "gfx: [gfx908, gfx950, gfx90a,")
    for wrong, error in (
        (f"{impossible}\nbench: {{suite: no-such}}\n", RecipeError),
        (impossible, PlanError),
        (text, LockError),
    ):
        recipe.write_text(wrong)
        with pytest.raises(error) as stopped:
            prepare.prepare(str(recipe), Choice())
        assert type(stopped.value) is error and ("no-such" in str(stopped.value)) == (error is RecipeError)


def test_a_prepared_recipe_has_the_chosen_points_alone() -> None:
    whole, narrow = (prepare.prepare("rocm-7.2", Choice(gfx=gfx)) for gfx in ((), ("gfx1100",)))
    assert narrow.matrix.gfx == ("gfx1100",) and set(narrow.matrix.gfx) < set(whole.matrix.gfx)
    with pytest.raises(UsageError, match="gfx target 'gfx906' is not in the recipe"):
        prepare.prepare("rocm-7.2", Choice(gfx=("gfx906",)))


@pytest.mark.parametrize(
    ("choice", "said"),
    [
        (Choice(gfx=("gfx1201",)), "gfx target 'gfx1201' is not in the recipe"),
        (Choice(gfx=("gfx908;gfx90a",)), "`--gfx gfx908 --gfx gfx90a`"),
        (Choice(build_python=("python3.12",)), "did you mean `3.12`?"),
        (Choice(until="kernel"), "did you mean `kernels`?"),
    ],
)
def test_an_option_that_the_recipe_refuses_comes_before_the_lock_that_is_not_there(
    choice: Choice, said: str, tmp_path: Path
) -> None:
    recipe = tmp_path / "mine.yaml"
    recipe.write_text((folder("recipes") / "rocm-6.4.yaml").read_text())
    with pytest.raises(UsageError) as stop:
        prepare.prepare(str(recipe), choice)
    assert said in str(stop.value)
    for step in ("kernels.conv", "base.glibc", "configure", "source.kernels"):
        with pytest.raises(LockError):
            prepare.prepare(str(recipe), Choice(until=step))
