"""Shapes BatchNormalization is checked on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from batch_norm.reference import batch_norm
from tools.case import OperatorCase, normal

SHAPES = [(1, 1, 1, 1), (2, 3), (5, 7), (2, 3, 5), (1, 8, 7, 7), (2, 16, 7, 7), (3, 5, 1, 1), (2, 4, 3, 5, 7),
          (0, 3, 4, 4), (2, 3, 0, 4), (4, 64, 14, 14), (1, 257, 9, 9), (2, 1, 333), (2, 2056, 3, 2)]
BENCH = [(8, 64, 56, 56)]


def make(rng: np.random.Generator, shape: tuple[int, ...], dtype: type, epsilon: float = 1e-5,
         parameters: type | None = None, statistics: type | None = None) -> OperatorCase:
    x = normal(rng, shape, dtype)
    channels = shape[1]
    kind, other = parameters or dtype, statistics or parameters or dtype
    scale, bias = normal(rng, (channels,), kind), normal(rng, (channels,), kind)
    mean, var = normal(rng, (channels,), other), rng.uniform(0.25, 4, channels).astype(other)
    inputs = {"X": x, "scale": scale, "B": bias, "input_mean": mean, "input_var": var}
    name = f"{'x'.join(map(str, shape))} eps={epsilon:g}" + f" {kind.__name__} parameters" * (kind != dtype)
    name += f" {other.__name__} statistics" * (other != kind)
    reference = batch_norm(x, scale, bias, mean, var, epsilon)
    return OperatorCase("BatchNormalization", name, inputs, {"epsilon": epsilon}, reference, opset=15)


def cases(rng: np.random.Generator, dtype: type) -> Iterator[OperatorCase]:
    for shape in SHAPES:
        yield make(rng, shape, dtype)
    yield make(rng, (2, 6, 5, 5), dtype, 0.1)
    plain = make(rng, (2, 6, 5, 5), dtype)
    yield replace(plain, name="epsilon not given", attributes={})
    other = np.float16 if dtype is np.float32 else np.float32
    yield make(rng, (2, 6, 5, 5), dtype, parameters=other)
    yield make(rng, (2, 6, 5, 5), dtype, parameters=other, statistics=dtype)
    yield make(rng, (2, 6, 5, 5), dtype, statistics=other)
    for _ in range(30):
        yield make(rng, tuple(int(n) for n in rng.integers(1, 12, size=rng.integers(2, 6))), dtype)


# Enough rows and channels for every loop of the channels-last kernel.
DEVICE_SHAPES = [(3, 256, 30, 31), (2, 2056, 9, 7), (5, 24, 65, 33)]


def device_cases(rng: np.random.Generator, dtype: type) -> Iterator[OperatorCase]:
    for shape in DEVICE_SHAPES:
        yield make(rng, shape, dtype)


def bench(rng: np.random.Generator, dtype: type) -> Iterator[OperatorCase]:
    for shape in BENCH:
        yield make(rng, shape, dtype)
