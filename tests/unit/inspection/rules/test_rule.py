"""Words of findings."""

from __future__ import annotations

import pytest

from stackbuild.inspection.rules.rule import count_of


@pytest.mark.parametrize(
    ("number", "noun", "said"),
    [(1, "library", "1 library"), (2, "library", "2 libraries"), (0, "copy", "0 copies"), (3, "match", "3 matches"), (1_000, "file", "1,000 files")],
)  # fmt: skip
def test_counted(number: int, noun: str, said: str):
    assert count_of(number, noun) == said
