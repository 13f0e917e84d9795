#!/usr/bin/env python3
"""One stage of kernels/gpu-check, in a process that can be ended when a kernel does not return.

    python3 kernels/tools/stage.py device|correct|streams|time --library LIB [--part I/N] [--op OP]... [--one-way] [--tight] [--seed N] [--json FILE]

device says what the library runs on. Exit status: 0 all right, 1 something is wrong, 2 the library is another one or there is no GPU.
"""

from __future__ import annotations

import argparse
import json
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tools import correctness, report, streams
from tools import device as d
from tools.selection import EVERY, MODULES, part, seed

StageDocument = dict[str, Any]  # "wrong": lines; "left out": why the stage did nothing; and what a stage found


def query_device(device: d.GpuDevice, args: argparse.Namespace, result: StageDocument) -> None:
    result["device"], result["devices"] = device.name(), device.count()


def check_cases(device: d.GpuDevice, args: argparse.Namespace, result: StageDocument) -> None:
    counts, wrong = correctness.check_all(device, selection_of(args))
    result["cases"] = counts
    result["wrong"] += wrong
    count(sum(counts.values()), len(wrong), "cases right", device, result)


def check_streams(device: d.GpuDevice, args: argparse.Namespace, result: StageDocument) -> None:
    pairs, wrong = streams.check(device, selection_of(args))
    result["wrong"] += wrong
    count(pairs, len(wrong), "pairs right on two streams at once", device, result)


def count(runs: int, wrong: int, what: str, device: d.GpuDevice, result: StageDocument) -> None:
    print(f"{runs - wrong} of {runs} {what} on {device.name()}", flush=True)
    if runs == 0:
        result["wrong"].append("there was no case to run")


def time_shapes(device: d.GpuDevice, args: argparse.Namespace, result: StageDocument) -> None:
    """Every shape of docs/kernels.md. What is done is written after each, as the device may stop at any."""
    try:
        import torch
    except ImportError:
        result["left out"] = "torch is not installed"
        return
    if not torch.cuda.is_available():
        result["left out"] = f"torch {torch.__version__} sees no GPU"
        return
    from tools import timing
    from tools.shapes import HALF_ONLY, SHAPES

    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    naive = args.library.with_name("libstackbuild_kernels_naive.so")
    launcher = timing.Launcher(torch, device, naive if naive.exists() else None, args.try_all)
    selection = [*((shape, torch.float32) for shape in SHAPES), *((shape, torch.float16) for shape in (*SHAPES, *HALF_ONLY))]
    rows: list[timing.TimingRow] = []
    result["timing"] = {"torch": torch.__version__, "cudnn": torch.backends.cudnn.version(), "limits": timing.ceilings(torch),
                        "shapes": len(selection), "naive": launcher.naive_library is not None, "rows": rows}
    for shape, dtype in selection:
        try:
            rows.append(timing.run(torch, shape, dtype, launcher))
            why = rows[-1].wrong()
        except (d.DeviceError, RuntimeError) as error:  # a launcher's, or torch's: out of memory
            why = str(error).splitlines()[0]
        if why:
            result["wrong"].append(f"{shape.op} {shape.text} {dtype}: {why}")
        write(args, result)
        torch.cuda.empty_cache()
    if rows:
        print(report.table(result["timing"]))


STAGES: dict[str, Callable[[d.GpuDevice, argparse.Namespace, StageDocument], None]] = {
    "device": query_device, "correct": check_cases, "streams": check_streams, "time": time_shapes}


def selection_of(args: argparse.Namespace) -> correctness.Selection:
    return correctness.Selection(args.seed, args.part, tuple(args.op or MODULES), args.one_way, not args.tight)


def write(args: argparse.Namespace, result: StageDocument) -> None:
    """All at once: who reads it may have ended this process in the middle."""
    if args.json:
        new = args.json.with_suffix(".new")
        new.write_text(json.dumps(result, default=report.plain))
        new.replace(args.json)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stage", choices=STAGES)
    parser.add_argument("--library", type=Path, required=True)
    parser.add_argument("--part", type=part, default=EVERY, metavar="I/N")
    parser.add_argument("--op", action="append", choices=MODULES)
    parser.add_argument("--one-way", action="store_true", help="of each convolution's other ways one, by turns")
    parser.add_argument("--tight", action="store_true", help="memory ends where its tensor does, for a tool that sees what is read past it; each case in one form")
    parser.add_argument("--try-all", action="store_true", help="time every way to make a convolution")
    parser.add_argument("--seed", type=seed, default=0)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    try:
        device = d.GpuDevice(args.library, 0 if args.tight else d.GUARD)
        if device.count() == 0:
            raise d.DeviceError("no GPU found")
    except (OSError, d.DeviceError) as error:
        print(error, file=sys.stderr)
        return 2
    result: StageDocument = {"wrong": []}
    try:
        STAGES[args.stage](device, args, result)
    except Exception as error:
        traceback.print_exc()
        result["wrong"].append(f"{type(error).__name__}: {error}")
    for line in result["wrong"]:
        print("WRONG " + line)
    write(args, result)
    return 1 if result["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
