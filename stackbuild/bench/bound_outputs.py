"""Compares the bound outputs of timed runs with those of a plain run: a fast wrong answer is not a measurement.

A plain script's module, beside `worker.py`: it imports numpy alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

#: Outputs of more elements than this are not looked at.
SMALL = 1_000_000


def check(run: Any) -> None:
    """Raise where the last timed run left other outputs than an unbound run of its session computes.

    Large outputs and those of a decoding are not compared. A model whose answers vary from run to run passes.
    """
    left = [] if run.loop or run.copies else run.binding.get_outputs()
    if not left or not all(v.is_tensor() for v in left) or sum(int(np.prod(v.shape())) for v in left) > SMALL:
        return
    run.binding.synchronize_outputs()
    timed_ones, plain = run.binding.copy_outputs_to_cpu(), run.session.run(None, run.feeds)
    if differ(timed_ones, plain) and not differ(run.session.run(None, run.feeds), plain):
        raise RuntimeError(
            "its timed runs, with bound inputs and outputs, compute something else than a plain run does"
        )


def differ(ours: list[Any], theirs: list[Any]) -> bool:
    """Whether a floating-point output is off by more than 1 % (root mean square), or is not finite elsewhere."""
    for a, b in ((a, b) for a, b in zip(ours, theirs, strict=True) if a.dtype.kind == "f"):
        if a.shape != b.shape or not np.array_equal(np.isfinite(a), np.isfinite(b)):
            return True
        x, y = (np.where(np.isfinite(v), v, 0).astype(np.float64) for v in (a, b))
        if np.linalg.norm(x - y) > 0.01 * np.linalg.norm(y):
            return True
    return False
