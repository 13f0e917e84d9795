"""Tables on narrow terminals: no word is broken, no line is longer than the terminal."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from rich.text import Text

from stackbuild.views.console import fit_table, forget_consoles, out, table

ROWS = [
    ("debian-sid-onnxruntime", "6.4", "gfx90a, gfx942, gfx1100", "ONNX Runtime 1.22 with the MIGraphX execution provider"),
    ("lc0", "-", "2 targets", "Leela Chess Zero with the HIP backend"),
]


def drawn(width: int) -> list[str]:
    made = table("recipe", "rocm", "gfx", "what it builds", title="recipes")
    for row in ROWS:
        made.add_row(*map(Text, row))
    console = Console(file=io.StringIO(), width=width, highlight=False)
    console.print(fit_table(made, width))
    return console.file.getvalue().splitlines()  # type: ignore[attr-defined]


@pytest.mark.parametrize("width", [40, 48, 60, 72, 80, 100, 140])
def test_no_word_is_broken_at_any_width(width: int) -> None:
    lines = drawn(width)
    assert max(map(len, lines)) <= width
    said = " ".join(" ".join(lines).split())
    for row in ROWS:
        for cell in row:
            for word in cell.split():
                assert f" {word}" in f" {said}", (width, word)
    if width >= 140:
        assert lines[1].split()[:3] == ["recipe", "rocm", "gfx"] and len(lines) == 4


def test_the_narrowest_has_a_row_as_lines() -> None:
    lines = drawn(40)
    assert "debian-sid-onnxruntime" in [line.strip() for line in lines] and any(line.startswith("  rocm: 6.4") for line in lines)


@pytest.mark.parametrize("columns", ["60", "0", "", "wide"])
def test_a_pipe_with_columns_set_keeps_every_word(
    columns: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    forget_consoles()
    made = table("recipe", "rocm", "gfx", "what it builds")
    for row in ROWS:
        made.add_row(*map(Text, row))
    out().print(made)
    said = capsys.readouterr().out
    forget_consoles()
    assert all(word in said.split() for row in ROWS for cell in row for word in cell.split())
    assert max(map(len, said.splitlines())) <= (60 if columns == "60" else 240)
