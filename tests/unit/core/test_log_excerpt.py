"""Excerpts of logs: the first error and the end, safe for a terminal."""

from __future__ import annotations

import time

import pytest

from stackbuild.core.log_excerpt import MOST, WIDEST, clean, excerpt

EVIL = "\x1b]0;owned\x07\x1b[31mred\x1b[0m \x9b2J \r\n::error::x [link=file:///etc/passwd]a[/link] \x00"


def test_an_excerpt_has_the_first_error_and_the_end() -> None:
    log = "\n".join([*(f"line {i}" for i in range(100)), "x.c:3:1: error: no such thing", *(f"more {i}" for i in range(100))])
    lines = excerpt(log)
    assert lines[0] == "x.c:3:1: error: no such thing" and lines[-1] == "more 99" and "…" in lines and len(lines) <= MOST


@pytest.mark.parametrize("log", ["", "\n\n", "one", "error: x", "\n".join(f"l{i}" for i in range(5))])
def test_short_logs_are_told_whole(log: str) -> None:
    assert list(excerpt(log)) == [line for line in log.splitlines() if line]


def test_lines_are_safe_for_a_terminal_and_not_endless() -> None:
    started = time.process_time()
    lines = excerpt(EVIL + "x" * 5_000_000 + "\nerror: " + "\x1b]" * 100_000 + "\n" + "\x1b[" * 100_000)
    assert time.process_time() - started < 2
    assert all(len(line) <= WIDEST and not any(ord(c) < 32 or 127 <= ord(c) < 160 for c in line) for line in lines)
    assert clean("\x1b[1;31mfoo\x1b[0m") == "foo"
    assert clean("a\u202egpj.exe\u2066b\u200f\u2028c\u061c") == "agpj.exebc" and clean("naïve ✓ 日本") == "naïve ✓ 日本"


def test_what_commands_a_ci_jobs_log_is_broken() -> None:
    lines = excerpt("##vso[task.setvariable variable=PATH]/tmp/evil\n ::add-mask::ok\n::std::move\nx ##[set-output name=a]b")
    assert lines == (
        r"#\x23vso[task.setvariable variable=PATH]/tmp/evil", r" \x3a:add-mask::ok", "::std::move", r"x #\x23[set-output name=a]b",
    )  # fmt: skip
