"""What commands print into a pipe of 60 columns: whole words, whole cells, no line that is wider."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import typer

from stackbuild import __main__
from stackbuild.cli import load_commands
from stackbuild.cli.app import CommandGroup, app, commands
from stackbuild.model.findings import Rung, Status
from stackbuild.views.console import forget_consoles
from stackbuild.views.machine import draw_doctor
from support import wheels

WIDTH = 60
RECIPES = ("debian-13", "debian-sid-onnxruntime", "rocm-10.1")


def printed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], columns: str, *words: str) -> str:
    """What the command says on both streams."""
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setattr(sys, "argv", ["stackbuild", *words])
    forget_consoles()
    capsys.readouterr()
    with pytest.raises(SystemExit):
        __main__.main()
    forget_consoles()
    said = capsys.readouterr()
    return said.out + said.err


def assert_readable(narrow: str, wide: str) -> None:
    """No line is wider, but for a word that fits beside no label; and each word is there as it is on a wide terminal."""
    too_wide = [line for line in narrow.splitlines() if len(line.rstrip()) > WIDTH and max(map(len, line.split())) < WIDTH - 14]
    assert too_wide == []
    words = set(narrow.split())
    assert [w for w in wide.split() if w not in words and f"{w}:" not in words and f"{w.strip('`')}:" not in words] == []


@pytest.mark.parametrize(
    "words",
    [
        *(f"plan -r {recipe}" for recipe in RECIPES),
        *(f"recipe check -r {recipe}" for recipe in RECIPES),
        "recipe check -r RECIPE_WITH_FINDINGS", "recipe list", "start --gpu gfx1100", "rules", "rules NO-ROCM", "help NO-ROCM",
        "help build", "help nonsense", "store ls", "store", "plan", "env", "explain -r debian-13 wheeel", "inspect /nothing",
        "inspect WHEEL", "model check /nothing.onnx", "logs nothing",
    ],
)  # fmt: skip
def test_a_command_in_a_pipe_of_60_columns(
    words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("STACKBUILD_STORE", str(tmp_path / "store"))
    monkeypatch.chdir(tmp_path)
    if "WHEEL" in words:
        wheels.small_wheel(tmp_path)
    (tmp_path / "r.yaml").write_text(
        (Path(__main__.__file__).parents[1] / "recipes/debian-13.yaml").read_text().replace("memory: 6G", "memory: 20M")
    )
    wheel = next(map(str, tmp_path.glob("*.whl")), "")
    line = [w.replace("RECIPE_WITH_FINDINGS", "r.yaml").replace("WHEEL", wheel) for w in words.split()]
    narrow = printed(monkeypatch, capsys, str(WIDTH), *line)
    wide = printed(monkeypatch, capsys, "", *line)
    assert_readable(narrow, wide.removeprefix("recipe"))  # the first head is not said where a row is several lines
    assert len(narrow.split()) > 4


def test_every_help_at_60_columns(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    load_commands([])
    monkeypatch.setenv("COLUMNS", str(WIDTH))
    texts = dict(commands())
    assert len(texts) > 50
    for path, text in texts.items():
        assert max(map(len, text.splitlines())) <= WIDTH, path
        command = typer.main.get_command(app)
        for name in path.split()[1:]:
            command = command.commands[name]  # type: ignore[attr-defined]
        sources = [command.help, *(getattr(p, "help", "") for p in command.params if not getattr(p, "hidden", False))]
        lost = {word for source in sources for word in (source or "").split()} - set(text.split())
        assert lost == set(), path


def test_a_group_lists_whole_sentences(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["--help"], ["store", "--help"], ["bench", "--help"]):
        listing = printed(monkeypatch, capsys, str(WIDTH), *words).partition("Commands:")[2]
        assert listing and "..." not in listing and max(map(len, listing.splitlines())) <= WIDTH
    load_commands([])
    root = typer.main.get_command(app)
    assert isinstance(root, CommandGroup)


def test_doctor_at_60_columns(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    reason = "engine 20.10.24+dfsg1: older than 25.0.2, check that runc is 1.1.12 or newer (CVE-2024-21626)"
    rungs = (Rung("docker", Status.PASSED, reason, 0), Rung("environment", Status.FAILED, "HSA_OVERRIDE_GFX_VERSION is set", 0))
    texts = []
    for columns in (str(WIDTH), ""):
        monkeypatch.setenv("COLUMNS", columns)
        forget_consoles()
        draw_doctor(rungs)
        said = capsys.readouterr()
        texts.append(said.out + said.err)
    forget_consoles()
    assert_readable(*texts)


def test_a_key_text_stays_as_it_is_hashed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("STACKBUILD_STORE", str(tmp_path))
    narrow = printed(monkeypatch, capsys, str(WIDTH), "explain", "-r", "debian-13", "kernels")
    assert narrow == printed(monkeypatch, capsys, "", "explain", "-r", "debian-13", "kernels")
