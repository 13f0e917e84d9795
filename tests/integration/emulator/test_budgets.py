"""A kernel whose hot loop has one instruction more, or a FLAT access, exceeds the budget that the kernel before it wrote."""

from __future__ import annotations

import ctypes
import struct
from pathlib import Path

import pytest

pytest.importorskip("tinygrad")

from stackbuild.emulator import translate as translation
from stackbuild.emulator.budget_file import read_budgets, write_budgets
from stackbuild.emulator.counter_model import EmulatedCounters, over_budget
from support.budget_kernels import FLAT, HOT_LOOP, ONE_MORE
from support.emulator_executor import Executor, LaunchSize, executor_library
from support.one_kernel_object import code_object
from support.sanitizer_defects import SeededDefect


def counted(text: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> EmulatedCounters:
    """The counters of one wave of the kernel."""
    plain = SeededDefect("", "", text, text)
    monkeypatch.setattr(translation, "load", lambda data: code_object(plain, text, "hot_loop"))
    out = translation.translate(text.encode(), "gfx1100", folder, sanitize=False, counters=True, kernels=["hot_loop"])
    memory = (ctypes.c_uint8 * 512)()
    given = struct.pack("<Q", ctypes.addressof(memory))
    counters = Executor(out, executor_library(folder)).dispatch("hot_loop", LaunchSize((1, 1, 1), (32, 1, 1)), given)
    return EmulatedCounters("hot_loop", 1, 32, 8, 16, 0, 0, 32, counters)


def test_one_instruction_or_one_flat_access_more_in_a_hot_loop_is_over_budget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = counted(HOT_LOOP, tmp_path / "store", monkeypatch)
    assert before.counters["instructions"] == 6 + 100 * 17 + 1
    write_budgets(tmp_path / "budgets.toml", "gfx1100", [before])
    budgets = read_budgets(tmp_path / "budgets.toml", "gfx1100")
    assert over_budget([before], budgets) == ()
    (longer,) = over_budget([counted(ONE_MORE, tmp_path / "store", monkeypatch)], budgets)
    assert longer == "hot_loop: 1,807 instructions, 5.9% over the budget of 1,707"
    (flat,) = over_budget([counted(FLAT, tmp_path / "store", monkeypatch)], budgets)
    assert flat == "hot_loop: 100 FLAT accesses, budget 0"
