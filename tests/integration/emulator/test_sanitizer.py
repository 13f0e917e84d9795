"""Each kind of finding by a kernel that is wrong on purpose, and none by the same kernel done right."""

from __future__ import annotations

import ctypes
import struct
from pathlib import Path

import pytest

pytest.importorskip("tinygrad")

from stackbuild.emulator import translate as translation
from support.emulator_executor import ExecutionError, Executor, LaunchSize, executor_library
from support.one_kernel_object import code_object
from support.sanitizer_defects import DEFECTS, SeededDefect

ALSO = {"no barrier between a write and a read": {"uninitialised"}}
"""What a defect is besides its kind: the wave that runs first reads what the other has not yet written."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sanitizer")


def findings(defect: SeededDefect, text: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The kinds that a run of the kernel reports."""
    monkeypatch.setattr(translation, "load", lambda data: code_object(defect, text, "made"))
    unique = f"{defect} {text}".encode()
    out = translation.translate(unique, defect.target, folder, sanitize=True, counters=False, kernels=["made"])
    memory = (ctypes.c_uint8 * 512)()
    start = ctypes.addressof(memory)
    kinds = set[str]()
    launch = LaunchSize((defect.groups, 1, 1), (defect.items, 1, 1), seed=3, threads=1, budget=1000)
    try:
        Executor(out, executor_library(folder)).dispatch(
            "made",
            launch,
            struct.pack("<Q", start),
            [(start, start + 512)],
            lambda finding: kinds.add(finding.kind_name),
        )
    except ExecutionError:
        assert kinds
    return kinds


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.name)
def test_a_defect_is_found_by_its_kind(defect: SeededDefect, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = findings(defect, defect.wrong, folder, monkeypatch)
    assert found - ALSO.get(defect.name, set()) == {defect.kind}
    right = defect._replace(flushes=False)
    assert findings(right, defect.right, folder, monkeypatch) == set()


def test_every_kind_that_is_documented_has_a_defect() -> None:
    text = (
        (Path(__file__).parents[3] / "docs" / "emulator.md").read_text().split("### The sanitizer")[1].split("###")[0]
    )
    for kind in {defect.kind for defect in DEFECTS}:
        assert kind.partition(" (")[0] in text.lower().replace("denormal mode", "denormal mode"), kind
