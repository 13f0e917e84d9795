"""Grids whose last workgroups are partial: HSA's dispatch packet counts work-items, and MIGraphX launches such grids."""

from __future__ import annotations

import ctypes
import struct
from pathlib import Path

import pytest

pytest.importorskip("tinygrad")

from stackbuild.emulator import translate as translation
from support.emulator_executor import ExecutionError, Executor, LaunchSize, executor_library
from support.one_kernel_object import code_object
from support.sanitizer_defects import DEFECTS

COUNTER = next(defect for defect in DEFECTS if defect.name == "an atomic off its boundary")
"""Its right form adds 1 to the second word of memory from each work-item."""

Size = tuple[int, int, int]


@pytest.fixture
def count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Executor:
    monkeypatch.setattr(translation, "load", lambda data: code_object(COUNTER, COUNTER.right, "count"))
    out = translation.translate(b"partial", "gfx1100", tmp_path, sanitize=False, counters=True, kernels=["count"])
    return Executor(out, executor_library(tmp_path))


@pytest.mark.parametrize(
    ("grid", "workgroup", "items", "work_items", "waves"),
    [
        ((3, 1, 1), (64, 1, 1), (150, 1, 1), 150, 5),  # 64 + 64 + 22: two waves, two, one
        ((1, 1, 1), (1024, 1, 1), (64, 1, 1), 64, 2),  # how MIGraphX launches a kernel on 64 elements
        ((3, 2, 1), (8, 8, 1), (20, 12, 1), 240, 8),  # 8×8 and 8×4 twice, 4×8 and 4×4 once
        ((2, 1, 1), (33, 1, 1), (0, 0, 0), 66, 4),
        ((2, 1, 1), (32, 1, 1), (64, 0, 0), 64, 2),
    ],
)
def test_each_work_item_runs_once(
    count: Executor, grid: Size, workgroup: Size, items: Size, work_items: int, waves: int
) -> None:
    memory = (ctypes.c_uint32 * 128)()
    launch = LaunchSize(grid, workgroup, threads=1, items=items)
    counters = count.dispatch("count", launch, struct.pack("<Q", ctypes.addressof(memory)))
    assert memory[1] == work_items and counters["waves"] == waves


@pytest.mark.parametrize("items", [(64, 1, 1), (129, 1, 1)])
def test_items_that_are_not_those_of_the_grid_are_refused(count: Executor, items: Size) -> None:
    with pytest.raises(ExecutionError, match="work-items"):
        count.dispatch("count", LaunchSize((2, 1, 1), (64, 1, 1), items=items), struct.pack("<Q", 0))
