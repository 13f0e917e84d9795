"""What a shell is given to complete a command line with."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from stackbuild import __main__ as program
from stackbuild.cli import app, load_commands
from stackbuild.cli.completion import gpus, rule_ids, topics
from stackbuild.cli.option_forms import form_of
from stackbuild.recipe.load import bundled_recipes
from tests.unit.cli.test_option_forms import options


def completed(line: str) -> list[str]:
    """What bash would be given at the end of that line."""
    load_commands()
    words = line.split(" ")
    return answers(words)


def answers(words: list[str]) -> list[str]:
    """What bash would be given for the last of the words, as bash splits them."""
    env = {"_STACKBUILD_COMPLETE": "complete_bash", "COMP_WORDS": "\n".join(words), "COMP_CWORD": str(len(words) - 1)}
    said = CliRunner().invoke(app, [], env=env, prog_name="stackbuild").stdout
    return [word for word in said.split("\n") if word]


@pytest.mark.parametrize(
    "line",
    [
        "stackbuild build -r ",
        "stackbuild plan --recipe ",
        "stackbuild recipe show ",
        "stackbuild ci render -r ",
        "stackbuild gate -r ",
        "stackbuild inspect -r ",
    ],
)
def test_recipes_are_completed(line: str) -> None:
    assert completed(line) == list(bundled_recipes())
    assert completed(f"{line}rocm-6") == ["rocm-6.4"]
    assert completed(f"{line}./my") == []  # the shell goes on with files


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("stackbuild build --runner ", ["auto", "sandbox", "docker", "fake"]),
        ("stackbuild env --workload m", ["migraphx"]),
        ("stackbuild env --gpu MI300X --format d", ["dotenv", "dockerfile"]),
        ("stackbuild ci render --provider g", ["github", "gitlab"]),
        ("stackbuild report last -f ", ["html", "markdown", "junit", "json"]),
    ],
)
def test_the_words_that_an_option_takes_are_completed(line: str, words: list[str]) -> None:
    assert completed(line) == words


@pytest.mark.parametrize(
    ("typed", "spelt"),
    [
        (r"RX\ 7900\ G", r"RX\ 7900\ GRE"),
        ('"RX 7900 G', '"RX 7900 GRE'),
        ("'RX 7900 G", "'RX 7900 GRE"),
        ("Ryzen\\ AI\\ Max+", r"Ryzen\ AI\ Max+\ 395"),
    ],
)
def test_a_value_with_spaces_is_one_word_in_bash(typed: str, spelt: str) -> None:
    load_commands()
    for command in ("start", "env"):
        assert spelt in answers(["stackbuild", command, "--gpu", typed])
        assert spelt in answers(["stackbuild", command, "--gpu", "=", typed])
    for each in answers(["stackbuild", "start", "--gpu", typed]):
        assert len(shlex.split(each + (typed[0] if typed[0] in "'\"" else ""))) == 1


def test_a_value_behind_an_equals_sign_is_completed() -> None:
    load_commands()
    assert answers(["stackbuild", "build", "--recipe", "=", "lc"]) == ["lc0"]
    assert "lc0" in answers(["stackbuild", "build", "--recipe", "="])
    assert answers(["stackbuild", "build", "--recipe", "=", "debian-13", "--until", "=", "ker"]) == ["kernels"]


KNOWN_VALUES = re.compile(r"gfx target|bundled recipe|^(?:[a-z0-9]+, )*[a-z0-9]+ or [a-z0-9]+$|^perl$|^hipify$")
"""What the form of an option says whose values stackbuild knows."""


def test_every_option_with_known_values_completes_them() -> None:
    known_options = [
        (command, option, param)
        for command, option, param in options()
        if (form := form_of(command, option)) and (form.choices or KNOWN_VALUES.search(form.takes))
    ]
    assert len(known_options) > 40
    silent = [(command, option) for command, option, param in known_options if not param._custom_shell_complete]
    assert silent == []


def test_no_value_has_a_sign_at_which_bash_splits_words() -> None:
    """Bash would replace the part behind the sign alone."""
    values = [*gpus(""), *gpus("R"), *rule_ids(""), *bundled_recipes(), *topics("")]
    assert [value for value in values if {*value} & {*":=<>;|&"}] == []


def test_runs_are_completed_the_latest_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STACKBUILD_STORE", str(tmp_path / "none"))
    assert completed("stackbuild report ") == ["last"]
    monkeypatch.setenv("STACKBUILD_STORE", str(tmp_path))
    for run in ("20260101T1-1", "20260102T1-1"):
        (tmp_path / "runs" / run).mkdir(parents=True)
        (tmp_path / "runs" / run / "events.jsonl").write_text('{"event": "RunStarted"}\n')
    assert completed("stackbuild report ") == ["last", "20260102T1-1", "20260101T1-1"]


@pytest.mark.parametrize(
    ("line", "some", "one"),
    [
        ("stackbuild explain -r debian-13 ", ["base", "source.kernels", "kernels", "wheel"], "ker kernels"),
        ("stackbuild build -r debian-13 --until ", ["base", "kernels", "wheel"], "whe wheel wheelhouse.3.11"),
        ("stackbuild build -r debian-13 --gfx ", ["gfx90a", "gfx942", "gfx1030", "gfx1100"], "gfx11 gfx1100"),
        ("stackbuild build -r debian-13 --python ", ["3.11", "3.14"], "3.14 3.14"),
        ("stackbuild rules ", ["SB-ELF-CWD-RUNPATH"], "SB-ELF-CWD SB-ELF-CWD-RUNPATH"),
        ("stackbuild start --gpu ", ["gfx1100", "gfx942"], "gfx110 gfx1100"),
    ],
)
def test_steps_targets_and_rules_are_completed(line: str, some: list[str], one: str) -> None:
    assert set(some) <= set(completed(line))
    begun, *expected = one.split(" ")
    assert set(expected) <= set(completed(f"{line}{begun}")) and set(completed(f"{line}{begun}")) < set(completed(line))


def test_a_recipe_of_the_environment_is_completed_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert completed("stackbuild explain ") == []
    monkeypatch.setenv("STACKBUILD_RECIPE", "debian-13")
    assert "kernels" in completed("stackbuild explain ")


def test_zsh_and_fish_are_given_the_same() -> None:
    load_commands()
    for shell, more in (
        ("zsh", {"_TYPER_COMPLETE_ARGS": "stackbuild build --runner "}),
        ("fish", {"_TYPER_COMPLETE_ARGS": "stackbuild build --runner ", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}),
    ):
        env = {"_STACKBUILD_COMPLETE": f"complete_{shell}", **more}
        said = CliRunner().invoke(app, [], env=env, prog_name="stackbuild").stdout
        assert all(word in said for word in ("auto", "sandbox", "docker", "fake")), (shell, said)


@pytest.mark.parametrize(("shell", "sign"), [("bash", "complete -o"), ("zsh", "#compdef stackbuild"), ("fish", "complete --command stackbuild")])  # fmt: skip
def test_a_completion_is_printed_and_installed_for_the_shell_that_is_named(
    shell: str, sign: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for words in (["--show-completion", shell], [f"--show-completion={shell}"]):
        monkeypatch.setattr("sys.argv", ["stackbuild", *words])
        assert program.run() == 0
        said = capsys.readouterr().out
        assert sign in said and "_STACKBUILD_COMPLETE=complete_" + shell in said
    monkeypatch.setattr("sys.argv", ["stackbuild", "--install-completion", shell])
    assert program.run() == 0
    assert str(tmp_path) in capsys.readouterr().out
    assert any("STACKBUILD_COMPLETE" in p.read_text() for p in tmp_path.rglob("*") if p.is_file())


def test_another_shell_has_no_completion(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.argv", ["stackbuild", "--show-completion", "tcsh"])
    assert program.run() == 2
    assert "one of: bash, zsh, fish" in capsys.readouterr().err
