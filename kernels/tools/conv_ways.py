#!/usr/bin/env python3
"""Checks and times every way to make a convolution (algorithm and tile) beside PyTorch, to set the rule by.

    python3 kernels/tools/conv_ways.py --library build/libstackbuild_kernels_hip.so --out ways.json [--check] [--resnet] [--seed N]

Shapes: those of docs/kernels.md and a few depthwise ones; with --resnet ResNet-50's at batch 1, 8 and 32, channels last.
Prints, per shape, PyTorch's time, the rule's, and the fastest ways; writes all medians. Exit status: 1 on a wrong answer.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tools import correctness, report, shapes, timing
from tools import device as d

SAMPLES = 9
# C, height and width, K, taps, stride of each of ResNet-50's different convolutions.
RESNET = [(3, 224, 64, 7, 2), (64, 56, 64, 1, 1), (64, 56, 64, 3, 1), (64, 56, 256, 1, 1), (256, 56, 64, 1, 1),
          (256, 56, 128, 1, 1), (128, 56, 128, 3, 2), (128, 28, 512, 1, 1), (256, 56, 512, 1, 2), (512, 28, 128, 1, 1),
          (128, 28, 128, 3, 1), (512, 28, 256, 1, 1), (256, 28, 256, 3, 2), (256, 14, 1024, 1, 1), (512, 28, 1024, 1, 2),
          (1024, 14, 256, 1, 1), (256, 14, 256, 3, 1), (1024, 14, 512, 1, 1), (512, 14, 512, 3, 2), (512, 7, 2048, 1, 1),
          (1024, 14, 2048, 1, 2), (2048, 7, 512, 1, 1), (512, 7, 512, 3, 1)]


def check(device: d.GpuDevice, seed: int) -> int:
    """Every convolution case, each way; returns how many answers were wrong."""
    runs, wrong = 0, []
    for case, last in correctness.cases(seed, correctness.EVERY, "Conv"):
        device_case = correctness.allocate(device, case, last)
        why = correctness.check_one(device, device_case)
        count, troubles = correctness.check_algorithms(device, device_case)
        runs += 1 + count
        wrong += [f"{case.name} {case.dtype} last={last}: {w}" for w in ([why] if why else []) + troubles]
    for line in wrong[:40]:
        print("WRONG " + line)
    print(f"{runs - len(wrong)} of {runs} convolutions right", flush=True)
    return len(wrong)


def time_one(torch: Any, launcher: timing.Launcher, shape: timing.TimedShape, dtype: Any) -> dict[str, Any]:
    problem = shape.make(dtype, launcher)
    launches = {"ours": problem.ours, "torch": problem.torch, **problem.more}
    last = timing.LastOutputs(torch, [problem], ["ours", *problem.more])
    samples = timing.measure(torch, launches, SAMPLES, last)
    medians = {name: statistics.median(times) for name, times in samples.items()}
    errors = timing.errors(torch, problem, {"ours": problem.ours, **problem.more})
    errors |= {name: error for name, error in last.error.items() if not error.relative <= errors[name].relative}
    torch.cuda.empty_cache()
    return {"shape": shape.text, "dtype": str(dtype).removeprefix("torch."), "ms": medians, "error": errors,
            "bytes": problem.bytes, "flops": problem.flops}


def line(row: dict[str, Any]) -> str:
    ways = sorted((ms, name) for name, ms in row["ms"].items() if name not in ("ours", "torch"))
    best = "  ".join(f"{name} {ms:.4f}" for ms, name in ways[:4])
    worst = max(error.relative for error in row["error"].values())
    return (f"{row['shape']:<44} {row['dtype']:<8} torch {row['ms']['torch']:.4f} ours {row['ms']['ours']:.4f} "
            f"({row['ms']['torch'] / row['ms']['ours']:.2f})  {best}  error {worst:.1e}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True, help="where to write all medians")
    parser.add_argument("--check", action="store_true", help="check every convolution case first, each way")
    parser.add_argument("--resnet", action="store_true", help="also ResNet-50's shapes")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    device = d.GpuDevice(args.library.resolve())
    wrong = check(device, args.seed) if args.check else 0

    import torch

    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    launcher = timing.Launcher(torch, device, None, try_all=True)
    selection = [(s, t) for s in shapes.CONVS_FIRST for t in (torch.float32, torch.float16)]
    selection += [(s, torch.float16) for s in shapes.CONVS_LAST]
    if args.resnet:
        selection += [(shapes.conv(n, *s, last=True), t) for n in (1, 8, 32) for s in RESNET
                   for t in (torch.float32, torch.float16)]
    rows = []
    for shape, dtype in selection:
        rows.append(time_one(torch, launcher, shape, dtype))
        print(line(rows[-1]), flush=True)
    args.out.write_text(json.dumps({"torch": torch.__version__, "rows": rows}, indent=1, default=report.plain))
    bad = [f"{row['shape']} {row['dtype']}: {why}" for row in rows if (why := timing.out_of_tolerance(row["error"], row["dtype"]))]
    for text in bad:
        print("WRONG " + text)
    return 1 if wrong or bad else 0


if __name__ == "__main__":
    sys.exit(main())
