#!/usr/bin/env python3
"""Runs every correctness case through ONNX Runtime with a built custom-op library.

    python3 kernels/tools/check.py dist/stackbuild_kernels/libstackbuild_kernels.so [--seed N] [--op Conv] [--device gpu]

Exit status: 0 every case right, 1 a mismatch, 2 the library does not load or the arguments are wrong.
Needs numpy, onnx and onnxruntime 1.17 or newer. Outputs are filled with NaN, or else large numbers, before each run.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path

import numpy as np
import onnxruntime as ort

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tools import cases as kernel_cases
from tools.case import OperatorCase, mismatch, poison


def session(case: OperatorCase, library: str) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.register_custom_ops_library(library)
    options.log_severity_level = 3
    options.intra_op_num_threads = 1
    return ort.InferenceSession(kernel_cases.model(case).SerializeToString(), options, providers=["CPUExecutionProvider"])


def run_case(case: OperatorCase, library: str) -> np.ndarray:
    """The operator's answer, written into memory that held something else."""
    runner = session(case, library)
    if case.expected_values.size == 0 or any(v.size == 0 for v in kernel_cases.feeds(case).values()):
        return np.asarray(runner.run(None, kernel_cases.feeds(case))[0])
    before = np.full(case.expected_values.size * case.dtype.itemsize, poison(case), np.uint8)
    output = ort.OrtValue.ortvalue_from_numpy(before.view(case.dtype).reshape(case.expected_values.shape))
    binding = runner.io_binding()
    for name, value in kernel_cases.feeds(case).items():
        binding.bind_cpu_input(name, value)
    binding.bind_ortvalue_output(case.output, output)
    runner.run_with_iobinding(binding)
    return output.numpy().copy()


def judge(case: OperatorCase, library: str) -> str | None:
    try:
        return mismatch(run_case(case, library), case)
    except Exception as error:  # ONNX Runtime raises many types; each is a failed case with its message
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"


def arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", help="path of libstackbuild_kernels.so")
    parser.add_argument("--seed", type=int, default=0, help="other values and other random shapes")
    parser.add_argument("--op", action="append", choices=sorted(kernel_cases.OPERATORS), help="only this operator")
    parser.add_argument("--device", choices=("cpu", "gpu"), default="cpu", help="gpu: copy each call's tensors there")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    args = arguments(argv)
    if not Path(args.library).is_file():
        print(f"check.py: no such library: {args.library}", file=sys.stderr)
        return 2
    try:
        ort.SessionOptions().register_custom_ops_library(str(Path(args.library).resolve()))
    except Exception as error:  # ONNX Runtime's type for it differs by release
        print(f"check.py: {args.library} does not load: {str(error).splitlines()[0]}", file=sys.stderr)
        return 2
    os.environ["STACKBUILD_KERNELS_DEVICE"] = args.device
    start_time = time.monotonic()
    counts: dict[str, int] = {}
    wrong: list[dict[str, str]] = []
    for case in kernel_cases.all_cases(args.seed):
        if args.op and case.op not in args.op:
            continue
        key = f"{case.op} {case.dtype}"
        counts[key] = counts.get(key, 0) + 1
        if why := judge(case, str(Path(args.library).resolve())):
            wrong.append({"op": case.op, "dtype": str(case.dtype), "case": case.name, "why": why})
    report(args, counts, wrong, time.monotonic() - start_time)
    return 1 if wrong or not counts else 0


def report(args: argparse.Namespace, counts: dict[str, int], wrong: list[dict[str, str]], seconds: float) -> None:
    if args.json:
        document = {"schema": 1, "library": args.library, "onnxruntime": ort.__version__, "seed": args.seed,
                    "device": args.device, "cases": counts, "wrong": wrong}
        print(json.dumps(document, indent=2))
        return
    for item in wrong:
        print(f"WRONG {item['op']} {item['dtype']} {item['case']}: {item['why']}")
    for key, count in counts.items():
        print(f"{key:<30} {count:>4} cases")
    print(f"{sum(counts.values()) - len(wrong)} of {sum(counts.values())} right on the {args.device}, "
          f"onnxruntime {ort.__version__}, {seconds:.1f} s")


if __name__ == "__main__":
    sys.exit(main())
