"""What a stranger wrote does nothing to a terminal, whichever view draws it."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from stackbuild.hipify.tree.preview import Change
from stackbuild.views.console import (
    Group,
    SafeConsole,
    Text,
    alarm,
    err,
    forget_consoles,
    out,
    print_json,
    print_text,
    table,
)
from stackbuild.views.hipify import draw_diff

HOSTILE = "name\x1b]0;owned\x07\x1b[2J\x9b31m\u202etxt.so\r\x08\u2028"


class _Stream(io.TextIOWrapper):
    """stdout as bytes, a terminal or not."""

    def __init__(self, *, terminal: bool, encoding: str = "utf-8") -> None:
        super().__init__(io.BytesIO(), encoding=encoding, errors="backslashreplace", newline="")
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal

    @property
    def written(self) -> str:
        self.flush()
        content = self.buffer
        assert isinstance(content, io.BytesIO)
        return content.getvalue().decode()


@pytest.mark.parametrize("terminal", [True, False], ids=["terminal", "pipe"])
@pytest.mark.parametrize("way", ["text", "string", "table", "group"])
def test_no_control_of_a_text_is_written(way: str, terminal: bool) -> None:
    file = io.StringIO()
    console = SafeConsole(file=file, force_terminal=terminal, color_system=None, width=200, highlight=False)
    rows = table("name")
    rows.add_row(HOSTILE)
    drawn = {"text": Text(HOSTILE), "string": HOSTILE, "table": rows, "group": Group(Text(HOSTILE), HOSTILE)}
    console.print(drawn[way], markup=False)
    written = file.getvalue()
    assert "name" in written
    assert "owned" in written
    assert all(c.isprintable() or c == "\n" for c in written), ascii(written)


def test_colours_of_a_style_stay() -> None:
    file = io.StringIO()
    SafeConsole(file=file, force_terminal=True, color_system="standard", width=80).print(Text("\x1b[32mred", "red"))
    assert file.getvalue() == "\x1b[31m\\x1b[32mred\x1b[0m\n"


def test_nothing_is_cut_where_escapes_make_a_line_longer() -> None:
    file = io.StringIO()
    text = Text.assemble(("\x1b" * 30, "red"), " the end")
    SafeConsole(file=file, force_terminal=True, color_system=None, width=40).print(text)
    assert "".join(file.getvalue().split()) == "\\x1b" * 30 + "theend"


def test_a_document_is_whole_in_a_pipe_and_harmless_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    document = f"\x1b[31mred\x1b[m\x1b[K\t{HOSTILE}\n"
    for terminal, expected in (
        (False, document),
        (True, "\x1b[31mred\x1b[m\x1b[K\tname\\x1b]0;owned\\x07\\x1b[2J\\x9b31m\\u202etxt.so\\r\\x08\\u2028\n"),
    ):
        stream = _Stream(terminal=terminal)
        monkeypatch.setattr(sys, "stdout", stream)
        print_text(document)
        assert stream.written == expected


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_json_holds_no_control_and_reads_back(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = _Stream(terminal=False, encoding=encoding)
    monkeypatch.setattr(sys, "stdout", stream)
    print_json({"name": f"é😀{HOSTILE}"}, "stackbuild.test/1")
    assert all(c.isprintable() or c == "\n" for c in stream.written)
    assert json.loads(stream.written)["name"] == f"é😀{HOSTILE}"


def test_every_console_of_the_command_is_such_a_one() -> None:
    assert all(isinstance(console, SafeConsole) for console in (out(), err(), alarm()))


@pytest.mark.parametrize("terminal", [True, False], ids=["terminal", "pipe"])
def test_a_diff_keeps_its_tabs_in_a_pipe_alone(terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = _Stream(terminal=terminal)
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setenv("NO_COLOR", "1")
    forget_consoles()
    draw_diff([Change("a.cu", Path("a.cu"), b"\tx\n", b"\ty \x1b]0;t\x07\n")], {})
    forget_consoles()
    assert ("+\ty \x1b]0;t\x07\n" in stream.written) is not terminal
    assert ("\\x1b]0;t" in stream.written) is terminal
