"""Conditions of the preprocessor's with macros that are not defined."""

from __future__ import annotations

import pytest

from stackbuild.hipify.lint.cpp import conditions


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", False),
        ("1", True),
        ("U", False),
        ("!U", True),
        ("X", None),
        ("!X", None),
        ("defined(U)", False),
        ("defined U", False),
        ("!defined ( U )", True),
        ("defined(X)", None),
        ("U >= 12000", False),
        ("U < 12000", True),
        ("(U < 0x2f)", True),
        ("U >= (7)", False),
        ("U == 0", True),
        ("U != 0L", False),
        ("12 > U", True),
        ("U >= X", None),
        ("U * 100 + U >= 1204", False),
        ("(U * 100 + U * 10 < 1204)", True),
        ("12 - U == 12", True),
        ("U * X > 1", None),
        ("U / 2 > 1", None),
        ("X >= 12", None),
        ("U || X", None),
        ("!U || X", True),
        ("U && X", False),
        ("!U && X", None),
        ("(!X()) || (U < 7600)", True),
        ("defined(U) && (U > 9 || X)", False),
        ("(X && U) || !defined(U)", True),
        ("(X < 2) == U", None),
        ("F(U, 1) > 2 || U", None),
        ("U \\\n && X", False),
        ("U + 1 > 2", False),
        ("U >=", None),
        ("(U", None),
        ("U)", None),
        ("", None),
        ("&& U", None),
        ("defined", None),
        ("F(", None),
        ("08 > U", None),
        (" || ".join(["U"] * 200), None),
    ],
)
def test_what_a_condition_is(text: str, value: bool | None) -> None:
    assert conditions.truth(text, lambda name: name == "U") is value


def test_a_macro_that_is_0_is_defined() -> None:
    read = {
        text: conditions.truth(text, "U".__eq__, frozenset("Z"))
        for text in ("Z", "!Z", "defined(Z)", "X && Z", "X || Z")
    }
    assert list(read.values()) == [False, True, None, False, None]
