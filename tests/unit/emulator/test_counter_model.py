"""Counters checked against limits and budgets, with numbers worked out by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from stackbuild.core.errors import UsageError
from stackbuild.emulator.budget_file import read_budgets, write_budgets
from stackbuild.emulator.counter_model import (
    COUNTERS,
    EmulatedCounters,
    budgets_of,
    model,
    occupancy,
    over_budget,
    sum_by_kernel,
)
from stackbuild.emulator.service import EmulatorReport
from stackbuild.tables.gpu_limits import limits_of

NAME = "_ZN3sbk17leaky_relu_detail18leaky_relu_vectorsIfLi4EEEvPKNS_3VecIT_XT0_EEEPS4_lf"
GFX1100, GFX942 = limits_of("gfx1100"), limits_of("gfx942")


def row(**counters: int) -> EmulatedCounters:
    return EmulatedCounters(NAME, 2, 32, 24, 16, 0, 0, 256, dict.fromkeys(COUNTERS, 0) | counters)


def report(
    kind: str = "dispatch", *, numbers: str = "", resources: str = "32,24,16,512,0", blocks: str = ""
) -> EmulatorReport:
    counters = numbers or ",".join(str(number) for number in range(len(COUNTERS)))
    shape = "2,1,1,256,1,1,0"
    return EmulatorReport(
        kind, {"kernel": NAME, "shape": shape, "resources": resources, "counters": counters, "blocks": blocks}
    )


def test_dispatches_of_a_kernel_are_summed_and_what_cannot_be_read_is_left_out() -> None:
    broken = (report(numbers="1,2"), report("finding"), report(resources="32"), report(numbers="x," * len(COUNTERS)))
    (made,) = sum_by_kernel((report(), report(resources="32,24,16,1024,0"), *broken))
    assert made.dispatches == 2 and made.workgroup == 256 and made.lds == 1024 and made.wave == 32
    assert made.counters[COUNTERS[3]] == 6
    assert made.short == "leaky_relu_vectors<fLi4>"


def test_a_block_ran_where_it_did_in_any_dispatch() -> None:
    (made,) = sum_by_kernel((report(blocks="6,84"), report(blocks="6,90"), report(blocks="x"), report(blocks="6,zz")))
    assert made.blocks == (True, False, False, True, False, True)
    (unknown,) = sum_by_kernel((report(),))
    assert unknown.blocks == ()


def test_clocks_are_those_of_one_compute_unit() -> None:
    found = model(
        row(valu=1000, salu=40, branch=6, smem=4, lds_cycles=70, matrix=3, global_segments=100), GFX1100
    ).clocks
    assert found["vector"] == 500  # two SIMDs of 32 lanes
    assert found["scalar"] == 25
    assert found["LDS"] == 70
    assert found["matrix"] == 3 * 8192 / 512
    assert found["memory"] == pytest.approx(100 * 64 / (960 / (2.5 * 96)))  # 4 bytes a clock and unit
    assert model(replace(row(valu=1000), wave=64), GFX942).clocks["vector"] == 1000  # four SIMDs of 16 lanes


def test_a_unit_whose_simds_are_not_all_busy_has_a_share_of_a_wave() -> None:
    """gfx942: LDS for one workgroup of 128, two waves of 64 on four SIMDs; for two workgroups one wave each."""
    one = replace(row(), wave=64, workgroup=128, lds=44_544)
    assert occupancy(one, GFX942) == 0.5
    assert occupancy(replace(one, lds=24_064), GFX942) == 1
    assert isinstance(occupancy(replace(one, lds=24_064), GFX942), int)


def test_the_limit_that_needs_the_most_clocks_binds() -> None:
    assert model(row(valu=1000, global_segments=1), GFX1100).binding == "vector"
    assert model(row(valu=1000, global_segments=1000), GFX1100).binding == "memory"


@pytest.mark.parametrize(
    ("vgprs", "lds", "waves"),
    [(24, 0, 16), (96, 0, 16), (97, 0, 12), (256, 0, 5), (24, 65536, 4), (24, 16384, 16)],
)
def test_registers_and_lds_bound_the_waves_of_a_simd(vgprs: int, lds: int, waves: int) -> None:
    """gfx1100: 1536 registers of a lane, handed out by 24; a workgroup of 256 is eight waves, four a SIMD."""
    assert occupancy(replace(row(), vgprs=vgprs, lds=lds), GFX1100) == waves


def test_five_per_cent_of_instructions_are_within_a_budget_and_one_flat_access_is_not() -> None:
    budgets = budgets_of([row(instructions=1000, flat=0)])
    assert over_budget([row(instructions=1050)], budgets) == ()
    (more,) = over_budget([row(instructions=1051)], budgets)
    assert "1,051 instructions, 5.1% over the budget of 1,000" in more
    (flat,) = over_budget([row(instructions=1000, flat=1)], budgets)
    assert "1 FLAT accesses, budget 0" in flat
    (often,) = over_budget([replace(row(instructions=1000), dispatches=3)], budgets)
    assert "3 dispatches, budget 2" in often


def test_a_kernel_without_a_budget_and_a_budget_without_a_kernel_are_said() -> None:
    assert "has no budget" in over_budget([row()], {})[0]
    assert over_budget([], budgets_of([row()])) == (f"{NAME} has a budget and was not launched",)


def test_budgets_are_read_as_they_were_written(tmp_path: Path) -> None:
    file = tmp_path / "budgets.toml"
    write_budgets(file, "gfx942", [row(instructions=7)])
    write_budgets(file, "gfx1100", [row(instructions=1234, flat=5)])
    assert read_budgets(file, "gfx1100") == {NAME: {"dispatches": 2, "instructions": 1234, "flat": 5}}
    assert read_budgets(file, "gfx942")[NAME]["instructions"] == 7


@pytest.mark.parametrize("text", ["x", "[gfx1100]\na = 1\n", "[gfx1100]\na = { dispatches = 1 }\n", "[gfx942]\n"])
def test_budgets_of_another_form_are_refused(text: str, tmp_path: Path) -> None:
    file = tmp_path / "budgets.toml"
    file.write_text(text)
    with pytest.raises(UsageError, match="budgets"):
        read_budgets(file, "gfx1100")
