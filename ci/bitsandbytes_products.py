#!/usr/bin/env python3
"""Runs bitsandbytes' 4-bit kernels for ROCm on the emulated GPU, straight from its wheel, and compares them with float64.

    pip download --no-deps -d wheels bitsandbytes
    unzip -d unpacked wheels/bitsandbytes-*.whl
    .venv/bin/python ci/bitsandbytes_products.py unpacked/bitsandbytes/libbitsandbytes_rocm72.so gfx1100

No GPU, ROCm or PyTorch is needed. hipBLAS and the like, which these kernels do not call, are empty stand-ins.
A line is one call: its error over the largest right value, and whether it is within what the type allows.
Exit status: 0 all right, 1 a call is not, 2 wrong arguments.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

CI = Path(__file__).resolve().parent
sys.path[:1] = [str(CI.parent)]

from stackbuild.emulator.hip_runtime import HostImports, runtime_folder  # noqa: E402
from stackbuild.emulator.native_library import compile_library  # noqa: E402
from stackbuild.emulator.service import CHANNEL, EmulatorService  # noqa: E402
from stackbuild.tables.gpu_limits import limits_of  # noqa: E402

NF4 = np.array([
    -1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334,
    -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224,
    0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0,
])  # fmt: skip
"""The 16 values of NF4 (QLoRA, arXiv 2305.14314)."""
OUTPUTS, DEPTH, BLOCK = 96, 256, 64
TOLERANCES = {"fp32": 2e-6, "fp16": 2e-3, "bf16": 1.6e-2}
_UNDEFINED_SYMBOL = re.compile(r"\*UND\*\s.*?\b((?:__hip|hip|roc)\w+)$", re.MULTILINE)
_NEEDED_LIBRARY = re.compile(r"NEEDED\s+(lib(?:hip|roc)\w+\.so\.(\d+))")


def bits_of(values: np.ndarray, kind: str) -> np.ndarray:
    """Values in an element type; bfloat16, which numpy lacks, as its 16 bits, rounded to the nearest even."""
    if kind != "bf16":
        return values.astype({"fp32": "f4", "fp16": "f2"}[kind])
    words = values.astype("f4").view("u4")
    return np.asarray((words + 0x7FFF + (words >> 16 & 1)) >> 16, dtype="u2")


def values_of(bits: np.ndarray, kind: str) -> np.ndarray:
    """The float64 values of an array of an element type."""
    words = (bits.astype("u4") << 16).view("f4") if kind == "bf16" else bits
    return np.asarray(words, dtype="f8")


@dataclass
class HipMemory:
    """The stand-in's memory, through its HIP calls."""

    hip: ctypes.CDLL

    def copy_in(self, values: np.ndarray) -> ctypes.c_void_p:
        pointer = ctypes.c_void_p()
        assert self.hip.hipMalloc(ctypes.byref(pointer), ctypes.c_size_t(values.nbytes)) == 0
        self.hip.hipMemcpy(pointer, values.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(values.nbytes), 1)
        return pointer

    def copy_out(self, pointer: ctypes.c_void_p, like: np.ndarray) -> np.ndarray:
        values = np.empty_like(like)
        self.hip.hipMemcpy(values.ctypes.data_as(ctypes.c_void_p), pointer, ctypes.c_size_t(values.nbytes), 2)
        return values


