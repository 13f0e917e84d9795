"""Wheel variants (PEP 825, a draft) beside their plain wheels: what is refused, and the list that installers read."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from stackbuild.core.errors import UsageError
from stackbuild.publishing.index import publish
from stackbuild.publishing.maintenance import rebuild, set_status, yank
from stackbuild.publishing.publication import Publication
from stackbuild.publishing.ssh_keys import load_trusted_keys
from stackbuild.publishing.verify_release import Trust, verify_release
from support.wheels import new_key, small_wheel, wheel_variant

VARIANTS = Publication(variants=True)
LIST = "demo_pkg-1.0-variants.json"


def test_the_variants_of_a_version_are_one_list_beside_the_plain_wheel(tmp_path: Path) -> None:
    plain = small_wheel(tmp_path / "a")
    one, two = wheel_variant(plain, "gfx1100"), wheel_variant(plain, "gfx90a")
    index = tmp_path / "simple"
    receipt = publish((one, plain), index, VARIANTS)
    assert [wheel.label for wheel in receipt.wheels] == ["gfx1100", ""]
    assert "gfx1100" not in receipt.install_line and plain.name in receipt.install_line
    publish((two,), index, VARIANTS)
    listed = json.loads((index / "demo-pkg" / LIST).read_text())
    assert listed["variants"] == {label: {"amd": {"gfx_arch": [label]}} for label in ("gfx1100", "gfx90a")}
    assert listed["providers"]["amd"]["requires"] == ["rocm-bootstrap"] and listed["$schema"].endswith("v0.1.1.json")
    files = json.loads((index / "demo-pkg/index.json").read_text())["files"]
    assert {file["filename"] for file in files} == {plain.name, one.name, two.name, LIST}
    page = (index / "demo-pkg/index.html").read_text()
    assert f'href="{LIST}#sha256=' in page and "variant gfx90a (PEP 825): amd :: gfx_arch :: gfx90a" in page


def test_a_variant_that_is_published_again_changes_nothing(tmp_path: Path) -> None:
    plain = small_wheel(tmp_path / "a")
    both = (plain, wheel_variant(plain, "gfx1100"))
    number = publish(both, tmp_path / "simple", VARIANTS).number
    assert publish(both, tmp_path / "simple", VARIANTS).number == number


def refused(wheels: tuple[Path, ...], index: Path, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        publish(wheels, index, VARIANTS)
    assert not list(index.glob("*/*.whl")) and not (index / "index.html").exists()


def test_a_variant_without_its_plain_wheel_is_refused(tmp_path: Path) -> None:
    variant = wheel_variant(small_wheel(tmp_path / "a"), "gfx1100")
    other = small_wheel(tmp_path / "a", "2.0")
    for wheels in ((variant,), (variant, other)):
        refused(wheels, tmp_path / "simple", "the plain wheel of this variant, demo_pkg-1.0-py3-none-any.whl, is not on")


def test_a_yanked_plain_wheel_is_none(tmp_path: Path) -> None:
    plain = small_wheel(tmp_path / "a")
    publish((plain,), tmp_path / "simple")
    yank(tmp_path / "simple", "demo-pkg", "1.0", "bad")
    with pytest.raises(UsageError, match="the plain wheel of this variant"):
        publish((wheel_variant(plain, "gfx1100"),), tmp_path / "simple", VARIANTS)


@pytest.mark.parametrize(
    "others",
    [
        {"static-properties": {"gfx_arch": ["gfx1201"]}},
        {"providers": {"amd": {"static-properties": {"gfx_arch": ["gfx1201"]}}}},
    ],
    ids=["top", "provider"],
)
def test_a_gpu_target_that_holds_on_every_machine_is_refused(tmp_path: Path, others: dict[str, object]) -> None:
    """uv's preview installs such a wheel where there is no GPU."""
    plain = small_wheel(tmp_path / "a")
    refused((plain, wheel_variant(plain, "gfx1201", **others)), tmp_path / "simple", "SB-VARIANT-STATIC.* gfx1201")


