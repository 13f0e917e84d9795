"""Packages of a Debian base that come from another suite."""

import pytest

from stackbuild.model.recipe import Debian
from stackbuild.sources import debian_archive

SID = Debian(suite="sid", packages=("cmake", "libamdhip64-dev"), pin={"experimental": ("libamdhip64*", "hipcc")})


def test_a_pin_is_weaker_than_a_locked_version_and_stronger_than_the_base_suite() -> None:
    text = debian_archive.preferences_text({"cmake": "4.3"}) + debian_archive.suites_text(
        {"experimental": ["libamdhip64*", "hipcc"]}
    )
    assert "Package: cmake\nPin: version 4.3\nPin-Priority: 1001\n" in text
    assert "Package: libamdhip64* hipcc\nPin: release a=experimental\nPin-Priority: 990\n" in text


def test_a_base_without_pins_is_asked_by_mmdebstrap_itself() -> None:
    words = debian_archive.simulation_words(SID.model_copy(update={"pin": {}}), SID.packages)
    assert "--simulate" in words and "--variant=minbase" in words and not [w for w in words if "hook" in w]


def test_with_pins_apt_is_asked_by_a_hook_that_sees_both_suites() -> None:
    words = debian_archive.simulation_words(SID, SID.packages)
    assert "--simulate" not in words, "mmdebstrap runs no hook in a simulation"
    (asked,) = [w for w in words if w.startswith("--customize-hook=")]
    assert asked.endswith("install '?essential' apt cmake libamdhip64-dev")


@pytest.mark.parametrize("pattern", ["a b", "-t", "libx\nPin: release", "$(id)", "Lib"])
def test_a_pattern_that_is_more_than_a_name_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match="not a package name"):
        Debian(suite="sid", packages=("cmake",), pin={"experimental": (pattern,)})