def products(memory: HipMemory, library: ctypes.CDLL) -> Iterator[tuple[str, np.ndarray, np.ndarray, float]]:
    """Each call's name, its answer, the right one, and the error that its type allows."""
    rng = np.random.default_rng(5)
    codes = rng.integers(0, 16, (OUTPUTS, DEPTH)).astype("u1")
    packed_codes = ((codes[:, ::2] << 4) | codes[:, 1::2]).astype("u1")
    largest = (rng.random(OUTPUTS * DEPTH // BLOCK) + 0.5).astype("f4")
    weights = (NF4[codes].reshape(-1, BLOCK) * largest[:, None]).reshape(OUTPUTS, DEPTH)
    integer, none = ctypes.c_int, ctypes.c_void_p()
    operands = memory.copy_in(packed_codes), memory.copy_in(largest)
    for kind, tolerance in TOLERANCES.items():
        out = bits_of(np.zeros((OUTPUTS, DEPTH)), kind)
        target = memory.copy_in(out)
        getattr(library, f"cdequantize_blockwise_{kind}_nf4")(
            none, *operands, target, integer(BLOCK), integer(OUTPUTS * DEPTH), none
        )
        yield f"dequantize nf4 {kind}", values_of(memory.copy_out(target, out), kind), weights, tolerance
        for rows in (1, 3, 8, 40):
            left = bits_of(rng.standard_normal((rows, DEPTH)), kind)
            out = bits_of(np.zeros((rows, OUTPUTS)), kind)
            target = memory.copy_in(out)
            getattr(library, f"cgemm_4bit_{kind}")(
                memory.copy_in(left), *operands, none, none, none, target, none,
                integer(rows), integer(OUTPUTS), integer(DEPTH), integer(BLOCK), integer(2), none,
            )  # fmt: skip
            right = values_of(left, kind) @ weights.T
            yield f"{rows} × {DEPTH} × {OUTPUTS} nf4 {kind}", values_of(memory.copy_out(target, out), kind), right, tolerance


def compare(library: str, runtime: str) -> int:
    """In the process whose HIP runtime is the stand-in: print a line for each call; 1 where one is wrong."""
    hip = ctypes.CDLL(runtime, mode=ctypes.RTLD_GLOBAL)
    wrong = 0
    for name, answer, right, tolerance in products(HipMemory(hip), ctypes.CDLL(library)):
        error = float(np.max(np.abs(answer - right)) / np.max(np.abs(right)))
        wrong += not error <= tolerance
        print(f"{'right' if error <= tolerance else 'WRONG'} {name}: {error:.1e}", flush=True)
    return 1 if wrong else 0


def objdump_text(library: Path, option: str) -> str:
    """What objdump prints of a library."""
    return subprocess.run(["objdump", option, library], capture_output=True, text=True, check=True).stdout


def run_emulated(library: Path, target: str) -> int:
    """Compile the stand-ins and run the comparison on them."""
    names = sorted(set(_UNDEFINED_SYMBOL.findall(objdump_text(library, "-T"))))
    sonames = dict(_NEEDED_LIBRARY.findall(objdump_text(library, "-p")))
    blas = next(number for soname, number in sonames.items() if soname.startswith("libhipblas.so"))
    runtime_names = {name: "" for name in names if not name.startswith(("hipblas", "roc"))}
    imports = HostImports(f"libamdhip64.so.{int(blas) + 4}", runtime_names)  # hipBLAS 2 is ROCm 6's, 3 is 7's
    with tempfile.TemporaryDirectory() as work:
        empty = "\n".join(f'__attribute__((visibility("default"))) int {n}(void) {{ return 6; }}' for n in names if n not in runtime_names)
        folders = [str(compile_library([], soname, Path(work), generated_code=empty).parent) for soname in sonames]
        folders.append(str(runtime_folder(imports, Path(work))))
        service = EmulatorService(limits_of(target), Path(work) / "kernels")
        service.folder.mkdir()
        with service.running() as descriptor:
            environment = {**os.environ, CHANNEL: str(descriptor), "LD_LIBRARY_PATH": ":".join(folders)}
            command = [sys.executable, __file__, "--runtime", imports.soname, str(library), target]
            status = subprocess.run(command, env=environment, pass_fds=[descriptor], check=False).returncode
        for kind in ("error", "finding"):
            for fields in service.of(kind):
                print(kind, fields.get("kernel") or fields.get("call"), fields.get("text"))
        return 1 if status or service.of("error") else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", type=Path)
    parser.add_argument("target")
    parser.add_argument("--runtime", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if not options.library.is_file():
        parser.error(f"{options.library} is not a file")
    library = options.library.resolve()
    return compare(str(library), options.runtime) if options.runtime else run_emulated(library, options.target)


if __name__ == "__main__":
    sys.exit(main())
