#!/usr/bin/env python3
"""The kernels' correctness cases on an emulated device: what `kernels/gpu-check --only correct` runs, less what takes hours here.

    tests/emulation/check.py OUT.so [--op OP]... [--part I/N] [--work N] [--named WORD]... [--large] [--seed N] [--tight] [--forms] [--verbose]

Prints a line for each case that is wrong and one with the counts. Exit status: 0 all right, 1 something is wrong, and what a
signal makes of it where memory was left. EMULATION_SEED is the seed of the lanes' order.
"""

from __future__ import annotations

import argparse
import importlib
import math
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "kernels"))

import numpy as np
from tools import correctness as c
from tools import device as d
from tools import selection
from tools.case import OperatorCase
from tools.params import LAYOUTS


def small_cases(seed: int, part: tuple[int, int], op: str) -> Iterator[tuple[OperatorCase, bool]]:
    """Those of correctness.cases that the CPU is checked with too: the same ones, without those that fill a device."""
    module = importlib.import_module(c.MODULES[op])
    number = 0
    for dtype in (np.float32, np.float16):
        for case in module.cases(np.random.default_rng([seed, len(op), np.dtype(dtype).itemsize]), dtype):
            for last in (False, True) if op in LAYOUTS else (False,):
                number += 1
                if number % part[1] == part[0]:
                    yield case, last


def products(case: OperatorCase) -> float:
    """Multiplications, about, of attention and convolutions; of what is left, values."""
    if case.op == "Attention":
        q, k = case.inputs["Q"], case.inputs["K"]
        assert q is not None and k is not None
        return q.size * k.shape[-2]
    if case.op == "MultiHeadAttention":
        past, query, key = (case.inputs[name] for name in ("past_key", "query", "key"))
        assert query is not None
        new = query.shape[1] if key is None else key.shape[2 if key.ndim == 4 else 1]
        return query.size * (new + (0 if past is None else past.shape[2]))
    if case.op == "Conv":
        w = case.inputs["W"]
        assert w is not None
        return case.expected_values.size * math.prod(w.shape[1:])
    return case.expected_values.size


def wanted(args: argparse.Namespace, case: OperatorCase) -> bool:
    return products(case) <= args.work and (not args.named or any(word in case.name for word in args.named))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", type=Path)
    parser.add_argument("--op", action="append", choices=c.MODULES, help="only this operator (repeatable)")
    parser.add_argument("--part", type=selection.part, default=selection.EVERY, metavar="I/N", help="one case in N, from the Ith")
    parser.add_argument(
        "--work", type=float, default=math.inf, metavar="N", help="leave out cases of more multiplications"
    )
    parser.add_argument(
        "--named", action="append", metavar="WORD", help="only cases with this in their name (repeatable: any of them)"
    )
    parser.add_argument("--large", action="store_true", help="the cases that fill a device too: minutes each")
    parser.add_argument("--seed", type=selection.seed, default=0)
    parser.add_argument("--tight", action="store_true", help="memory ends where a page faults")
    parser.add_argument("--forms", action="store_true", help="each case in every other form too (tools/correctness.py), not in one by turns")
    parser.add_argument("--verbose", action="store_true", help="name each case before it runs")
    return parser.parse_args()


def main() -> int:
    args = arguments()
    if args.tight:
        os.environ["EMULATION_TIGHT"] = "1"  # and no guard of our own: memory ends at the page that faults
    device = d.GpuDevice(args.library.resolve(), 0 if args.tight else d.GUARD)
    runs: dict[str, int] = {}
    wrong = left_out = 0
    start = time.monotonic()
    for op in args.op or c.MODULES:
        for case, last in (c.cases if args.large else small_cases)(args.seed, args.part, op):
            label = f"{case.op} {case.dtype} {'channels last ' * last}{case.name}"
            if not wanted(args, case):
                left_out += 1
                continue
            if args.verbose:
                print(label, flush=True)
            placed = c.allocate(device, case, last)
            why = c.check_one(device, placed)
            more, troubles = c.check_algorithms(device, placed)
            others, turn = c.placements(placed), sum(runs.values())
            for form in others if args.forms else [others[turn % len(others)]]:
                formed, wrongs = c.check_placement(device, case, last, form, None if args.forms else turn)
                more += formed
                troubles += wrongs
            runs[op] = runs.get(op, 0) + 1 + more
            for trouble in ([why] if why else []) + troubles:
                wrong += 1
                print("WRONG", label, trouble, flush=True)
    told = ", ".join(f"{op} {n}" for op, n in runs.items())
    print(
        f"{device.name()}: {sum(runs.values())} runs ({told}), {wrong} wrong, {left_out} cases left out, {time.monotonic() - start:.0f} s"
    )
    return 1 if wrong or not runs else 0


if __name__ == "__main__":
    sys.exit(main())
