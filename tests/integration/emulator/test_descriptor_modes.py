"""Modes of a kernel's descriptor in code that runs: IEEE_MODE is obeyed, a kernel with an unknown one does not run."""

from __future__ import annotations

import ctypes
import struct
from pathlib import Path

import pytest

pytest.importorskip("tinygrad")

from stackbuild.emulator import translate as translation
from support.emulator_executor import ExecutionError, Executor, LaunchSize, executor_library
from support.mode_kernels import MAXIMUM, PRELOADED, ROWS_OF_ITEMS
from support.one_kernel_object import MODES, code_object
from support.sanitizer_defects import SeededDefect

SIGNALLING_NAN, QUIET_NAN, ONE = 0x7F800001, 0x7FC00000, 0x3F800000


def answer(
    target: str, modes: tuple[int, int, int], folder: Path, monkeypatch: pytest.MonkeyPatch, text: str = "", preload: int = 0,
    rows: int = 1,
) -> int:
    """The maximum of a signalling NaN and 1, by a kernel whose descriptor has these modes; or what another text makes."""
    text = text or MAXIMUM[target]
    made = code_object(SeededDefect("", "", text, text, target=target), text, "maximum", modes, preload)
    monkeypatch.setattr(translation, "load", lambda data: made)
    out = translation.translate(repr(modes).encode(), target, folder, sanitize=False, counters=False, kernels=None)
    memory = (ctypes.c_uint32 * 128)(SIGNALLING_NAN if text in MAXIMUM.values() else 0)
    argument = struct.pack("<Q", ctypes.addressof(memory))
    Executor(out, executor_library(folder)).dispatch("maximum", LaunchSize((1, 1, 1), (1, rows, 1)), argument)
    return memory[0]


@pytest.mark.parametrize("target", MAXIMUM)
def test_a_signalling_nan_stays_one_in_ieee_mode_alone(
    target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert answer(target, (MODES, 0, 0), tmp_path, monkeypatch) == QUIET_NAN
    assert answer(target, (MODES & ~(1 << 23), 0, 0), tmp_path, monkeypatch) == ONE


def test_arguments_lie_in_scalar_registers_where_the_descriptor_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user_registers = (MODES, 4 << 1, 0)
    assert answer("gfx942", user_registers, tmp_path, monkeypatch, PRELOADED, preload=2) == 7


@pytest.mark.parametrize(("ids", "total"), [(0, 0), (1, 6), (2, 6)])
def test_a_work_item_knows_its_place_along_y_where_the_descriptor_says_so(
    ids: int, total: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ENABLE_VGPR_WORKITEM_ID: four work-items, of which the last is number 3."""
    assert answer("gfx1100", (MODES, ids << 11, 0), tmp_path, monkeypatch, ROWS_OF_ITEMS, rows=4) == total


@pytest.mark.parametrize(
    ("modes", "name"),
    [
        ((MODES | 2 << 12, 0, 0), "FLOAT_ROUND_MODE_32 = 2"),
        ((MODES & ~(3 << 18), 0, 0), "FLOAT_DENORM_MODE_16_64 = 0"),
        ((MODES & ~(1 << 21), 0, 0), "ENABLE_DX10_CLAMP = 0"),
        ((MODES | 1 << 26, 0, 0), "FP16_OVFL = 1"),
        ((MODES, 1 << 26, 0), "FP_DIVISION_BY_ZERO = 1"),
        ((MODES & ~(3 << 16), 0, 0), "flushes float32 denormals"),
    ],
)
def test_a_kernel_with_an_unknown_mode_does_not_run(
    modes: tuple[int, int, int], name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ExecutionError, match=name):
        answer("gfx1100", modes, tmp_path, monkeypatch)
