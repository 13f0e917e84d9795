"""What is drawn of an index: texts of statements and wheels do nothing to a terminal."""

from __future__ import annotations

import pytest

from stackbuild.publishing.publication import NOT_SIGNED, PublishedWheel, Receipt
from stackbuild.publishing.verify_release import ReleaseProof, WheelProof
from stackbuild.views.publishing import draw_problems, draw_published, draw_release_proof

CLAIM = "verified\x1b[2J\n✓ index number 9\u202e\r"
SHOWN = r"verified\x1b[2J\n✓ index number 9\u202e\r"


def test_an_index_that_nobody_signed_is_said_on_stdout_before_the_install_line(capsys: pytest.CaptureFixture[str]) -> None:
    draw_published(Receipt("simple", (), 1, requirements=("demo @ x",), not_signed=NOT_SIGNED))
    first, last = capsys.readouterr().out.splitlines()
    assert first.startswith("not signed: ") and "--sign release.key" in first and last == "pip install demo @ x"
    draw_published(Receipt("simple", (), 1, signed_by=("SHA256:x",), requirements=("demo @ x",)))
    assert "not signed" not in "".join(capsys.readouterr())


def test_a_claim_is_one_line_without_escape_sequences(capsys: pytest.CaptureFixture[str]) -> None:
    wheel = WheelProof("demo/demo-1-py3-none-any.whl", "0" * 64, ("verification",), False, CLAIM)
    draw_release_proof(ReleaseProof("simple", 1, "2090", (), 1, 1, (wheel,), ()))
    draw_published(Receipt("simple", (PublishedWheel("demo", "1", "demo-1-py3-none-any.whl", "", 1, True, "", "demo @ x", CLAIM),), 1))
    draw_problems([CLAIM], "")
    shown = capsys.readouterr()
    for text, words in ((shown.out, f"  {SHOWN}"), (shown.err, f"published: demo-1-py3-none-any.whl: {SHOWN}"), (shown.out, f"✗ {SHOWN}")):
        assert words in text.splitlines() and "\x1b" not in text and "\r" not in text
