"""ci/compare_keys.py: which fields of which keys differ between two plans."""

from __future__ import annotations

from typing import Any

from compare_keys import differences


def step(key: str, **fields: str) -> dict[str, Any]:
    return {"key": key, "fields": {name.replace("_", " "): value for name, value in fields.items()}}


def test_a_changed_field_is_named() -> None:
    before = {"base": step("1", command="a"), "wheel": step("2", command="a", param_packer="2", need_base="1")}
    after = {
        "base": step("1", command="a"),
        "wheel": step("3", command="a", param_packer="4", param_new="1", need_base="1"),
    }
    assert list(differences(before, after)) == ["wheel: param new, param packer"]


def test_a_key_that_follows_another_says_so() -> None:
    before = {"wheel": step("2", need_base="1")}
    assert list(differences(before, {"wheel": step("3", need_base="9")})) == ["wheel: its needs"]


def test_steps_that_one_plan_lacks_are_named() -> None:
    assert list(differences({"a": step("1")}, {"b": step("1")})) == ["a: gone", "b: new"]
    assert not list(differences({"a": step("1")}, {"a": step("1")}))
