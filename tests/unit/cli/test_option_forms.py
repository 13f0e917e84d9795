"""Every option of every command has a form, and refuses what is plainly none of it before the command does anything."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from stackbuild.__main__ import run
from stackbuild.cli import load_commands
from stackbuild.cli.app import app
from stackbuild.cli.option_forms import FORMS, advice_on, form_of, refuse_wrong_values
from stackbuild.core.errors import UsageError


def options() -> Iterator[tuple[str, str, Any]]:
    """Each option that takes a value: its command, its long spelling and the library's parameter."""
    load_commands([])
    todo = [("", typer.main.get_command(app))]
    while todo:
        path, command = todo.pop()
        inside = getattr(command, "commands", {})
        todo += [(f"{path} {name}".strip(), sub) for name, sub in inside.items() if not sub.hidden]
        for param in [] if inside else command.params:
            if param.param_type_name == "option" and not param.is_flag and not param.hidden:
                yield path, max(param.opts, key=len), param


OPTIONS = sorted({(command, option) for command, option, _ in options()})


def answer(words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    monkeypatch.setattr(sys, "argv", ["stackbuild", *words])
    monkeypatch.setenv("COLUMNS", "500")
    code = run()
    return code, capsys.readouterr().err


def test_every_option_has_a_form_and_every_form_an_option() -> None:
    assert [f"{command} {option}" for command, option in OPTIONS if form_of(command, option) is None] == []
    known = {option for _, option in OPTIONS} | {f"{command} {option}" for command, option in OPTIONS}
    assert sorted({*FORMS} - known) == []


@pytest.mark.parametrize(("command", "option"), OPTIONS, ids=[f"{c} {o}" for c, o in OPTIONS])
def test_an_empty_value_and_a_missing_one_are_refused_at_their_option(
    command: str, option: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STACKBUILD_RECIPE", "debian-13")
    for words in ([f"{option}="], [option, " "]):
        code, said = answer([*command.split(), *words], monkeypatch, capsys)
        assert code == 2 and said.startswith(f"stackbuild: {command} {option}: its value is empty"), said
        assert re.search(rf"such as `{option}\b", said.partition("next:")[2]), said


@pytest.mark.parametrize(
    ("command", "option"),
    [
        row
        for row in OPTIONS
        if (form := form_of(*row)) and (form.is_of != "text" or form.pattern or form.choices)
    ],
)  # fmt: skip
def test_a_value_of_another_kind_is_refused_at_its_option(
    command: str, option: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STACKBUILD_RECIPE", "debian-13")
    code, said = answer([*command.split(), option, "not it"], monkeypatch, capsys)
    assert code == 2 and said.startswith(f"stackbuild: {command} {option}: ") and "'not it'" in said, said
    assert f"`{option} " in said.partition("next:")[2], said


def test_the_examples_are_right() -> None:
    for name, form in FORMS.items():
        if form.pattern:
            assert re.fullmatch(form.pattern, form.example), name
        assert not form.choices or form.example in form.choices
        assert advice_on("", name.rpartition(" ")[2])


def test_a_near_file_and_the_kind_of_a_path_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("gates.yaml").touch()
    Path("broken.whl").touch()
    Path("bundle").mkdir()
    spellings = [["--gates"], ["--mirror"], ["--recipe", "-r"], ["--check-word"]]

    def refusal(*words: str) -> str:
        with pytest.raises(UsageError) as raised:
            refuse_wrong_values("gate", words, spellings)
        return str(raised.value)

    assert "did you mean `gates.yaml`?" in refusal("--gates", "gates.yml")
    assert "did you mean" not in refusal("--gates", "none.whl")
    assert "'bundle' is a folder" in refusal("--gates", "bundle")
    assert "'gates.yaml' is a file" in refusal("--mirror", "gates.yaml")
    assert "it has no value: the option `--mirror` follows it" in refusal("-r", "--mirror", "bundle")
    refuse_wrong_values("gate", ["--gates", "gates.yaml", "--mirror=bundle", "-r", "x", "--", "--gates", ""], spellings)
    refuse_wrong_values("hipify", ["--check-word", "-Iinclude", "--gates"], spellings)
