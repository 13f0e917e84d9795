#!/usr/bin/env python3
"""The smallest correctness cases that launch each kernel of a library: all of its kernels run, without all of the cases.

    tests/emulation/each_kernel.py OUT.so --kernels FILE [--op OP]... [--times N] [--work N] [--seed N] [--verbose]

FILE has the names of the kernels that are to run, a line each. Cases are taken from the smallest to the largest, and each is first
launched dry (launches.c). A case, a form or a way of a convolution is run where it launches a kernel that has not run yet. It is too
where it launches one that ran fewer than N times and not yet in a case of its kind, or in cases of a quarter of its size alone. Then each
kernel runs once in another form of a case, such as pointers off a vector. Prints a line for each run that is wrong and one with the counts. Exit status: as check.py.
"""

from __future__ import annotations

import argparse
import ctypes
import sys
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import product, takewhile
from pathlib import Path

import check
import numpy as np
from tools import correctness as c
from tools import device as d
from tools import selection
from tools.case import OperatorCase

_GROWTH, _ENOUGH = 4, 1e5
"""A kernel runs again in a case of so many times the size, or of another kind, up to this size."""


class LaunchLog:
    """Which kernels were launched, by launches.c."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(None)
        self._library.take_launches.restype = ctypes.POINTER(ctypes.c_char_p)
        self._is_dry = ctypes.c_int.in_dll(self._library, "launches_are_dry")

    def take(self) -> set[str]:
        return {name.decode() for name in takewhile(bool, self._library.take_launches())}

    def of_dry(self, run: Callable[[], object]) -> set[str]:
        """The kernels that a run would launch."""
        self.take()
        self._is_dry.value = 1
        try:
            run()
        finally:
            self._is_dry.value = 0
        return self.take()


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", type=Path)
    parser.add_argument("--kernels", type=Path, required=True, metavar="FILE", help="the kernels that are to run")
    parser.add_argument("--op", action="append", choices=c.MODULES, help="only this operator (repeatable)")
    parser.add_argument("--times", type=int, default=1, metavar="N", help="how often each kernel is to run")
    parser.add_argument("--work", type=float, default=2e7, metavar="N", help="leave out cases of more multiplications")
    parser.add_argument("--seed", type=selection.seed, default=0)
    parser.add_argument("--verbose", action="store_true", help="name each case before it runs")
    return parser.parse_args()


def work_of(case: OperatorCase) -> float:
    """Multiplications, about, or values, without the answer."""
    x = next(array for array in case.inputs.values() if array is not None)
    if case.op == "Conv":
        w = case.inputs["W"]
        assert w is not None
        return x.size / max(x.shape[1], 1) * w.size
    return check.products(case) if "Attention" in case.op else x.size


def by_size(args: argparse.Namespace) -> list[tuple[float, OperatorCase, bool]]:
    found = [(work_of(case), case, last) for case, last in c.cases(args.seed, selection.EVERY, args.op or tuple(c.MODULES))]
    return sorted((row for row in found if row[0] <= args.work), key=lambda row: row[0])


def kind_of(case: OperatorCase) -> str:
    """What a kernel may have a branch for: which inputs there are, words among the attributes, numbers above 1."""
    given = [name for name, array in case.inputs.items() if array is not None]
    words = [f"{key} {value if isinstance(value, str) else np.max(value) > 1}" for key, value in case.attributes.items()]
    return " ".join([*given, *sorted(words)])


@dataclass
class KernelTally:
    """How often each wanted kernel ran, in cases of which kinds, and the largest case that it ran in."""

    wanted: frozenset[str]
    times: int
    counts: Counter[str] = field(default_factory=Counter)
    largest: dict[str, float] = field(default_factory=dict)
    kinds: dict[str, set[str]] = field(default_factory=dict)

    def lacks(self, kernel: str, work: float, kind: str) -> bool:
        """Whether a kernel is to run in a case of this size and kind."""
        if kernel not in self.wanted or self.counts[kernel] >= self.times:
            return False
        if kernel not in self.largest:
            return True
        return work <= _ENOUGH and (kind not in self.kinds[kernel] or _GROWTH * self.largest[kernel] <= work)

    def note(self, kernels: Collection[str], work: float, kind: str) -> None:
        """They ran."""
        for kernel in self.wanted.intersection(kernels):
            self.counts[kernel] += 1
            self.largest[kernel] = max(work, self.largest.get(kernel, 0))
            self.kinds.setdefault(kernel, set()).add(kind)

    def is_full(self, work: float) -> bool:
        """Whether no case of this size or more lacks a kernel."""
        return all(self.counts[kernel] >= (self.times if work <= _ENOUGH else 1) for kernel in self.wanted)


@dataclass(frozen=True)
class KernelRun:
    """A case in one form and by one way."""

    case: OperatorCase
    last: bool
    placement: c.MemoryPlacement
    way: tuple[int, int]

    @property
    def label(self) -> str:
        form = f" {self.placement.name}" if self.placement.name else ""
        way = " algorithm {}, variant {}".format(*self.way) if any(self.way) else ""
        return f"{self.case.op} {self.case.dtype} {'channels last ' * self.last}{self.case.name}{form}{way}"

    def check(self, device: d.GpuDevice) -> str | None:
        """Why the answer is wrong, or None."""
        placed = c.allocate(device, self.case, self.last, self.placement)
        params = placed.job.params
        if isinstance(params, d.Conv):
            params.algorithm, params.variant = self.way
            placed.filters = c.pack_filter(device, params, placed.placement)
            placed.workspace = d.Buffer(device, device.workspace_bytes(params))
        return c.check_one(device, placed)


def every_run(device: d.GpuDevice, case: OperatorCase, last: bool, *, formed: bool) -> Iterator[KernelRun]:
    """A case as it is allocated or in each other form, a convolution by the way that the rule takes and by every other one."""
    for placement in c.placements(c.allocate(device, case, last)) if formed else [c.AS_ALLOCATED]:
        params = c.allocate(device, case, last, placement).job.params
        for way in ((0, 0), *(device.conv_choices(params) if isinstance(params, d.Conv) else ())):
            yield KernelRun(case, last, placement, way)


def main() -> int:
    args = arguments()
    log, device = LaunchLog(), d.GpuDevice(args.library.resolve())
    wanted = frozenset(args.kernels.read_text().split())
    plain, formed = KernelTally(wanted, args.times), KernelTally(wanted, 1)
    runs, wrong, start, rows = Counter[str](), 0, time.monotonic(), by_size(args)
    for tally, (work, case, last) in product((plain, formed), rows):
        if tally.is_full(work):
            continue
        kind = kind_of(case)
        for run in every_run(device, case, last, formed=tally is formed):
            lacking = sorted(k for k in log.of_dry(partial(run.check, device)) if tally.lacks(k, work, kind))
            if not lacking:
                continue
            if args.verbose:
                print(f"{time.monotonic() - start:.0f} s {run.label}:", *lacking, flush=True)
            why = run.check(device)
            tally.note(log.take(), work, kind)
            runs[case.op] += 1
            if why:
                wrong += 1
                print("WRONG", run.label, why, flush=True)
    told = ", ".join(f"{op} {n}" for op, n in runs.items())
    ran = sum(plain.counts[kernel] + formed.counts[kernel] > 0 for kernel in wanted)
    print(
        f"{device.name()}: {sum(runs.values())} runs ({told}), {wrong} wrong, {ran} of {len(wanted)} kernels ran, {time.monotonic() - start:.0f} s"
    )
    return 1 if wrong or not runs else 0


if __name__ == "__main__":
    sys.exit(main())
