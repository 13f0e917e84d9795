"""Which targets a name of a GPU means: code names, architectures, beginnings, and what lspci and rocminfo print."""

from __future__ import annotations

import re
import sys

import pytest

from stackbuild.__main__ import run
from stackbuild.core.errors import UsageError
from stackbuild.machine.env import target_of
from stackbuild.tables.gpu_names import buildable_like, names, names_near, targets_named
from stackbuild.tables.targets import BUILDABLE, TARGETS

RDNA3 = ["gfx1100", "gfx1101", "gfx1102", "gfx1103"]
RDNA35 = ["gfx1150", "gfx1151", "gfx1152", "gfx1153"]
LSPCI = "03:00.0 VGA compatible controller [0300]: Advanced Micro Devices, Inc. [AMD/ATI] "


@pytest.mark.parametrize(
    ("name", "gfx"),
    [
        ("navi31", ["gfx1100"]), ("Navi 31", ["gfx1100"]), ("NAVI48", ["gfx1201"]), ("strix halo", ["gfx1151"]), ("HawkPoint1", ["gfx1103"]),
        ("RDNA3", RDNA3), ("rdna 3", RDNA3), ("RDNA 3.5", RDNA35), ("rdna3.5", RDNA35), ("cdna3", ["gfx942"]), ("vega", ["gfx900", "gfx906"]),
        ("gfx11", [*RDNA3, *RDNA35]), ("gfx110X-all", RDNA3), ("gfx94X-dcgpu", ["gfx942"]), ("gfx115x", RDNA35),
        ("7900xtx", ["gfx1100"]), ("rx 7900 xtx", ["gfx1100"]), ("RX 7900", ["gfx1100"]), ("mi300", ["gfx942"]), ("rx 7700", ["gfx1101"]), ("RX 7600", ["gfx1102"]),
        ("Instinct MI300X", ["gfx942"]), ("AMD Instinct MI300X VF", ["gfx942"]), ("AMD Radeon RX 9070 XT", ["gfx1201"]),
        ("Radeon PRO W7900", ["gfx1100"]), ("AMD Radeon Pro W7900 Dual Slot", ["gfx1100"]), ("AMD Radeon RX 9060 XT 16GB", ["gfx1200"]),
        ("Navi 31 [Radeon RX 7900 XT/7900 XTX/7900 GRE/7900M]", ["gfx1100"]),
        (f"{LSPCI}Navi 48 [Radeon RX 9070/9070 XT/9070 GRE] [1002:7550] (rev c0)", ["gfx1201"]),
        (f"{LSPCI}Strix Halo [Radeon Graphics / Radeon 8050S Graphics / Radeon 8060S Graphics] [1002:1586] (rev c1)", ["gfx1151"]),
        ("Navi 22 [Radeon RX 6700/6700 XT/6750 XT / 6800M/6850M XT]", ["gfx1031"]),
        ("c7:00.0 Display controller: Advanced Micro Devices, Inc. [AMD/ATI] Phoenix3 (rev ba)", ["gfx1103"]),
        ("Aldebaran/MI200 [Instinct MI250X/MI250]", ["gfx90a"]), ("Navi 33 [Radeon Graphics]", ["gfx1102"]),
        ("Aqua Vanjaram", ["gfx942", "gfx950"]), ("Aqua Vanjaram [Instinct MI355X]", ["gfx950"]), ("Aqua Vanjaram [Instinct MI325X]", ["gfx942"]),
        ("AMD RYZEN AI MAX+ PRO 395 w/ Radeon 8060S", ["gfx1151"]), ("AMD Radeon Graphics (RADV GFX1151)", ["gfx1151"]),
        ("amdgcn-amd-amdhsa--gfx1100", ["gfx1100"]),
        ("AMD Radeon Graphics", []), ("Radeon", []), ("", []), ("/", []), ("[]", []), ("gfx", []), ("gfx9999", []), ("RX 580", []), ("RTX 4090", []),
        ("NVIDIA Corporation GA104 [GeForce RTX 3070] [10de:2484] (rev a1)", []), ("Navi 14 [Radeon RX 5500/5500M / Pro 5500M]", ["gfx1012"]),
    ],
)  # fmt: skip
def test_a_name_means_these_targets(name: str, gfx: list[str]) -> None:
    for spelling in (name, name.lower(), f"  {name} "):
        assert [target.gfx for target in targets_named(spelling)] == gfx, spelling


