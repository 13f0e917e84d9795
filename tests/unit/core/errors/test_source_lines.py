"""A mistake shows its source line with a caret below the column."""

import pytest

from stackbuild.core.errors import Mistake, with_lines


@pytest.mark.parametrize(
    ("text", "place", "shown"),
    [
        ("a: 1\n  key: wrong\n", "r.yaml:2:8", "    key: wrong\n         ^"),
        ("k: " + "x" * 200, "r.yaml:1:104", "    " + "x" * 100 + "\n    " + " " * 50 + "^"),
        ("k: \x1b[31mred", "r.yaml:1:4", "    k:  [31mred\n       ^"),
        ("a\n\n", "r.yaml:2:1", ""),
        ("a: 1\n", "r.yaml:9:1", ""),
    ],
)
def test_the_line_and_the_caret(text: str, place: str, shown: str) -> None:
    (mistake,) = with_lines([Mistake(place, "what", "next")], text)
    expected = f"{place}: what\n{shown}\n  next: next" if shown else f"{place}: what\n  next: next"
    assert str(mistake) == expected
