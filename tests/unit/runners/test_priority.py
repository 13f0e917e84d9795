"""The niceness that a session of its own is given."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from stackbuild.runners import priority


@pytest.fixture(autouse=True)
def proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(priority, "PROC", tmp_path)
    monkeypatch.setattr(os, "nice", lambda increment: increment)
    for pid in ("self", "42"):
        (tmp_path / pid).mkdir()
    return tmp_path


@pytest.mark.parametrize(
    ("text", "nice_value"), [("/autogroup-20 nice 5\n", 5), ("/autogroup-20 nice -5\n", 0), ("", 0)]
)
def test_the_session_counts_where_it_steps_back(proc: Path, text: str, nice_value: int) -> None:
    (proc / "self/autogroup").write_text(text)
    assert priority.niceness() == nice_value


@pytest.mark.parametrize(("own", "nice_value"), [(15, 15), (3, 5), (-10, 5)])
def test_the_higher_of_both_counts(proc: Path, monkeypatch: pytest.MonkeyPatch, own: int, nice_value: int) -> None:
    (proc / "self/autogroup").write_text("/autogroup-20 nice 5\n")
    monkeypatch.setattr(os, "nice", lambda increment: own)
    assert priority.niceness() == nice_value


def test_a_kernel_without_autogroups_leaves_the_process_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "nice", lambda increment: 15)
    assert priority.niceness() == 15


def test_another_session_is_given_it(proc: Path) -> None:
    (proc / "self/autogroup").write_text("/autogroup-20 nice 5\n")
    priority.keep_niceness(42)
    assert (proc / "42/autogroup").read_text() == "5"


def test_a_session_that_is_gone_is_no_fault(proc: Path) -> None:
    (proc / "self/autogroup").write_text("/autogroup-20 nice 5\n")
    priority.keep_niceness(43)
    assert not (proc / "43").exists()


def test_without_niceness_nothing_is_written(proc: Path) -> None:
    priority.keep_niceness(42)
    assert not (proc / "42/autogroup").exists()
