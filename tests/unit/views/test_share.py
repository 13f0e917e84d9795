"""Warnings of `store forget`."""

from __future__ import annotations

import pytest

from stackbuild.store.records import Record
from stackbuild.views.share import draw_unknown


def test_outputs_of_unknown_inputs_are_named_with_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    draw_unknown(())
    assert capsys.readouterr() == ("", "")
    draw_unknown([Record("0" * 64, "two\x1b", "debian-13", "", "", 1.0, "", "", {})])
    out, err = capsys.readouterr()
    text = " ".join(err.split())
    assert not out and "1 output was made from inputs whose records are gone" in text
    assert "debian-13 two" in text and "\x1b" not in text and "build --from-scratch" in text
