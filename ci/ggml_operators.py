#!/usr/bin/env python3
"""Runs operators of ggml's HIP backend (llama.cpp) on the emulated GPU, straight from a wheel, and compares them with float64.

    pip download --no-deps -d wheels cyllama-rocm
    unzip -d unpacked wheels/cyllama_rocm-*.whl
    .venv/bin/python ci/ggml_operators.py unpacked/cyllama_rocm.libs gfx1100

No GPU and no ROCm is needed. Each operator runs in a process of its own, since ggml ends the process that meets an error. hipBLAS is an empty stand-in: what calls it is factors out. A line is one operator: its error, the sum of squared differences over
that of the right values, which llama.cpp's own tests bound by 5e-4 for products and 1e-7 for others.
Exit status: 0 all right, 1 an operator is not, 2 wrong arguments.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

CI = Path(__file__).resolve().parent
sys.path[:1] = [str(CI.parent)]

from stackbuild.emulator.hip_runtime import imports_of, runtime_folder  # noqa: E402
from stackbuild.emulator.native_library import compile_library  # noqa: E402
from stackbuild.emulator.service import CHANNEL, EmulatorService  # noqa: E402
from stackbuild.tables.gpu_limits import limits_of  # noqa: E402

TYPES = {
    "f32": 0, "f16": 1, "q4_0": 2, "q4_1": 3, "q5_0": 6, "q5_1": 7, "q8_0": 8, "q2_K": 10, "q3_K": 11, "q4_K": 12, "q5_K": 13, "q6_K": 14,
    "iq4_nl": 20, "iq4_xs": 23,
}  # fmt: skip
"""ggml's numbers of types."""
DEPTH, OUTPUTS = 512, 48
PRODUCT, EXACT = 5e-4, 1e-7
_IMPORT_LINES = re.compile(r"\*UND\*\s+\S+\s+(?:\(?\S*\)?\s+)?((?:hip|__hip|roc)\w+)$", re.MULTILINE)
_LIBRARY_LINES = re.compile(r"NEEDED\s+(lib(?:hip|roc|amdhip)\S+?\.so\.(\d+))")

Array = np.ndarray
Tensor = ctypes.c_void_p


class _Parameters(ctypes.Structure):
    _fields_ = (("bytes", ctypes.c_size_t), ("memory", ctypes.c_void_p), ("is_empty", ctypes.c_bool))


class _Traits(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p), ("block", ctypes.c_int64), ("interleaved", ctypes.c_int64), ("bytes", ctypes.c_size_t),
        ("is_quantized", ctypes.c_bool), ("to_float", ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)),
    )  # fmt: skip


