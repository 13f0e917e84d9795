"""Versions, requirements and file names with numbers that Python refuses to make."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from stackbuild.core.packaging import (
    InvalidRequirement,
    InvalidSpecifier,
    InvalidVersion,
    InvalidWheelFilename,
    Requirement,
    SpecifierSet,
    Version,
    is_requirement,
    parse_wheel_filename,
)

NUMBER = "9" * 5000


@pytest.mark.parametrize(
    ("read", "text", "refusal"),
    [
        (Version, NUMBER, InvalidVersion),
        (Version, f"1.0+rocm.{NUMBER}", InvalidVersion),
        (SpecifierSet, f">={NUMBER}", InvalidSpecifier),
        (Requirement, f"numpy=={NUMBER}", InvalidRequirement),
        (Requirement, f'numpy; python_version < "{NUMBER}"', InvalidRequirement),
        (parse_wheel_filename, f"a-{NUMBER}-py3-none-any.whl", InvalidWheelFilename),
        (parse_wheel_filename, f"a-1-{NUMBER}-py3-none-any.whl", InvalidWheelFilename),
    ],
)
def test_a_number_of_5000_digits_is_refused_in_the_librarys_own_words(
    read: Callable[[str], object], text: str, refusal: type[Exception]
) -> None:
    with pytest.raises(refusal, match="more than 100 digits"):
        read(text)


def test_a_number_of_100_digits_is_read() -> None:
    assert Version("9" * 100) > Version("1")
    assert "1.5" in SpecifierSet(">=1,<2")
    assert not is_requirement(f"numpy>={NUMBER}") and is_requirement("numpy>=1.26; python_version >= '3.10'")
