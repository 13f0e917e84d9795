"""Sizes as people write them."""

from __future__ import annotations

import re

import pytest

from stackbuild.core.errors import UsageError
from stackbuild.core.sizes import SIZE, UNITS, size_meant, size_of


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("500M", 500 << 20),
        ("8G", 8 << 30),
        ("8 GiB", 8 << 30),
        ("8Gi", 8 << 30),
        ("8g", 8 << 30),
        ("1.5 GiB", 3 << 29),
        ("8 GB", 8_000_000_000),
        ("20 mb", 20_000_000),
        ("1T", 1 << 40),
        ("512 B", 512),
        ("0M", 0),
    ],
)
def test_a_size_has_one_meaning(text: str, size: int) -> None:
    assert size_of(text) == size


@pytest.mark.parametrize("unit", UNITS)
def test_every_unit_is_of_the_form(unit: str) -> None:
    assert re.search(SIZE, f"2{unit}") and size_of(f"2 {unit}") == 2 * UNITS[unit]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("8", "8G"),
        ("8  GB", "8G"),
        ("8 gigabytes", "8G"),
        ("1,5G", "1.5G"),
        ("-2G", "2G"),
        ("at most 2", ""),
        ("8Gbit", ""),
        ("lots", ""),
        ("8X", ""),
        ("", ""),
        ("8G\n", "8G"),
    ],
)
def test_another_spelling_is_answered_by_the_size(text: str, meant: str) -> None:
    assert size_meant(text) == meant
    with pytest.raises(UsageError, match="is not a size") as raised:
        size_of(text)
    assert meant in raised.value.next and (meant == "" or size_of(meant) > 0)
