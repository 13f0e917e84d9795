"""One correctness case of an operator: inputs, attributes and the answer in float64."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

AttributeValue = int | float | str | list[int]


@dataclass(frozen=True)
class OperatorCase:
    """Inputs are in the operator's order; None stands for an absent optional input.

    `expected` is the float64 answer, computed from the inputs as rounded to their own type. Where `answer` is a function, it is called
    at the first use of `expected`, so that a run of some cases computes only theirs. `opset` is the first ONNX opset whose operator takes
    these inputs and attributes (0: no standard operator does). With the tag "exact" every bit of the output is `expected` rounded once,
    to the nearest and ties to even.
    """

    op: str
    name: str
    inputs: dict[str, np.ndarray | None]
    attributes: dict[str, AttributeValue]
    answer: np.ndarray | Callable[[], np.ndarray]
    output: str = "Y"
    opset: int = 21
    tags: frozenset[str] = field(default_factory=frozenset)

    @cached_property
    def expected_values(self) -> np.ndarray:
        return self.answer() if callable(self.answer) else self.answer

    @property
    def dtype(self) -> np.dtype:
        return next(iter(self.inputs.values())).dtype


# Largest ‖got - expected‖ / ‖expected‖ taken for right: one rounding of the output plus float32 accumulation.
RELATIVE_ERROR = {np.dtype(np.float32): 5e-6, np.dtype(np.float16): 1e-3}
# Largest single |got - expected| / max|expected|.
WORST_ERROR = {np.dtype(np.float32): 5e-5, np.dtype(np.float16): 4e-3}


def poison(case: OperatorCase) -> int:
    """The byte to fill an output with before the run: that of NaN, or where the answer has some, of large numbers (−1·10⁴, −6·10²⁹)."""
    return 0xFF if np.isfinite(case.expected_values).all() else 0xF0


def mismatch(actual: np.ndarray, case: OperatorCase) -> str | None:
    """Why `actual` is wrong, or None. Values that are not finite must be so where the answer is, and the same there."""
    want = case.expected_values
    if actual.shape != want.shape:
        return f"shape {actual.shape}, expected {want.shape}"
    if actual.dtype != case.dtype:
        return f"type {actual.dtype}, expected {case.dtype}"
    if want.size == 0:
        return None
    if "exact" in case.tags:
        return _not_exact(actual, want)
    finite = np.isfinite(want)
    if not np.isfinite(actual[finite]).all():
        return f"{np.count_nonzero(~np.isfinite(actual[finite]))} values of {actual.size} are not finite (not written?)"
    if not np.array_equal(actual[~finite], want[~finite].astype(actual.dtype), equal_nan=True):
        return f"not NaN or infinite in all {np.count_nonzero(~finite)} places of {actual.size} where the answer is"
    if not finite.any():
        return None
    actual, want = actual[finite], want[finite]
    error = actual.astype(np.float64) - want
    scale = float(np.abs(want).max())
    least = float(np.finfo(np.float64).tiny)  # answers may be as small as float32's least numbers
    relative = float(np.linalg.norm(error) / max(np.linalg.norm(want), least))
    worst = float(np.abs(error).max()) / max(scale, least)
    if relative > RELATIVE_ERROR[case.dtype] or worst > WORST_ERROR[case.dtype]:
        return f"relative error {relative:.2e} (limit {RELATIVE_ERROR[case.dtype]:.0e}), worst {worst:.2e}"
    return None


def _not_exact(actual: np.ndarray, want: np.ndarray) -> str | None:
    with np.errstate(over="ignore"):
        rounded_want = want.astype(actual.dtype)
    bits = np.dtype(f"u{actual.dtype.itemsize}")
    wrong = (actual.view(bits) != rounded_want.view(bits)) & ~(np.isnan(actual) & np.isnan(rounded_want))
    if not wrong.any():
        return None
    return f"{np.count_nonzero(wrong)} values of {actual.size} are not rounded to the nearest, the first {actual[wrong][0]} for {want[wrong][0]}"


def activate(y: np.ndarray, kind: str, alpha: float) -> np.ndarray:
    """The fused activation by its definition, in float64."""
    with np.errstate(over="ignore"):
        results = {"none": y, "relu": np.maximum(y, 0), "leaky_relu": np.where(y < 0, float(np.float32(alpha)) * y, y),
                   "silu": y / (1 + np.exp(-y))}
    return results[kind]


def normal(rng: np.random.Generator, shape: tuple[int, ...] | list[int], dtype: type) -> np.ndarray:
    """Standard normal values, drawn in float64 and rounded to `dtype`."""
    return rng.standard_normal(tuple(shape)).astype(dtype)
