"""GroupNormalization by its definition, in float64."""

import numpy as np


def group_norm(x: np.ndarray, scale: np.ndarray, bias: np.ndarray, groups: int, epsilon: float) -> np.ndarray:
    """`x` has its channels on axis 1; `scale` and `bias` have a value per group (opset 18) or per channel (21)."""
    n, c = x.shape[:2]
    grouped_input = x.astype(np.float64).reshape(n, groups, int(np.prod(x.shape[1:])) // groups)
    mean, var = grouped_input.mean(axis=2, keepdims=True), grouped_input.var(axis=2, keepdims=True)
    y = ((grouped_input - mean) / np.sqrt(var + epsilon)).reshape(x.shape)
    repeat = c // scale.size
    shape = (1, c) + (1,) * (x.ndim - 2)
    scale, bias = (np.repeat(p.astype(np.float64), repeat).reshape(shape) for p in (scale, bias))
    return y * scale + bias
