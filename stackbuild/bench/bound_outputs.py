"""Compares the outputs of timed runs with those of plain runs: a fast wrong answer is not a measurement.

A plain script's module, beside `worker.py`: it imports numpy alone. The plain runs are made before the timing. The
outputs are overwritten before the last timed run, so that what an earlier run left there cannot pass for its answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

#: Outputs of more elements than this are not looked at.
SMALL = 1_000_000


@dataclass
class PlainOutputs:
    """What unbound runs of a session computed before it was timed; `reason` is why there is nothing to compare with."""

    values: list[Any]
    reason: str = ""


def plain_outputs(run: Any) -> PlainOutputs:
    """Run the session twice without bound outputs. A model whose answers vary from run to run has none to compare with."""
    if run.loop:
        return PlainOutputs([], "the outputs of a decoding are not compared")
    bound_values = run.binding.get_outputs()
    if not run.copies and not all(value.is_tensor() for value in bound_values):
        return PlainOutputs([], "outputs that are not tensors are not compared")
    once = run.session.run(None, run.feeds)
    if sum(int(np.prod(value.shape)) for value in once) > SMALL:
        return PlainOutputs([], f"outputs of more than {SMALL:,} elements are not compared")
    if differ(run.session.run(None, run.feeds), once):
        return PlainOutputs([], "the answers vary from run to run, so they are not compared")
    return PlainOutputs(once)


def overwrite(run: Any, plain: PlainOutputs) -> str:
    """Put other values into the bound outputs, as large as the answers; why that could not be done, or "".

    Runs with copies have no bound outputs: each writes to memory of its own.
    """
    if plain.reason or run.copies:
        return ""
    run.binding.synchronize_outputs()
    try:
        for bound, value in zip(run.binding.get_outputs(), plain.values, strict=True):
            if value.dtype.kind == "f" and value.size:
                bound.update_inplace(unlike(value))
    except Exception as error:  # ONNX Runtime raises several types where it cannot write to a device's memory
        return f"the outputs could not be overwritten before the last timed run: {str(error)[:200]}"
    return ""


def unlike(value: Any) -> Any:
    """Values of the same size that are not the right answer: in the other order, of the other sign, and moved."""
    other = (-1 - value.reshape(-1)[::-1]).astype(value.dtype).reshape(value.shape)
    return np.ascontiguousarray(other if differ([other], [value]) else value + value.dtype.type(7))


def check(run: Any, plain: PlainOutputs) -> None:
    """Raise where the last timed run left other outputs than the plain runs computed."""
    if plain.reason:
        return
    if run.copies:
        timed_ones = run.last
    else:
        run.binding.synchronize_outputs()
        timed_ones = run.binding.copy_outputs_to_cpu()
    if differ(timed_ones, plain.values):
        raise RuntimeError("its last timed run computes something else than a plain run does, or nothing at all")


def differ(ours: list[Any], theirs: list[Any]) -> bool:
    """Whether a floating-point output is off by more than 1 % (root mean square), or is not finite elsewhere."""
    for a, b in ((a, b) for a, b in zip(ours, theirs, strict=True) if a.dtype.kind == "f"):
        if a.shape != b.shape or not np.array_equal(np.isfinite(a), np.isfinite(b)):
            return True
        x, y = (np.where(np.isfinite(v), v, 0).astype(np.float64) for v in (a, b))
        if np.linalg.norm(x - y) > 0.01 * np.linalg.norm(y):
            return True
    return False
