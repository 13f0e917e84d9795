"""Values that are not numbers: a NaN comes out wherever NumPy has one, and -0, infinities and NaN go through each function as in
ONNX's reference. ONNX Runtime's CPU provider passes over NaN in some maxima and not in others, so it does not decide here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from onnx import helper
from onnx.reference import ReferenceEvaluator

from tools.ep.edge import Array, Edge, Ruling, floats, ints, model, one

NUMPY = "a maximum, minimum, sum or norm over a NaN is NaN, as in NumPy, by which ONNX defines it"
REFERENCE = "as onnx.reference computes it"
DTYPES = (np.float32, np.float16)
SPECIAL = np.array([np.nan, 0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, 0.3, -2.5, 30.0, -30.0])
ONE = ["Abs", "Neg", "Sign", "Relu", "Sqrt", "Exp", "Log", "Sin", "Cos", "Tanh", "Erf", "Floor", "Ceil", "Round", "Reciprocal", "Sigmoid", "Softplus", "Softsign", "HardSwish", "Mish", "Elu", "Celu", "Selu", "ThresholdedRelu", "Gelu", "LeakyRelu", "HardSigmoid", "IsNaN", "Identity"]
TWO = ["Add", "Sub", "Mul", "Div", "Max", "Min", "Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual", "Sum", "Mean"]


def _rows(width: int, dtype: type) -> Array:
    """Rows without a NaN, with one first, inside and last, and of nothing else."""
    x = np.abs(floats(6, width)) + np.float32(0.1)
    x[1, 0] = x[2, width // 2] = x[3, -1] = np.nan
    x[4] = np.nan
    return x.astype(dtype)


def _softmax(x: Array) -> Array:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return np.asarray(e / e.sum(axis=1, keepdims=True))


def _norm(x: Array) -> Array:
    return np.asarray((x - x.mean(axis=1, keepdims=True)) / np.sqrt(x.var(axis=1, keepdims=True) + 1e-5))


REDUCE: dict[str, Callable[[Array], Array]] = {
    "ReduceMax": lambda x: x.max(1), "ReduceMin": lambda x: x.min(1), "ReduceSum": lambda x: x.sum(1), "ReduceMean": lambda x: x.mean(1),
    "ReduceL1": lambda x: np.abs(x).sum(1), "ReduceL2": lambda x: np.sqrt((x * x).sum(1)), "ReduceSumSquare": lambda x: (x * x).sum(1),
    "ReduceLogSum": lambda x: np.log(x.sum(1)), "ReduceLogSumExp": lambda x: np.log(np.exp(x).sum(1)),
}  # fmt: skip


def _says(answer: Array, dtype: type, sentence: str = NUMPY) -> Ruling:
    return Ruling([np.asarray(answer).astype(dtype)], sentence, {})


def _reductions(dtype: type) -> Iterator[Edge]:
    for width in (3, 70, 5000):
        x = _rows(width, dtype)
        wide = x.astype(np.float64)
        for op, reference in REDUCE.items():
            if dtype == np.float16 and width == 5000 and op in ("ReduceL1", "ReduceSumSquare"):
                continue  # near the end of float16's range
            yield one(op, x, ints(1), keepdims=0, ruling=_says(reference(wide), dtype))
            yield one(op, x.T.copy(), ints(0), keepdims=0, ruling=_says(reference(wide), dtype))
        scale = np.ones(width, dtype)
        yield one("Softmax", x, ruling=_says(_softmax(wide), dtype))
        yield one("LogSoftmax", x, ruling=_says(np.log(_softmax(wide)), dtype))
        yield one("LayerNormalization", x, scale, np.zeros(width, dtype), ruling=_says(_norm(wide), dtype))
        yield one("RMSNormalization", x, scale, ruling=_says(wide / np.sqrt((wide * wide).mean(1, keepdims=True) + 1e-5), dtype))


def _pictures(dtype: type) -> Iterator[Edge]:
    x = floats(1, 4, 4, 4)
    x[0, 0, 1, 2] = x[0, 1, 0, 0] = x[0, 2, 3, 3] = np.nan
    x = x.astype(dtype)
    wide = x.astype(np.float64)
    halves = wide.reshape(1, 4, 2, 2, 2, 2)
    yield one("GlobalMaxPool", x, ruling=_says(wide.max((2, 3), keepdims=True), dtype))
    yield one("GlobalAveragePool", x, ruling=_says(wide.mean((2, 3), keepdims=True), dtype))
    yield one("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2], ruling=_says(halves.max((3, 5)), dtype))
    yield one("AveragePool", x, kernel_shape=[2, 2], strides=[2, 2], ruling=_says(halves.mean((3, 5)), dtype))
    instance = (wide - wide.mean((2, 3), keepdims=True)) / np.sqrt(wide.var((2, 3), keepdims=True) + 1e-5)
    ones, zeros = np.ones(4, dtype), np.zeros(4, dtype)
    yield one("InstanceNormalization", x, ones, zeros, ruling=_says(instance, dtype))
    yield one("BatchNormalization", x, ones, zeros, zeros, ones, ruling=_says(wide / np.sqrt(1 + 1e-5), dtype))
    infinite = np.full((1, 1, 2, 2), -np.inf, dtype)
    yield one("MaxPool", infinite, kernel_shape=[2, 2], ruling=_says(infinite.max((2, 3), keepdims=True), dtype, "the largest of -inf is -inf"))


def _by_reference(name: str, nodes: list[tuple[str, list[str], str]], feeds: dict[str, Array]) -> Edge:
    graph = model([helper.make_node(op, inputs, [out]) for op, inputs, out in nodes], feeds, ["y"], {})
    with np.errstate(all="ignore"):
        answer = np.asarray(ReferenceEvaluator(graph).run(None, feeds)[0])
    return Edge(f"{name} of special values", graph, feeds, Ruling([answer], REFERENCE, {}))


def _functions(dtype: type) -> Iterator[Edge]:
    x = SPECIAL.astype(dtype)
    for op in ONE:
        if op != "Celu" or dtype == np.float32:
            yield _by_reference(op, [(op, ["x"], "y")], {"x": x})
    for op in ("Abs", "Relu", "Sign"):  # the sign of a zero is seen by its inverse
        yield _by_reference(f"1 / {op}", [(op, ["x"], "t"), ("Reciprocal", ["t"], "y")], {"x": np.array([0.0, 2.0, -0.0], dtype)[: 2 + (op != "Relu")]})
    a, b = np.repeat(x, len(x)), np.tile(x, len(x))
    for op in TWO:
        yield _by_reference(op, [(op, ["a", "b"], "y")], {"a": a, "b": b})
    yield _by_reference("Clip", [("Clip", ["x", "l", "h"], "y")], {"x": x, "l": np.array(-1, dtype), "h": np.array(1, dtype)})


def nans() -> Iterator[Edge]:
    """All of them."""
    for dtype in DTYPES:
        for edge in (*_reductions(dtype), *_pictures(dtype), *_functions(dtype)):
            yield replace(edge, name=f"{edge.name}, {np.dtype(dtype)}, some of it no number")
