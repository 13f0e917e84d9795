"""Run one operator of the bundled custom-op library through every case, against its float64 reference."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterable, Iterator
from typing import Any

import error_metrics
import numpy as np
import onnxruntime as ort
from probe import JobDict, error_text, main
from sessions import options, package_library


def do(job: JobDict) -> JobDict:
    sys.path.insert(0, job["cases"])
    from tools import cases as kernel_cases
    from tools.case import mismatch

    session_options = options({})
    session_options.register_custom_ops_library(package_library(job["module"]))
    rows: dict[str, JobDict] = {}
    for case in sample(kernel_cases.all_cases(job["seed"]), job["op"], *job["sample"]):
        row = rows.setdefault(str(case.dtype), {"cases": 0, "wrong": [], "failed": [], "worst": None})
        row["cases"] += 1
        try:
            actual = run(kernel_cases, case, session_options)
        except Exception as error:  # ONNX Runtime raises many types; each is a case that did not run
            row["failed"].append(f"{case.name}: {error_text(error)}")
            continue
        if why := mismatch(actual, case):
            row["wrong"].append(f"{case.name}: {why}")
        worst(row, actual, case.expected_values)
    return {"rows": rows, "onnxruntime": ort.__version__}


def sample(cases: Iterable[Any], op: str, most: int, largest: int) -> Iterator[Any]:
    """The operator's cases: all, or of each element type `most` of those with at most `largest` values, from the fewest to the most."""
    kinds: dict[str, list[Any]] = {}
    for case in cases:
        if case.op == op and not (most and values(case) > largest):
            kinds.setdefault(str(case.dtype), []).append(case)
    for rows in kinds.values():
        if most < 2 or len(rows) <= most:
            yield from rows
            continue
        rows.sort(key=values)
        yield from (rows[number * (len(rows) - 1) // (most - 1)] for number in range(most))


def values(case: Any) -> int:
    """How many values a case has, of all inputs and the output."""
    return sum(int(value.size) for value in (case.expected_values, *case.inputs.values()) if value is not None)


def run(kernel_cases: object, case: object, session_options: ort.SessionOptions) -> np.ndarray:
    """The operator's answer, written into memory that held something else."""
    from tools.case import poison

    model = kernel_cases.model(case).SerializeToString()  # type: ignore[attr-defined]
    feeds = kernel_cases.feeds(case)  # type: ignore[attr-defined]
    runner = ort.InferenceSession(model, session_options, providers=["CPUExecutionProvider"], enable_fallback=0)
    reference = case.expected_values  # type: ignore[attr-defined]
    if reference.size == 0 or any(value.size == 0 for value in feeds.values()):
        return np.asarray(runner.run(None, feeds)[0])
    dtype = case.dtype  # type: ignore[attr-defined]
    before = np.full(reference.size * dtype.itemsize, poison(case), np.uint8)
    output = ort.OrtValue.ortvalue_from_numpy(before.view(dtype).reshape(reference.shape))
    binding = runner.io_binding()
    for name, value in feeds.items():
        binding.bind_cpu_input(name, value)
    binding.bind_ortvalue_output(case.output, output)  # type: ignore[attr-defined]
    runner.run_with_iobinding(binding)
    return np.array(output.numpy())


def worst(row: JobDict, actual: np.ndarray, reference: np.ndarray) -> None:
    """Keep the measures of the case with the largest relative RMS error."""
    if actual.shape == reference.shape and actual.size:
        errors = dataclasses.asdict(error_metrics.errors(actual, reference))
        if row["worst"] is None or errors["rel_rms"] > row["worst"]["rel_rms"]:
            row["worst"] = errors


main(do)
