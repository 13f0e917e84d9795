"""Kernels that call functions of their code object: by address, by a table of pointers, of themselves; and arrays in scratch."""

from __future__ import annotations

import ctypes
import math
import struct
from pathlib import Path

import pytest

pytest.importorskip("tinygrad")

from stackbuild.emulator.translate import translate
from support.call_object import call_object
from support.emulator_executor import Executor, LaunchSize, executor_library

ORDER = [(11 * i + 3) % 40 for i in range(40)]


def twice(x: int) -> int:
    return 2 * x + 1


def thrice(x: int) -> int:
    return 3 * x + twice(x)


def arrays(item: int) -> int:
    """What kernel `arrays` makes for a work-item."""
    values = [7 * i + item for i in range(40)]
    for at in ORDER:
        values[at] += values[3 * at % 40]
    total = 0
    for value in values:
        total = (31 * total + value + (1 << 31)) % (1 << 32) - (1 << 31)
    return total


EXPECTED = {
    "calls": lambda item: thrice(item) + twice(5 * item),
    "recursion": lambda item: math.factorial(item % 9),
    "pointers": thrice,
    "arrays": arrays,
}


@pytest.mark.parametrize("target", ["gfx90a", "gfx1100"])
def test_functions_are_called_and_return(target: str, tmp_path: Path) -> None:
    out = translate(call_object(target), target, tmp_path, sanitize=True, counters=False, kernels=None)
    executor, launch = Executor(out, executor_library(tmp_path)), LaunchSize((1, 1, 1), (64, 1, 1), threads=1)
    order = (ctypes.c_int32 * 40)(*ORDER)
    found, findings = dict[str, list[int]](), list[str]()
    for kernel in EXPECTED:
        values = (ctypes.c_int32 * 64)(*(5 * i for i in range(64)))
        places = ctypes.addressof(values), ctypes.addressof(order)
        ranges = [(places[0], places[0] + 256), (places[1], places[1] + 160)]
        executor.dispatch(
            kernel, launch, struct.pack("<QQ", *places), ranges, lambda finding: findings.append(finding.text)
        )
        found[kernel] = list(values)
    assert found == {kernel: [expected(item) for item in range(64)] for kernel, expected in EXPECTED.items()}
    assert findings == []
