"""What a shell is given to complete a command line with."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from stackbuild import __main__ as program
from stackbuild.cli import app, load_commands
from stackbuild.recipe.load import bundled_recipes


def completed(line: str) -> list[str]:
    """What bash would be given at the end of that line."""
    load_commands()
    words = line.split(" ")
    env = {"_STACKBUILD_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    return CliRunner().invoke(app, [], env=env, prog_name="stackbuild").stdout.split()


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
