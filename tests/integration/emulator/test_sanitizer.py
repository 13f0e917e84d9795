"""Each kind of finding by a kernel that is wrong on purpose, and none by the same kernel done right."""

from __future__ import annotations

import ctypes
import struct
from pathlib import Path

import pytest

pytest.importorskip("tinygrad")

from stackbuild.emulator import translate as translation
from stackbuild.emulator.code_object import LoadedObject
from support.emulator_executor import ExecutionError, Executor, Launch, executor_library
from support.instruction_machine import codes
from support.sanitizer_defects import DEFECTS, Defect

ENTRY = 256
ALSO = {"no barrier between a write and a read": {"uninitialised"}}
"""What a defect is besides its kind: the wave that runs first reads what the other has not yet written."""


def made_object(defect: Defect, text: str, name: str) -> LoadedObject:
    """A loaded code object of one kernel: its descriptor, its code and its metadata."""
    code = bytes.fromhex(codes()["gfx1100", text])
    rsrc1 = 0 if defect.flushes else 3 << 16
    descriptor = struct.pack(
        "<IIIIq20xIIIHH4x", defect.group, defect.private, 8, 0, ENTRY, 0, rsrc1, 2 << 1, 1 << 3 | 1 << 10, 0
    )
    image = descriptor.ljust(ENTRY, b"\0") + code
    symbols = {f"{name}.kd": (0, 64), name: (ENTRY, len(code))}
    argument = {b".name": b"memory", b".value_kind": b"global_buffer", b".offset": 0, b".size": 8}
    kernel = {
        b".name": name.encode(), b".symbol": f"{name}.kd".encode(), b".wavefront_size": 32, b".vgpr_count": 8, b".sgpr_count": 16,
        b".agpr_count": 0, b".max_flat_workgroup_size": 1024, b".args": [argument],
    }  # fmt: skip
    return LoadedObject("gfx1100", 5, image, symbols, (), {b"amdhsa.kernels": [kernel]})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sanitizer")


def findings(defect: Defect, text: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The kinds that a run of the kernel reports."""
    monkeypatch.setattr(translation, "load", lambda data: made_object(defect, text, "made"))
    unique = f"{defect} {text}".encode()
    out = translation.translate(unique, "gfx1100", folder, sanitize=True, counters=False, kernels=["made"])
    memory = (ctypes.c_uint8 * 512)()
    start = ctypes.addressof(memory)
    kinds = set[str]()
    launch = Launch((1, 1, 1), (defect.items, 1, 1), seed=3, threads=1, budget=1000)
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
def test_a_defect_is_found_by_its_kind(defect: Defect, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
