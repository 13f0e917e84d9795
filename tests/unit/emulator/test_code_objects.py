"""The code object for one target out of a bundle."""

from __future__ import annotations

import pytest

from stackbuild.emulator.code_objects import code_object_for
from stackbuild.inspection.readers.byte_parser import MalformedError
from support.binaries import bundle, ccob, code_object, kernel


def objects() -> dict[str, bytes]:
    return {target: code_object(target, [kernel("k")]) for target in ("gfx942", "gfx1100")}


def test_it_is_found_by_its_target_in_a_plain_bundle_and_in_a_compressed_one() -> None:
    made = objects()
    for whole in (bundle(made), ccob(bundle(made)), made["gfx1100"]):
        assert code_object_for("gfx1100", whole) == made["gfx1100"]


def test_a_bundle_without_the_target_says_what_it_has() -> None:
    with pytest.raises(MalformedError, match=r"no code object for gfx1201; it has gfx1100, gfx942"):
        code_object_for("gfx1201", bundle(objects()))


def test_another_targets_code_under_the_name_is_refused() -> None:
    made = objects()
    with pytest.raises(MalformedError, match=r"under the name gfx1100 is for gfx942, not for gfx1100"):
        code_object_for("gfx1100", bundle({"gfx1100": made["gfx942"]}))
    with pytest.raises(MalformedError, match="is for gfx942, not for gfx1100"):
        code_object_for("gfx1100", made["gfx942"])


@pytest.mark.parametrize("fitting", ["gfx90a", "gfx90a:xnack-", "gfx90a:sramecc+", "gfx90a:sramecc+:xnack-"])
def test_the_device_loads_what_states_its_own_features_or_none(fitting: str) -> None:
    """The emulated gfx90a is gfx90a:sramecc+:xnack-, as a GPU is without HSA_XNACK=1."""
    code, other = code_object(fitting, [kernel("k")], abi=2), code_object("gfx90a:xnack+", [kernel("k")], abi=2)
    assert code_object_for("gfx90a", bundle({"gfx90a:xnack+": other, fitting: code})) == code
    assert code_object_for("gfx90a", code) == code


@pytest.mark.parametrize("target", ["gfx90a", "gfx942"])
@pytest.mark.parametrize("features", [":xnack+", ":sramecc-", ":sramecc+:xnack+", ":sramecc-:xnack-"])
def test_code_for_other_features_is_refused(target: str, features: str) -> None:
    code, device = code_object(target + features, [kernel("k")], abi=2), f"{target}:sramecc\\+:xnack-"
    with pytest.raises(MalformedError, match=f"no code object for {device}; it has {target}"):
        code_object_for(target, bundle({target + features: code}))
    with pytest.raises(MalformedError, match=f"the code object is for .*, not for {device}"):
        code_object_for(target, code)
    with pytest.raises(MalformedError, match=f"under the name {target} is for .*, not for {device}"):
        code_object_for(target, bundle({target: code}))


@pytest.mark.parametrize("data", [b"", b"\x7fELF", b"CCOB", b"__CLANG_OFFLOAD_BUNDLE__" + b"\xff" * 40])
def test_bytes_of_another_form_are_refused(data: bytes) -> None:
    with pytest.raises(MalformedError):
        code_object_for("gfx1100", data)
