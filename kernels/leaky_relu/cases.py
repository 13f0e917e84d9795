"""Shapes LeakyRelu is checked on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from leaky_relu.reference import leaky_relu
from tools.case import OperatorCase, normal

SHAPES = [(), (1,), (7,), (8,), (0, 5), (1, 1, 1, 1), (2, 3, 5, 7), (3, 17, 31), (1025,), (4, 64, 33, 31), (70001,)]
BENCH = [(8, 64, 112, 112)]


def make(rng: np.random.Generator, shape: tuple[int, ...], dtype: type, alpha: float) -> OperatorCase:
    x = normal(rng, shape, dtype)
    name = f"{'x'.join(map(str, shape)) or 'scalar'} alpha={alpha:g}"
    return OperatorCase("LeakyRelu", name, {"X": x}, {"alpha": alpha}, leaky_relu(x, alpha), opset=16)


def exact(rng: np.random.Generator, dtype: type, alpha: float) -> OperatorCase:
    """Every number of float16, or as many of float32 as there are; `alpha` of so few bits that each product is exact."""
    bits = np.arange(65536, dtype=np.uint16) if dtype is np.float16 else rng.integers(0, 2**32, 65536, np.uint32)
    x = bits.view(dtype)
    with np.errstate(over="ignore"):
        reference = leaky_relu(x, alpha).astype(dtype).astype(np.float64)
    return OperatorCase("LeakyRelu", f"every number alpha={alpha:g}", {"X": x}, {"alpha": alpha}, reference, opset=16,
                tags=frozenset({"exact"}))


def cases(rng: np.random.Generator, dtype: type) -> Iterator[OperatorCase]:
    for shape in SHAPES:
        yield make(rng, shape, dtype, 0.01)
    for alpha in (0.0, 1.0, -0.5, 2.0):
        yield make(rng, (3, 5, 7, 9), dtype, alpha)
    for alpha in (0.3125, -3.0):
        yield exact(rng, dtype, alpha)
    plain = make(rng, (2, 3, 5), dtype, 0.01)
    yield replace(plain, name="alpha not given", attributes={})
    for _ in range(30):
        shape = tuple(int(n) for n in rng.integers(1, 12, size=rng.integers(1, 6)))
        yield make(rng, shape, dtype, float(rng.uniform(-1, 1)))


def bench(rng: np.random.Generator, dtype: type) -> Iterator[OperatorCase]:
    for shape in BENCH:
        yield make(rng, shape, dtype, 0.01)
