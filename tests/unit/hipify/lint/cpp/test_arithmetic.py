"""Constant expressions."""

from __future__ import annotations

import pytest

from stackbuild.hipify.lint.cpp import arithmetic


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("32 / 2", 16), ("(W + 1) * 2", 66), ("1 << 4", 16), ("-7 / 2", -3), ("0x20u >> 1", 16), ("7 % 4 - 1", 2),
        ("W / 0", None), ("a +", None), ("f(x)", None), ("1 << 99", None), ("", None), ("W W", None),
    ],
)  # fmt: skip
def test_arithmetic(text: str, value: int | None) -> None:
    assert arithmetic.value(text, {"W": 32}) == value
