"""How far shuffles reach."""

from __future__ import annotations

import pytest

from stackbuild.hipify.lint.ladders.shuffles import reach


@pytest.mark.parametrize(
    ("offsets", "lanes"), [((16, 8, 4, 2, 1), 32), ((16,), 2), ((16, 8, 4, 2), 16), ((1, 2, 4), 8), ((4, 4), 3)]
)
def test_reach(offsets: tuple[int, ...], lanes: int) -> None:
    assert reach(offsets) == lanes