@pytest.mark.parametrize(
    ("others", "words"),
    [
        ({"variants": {"gfx90a": {}}}, "does not describe the label gfx1100, and this one alone"),
        ({"variants": {"gfx1100": {}, "gfx90a": {}}}, "and this one alone"),
        ({"variants": []}, "does not describe the label"),
        ({"variants": {"gfx1100": {"amd": {"gfx_arch": "gfx1100"}}}}, "not lists of texts"),
        ({"variants": {"gfx1100": {"amd": ["gfx1100"]}}}, "not lists of texts"),
    ],
)
def test_a_variant_json_that_is_not_one_is_refused(tmp_path: Path, others: dict[str, object], words: str) -> None:
    plain = small_wheel(tmp_path / "a")
    refused((plain, wheel_variant(plain, "gfx1100", **others)), tmp_path / "simple", words)


def test_a_label_and_a_variant_json_go_together(tmp_path: Path) -> None:
    plain = small_wheel(tmp_path / "a")
    labelled = tmp_path / "a" / f"{plain.stem}-gfx1100.whl"
    shutil.copy(plain, labelled)
    refused((plain, labelled), tmp_path / "simple", "the label gfx1100 and no variant.json")
    shutil.move(wheel_variant(plain, "gfx90a"), plain)
    refused((plain,), tmp_path / "simple", r"a variant\.json and no label")


def test_variants_that_contradict_each_other_are_refused(tmp_path: Path) -> None:
    plain = small_wheel(tmp_path / "a")
    one = wheel_variant(plain, "gfx1100")
    index = tmp_path / "simple"
    for other, words in (
        (wheel_variant(plain, "gfx90a", providers={}), "name other providers or priorities"),
        (wheel_variant(plain, "gfx1101", {"amd": {"gfx_arch": ["gfx1100"]}}), "have two labels for one variant"),
    ):
        refused((plain, one, other), index, words)


def test_the_list_is_signed_and_an_other_one_is_refused(tmp_path: Path) -> None:
    plain = small_wheel(tmp_path / "a")
    key, public = new_key(tmp_path / "keys")
    index = tmp_path / "simple"
    publish((plain, wheel_variant(plain, "gfx1100")), index, Publication(variants=True, keys=(key,)))
    trust = Trust(load_trusted_keys([public]))
    assert verify_release(index, trust).problems == ()
    file = (index / "demo-pkg" / LIST).resolve()
    file.write_text(file.read_text().replace("rocm-bootstrap", "rocm-b00tstrap"))
    assert any(LIST in problem for problem in verify_release(index, trust).problems)


def test_a_quarantined_or_rebuilt_index_keeps_the_list(tmp_path: Path) -> None:
    plain = small_wheel(tmp_path / "a")
    index = tmp_path / "simple"
    publish((plain, wheel_variant(plain, "gfx1100")), index, VARIANTS)
    before = (index / "demo-pkg" / LIST).read_bytes()
    rebuild(index, Publication())
    assert (index / "demo-pkg" / LIST).read_bytes() == before
    set_status(index, "demo-pkg", "quarantined", "stolen")
    assert json.loads((index / "demo-pkg/index.json").read_text())["files"] == []


def test_a_list_whose_wheels_are_gone_goes_too(tmp_path: Path) -> None:
    plain = small_wheel(tmp_path / "a")
    variant = wheel_variant(plain, "gfx1100")
    index = tmp_path / "simple"
    publish((plain, variant), index, VARIANTS)
    (index / "demo-pkg" / variant.name).unlink()
    publish((small_wheel(tmp_path / "a", "2.0"),), index)
    assert not (index / "demo-pkg" / LIST).is_symlink()
    assert LIST not in (index / "demo-pkg/index.html").read_text()
