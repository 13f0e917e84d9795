"""Warnings of `store forget` and `store conflicts`."""

from __future__ import annotations

from dataclasses import replace

import pytest

from stackbuild.remote.revoke import TaintedRecord
from stackbuild.store.records import Record
from stackbuild.views.share import draw_conflicts, draw_made_here, draw_unknown, draw_unread


def test_outputs_of_unknown_inputs_are_named_with_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    draw_unknown(())
    assert capsys.readouterr() == ("", "")
    draw_unknown([Record("0" * 64, "two\x1b", "debian-13", "", "", 1.0, "", "", {})])
    out, err = capsys.readouterr()
    text = " ".join(err.split())
    assert not out and "1 output was made from inputs whose records are gone" in text
    assert "debian-13 two" in text and "\x1b" not in text and "build --from-scratch" in text


def test_no_conflict_is_said_of_what_could_be_read(capsys: pytest.CaptureFixture[str]) -> None:
    draw_conflicts((), 5, ())
    assert capsys.readouterr() == ("no conflict among 5 outputs\n", "")
    draw_unread(["s: r-12: HTTP 500\x1b"])
    draw_conflicts((), 5, ["s: r-12: HTTP 500\x1b"])
    out, err = capsys.readouterr()
    assert out == "no conflict among what could be read of 5 outputs\n"
    assert err.startswith("not read: s: r-12: HTTP 500") and "\x1b" not in err


def test_what_may_be_public_under_the_own_key_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    row = TaintedRecord("two", "debian-13", "0" * 64, "1" * 64, is_pulled=False, is_made_here=True)
    draw_made_here([replace(row, is_made_here=False)])
    assert capsys.readouterr() == ("", "")
    draw_made_here([row, row])
    text = " ".join(capsys.readouterr().err.split())
    assert text.count("debian-13 two") == 1 and "your own key" in text and "new repository" in text
