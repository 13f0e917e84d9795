#!/usr/bin/env python3
"""Runs the kernels of hipBLASLt's `extop_*.co` on the emulated GPU, under the sanitizer, and prints errors and findings.

    .venv/bin/python ci/extop_races.py /usr/lib/x86_64-linux-gnu/hipblaslt/library/extop_gfx1100.co gfx1100 [--seeds 3]

Debian's libhipblaslt0 has the files. Each kernel runs with several orders of its waves; its answer is compared with float64.
Arguments, in the order of the kernels' metadata: softmax (input, output, rows, columns), layer norm (output, mean, inverse
deviation, input, gamma, beta, rows, columns, epsilon), greatest absolute value (output, input, count).
Exit status: 0 whatever was found, 2 wrong arguments.
"""

from __future__ import annotations

import argparse
import collections
import struct
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

CI = Path(__file__).resolve().parent
sys.path[:1] = [str(CI.parent), str(CI.parent / "tests")]

from stackbuild.emulator.code_object import load  # noqa: E402
from stackbuild.emulator.translate import translate  # noqa: E402
from support.emulator_executor import DeviceFinding, Executor, LaunchSize, executor_library  # noqa: E402

WORKGROUP = (256, 1, 1)
ROWS = 37
COLUMNS = (37, 1024)
"""Columns of a layer norm: within one wave's share, and all of the workgroup."""


@dataclass(frozen=True)
class KernelCase:
    """One launch: its kernel, grid and arguments, the array that it writes, and the right answer."""

    kernel: str
    grid: tuple[int, int, int]
    arguments: bytes
    output: np.ndarray
    reference: np.ndarray
    inputs: tuple[np.ndarray, ...]
    """Keeps the memory that the arguments point at."""


def _pointers(*arrays: np.ndarray) -> bytes:
    return b"".join(struct.pack("<Q", array.ctypes.data) for array in arrays)


def softmax(kernel: str, rng: np.random.Generator) -> Iterator[KernelCase]:
    """`Softmax_DT_S_MT_R_C`: tiles of R rows and C columns."""
    rows, columns = map(int, kernel.split("_")[-2:])
    x = rng.standard_normal((ROWS, columns)).astype("f4")
    y = np.full_like(x, np.nan)
    powers = np.exp(x.astype("f8") - x.max(1, keepdims=True))
    arguments = _pointers(x, y) + struct.pack("<II", ROWS, columns)
    yield KernelCase(kernel, (-(-ROWS // rows), 1, 1), arguments, y, powers / powers.sum(1, keepdims=True), (x,))


def layer_norm(kernel: str, rng: np.random.Generator) -> Iterator[KernelCase]:
    """`LayerNorm_…`, which scales and shifts."""
    for columns in COLUMNS:
        x = rng.standard_normal((ROWS, columns)).astype("f4")
        gamma, beta = (rng.standard_normal(columns).astype("f4") for _ in range(2))
        y, mean, inverse = np.full_like(x, np.nan), np.zeros(ROWS, "f4"), np.zeros(ROWS, "f4")
        wide = x.astype("f8")
        reference = (wide - wide.mean(1, keepdims=True)) / np.sqrt(wide.var(1, keepdims=True) + 1e-5) * gamma + beta
        arguments = _pointers(y, mean, inverse, x, gamma, beta) + struct.pack("<2If", ROWS, columns, 1e-5)
        yield KernelCase(kernel, (1, ROWS, 1), arguments, y, reference, (x, gamma, beta, mean, inverse))


def greatest(kernel: str, rng: np.random.Generator) -> Iterator[KernelCase]:
    """`AMax_Ti_T_To_T_…`, T either S (float32) or H (float16)."""
    types = {"S": "f4", "H": "f2"}
    words = kernel.split("_")
    x = rng.standard_normal(100_000).astype(types[words[2]])
    y = np.full(1, np.nan, types[words[4]])
    arguments = _pointers(y, x) + struct.pack("<I", x.size)
    yield KernelCase(kernel, (1, 1, 1), arguments, y, np.abs(x).max(keepdims=True).astype("f8"), (x,))


CASES = {"Softmax": softmax, "LayerNorm": layer_norm, "AMax": greatest}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("code_object", type=Path)
    parser.add_argument("target")
    parser.add_argument("--seeds", type=int, default=3, help="orders of the waves")
    args = parser.parse_args()
    code = args.code_object.read_bytes()
    names = [kernel.name for kernel in load(code).kernels]
    print("| kernel | columns | greatest error, by order | findings |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        out = translate(code, args.target, folder, sanitize=True, counters=True, kernels=names)
        executor = Executor(out, executor_library(folder))
        for name in names:
            for case in CASES[name.split("_")[0]](name, np.random.default_rng(1)):
                findings: list[DeviceFinding] = []
                errors = []
                for seed in range(1, args.seeds + 1):
                    case.output.fill(np.nan)
                    executor.dispatch(name, LaunchSize(case.grid, WORKGROUP, seed=seed), case.arguments, heard=findings.append)
                    errors.append(float(np.abs(case.output - case.reference).max()))
                kinds = collections.Counter(finding.kind_name for finding in findings)
                counts = ", ".join(f"{kind} {number}" for kind, number in sorted(kinds.items()))
                print(f"| {name} | {case.output.shape[-1]} | {', '.join(f'{error:.1e}' for error in errors)} | {counts} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
