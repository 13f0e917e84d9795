"""Random-shape cases: one-node models against NumPy in float64.

Every case draws its own shapes and values from its seed. Shapes are odd, of extent one, broadcast, empty, and large
enough for the vector and the scalar paths. Values have both signs. The reference computes from inputs that are already
rounded to float16, so that an error is the kernel's alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from attention import multi_head_cases
from numpy.lib.stride_tricks import sliding_window_view
from onnx import helper

from tools.ep import quantized_cases, session
from tools.ep.random_case import RandomCase
from tools.ep.resize_edges import FORMS, ROUNDINGS

Array = np.ndarray
FLOATS = ("float32", "float16")
TOLERANCE = {"float32": 2e-5, "float16": 4e-3, "int32": 0.0, "int8": 0.0}  # ‖found - reference‖ / ‖reference‖; whole numbers are the very same


CaseMaker = Callable[[np.random.Generator, str], RandomCase]


def _shape(rng: np.random.Generator, low: int = 1, high: int = 4, most: int = 20000) -> list[int]:
    rank = int(rng.integers(low, high + 1))
    pool = [1, 2, 3, 4, 5, 7, 8, 13, 16, 31, 33, 64, 127, 768]
    while True:
        shape = [int(rng.choice(pool)) for _ in range(rank)]
        if math.prod(shape) <= most:
            return shape


def _values(rng: np.random.Generator, shape: list[int] | tuple[int, ...], dtype: str, scale: float = 1.0) -> Array:
    if np.dtype(dtype).kind == "i":
        return rng.integers(-50, 50, shape).astype(dtype)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    return np.asarray(rng.standard_normal(shape) * scale).astype(dtype)


def _wide(*arrays: Array) -> list[Array]:
    return [a.astype(np.float64) if a.dtype.kind == "f" else a for a in arrays]


_erf = np.vectorize(math.erf, otypes=[np.float64])
UNARY: dict[str, tuple[Callable[[Array], Array], Callable[[Array], Array]]] = {
    # operator: (reference, what makes its domain of a normal draw)
    "Abs": (np.abs, lambda x: x), "Neg": (np.negative, lambda x: x), "Relu": (lambda x: np.maximum(x, 0), lambda x: x),
    "Sqrt": (np.sqrt, np.abs), "Exp": (np.exp, lambda x: x), "Log": (np.log, lambda x: np.abs(x) + x.dtype.type(0.1)),
    "Tanh": (np.tanh, lambda x: x), "Erf": (_erf, lambda x: x), "Sigmoid": (lambda x: 1 / (1 + np.exp(-x)), lambda x: x),
    "Floor": (np.floor, lambda x: x), "Ceil": (np.ceil, lambda x: x), "Round": (np.rint, lambda x: x),
    "Reciprocal": (lambda x: 1 / x, lambda x: np.abs(x) + x.dtype.type(0.1)), "Sin": (np.sin, lambda x: x),
    "Cos": (np.cos, lambda x: x), "Softplus": (lambda x: np.log1p(np.exp(x)), lambda x: x),
    "Gelu": (lambda x: 0.5 * x * (1 + _erf(x / math.sqrt(2))), lambda x: x), "Sign": (np.sign, lambda x: x),
}  # fmt: skip


def _unary(op: str) -> CaseMaker:
    reference, domain = UNARY[op]

    def make(rng: np.random.Generator, dtype: str) -> RandomCase:
        x = domain(_values(rng, _shape(rng), dtype))
        return RandomCase(op, dtype, [x], [reference(x.astype(np.float64)).astype(dtype)])

    return make


BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide, "Max": np.maximum, "Min": np.minimum,
    "Greater": np.greater, "LessOrEqual": np.less_equal, "Equal": np.equal,
}  # fmt: skip


def _broadcast_pair(rng: np.random.Generator) -> tuple[list[int], list[int]]:
    whole = _shape(rng)
    part = [1 if rng.random() < 0.4 else d for d in whole][int(rng.integers(0, len(whole))) :]
    return (whole, part) if rng.random() < 0.6 else (part, whole)


def _binary(op: str) -> CaseMaker:
    def make(rng: np.random.Generator, dtype: str) -> RandomCase:
        left, right = _broadcast_pair(rng)
        a, b = _values(rng, left, dtype), _values(rng, right, dtype)
        if op == "Div":
            b = np.where(np.abs(b) < 0.1, np.array(1, b.dtype), b)
        y = BINARY[op](*_wide(a, b))
        return RandomCase(op, dtype, [a, b], [y if y.dtype == bool else y.astype(dtype)])

    return make


def _where(rng: np.random.Generator, dtype: str) -> RandomCase:
    left, right = _broadcast_pair(rng)
    a, b = _values(rng, left, dtype), _values(rng, right, dtype)
    c = _values(rng, [1 if rng.random() < 0.3 else d for d in np.broadcast_shapes(a.shape, b.shape)], "bool")
    return RandomCase("Where", dtype, [c, a, b], [np.where(c, a, b)])


def _matmul(rng: np.random.Generator, dtype: str) -> RandomCase:
    m, k, n = (int(rng.choice([1, 2, 3, 5, 8, 17, 33, 64, 100])) for _ in range(3))
    batch, other = _broadcast_pair(rng) if rng.random() < 0.7 else ([], [])
    batch, other = batch[-2:], other[-2:]
    while math.prod(np.broadcast_shapes(batch, other)) * m * n * k > 3e6:
        batch, other = batch[1:], other[1:] if len(other) >= len(batch) else other
        m = max(1, m // 2)
    a, b = _values(rng, [*batch, m, k], dtype), _values(rng, [*other, k, n], dtype, 1 / math.sqrt(k))
    return RandomCase("MatMul", dtype, [a, b], [np.matmul(*_wide(a, b)).astype(dtype)])


def _gemm(rng: np.random.Generator, dtype: str) -> RandomCase:
    m, k, n = (int(rng.choice([1, 2, 3, 8, 17, 33, 64])) for _ in range(3))
    ta, tb = int(rng.integers(2)), int(rng.integers(2))
    a = _values(rng, [k, m] if ta else [m, k], dtype)
    b = _values(rng, [n, k] if tb else [k, n], dtype, 1 / math.sqrt(k))
    c = [None, _values(rng, [n], dtype), _values(rng, [m, 1], dtype), _values(rng, [], dtype)][int(rng.integers(4))]
    alpha, beta = float(np.float32(rng.uniform(0.5, 2))), float(np.float32(rng.uniform(0.5, 2)))
    y = alpha * ((a.T if ta else a).astype(np.float64) @ (b.T if tb else b).astype(np.float64))
    if c is not None:
        y = y + beta * c.astype(np.float64)
    return RandomCase("Gemm", dtype, [a, b, c], [y.astype(dtype)], {"transA": ta, "transB": tb, "alpha": alpha, "beta": beta})


def _softmax(rng: np.random.Generator, dtype: str) -> RandomCase:
    x = _values(rng, _shape(rng), dtype, 3)
    axis = int(rng.integers(-x.ndim, x.ndim))
    e = np.exp(x.astype(np.float64) - x.max(axis=axis, keepdims=True))
    return RandomCase("Softmax", dtype, [x], [(e / e.sum(axis=axis, keepdims=True)).astype(dtype)], {"axis": axis})


def _layer_norm(rng: np.random.Generator, dtype: str) -> RandomCase:
    x = _values(rng, _shape(rng, 2), dtype, 2)
    x = x + x.dtype.type(5)  # a mean far from zero: a one-pass variance would lose it
    axis = int(rng.integers(1, x.ndim))
    scale, bias = _values(rng, x.shape[axis:], dtype), _values(rng, x.shape[axis:], dtype)
    axes = tuple(range(axis, x.ndim))
    w = x.astype(np.float64)
    y = (w - w.mean(axes, keepdims=True)) / np.sqrt(w.var(axes, keepdims=True) + 1e-5)
    y = y * scale.astype(np.float64) + bias.astype(np.float64)
    return RandomCase("LayerNormalization", dtype, [x, scale, bias], [y.astype(dtype)], {"axis": axis})


REDUCE: dict[str, Callable[..., Array]] = {
    "ReduceMean": np.mean, "ReduceSum": np.sum, "ReduceMax": np.max, "ReduceMin": np.min,
    "ReduceL2": lambda x, axis, keepdims: np.sqrt((x * x).sum(axis=axis, keepdims=keepdims)),
}  # fmt: skip


def _reduce(op: str) -> CaseMaker:
    def make(rng: np.random.Generator, dtype: str) -> RandomCase:
        x = _values(rng, _shape(rng), dtype) + np.dtype(dtype).type(0.5)
        axes = tuple(sorted(int(a) for a in rng.permutation(x.ndim)[: int(rng.integers(1, x.ndim + 1))]))
        keep = int(rng.integers(2))
        y = np.asarray(REDUCE[op](x.astype(np.float64), axis=axes, keepdims=bool(keep))).astype(dtype)
        return RandomCase(op, dtype, [x, np.array(axes, np.int64)], [y], {"keepdims": keep}, (1,))

    return make


def _windows(x: Array, kernel: list[int], stride: list[int], pads: list[int], fill: float) -> Array:
    n = len(kernel)
    padded_input = np.pad(x.astype(np.float64), [(0, 0), (0, 0), *zip(pads[:n], pads[n:], strict=True)], constant_values=fill)
    view = sliding_window_view(padded_input, kernel, axis=tuple(range(2, 2 + n)))
    return view[(slice(None), slice(None), *(slice(None, None, s) for s in stride))]


def _pool_setup(rng: np.random.Generator, dtype: str) -> tuple[Array, list[int], list[int], list[int]]:
    n = int(rng.integers(1, 4))
    kernel = [int(rng.integers(1, 4)) for _ in range(n)]
    x = _values(rng, [int(rng.integers(1, 3)), int(rng.integers(1, 6)), *(int(rng.integers(4, 15)) for _ in range(n))], dtype)
    return x, kernel, [int(rng.integers(1, 4)) for _ in range(n)], [int(rng.integers(0, k)) for k in kernel * 2]


def _max_pool(rng: np.random.Generator, dtype: str) -> RandomCase:
    x, kernel, stride, pads = _pool_setup(rng, dtype)
    y = _windows(x, kernel, stride, pads, -np.inf).max(axis=tuple(range(-len(kernel), 0)))
    return RandomCase("MaxPool", dtype, [x], [y.astype(dtype)], {"kernel_shape": kernel, "strides": stride, "pads": pads})


def _average_pool(rng: np.random.Generator, dtype: str) -> RandomCase:
    x, kernel, stride, pads = _pool_setup(rng, dtype)
    y = _windows(x, kernel, stride, pads, 0.0).mean(axis=tuple(range(-len(kernel), 0)))
    return RandomCase("AveragePool", dtype, [x], [y.astype(dtype)], {"kernel_shape": kernel, "strides": stride, "pads": pads, "count_include_pad": 1})


def _global_pool(rng: np.random.Generator, dtype: str) -> RandomCase:
    x = _values(rng, [2, 5, *_shape(rng, 1, 3, 2000)], dtype) + np.dtype(dtype).type(0.5)
    y = x.astype(np.float64).mean(axis=tuple(range(2, x.ndim)), keepdims=True)
    return RandomCase("GlobalAveragePool", dtype, [x], [y.astype(dtype)])


def _conv(rng: np.random.Generator, dtype: str) -> RandomCase:
    n, groups = int(rng.choice([1, 2, 2, 2, 3])), int(rng.choice([1, 1, 2]))
    kernel = [int(rng.integers(1, 4)) for _ in range(n)]
    cin, cout = groups * int(rng.integers(1, 9)), groups * int(rng.integers(1, 9))
    x = _values(rng, [int(rng.integers(1, 3)), cin, *(int(rng.integers(4, 15)) for _ in range(n))], dtype)
    w = _values(rng, [cout, cin // groups, *kernel], dtype, 0.3)
    bias = _values(rng, [cout], dtype) if rng.random() < 0.5 else None
    stride, pads = [int(rng.integers(1, 3)) for _ in range(n)], [int(rng.integers(0, k + 1)) for k in kernel * 2]
    view = _windows(x, kernel, stride, pads, 0.0)
    parts = [
        np.tensordot(view[:, g * cin // groups : (g + 1) * cin // groups], w[g * cout // groups : (g + 1) * cout // groups].astype(np.float64),
                     ([1, *range(-n, 0)], [1, *range(2, 2 + n)]))
        for g in range(groups)
    ]  # fmt: skip
    y = np.moveaxis(np.concatenate(parts, axis=-1), -1, 1)
    if bias is not None:
        y = y + bias.astype(np.float64).reshape(1, -1, *[1] * n)
    attributes = {"kernel_shape": kernel, "strides": stride, "pads": pads, "group": groups}
    return RandomCase("Conv", dtype, [x, w, bias], [y.astype(dtype)], attributes)


def _batch_norm(rng: np.random.Generator, dtype: str) -> RandomCase:
    x = _values(rng, _shape(rng, 2), dtype)
    c = x.shape[1]
    scale, bias, mean = (_values(rng, [c], dtype) for _ in range(3))
    variance = np.abs(_values(rng, [c], dtype)) + np.dtype(dtype).type(0.1)
    wide = [a.astype(np.float64).reshape(1, c, *[1] * (x.ndim - 2)) for a in (scale, bias, mean, variance)]
    y = (x.astype(np.float64) - wide[2]) / np.sqrt(wide[3] + 1e-5) * wide[0] + wide[1]
    return RandomCase("BatchNormalization", dtype, [x, scale, bias, mean, variance], [y.astype(dtype)])


def _group_norm(rng: np.random.Generator, dtype: str) -> RandomCase:
    groups, per = int(rng.integers(1, 5)), int(rng.integers(1, 5))
    x = _values(rng, [int(rng.integers(1, 4)), groups * per, *_shape(rng, 1, 2, 900)], dtype)
    scale, bias = _values(rng, [groups * per], dtype), _values(rng, [groups * per], dtype)
    w = x.astype(np.float64).reshape(x.shape[0], groups, -1)
    w = ((w - w.mean(-1, keepdims=True)) / np.sqrt(w.var(-1, keepdims=True) + 1e-5)).reshape(x.shape)
    along = [1, -1, *[1] * (x.ndim - 2)]
    y = w * scale.astype(np.float64).reshape(along) + bias.astype(np.float64).reshape(along)
    return RandomCase("GroupNormalization", dtype, [x, scale, bias], [y.astype(dtype)], {"num_groups": groups})


def _leaky(rng: np.random.Generator, dtype: str) -> RandomCase:
    x = _values(rng, _shape(rng), dtype)
    alpha = float(np.float32(rng.uniform(0.01, 0.9)))
    w = x.astype(np.float64)
    return RandomCase("LeakyRelu", dtype, [x], [np.where(w < 0, alpha * w, w).astype(dtype)], {"alpha": alpha})


def _transpose(rng: np.random.Generator, dtype: str) -> RandomCase:
    x = _values(rng, _shape(rng), dtype)
    perm = [int(p) for p in rng.permutation(x.ndim)]
    return RandomCase("Transpose", dtype, [x], [np.ascontiguousarray(x.transpose(perm))], {"perm": perm})


def _concat(rng: np.random.Generator, dtype: str) -> RandomCase:
    shape = _shape(rng, 1, 4, 4000)
    axis = int(rng.integers(0, len(shape)))
    parts = []
    for _ in range(int(rng.integers(1, 5))):
        shape[axis] = int(rng.integers(0, 9))
        parts.append(_values(rng, shape, dtype))
    return RandomCase("Concat", dtype, list(parts), [np.concatenate(parts, axis)], {"axis": axis})


def _slice(rng: np.random.Generator, dtype: str) -> RandomCase:
    x = _values(rng, _shape(rng), dtype)
    axes = [int(a) for a in rng.permutation(x.ndim)[: int(rng.integers(1, x.ndim + 1))]]
    starts, ends, steps = [], [], []
    cut: list[slice] = [slice(None)] * x.ndim
    for axis in axes:
        start, end = (int(v) for v in rng.integers(-x.shape[axis] - 1, x.shape[axis] + 2, 2))
        step = int(rng.choice([1, 1, 2, 3, -1, -2]))
        cut[axis] = slice(max(start, -x.shape[axis]) if step < 0 else start, end, step)  # ONNX clamps the start to 0, NumPy to -1
        starts, ends, steps = [*starts, start], [*ends, end], [*steps, step]
    extra = [np.array(v, np.int64) for v in (starts, ends, axes, steps)]
    return RandomCase("Slice", dtype, [x, *extra], [np.ascontiguousarray(x[tuple(cut)])], constants=(1, 2, 3, 4))


def _split(rng: np.random.Generator, dtype: str) -> RandomCase:
    x = _values(rng, _shape(rng), dtype)
    axis = int(rng.integers(0, x.ndim))
    cuts = sorted(int(c) for c in rng.integers(0, x.shape[axis] + 1, 2))
    sizes = np.diff([0, *cuts, x.shape[axis]])
    parts = [np.ascontiguousarray(p) for p in np.split(x, cuts, axis)]
    return RandomCase("Split", dtype, [x, sizes.astype(np.int64)], parts, {"axis": axis}, (1,))


def _gather(rng: np.random.Generator, dtype: str) -> RandomCase:
    x = _values(rng, _shape(rng), dtype)
    axis = int(rng.integers(0, x.ndim))
    at = rng.integers(-x.shape[axis], x.shape[axis], _shape(rng, 1, 2, 40)).astype(rng.choice(["int64", "int32"]))
    return RandomCase("Gather", dtype, [x, at], [np.take(x, at, axis)], {"axis": axis})


def _expand(rng: np.random.Generator, dtype: str) -> RandomCase:
    whole = _shape(rng)
    part = [1 if rng.random() < 0.5 else d for d in whole][int(rng.integers(0, len(whole))) :]
    x = _values(rng, part, dtype)
    return RandomCase("Expand", dtype, [x, np.array(whole, np.int64)], [np.broadcast_to(x, whole).copy()], constants=(1,))


def _places(extent: int, new: int, scale: np.float32, form: str) -> Array:
    """Where in an axis each place of the resized one lies, to a few units in the last place of float32."""
    at = np.arange(new, dtype=np.float32)
    if form == "asymmetric":
        return at / scale
    if form == "align_corners":
        return at * np.float32(extent - 1) / np.float32(new - 1) if new > 1 else at * np.float32(0)
    middle = (at + np.float32(0.5)) / scale - np.float32(0.5)
    if form == "half_pixel_symmetric":
        adjustment = np.float32(new) / (scale * np.float32(extent))
        return np.float32(extent) / np.float32(2) * (np.float32(1) - adjustment) + middle
    return at * np.float32(0) if form == "pytorch_half_pixel" and new == 1 else middle


def _resize(rng: np.random.Generator, dtype: str) -> RandomCase:
    """Linear by float64; the nearest, which is one element or another, by the CPU provider."""
    x = _values(rng, _shape(rng, 1, 5, 3000), dtype)
    linear, form = bool(rng.integers(2)), str(rng.choice(FORMS))
    rounding = str(rng.choice(ROUNDINGS))
    axes = rng.permutation(x.ndim)[: int(rng.integers(1, min(3, x.ndim) + 1))]
    y, scales, sizes = x.astype(np.float64), [], []
    by_size = bool(rng.integers(2))
    for axis in axes:
        extent = x.shape[axis]
        scale = np.float32(rng.choice([2, 3, 1] if form == "align_corners" else [2, 3, 0.5, 1, 1.5, 0.7, 2.3]))
        new = int(rng.integers(1, 2 * extent + 2)) if by_size else int(np.floor(np.float32(extent) * scale))
        scale = np.float32(new) / np.float32(extent) if by_size else scale
        scales.append(scale)
        sizes.append(new)
        if not linear:
            continue
        at = np.clip(np.arange(new, dtype=np.float32) if scale == 1 else _places(extent, new, scale, form), 0, extent - 1)
        low = at.astype(int)
        share = (at - low.astype(np.float32)).astype(np.float64).reshape([-1 if i == axis else 1 for i in range(x.ndim)])
        y = np.take(y, low, axis) * (1 - share) + np.take(y, np.minimum(low + 1, extent - 1), axis) * share
    extents = [None, None, np.array(sizes, np.int64)] if by_size else [None, np.array(scales, np.float32)]
    attributes = {"axes": axes.tolist(), "mode": "linear" if linear else "nearest", "coordinate_transformation_mode": form, "nearest_mode": rounding}
    case = RandomCase("Resize", dtype, [x, *extents], [np.ascontiguousarray(y.astype(dtype))], attributes, tuple(range(1, 1 + len(extents))))
    return case if linear else replace(case, reference=session.open_on_cpu(case.model()).run(None, case.feeds()))


def _trilu(rng: np.random.Generator, dtype: str) -> RandomCase:
    x, upper, k = _values(rng, _shape(rng, 2), dtype), int(rng.integers(2)), int(rng.integers(-5, 6))
    return RandomCase("Trilu", dtype, [x, np.array(k, np.int64)], [(np.triu if upper else np.tril)(x, k)], {"upper": upper})


def _cast(rng: np.random.Generator, dtype: str) -> RandomCase:
    to = str(rng.choice([t for t in ("float32", "float16", "int64", "int32", "bool", "float64") if t != dtype]))
    x = _values(rng, _shape(rng), dtype, 20)
    return RandomCase("Cast", dtype, [x], [x.astype(to)], {"to": helper.np_dtype_to_tensor_dtype(np.dtype(to))})


def _clip(rng: np.random.Generator, dtype: str) -> RandomCase:
    x = _values(rng, _shape(rng), dtype)
    low, high = np.array(-0.5, dtype), np.array(0.7, dtype)
    return RandomCase("Clip", dtype, [x, low, high], [np.clip(x, low, high)])


def _pow(rng: np.random.Generator, dtype: str) -> RandomCase:
    x = np.abs(_values(rng, _shape(rng), dtype)) + np.dtype(dtype).type(0.1)
    e = np.array(rng.choice([2.0, 3.0, 0.5, -1.0]), dtype)
    return RandomCase("Pow", dtype, [x, e], [np.power(*_wide(x, e)).astype(dtype)])


def _empty(rng: np.random.Generator, dtype: str) -> RandomCase:
    op = str(rng.choice(["Relu", "Add", "Softmax", "Transpose", "MatMul"]))
    if op == "MatMul":
        a, b = _values(rng, [2, 0, 3], dtype), _values(rng, [3, 4], dtype)
        return RandomCase(op, dtype, [a, b], [np.zeros((2, 0, 4), dtype)])
    x = _values(rng, [3, 0, 5], dtype)
    if op == "Add":
        return RandomCase(op, dtype, [x, _values(rng, [5], dtype)], [x])
    return RandomCase(op, dtype, [x], [x.transpose()]) if op == "Transpose" else RandomCase(op, dtype, [x], [x])


MAKERS: dict[str, CaseMaker] = {
    **{op: _unary(op) for op in UNARY}, **{op: _binary(op) for op in BINARY}, **{op: _reduce(op) for op in REDUCE},
    "Where": _where, "MatMul": _matmul, "Gemm": _gemm, "Softmax": _softmax, "LayerNormalization": _layer_norm,
    "MaxPool": _max_pool, "AveragePool": _average_pool, "GlobalAveragePool": _global_pool, "Conv": _conv,
    "BatchNormalization": _batch_norm, "GroupNormalization": _group_norm, "LeakyRelu": _leaky, "Transpose": _transpose,
    "Concat": _concat, "Slice": _slice, "Split": _split, "Gather": _gather, "Expand": _expand, "Cast": _cast,
    "Resize": _resize, "Trilu": _trilu,
    "Clip": _clip, "Pow": _pow, "empty tensors": _empty,
}  # fmt: skip


def _multi_head(rng: np.random.Generator, dtype: str, shape: multi_head_cases.MultiHeadShape | None = None) -> RandomCase:
    """com.microsoft's, the kernels' own cases of it; `shape` one of those that are not drawn."""
    case = multi_head_cases.make(rng, shape or multi_head_cases.any_shape(rng), np.dtype(dtype).type)
    return RandomCase(case.op, dtype, list(case.inputs.values()), [case.expected_values.astype(dtype)], dict(case.attributes), domain="com.microsoft", name=case.name)


MAKERS["MultiHeadAttention"] = _multi_head
MAKERS |= quantized_cases.MAKERS


def cases(name: str, count: int, seed: int = 0) -> Iterator[RandomCase]:
    """`count` cases of each float type for one entry of MAKERS; of MultiHeadAttention each chosen shape before them."""
    for dtype in FLOATS:
        if name == "MultiHeadAttention":
            for shape in multi_head_cases.SHAPES:
                yield _multi_head(np.random.default_rng(seed), dtype, shape)
        for i in range(count):
            yield MAKERS[name](np.random.default_rng([seed, i, len(dtype), *name.encode()]), dtype)