@dataclass
class Ggml:
    """ggml's C interface in the libraries of a folder."""

    folder: Path
    base: ctypes.CDLL

    @classmethod
    def open(cls, folder: Path) -> Ggml:
        """Load what needs no GPU."""
        base = ctypes.CDLL(str(next(folder.glob("libggml-base*.so*"))), mode=ctypes.RTLD_GLOBAL)
        for name in ("ggml_init", "ggml_new_graph", "ggml_backend_alloc_ctx_tensors", "ggml_nbytes"):
            getattr(base, name).restype = ctypes.c_void_p
        base.ggml_get_type_traits.restype = ctypes.POINTER(_Traits)
        return cls(folder, base)

    def backend(self) -> ctypes.c_void_p:
        """The backend of the first device."""
        hip = ctypes.CDLL(str(next(self.folder.glob("libggml-hip*.so*"))), mode=ctypes.RTLD_GLOBAL)
        hip.ggml_backend_cuda_init.restype = ctypes.c_void_p
        return ctypes.c_void_p(hip.ggml_backend_cuda_init(0))

    def call(self, name: str, *arguments: object) -> Tensor:
        """An operator of the interface, which gives a tensor."""
        function = getattr(self.base, name)
        function.restype = ctypes.c_void_p
        return Tensor(function(*arguments))

    def bytes_of(self, values: Array, kind: str) -> tuple[bytes, Array]:
        """Rows in a type: their bytes, and what these stand for."""
        traits = self.base.ggml_get_type_traits(TYPES[kind]).contents
        rows, columns = values.shape
        data = ctypes.create_string_buffer(rows * columns // traits.block * traits.bytes)
        source = np.ascontiguousarray(values, np.float32)
        count = (
            ctypes.c_int(TYPES[kind]),
            source.ctypes.data_as(ctypes.c_void_p),
            data,
            ctypes.c_int64(0),
            ctypes.c_int64(rows),
            ctypes.c_int64(columns),
        )
        self.base.ggml_quantize_chunk(*count, None)
        if kind == "f32":
            return data.raw, source
        back = np.empty_like(source)
        traits.to_float(data, back.ctypes.data_as(ctypes.c_void_p), rows * columns)
        return data.raw, back

    def run(
        self,
        inputs: list[tuple[str, tuple[int, ...], bytes]],
        build: Callable[..., Tensor],
        count: int,
        more: tuple[object, ...] = (),
    ) -> Array:
        """The values of a graph of one operator. `inputs` are type, sizes (columns first) and bytes, `more` its other arguments."""
        backend = self.backend()
        context = ctypes.c_void_p(self.base.ggml_init(_Parameters(1 << 20, None, True)))
        tensors = []
        for kind, sizes, _ in inputs:
            numbers = [ctypes.c_int64(size) for size in sizes]
            tensors.append(
                self.call(f"ggml_new_tensor_{len(sizes)}d", context, ctypes.c_int(TYPES.get(kind, 26)), *numbers)
            )
        result = build(context, *tensors, *more)
        graph = ctypes.c_void_p(self.base.ggml_new_graph(context))
        self.base.ggml_build_forward_expand(graph, result)
        self.base.ggml_backend_alloc_ctx_tensors(context, backend)
        for tensor, (_, _, data) in zip(tensors, inputs, strict=True):
            self.base.ggml_backend_tensor_set(tensor, data, ctypes.c_size_t(0), ctypes.c_size_t(len(data)))
        if self.base.ggml_backend_graph_compute(backend, graph):
            return np.full(count, np.nan)
        values = np.empty(count, np.float32)
        self.base.ggml_backend_tensor_get(
            result, values.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(0), ctypes.c_size_t(values.nbytes)
        )
        return values


def products(ggml: Ggml) -> Iterator[tuple[str, Callable[[], Array], Array, float]]:
    """Products of each type with few rows and with more, which take other kernels."""
    rng = np.random.default_rng(7)
    for kind in TYPES:
        data, weights = ggml.bytes_of(rng.uniform(-1, 1, (OUTPUTS, DEPTH)), kind)
        for rows in (1, 3, *((24,) if kind not in ("f32", "f16") else ())):
            factors = rng.uniform(-1, 1, (rows, DEPTH)).astype(np.float32)
            inputs = [(kind, (DEPTH, OUTPUTS), data), ("f32", (DEPTH, rows), factors.tobytes())]
            build = partial(ggml.call, "ggml_mul_mat")
            yield (
                f"mul_mat {kind}, {rows} rows",
                partial(ggml.run, inputs, build, rows * OUTPUTS),
                factors.astype(float) @ weights.astype(float).T,
                PRODUCT,
            )


def others(ggml: Ggml) -> Iterator[tuple[str, Callable[[], Array], Array, float]]:
    """Operators of one tensor or two of the same size."""
    rng = np.random.default_rng(9)
    x, y = (rng.uniform(-2, 2, (5, 256)).astype(np.float32) for _ in range(2))
    wide, other = x.astype(float), y.astype(float)
    deviations = wide - wide.mean(1, keepdims=True)
    powers = np.exp(wide - wide.max(1, keepdims=True))
    eps = ctypes.c_float(1e-5)
    unary: dict[str, tuple[Array, tuple[object, ...]]] = {
        "silu": (wide / (1 + np.exp(-wide)), ()), "relu": (np.maximum(wide, 0), ()), "sqr": (wide**2, ()), "tanh": (np.tanh(wide), ()),
        "sigmoid": (1 / (1 + np.exp(-wide)), ()), "neg": (-wide, ()), "sum_rows": (wide.sum(1), ()), "soft_max": (powers / powers.sum(1, keepdims=True), ()),
        "rms_norm": (wide / np.sqrt((wide**2).mean(1, keepdims=True) + 1e-5), (eps,)), "sin": (np.sin(wide), ()), "cos": (np.cos(wide), ()),
        "norm": (deviations / np.sqrt((deviations**2).mean(1, keepdims=True) + 1e-5), (eps,)), "scale": (wide * 0.375, (ctypes.c_float(0.375),)),
    }  # fmt: skip
    for name, (right, more) in unary.items():
        inputs = [("f32", (256, 5), x.tobytes())]
        yield name, partial(ggml.run, inputs, partial(ggml.call, f"ggml_{name}"), right.size, more), right, EXACT
    for name, right in {"add": wide + other, "sub": wide - other, "mul": wide * other, "div": wide / other}.items():
        inputs = [("f32", (256, 5), x.tobytes()), ("f32", (256, 5), y.tobytes())]
        yield name, partial(ggml.run, inputs, partial(ggml.call, f"ggml_{name}"), x.size), right, EXACT
    for kind in ("f32", "f16", "q4_0", "q5_1", "q8_0"):
        data, weights = ggml.bytes_of(rng.uniform(-1, 1, (11, 256)), kind)
        rows = np.array([3, 0, 10, 7], np.int32)
        inputs = [(kind, (256, 11), data), ("i32", (4,), rows.tobytes())]
        yield (
            f"get_rows {kind}",
            partial(ggml.run, inputs, partial(ggml.call, "ggml_get_rows"), 4 * 256),
            weights[rows],
            EXACT,
        )


def compare(folder: Path) -> int:
    """In the process whose HIP runtime is the stand-in: print a line for each operator; 1 where one is wrong or stops."""
    ggml, counts = Ggml.open(folder), Counter[str]()
    for rows in (products(ggml), others(ggml)):
        for name, run, right, tolerance in rows:
            if not (child := os.fork()):
                reference = np.asarray(right, float).ravel()
                error = float(np.sum((run().astype(float).ravel() - reference) ** 2) / np.sum(reference**2))
                print(f"{'right' if error <= tolerance else 'WRONG'} {name}: {error:.1e}", flush=True)
                os._exit(0 if error <= tolerance else 1)
            status = os.waitpid(child, 0)[1]
            outcome = {0: "right", 256: "wrong"}.get(status, "stopped")
            counts[outcome] += 1
            if outcome == "stopped":
                print(f"STOPPED {name}", flush=True)
    print(dict(counts), flush=True)
    return 1 if counts["wrong"] or counts["stopped"] else 0


def objdump_text(library: Path, option: str) -> str:
    """What objdump prints of a library."""
    return subprocess.run(["objdump", option, library], capture_output=True, text=True, check=True).stdout


def run_emulated(folder: Path, target: str, *, sanitize: bool) -> int:
    """Compile the stand-ins and run the comparison on them."""
    library = next(folder.glob("libggml-hip*.so*"))
    names = sorted(set(_IMPORT_LINES.findall(objdump_text(library, "-T"))))
    sonames = [soname for soname, _ in _LIBRARY_LINES.findall(objdump_text(library, "-p"))]
    runtime = next(soname for soname in sonames if soname.startswith("libamdhip64"))
    with tempfile.TemporaryDirectory() as work:
        empty = "\n".join(
            f'__attribute__((visibility("default"))) int {n}(void) {{ return 6; }}'
            for n in names
            if n.startswith(("hipblas", "roc"))
        )
        folders = [
            str(compile_library([], soname, Path(work), generated_code=empty).parent)
            for soname in sonames
            if soname != runtime
        ]
        folders.append(str(runtime_folder(imports_of([library]), Path(work))))
        service = EmulatorService(limits_of(target), Path(work) / "kernels", sanitize=sanitize)
        service.folder.mkdir()
        with service.running() as descriptor:
            environment = {
                **os.environ,
                "GGML_NO_BACKTRACE": "1",
                CHANNEL: str(descriptor),
                "LD_LIBRARY_PATH": ":".join([*folders, str(folder)]),
            }
            command = [sys.executable, sys.argv[0], "--runtime", runtime, str(folder), target]
            status = subprocess.run(command, env=environment, pass_fds=[descriptor], check=False).returncode
        print(dict(Counter(report.kind for report in service.reports)))
        for report in [report for report in service.reports if report.kind != "dispatch"][:20]:
            print(report)
    return status


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="the folder with libggml-base and libggml-hip")
    parser.add_argument("target", help="the GPU target, such as gfx1100")
    parser.add_argument("--sanitize", action="store_true", help="watch every access")
    parser.add_argument("--runtime", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.runtime:
        return compare(options.folder)
    if not list(options.folder.glob("libggml-hip*.so*")):
        parser.error(f"{options.folder} has no libggml-hip")
    return run_emulated(options.folder.resolve(), options.target, sanitize=options.sanitize)


if __name__ == "__main__":
    sys.exit(main())
