"""What a recipe names outside of itself is refused by every verb that reads it, before anything else happens."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from stackbuild.__main__ import run
from stackbuild.recipe.load import load
from stackbuild.recipe.references import may_match, mistakes_of
from stackbuild.recipe.suites import load_suite
from support.paths import TESTS

FOLDER = TESTS / "seeded-recipes"


@pytest.mark.parametrize(
    "words",
    [["recipe", "check"], ["plan"], ["explain", "kernels"], ["build"], ["build", "--dry-run"]],
    ids=lambda words: " ".join(words),
)
def test_an_unknown_suite_stops_every_verb_before_it_begins(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (FOLDER / "kernels.yaml").read_text().replace("suite: kernels-quick", "suite: kernel-quick")
    (tmp_path / "recipe.yaml").write_text(text)
    monkeypatch.setenv("STACKBUILD_STORE", str(tmp_path / "store"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["stackbuild", *words, "-r", "recipe.yaml"])
    assert run() == 2
    said = capsys.readouterr().err
    assert "recipe.yaml:41:10: there is no suite 'kernel-quick'" in said and "did you mean `kernels-quick`?" in said
    assert "    suite: kernel-quick\n           ^" in said
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize(
    ("pattern", "suite", "expected"),
    [
        ("*", "kernels-quick", True),
        ("Conv/*", "kernels-quick", True),
        ("Co*", "kernels-quick", True),
        ("*/float32/*", "kernels-quick", True),
        ("Conv/float32/1x64*", "kernels-quick", True),
        ("Conv/float16/*", "kernels-quick", False),
        ("conv/*", "kernels-quick", False),
        ("resnet50/b1/*", "models-quick", True),
        ("resnet50/b2/*", "models-quick", False),
        ("bert-base/b1/s128/float32", "models-quick", True),
        ("resnet/*", "models-quick", False),
    ],
)
def test_a_pattern_that_no_case_can_have(pattern: str, suite: str, expected: bool) -> None:
    assert may_match(pattern, load_suite(suite)) is expected


def test_a_suite_of_the_users_own_files_is_not_guessed_at(tmp_path: Path) -> None:
    suite = tmp_path / "suite.yaml"
    suite.write_text("kind: models\nfiles: [{file: mine.onnx}]\n")
    assert may_match("anything/*", load_suite(str(suite)))


def test_paths_of_a_recipe_that_are_right_are_let_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(FOLDER / "tool", tmp_path / "elsewhere")
    (tmp_path / "in").mkdir()
    text = (FOLDER / "script.yaml").read_text().replace("path: tool", "path: ../elsewhere")
    (tmp_path / "in/recipe.yaml").write_text(text)
    for words, code in (([], 2), (["--allow-path", str(tmp_path / "elsewhere")], 0)):
        monkeypatch.setattr(
            sys, "argv", ["stackbuild", "recipe", "check", "-r", str(tmp_path / "in/recipe.yaml"), *words]
        )
        assert run() == code, capsys.readouterr()


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("3.10", ("`OPTION`: 3.10 is the number 3.1 to YAML", 'write `OPTION: "3.10"` for the text, or `OPTION: 3.1`')),
        ("007", ("`OPTION`: 007 is the number 7 to YAML", 'write `OPTION: "007"` for the text, or `OPTION: 7`')),
        ('"3.10"', None), ("3.1", None), ("17", None), ("-5", None), ("0.50.1", None), ("true", None),
    ],
)  # fmt: skip
def test_a_number_that_yaml_changes_is_not_given_to_cmake(
    written: str, said: tuple[str, str] | None, tmp_path: Path
) -> None:
    text = (FOLDER / "kernels.yaml").read_text().replace("    kind: kernels\n", f"    kind: kernels\n    options: {{OPTION: {written}}}\n")
    variants = f"matrix:\n  variants: {{v: {{kernels: {{OPTION: {written}}}}}}}\n"
    (tmp_path / "recipe.yaml").write_text(text + variants)
    found = [(one.what, one.next) for one in mistakes_of(load(str(tmp_path / "recipe.yaml")))]
    assert found == ([said, said] if said else [])