@pytest.mark.parametrize(
    ("name", "gfx"),
    [
        ("Ryzen AI 9 365", "gfx1150"), ("AMD Ryzen AI 9 HX 370 w/ Radeon 890M", "gfx1150"), ("Ryzen AI 9 HX PRO 375", "gfx1150"),
        ("Ryzen AI Max+ PRO 395", "gfx1151"), ("Ryzen AI 7 350", "gfx1152"), ("Ryzen AI 5 430", "gfx1153"), ("760M", "gfx1103"),
        ("RX 7650 GRE", "gfx1102"), ("Radeon AI PRO R9600D", "gfx1201"), ("AMD Radeon AI PRO R9700S", "gfx1201"),
        ("Sapphire Pulse Radeon RX 7900 XTX 24GB", "gfx1100"), ("XFX Speedster MERC 310 AMD Radeon RX 7900XT Black", "gfx1100"),
        ("PowerColor Hellhound RX 7700 XT OC", "gfx1101"), ("ASRock Radeon RX 7600 Challenger 8GB", "gfx1102"),
        ("Gigabyte RX9070XT Gaming OC 16G", "gfx1201"), ("ASUS Zenbook S16, Ryzen AI 9 365, 32GB", "gfx1150"),
    ],
)  # fmt: skip
def test_a_product_or_a_board_is_one_target(name: str, gfx: str) -> None:
    assert target_of(name).gfx == gfx


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("Ryzen 9 7950X", []), ("RX 7950 XTX", []), ("Ryzen AI 9 999", []), ("RX 790 XTX", []), ("MI30", []), ("RX 8600 GRE", []),
        ("Radeon 765M", []), ("ASRock Radeon RX 7600 GT", []), ("RX 7600 GT", ["RX 7600"]), ("Raedon 890M", ["Radeon 890M"]),
        ("Ryzen AI Max 395", ["Ryzen AI Max+ 395"]), ("RX 7900 XTZ", ["RX 7900 XT", "RX 7900 XTX"]), ("Strix Hallo", ["Strix Halo"]),
    ],
)  # fmt: skip
def test_only_names_of_the_same_series_and_number_are_suggested(name: str, near: list[str]) -> None:
    with pytest.raises(UsageError, match="the table of AMD's products does not have it"):
        target_of(name)
    assert set(near) <= set(names_near(name)) and bool(near) == bool(names_near(name)), names_near(name)
    number = set(re.findall(r"\d{3,}", name))
    assert all(number <= {*re.findall(r"\d{3,}", found)} for found in names_near(name))


@pytest.mark.parametrize(
    ("name", "near"), [("RX 9700 XT", "RX 9070 XT"), ("RX 7090 XTX", "RX 7900 XTX"), ("MI230X", "")]
)
def test_two_neighbouring_digits_in_the_other_order_are_one_slip(name: str, near: str) -> None:
    assert names_near(name)[:1] == [near][: bool(near)]


def test_a_name_that_two_chips_have_is_two_targets() -> None:
    for name, gfx in (("RX 6750 GRE", "gfx1031 gfx1032"), ("Radeon 840M", "gfx1152 gfx1153")):
        assert [target.gfx for target in targets_named(name)] == gfx.split()


def test_the_table_names_targets_that_a_recipe_may_have() -> None:
    assert len(names()) > 70
    assert {gfx for row in names().values() for gfx in row} <= set(BUILDABLE)


def test_every_product_of_a_target_means_that_target_alone() -> None:
    for target in BUILDABLE.values():
        for product in target.products:
            assert targets_named(product) == (target,), product


def test_several_targets_are_listed_and_the_reader_is_asked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(UsageError, match=r"'RDNA4' is 2 targets: gfx1200 \(RX 9060, RX 9060 XT\); gfx1201 "):
        target_of("RDNA4")
    monkeypatch.setattr(sys, "argv", ["stackbuild", "start", "--gpu", "gfx11"])
    assert run() == 2
    said = capsys.readouterr().err
    assert all(gfx in said for gfx in (*RDNA3, *RDNA35)) and "name the one that is in the machine" in said


def test_a_recipe_with_a_name_for_a_target_is_told_the_target() -> None:
    assert buildable_like("navi31") == "; navi31 is gfx1100: did you mean gfx1100?"
    assert buildable_like("RDNA4") == (
        "; RDNA4 is gfx1200 (RX 9060, RX 9060 XT) or gfx1201 (RX 9070, RX 9070 XT): write those that you have, each as an item"
    )
    assert "gfx1151: did you mean gfx1151?" in buildable_like("Strix Halo [Radeon Graphics / Radeon 8060S Graphics]")
    assert set(TARGETS) > set(BUILDABLE)
