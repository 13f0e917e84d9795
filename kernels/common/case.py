"""One correctness case of an operator: inputs, attributes and the answer in float64."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

Attribute = int | float | str | list[int]


@dataclass(frozen=True)
class Case:
    """Inputs are in the operator's order; None stands for an absent optional input.

    `expected` is the float64 answer, worked out from the inputs as rounded to their own type. `opset` is the first
    ONNX opset whose operator takes these inputs and attributes (0: no standard operator does).
    """

    op: str
    name: str
    inputs: dict[str, np.ndarray | None]
    attributes: dict[str, Attribute]
    expected: np.ndarray
    output: str = "Y"
    opset: int = 21
    tags: frozenset[str] = field(default_factory=frozenset)

    @property
    def dtype(self) -> np.dtype:
        return next(iter(self.inputs.values())).dtype


# Largest ‖got - expected‖ / ‖expected‖ taken for right: one rounding of the output plus float32 accumulation.
RELATIVE_ERROR = {np.dtype(np.float32): 5e-6, np.dtype(np.float16): 1e-3}
# Largest single |got - expected| / max|expected|.
WORST_ERROR = {np.dtype(np.float32): 5e-5, np.dtype(np.float16): 4e-3}


def mismatch(got: np.ndarray, case: Case) -> str | None:
    """Why `got` is wrong, or None. NaN, a wrong shape and a wrong type are always wrong."""
    want = case.expected
    if got.shape != want.shape:
        return f"shape {got.shape}, expected {want.shape}"
    if got.dtype != case.dtype:
        return f"type {got.dtype}, expected {case.dtype}"
    if want.size == 0:
        return None
    if not np.isfinite(got).all():
        return f"{np.count_nonzero(~np.isfinite(got))} values of {got.size} are not finite (not written?)"
    error = got.astype(np.float64) - want
    scale = float(np.abs(want).max())
    relative = float(np.linalg.norm(error) / max(np.linalg.norm(want), 1e-30))
    worst = float(np.abs(error).max()) / max(scale, 1e-30)
    if relative > RELATIVE_ERROR[case.dtype] or worst > WORST_ERROR[case.dtype]:
        return f"relative error {relative:.2e} (limit {RELATIVE_ERROR[case.dtype]:.0e}), worst {worst:.2e}"
    return None


def normal(rng: np.random.Generator, shape: tuple[int, ...] | list[int], dtype: type) -> np.ndarray:
    """Standard normal values, drawn in float64 and rounded to `dtype`."""
    return rng.standard_normal(tuple(shape)).astype(dtype)
