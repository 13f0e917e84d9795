"""Commands of messages can be copied: a path with a space, and other marks of a shell, is one word of each."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from pathlib import Path

import pytest

from stackbuild.__main__ import run
from tests.support.paths import ROOT

NAME = "my stack/it's $HOME (2).yaml"
COMMAND = re.compile(r"stackbuild (?:[a-z]+ ){1,2}(?:--recipe|-r) (.*)")


def said(words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    monkeypatch.setattr(sys, "argv", ["stackbuild", *words])
    run()
    answer = capsys.readouterr()
    return answer.out + answer.err


def recipes_of_commands(text: str) -> list[str]:
    """The recipe that each command of a text names, read as a shell reads it."""
    return [shlex.split(rest.split("`")[0])[0] for rest in COMMAND.findall(text)]


@pytest.fixture
def recipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = Path(NAME)
    path.parent.mkdir()
    shutil.copy(ROOT / "recipes/debian-rocm-7.2.yaml", path)
    return path


@pytest.mark.parametrize(
    "command",
    ["plan", "build", "build --locked", "build --only wheel", "explain kernels", "fetch", "recipe check",
     "store copy wheel --to out", "image --gfx gfx1100", "shell wheel"],
)  # fmt: skip
@pytest.mark.parametrize("lock", ["none", "stale"])
def test_a_recipe_with_marks_of_a_shell_is_one_word_of_each_command(
    command: str, lock: str, recipe: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if lock == "stale":
        text = (ROOT / "recipes/debian-rocm-7.2.lock.yaml").read_text()
        recipe.with_name(recipe.name.replace(".yaml", ".lock.yaml")).write_text(
            re.sub(r"(?m)^asked: .*", 'asked: "0000"', text)
        )
    text = said([*command.split(), "--recipe", NAME], monkeypatch, capsys)
    assert set(recipes_of_commands(text)) == {NAME}, text
