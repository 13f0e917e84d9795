"""Settings from files and the environment, how much is said, and words for options."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

import pytest

from stackbuild.__main__ import run
from stackbuild.cli.settings import SETTINGS, apply_settings, origin_of
from stackbuild.core.errors import UsageError
from support.paths import ROOT


@pytest.fixture(autouse=True)
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty working directory and home, and no variable of a setting."""
    for setting in SETTINGS:
        monkeypatch.setenv(setting.variable, "")
        monkeypatch.delenv(setting.variable)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def ran(*words: str, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(sys, "argv", ["stackbuild", *words])
    return run()


def users_file(tmp_path: Path) -> Path:
    (tmp_path / "config/stackbuild").mkdir(parents=True, exist_ok=True)
    return tmp_path / "config/stackbuild/stackbuild.toml"


def test_what_counts_before_what(tmp_path: Path) -> None:
    Path("stackbuild.toml").write_text('jobs = 2\nstore = "here-store"\n')
    users_file(tmp_path).write_text(f'jobs = 8\nrunner = "docker"\nremotes = "~/remotes.yaml"\ntrusted = ["{tmp_path}"]\n')
    environ = {"XDG_CONFIG_HOME": os.environ["XDG_CONFIG_HOME"], "STACKBUILD_RECIPE": "lc0"}
    apply_settings(environ)
    assert (environ["STACKBUILD_JOBS"], environ["STACKBUILD_RUNNER"], environ["STACKBUILD_RECIPE"]) == (
        "2",
        "docker",
        "lc0",
    )
    assert environ["STACKBUILD_STORE"] == str(tmp_path / "here/here-store")
    assert environ["STACKBUILD_REMOTES"] == str(Path("~/remotes.yaml").expanduser())


@pytest.mark.parametrize(
    ("text", "what", "next"),
    [
        ("jbos = 2\n", "unknown key `jbos`", "did you mean `jobs`?"),
        ("parallel = 8\n", "unknown key `parallel`", "did you mean `jobs`?"),
        ("jobs = [2]\n", "`jobs` is a number", "write `jobs"),
        ("jobs 2\n", "not TOML", "jobs = 2"),
        ('jobs = "many"\n', "`jobs` cannot be 'many'", "jobs = 4"),
        ("jobs = -1\n", "`jobs` cannot be '-1'", "jobs = 4"),
        ('runner = "podman"\n', "`runner` cannot be 'podman'", "DOCKER_HOST"),
        ("jobs = 4\n<<<<<<< HEAD\n", "a conflict marker of git: `<<<<<<< HEAD`", "keep the lines of one side"),
        ('recipe = "a\\u0000b"\n', "null character", "remove it"),
        ("a = " + "[" * 9000 + "\n", "not TOML", "jobs = 4"),
        ("a = " + "9" * 6000 + "\n", "not TOML", "jobs = 4"),
        (".".join(["a"] * 50_000) + " = 1\n", "more than 16384 bytes", "jobs = 4"),
    ],
)
def test_a_wrong_file_is_told_with_the_next_step(text: str, what: str, next: str) -> None:
    Path("stackbuild.toml").write_text(text)
    with pytest.raises(UsageError) as stopped:
        apply_settings({})
    assert what in stopped.value.what and next in stopped.value.next and re.match(r"stackbuild\.toml(:[12]:\d+)?$", stopped.value.where)


def test_what_is_no_file_is_not_passed_over() -> None:
    os.mkfifo("stackbuild.toml")
    with pytest.raises(UsageError, match="not a file that can be read"):
        apply_settings({})


@pytest.mark.parametrize("key", [setting.key for setting in SETTINGS if setting.is_path])
def test_a_path_of_a_folder_that_is_not_trusted_is_refused(tmp_path: Path, key: str) -> None:
    """A stranger's checkout may hold a store, a mirror, and remotes with the stranger's keys."""
    Path("stackbuild.toml").write_text(f'{key} = "theirs"\njobs = 2\n')
    variable, home = f"STACKBUILD_{key.upper()}", {"XDG_CONFIG_HOME": os.environ["XDG_CONFIG_HOME"]}
    for text in ("", "trusted = []\n", f'trusted = ["{tmp_path}/her", "{tmp_path}/here/below"]\n'):
        users_file(tmp_path).write_text(text)
        with pytest.raises(UsageError, match="decides whose outputs are believed") as stopped:
            apply_settings(dict(home))
        assert f"{tmp_path}/here" in stopped.value.next and variable in stopped.value.next
    apply_settings(chosen := {**home, variable: "mine"})
    assert chosen[variable] == "mine"
    users_file(tmp_path).write_text(f'trusted = ["{tmp_path}/here"]\n')
    apply_settings(trusted := dict(home))
    assert trusted[variable] == str(tmp_path / "here/theirs")


def test_trusted_folders_are_the_users_to_name(tmp_path: Path) -> None:
    home = {"XDG_CONFIG_HOME": os.environ["XDG_CONFIG_HOME"]}
    Path("stackbuild.toml").write_text('trusted = ["."]\nremotes = "theirs"\n')
    with pytest.raises(UsageError, match="decides whose"):
        apply_settings(dict(home))
    Path("stackbuild.toml").write_text('remotes = "none"\n')
    apply_settings(off := dict(home))
    assert off["STACKBUILD_REMOTES"] == "none"
    users_file(tmp_path).write_text('store = "~no-such-user-here/x"\n')
    with pytest.raises(UsageError, match="has no home folder"):
        apply_settings(dict(home))
    users_file(tmp_path).write_text("trusted = 4\n")
    with pytest.raises(UsageError, match="a list of folders"):
        apply_settings(dict(home))


@pytest.mark.parametrize(
    ("variable", "text", "next"),
    [
        ("STACKBUILD_COLOR", "purple", "auto, always, never"),
        ("STACKBUILD_RUNNER", "dockr", "did you mean `docker`?"),
        ("STACKBUILD_RUNNER", "podman", "DOCKER_HOST=unix://"),
        ("STACKBUILD_JOBS", "x", "STACKBUILD_JOBS=4"),
    ],
)
def test_a_wrong_variable_is_told_by_its_name(variable: str, text: str, next: str) -> None:
    with pytest.raises(UsageError, match=f"`{variable}` cannot be '{text}'") as stopped:
        apply_settings({variable: text})
    assert next in stopped.value.next
    apply_settings({variable: ""})


def test_another_users_file_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("stackbuild.toml").write_text("jobs = 2\n")
    os.chown("stackbuild.toml", 12345, -1) if os.geteuid() == 0 else monkeypatch.setattr(os, "geteuid", lambda: 4711)
    with pytest.raises(UsageError, match="another user"):
        apply_settings({})


def test_the_recipe_of_the_file_stands_in_for_the_option(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ran("recipe", "check", monkeypatch=monkeypatch) == 2
    Path("stackbuild.toml").write_text('recipe = "debian-13"\n')
    assert ran("recipe", "check", "--json", monkeypatch=monkeypatch) == 0
    assert json.loads(capsys.readouterr().out)["recipe"] == "debian-13"
    assert ran("recipe", "check", "--recipe", "lc0", "--json", monkeypatch=monkeypatch) == 0
    assert json.loads(capsys.readouterr().out)["recipe"] == "lc0"


def test_the_table_of_the_docs_has_every_setting() -> None:
    page = (ROOT / "docs/command-line.md").read_text()
    for setting in SETTINGS:
        assert f"| `{setting.key}` | `{setting.variable}` |" in page, setting.key


def test_help_and_version_are_words_too(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for words, said in (
        (("help",), "Commands:"),
        (("help", "plan"), "stackbuild plan [OPTIONS]"),
        (("version",), "stackbuild 0."),
    ):
        assert ran(*words, monkeypatch=monkeypatch) == 0
        assert said in capsys.readouterr().out


def test_quiet_and_verbose_stand_before_a_command_or_behind_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for words in (("-q", "recipe", "check", "-r", "lc0"), ("recipe", "check", "-r", "lc0", "--quiet")):
        assert ran(*words, monkeypatch=monkeypatch) == 0
        assert capsys.readouterr().err == ""
    assert ran("recipe", "check", "-r", "lc0", monkeypatch=monkeypatch) == 0
    assert "lc0: 0 errors" in capsys.readouterr().err
    assert ran("recipe", "check", "-r", "nope", "-q", monkeypatch=monkeypatch) == 2
    assert "no recipe 'nope'" in capsys.readouterr().err
    assert ran("-v", "recipe", "check", "-r", "nope", monkeypatch=monkeypatch) == 2
    assert "Traceback" in capsys.readouterr().err


def test_colours_are_asked_for_by_option_file_or_not(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    escape = "\x1b["
    for words, coloured in (((), False), (("--color", "always"), True), (("--color=never",), False)):
        assert ran("recipe", "list", *words, monkeypatch=monkeypatch) == 0
        assert (escape in capsys.readouterr().out) is coloured
    Path("stackbuild.toml").write_text('color = "always"\n')
    assert ran("recipe", "list", monkeypatch=monkeypatch) == 0
    assert escape in capsys.readouterr().out
    assert ran("recipe", "list", "--color", "red", monkeypatch=monkeypatch) == 2


def test_a_file_of_a_variable_that_is_not_there_is_told_by_every_command(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("")
    with pytest.raises(UsageError, match="`STACKBUILD_TLS_CA`: there is no file") as stopped:
        apply_settings({"STACKBUILD_TLS_CA": str(tmp_path / "ca.crt")})
    assert stopped.value.next == f"did you mean `{tmp_path / 'ca.pem'}`?"
    apply_settings({"STACKBUILD_TLS_CA": str(tmp_path / "ca.pem")})


def test_the_origin_of_a_value_is_the_line_of_its_file() -> None:
    Path("stackbuild.toml").write_text('jobs = 4\nrecipe = "nope"\n')
    assert origin_of("STACKBUILD_RECIPE", "nope") == "stackbuild.toml:2:1"
    assert origin_of("STACKBUILD_RECIPE", "other") == "STACKBUILD_RECIPE"
