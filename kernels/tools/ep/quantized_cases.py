"""Random cases of the quantized operators."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tools.ep import quantized_reference as reference
from tools.ep.random_case import RandomCase

Array = np.ndarray


def _floats(rng: np.random.Generator, shape: tuple[int, ...], dtype: str, scale: float = 1.0) -> Array:
    return np.asarray(rng.standard_normal(shape) * scale).astype(dtype)


def matmul_nbits(rng: np.random.Generator, dtype: str) -> RandomCase:
    """One row, a few, and more than a tile; K that fills no block, odd N, every width, both forms of zero points."""
    bits, block = int(rng.choice([4, 4, 4, 8, 2])), int(rng.choice([16, 16, 32, 32, 64, 128, 256]))
    k, n = int(rng.choice([1, 8, 31, 64, 70, 96, 129, 256, 272])), int(rng.choice([1, 2, 5, 16, 33, 64, 65, 70]))
    lead = [(), (1,), (2,), (3,), (7,), (8,), (9,), (2, 3), (3, 0), (67,), (2, 35)][int(rng.integers(11))]
    blocks = -(-k // block)
    b = rng.integers(0, 256, (n, blocks, block * bits // 8)).astype(np.uint8)
    scales = (rng.uniform(0.2, 1, (n, blocks)) * rng.choice([-1, 1], (n, blocks)) / math.sqrt(k) / (1 << (bits - 1))).astype(dtype)
    zeros = [
        None,
        rng.integers(0, 256, (n, -(-blocks * bits // 8))).astype(np.uint8),
        rng.uniform(0, (1 << bits) - 1, (n, blocks)).astype(dtype),
    ][int(rng.integers(3))]
    bias = _floats(rng, (n,), dtype) if rng.random() < 0.4 else None
    a = _floats(rng, (*lead, k), dtype)
    y = reference.matmul_nbits(a, reference.block_weights(b, scales, zeros, bits, k), bias)
    attributes = {"K": k, "N": n, "bits": bits, "block_size": block}
    inputs = [a, b, scales, zeros, None, bias]
    while inputs[-1] is None:
        inputs.pop()
    constants = tuple(i for i, x in enumerate(inputs) if i > 0 and x is not None)
    return RandomCase("MatMulNBits", dtype, inputs, [y.astype(dtype)], attributes, constants, domain="com.microsoft", name=f"{bits} bits, blocks of {block}")


def _integers(rng: np.random.Generator, shape: tuple[int, ...], kind: str) -> Array:
    """The whole range of `kind`, its ends more often than others."""
    limits = np.iinfo(kind)
    x = rng.integers(limits.min, int(limits.max) + 1, shape)
    ends = rng.random(shape)
    return np.asarray(np.where(ends < 0.05, limits.min, np.where(ends > 0.95, limits.max, x))).astype(kind)


def _byte_type(rng: np.random.Generator) -> str:
    return str(rng.choice(["int8", "uint8"]))


def _zero(rng: np.random.Generator, kind: str, places: int) -> Array | None:
    """None, one number or one for each place."""
    shape: tuple[int, ...] | None = [None, (), (1,), (places,)][int(rng.integers(4))]
    return None if shape is None else _integers(rng, shape, kind)


MANY_TILES = [(20, 17000), (40, 17000), (130, 4300), (200, 1100)]
"""Lines of both operands of a product that fills a large device with tiles of each shape but the smallest."""


def _has_many_tiles(rng: np.random.Generator) -> bool:
    return bool(rng.random() < 0.1)


def _matrices(rng: np.random.Generator) -> tuple[tuple[int, ...], tuple[int, ...]]:
    if _has_many_tiles(rng):
        (m, n), k = MANY_TILES[int(rng.integers(len(MANY_TILES)))], int(rng.choice([17, 48, 130]))
        return (m, k), (k, n)
    m, k, n = (int(rng.choice([1, 2, 5, 8, 33, 64, 65, 70, 100])) for _ in range(3))
    k = int(rng.choice([k, 0, 200, 259]))
    batches: list[tuple[tuple[int, ...], tuple[int, ...]]] = [((), ()), ((), ()), ((2,), ()), ((3,), (3,)), ((2, 1), (3,)), ((), (2,)), ((0,), ())]
    left, right = batches[int(rng.integers(len(batches)))]
    return (*left, m, k), (*right, k, n)


def matmul_integer(rng: np.random.Generator, dtype: str) -> RandomCase:
    """Batches that broadcast, K that fills no unit or tile, every pair of types, zero points by row and column."""
    left, right = _matrices(rng)
    kinds = _byte_type(rng), _byte_type(rng)
    a, b = _integers(rng, left, kinds[0]), _integers(rng, right, kinds[1])
    a_zero, b_zero = _zero(rng, kinds[0], left[-2]), _zero(rng, kinds[1], right[-1])
    y = reference.matmul_integer(a, b, a_zero, b_zero)
    inputs = [a, b, a_zero, b_zero]
    while inputs[-1] is None:
        inputs.pop()
    return RandomCase("MatMulInteger", "int32", inputs, [y], name=f"{kinds[0]} times {kinds[1]}")


def _scale(rng: np.random.Generator, shape: tuple[int, ...], dtype: str, size: float = 1.0) -> Array:
    return np.asarray(rng.uniform(0.3, 1, shape) * size).astype(dtype)


def qlinear_matmul(rng: np.random.Generator, dtype: str) -> RandomCase:
    """The same products, quantized; some of the answers saturate."""
    left, right = _matrices(rng)
    kinds = [_byte_type(rng) for _ in range(3)]
    a, b = _integers(rng, left, kinds[0]), _integers(rng, right, kinds[1])
    by_row, by_column = rng.random() < 0.3, rng.random() < 0.4
    a_zero, a_scale = _integers(rng, left[-2:-1] if by_row else (), kinds[0]), _scale(rng, left[-2:-1] if by_row else (), dtype)
    b_zero, b_scale = _integers(rng, right[-1:] if by_column else (), kinds[1]), _scale(rng, right[-1:] if by_column else (), dtype)
    y_zero = _integers(rng, (), kinds[2])
    y_scale = _scale(rng, (), dtype, 100 * math.sqrt(max(left[-1], 1)))
    sums = reference.matmul_integer(a, b, a_zero, b_zero)
    y = reference.qlinear_matmul(sums, a_scale, b_scale, y_scale, y_zero)
    return RandomCase("QLinearMatMul", "int8", [a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero], [y], name=f"scales {dtype}")


def _convolution(rng: np.random.Generator) -> tuple[tuple[int, ...], tuple[int, ...], reference.ConvWindow]:
    """The shapes of x and w and the window: one to three axes, groups of one channel and more, filters of more than a tile."""
    if _has_many_tiles(rng):
        filters, windows = MANY_TILES[int(rng.integers(len(MANY_TILES)))]
        channels, taps, side = int(rng.choice([3, 8, 20])), int(rng.choice([1, 2])), math.isqrt(windows // 2) + 1
        return (2, channels, side, side), (filters, channels, taps, taps), reference.ConvWindow([1, 1], [1, 1], [0, 0, taps - 1, taps - 1], 1)
    axes, group = int(rng.choice([1, 2, 2, 2, 3])), int(rng.choice([1, 1, 1, 2, 3, 8]))
    channels, filters = int(rng.choice([1, 3, 4, 8, 17, 40])), int(rng.choice([1, 2, 4, 5, 9, 33, 70]))
    if group == 8:
        channels, filters = int(rng.choice([1, 2])), int(rng.choice([1, 2, 6]))
    taps = [int(t) for t in rng.choice([1, 1, 2, 3, 3, 5], axes)]
    if axes == 3 or rng.random() < 0.3:
        taps = [min(taps[0], 3)] * axes
    strides, dilations = [int(v) for v in rng.integers(1, 4, axes)], [int(v) for v in rng.integers(1, 3, axes)]
    pads = [int(v) for v in rng.integers(0, 4, 2 * axes)]
    size = [(t - 1) * d + 1 + int(rng.integers(0, 12 if axes < 3 else 5)) for t, d in zip(taps, dilations, strict=True)]
    x = (int(rng.choice([0, 1, 1, 2, 3], p=[0.04, 0.32, 0.32, 0.16, 0.16])), group * channels, *size)
    return x, (group * filters, channels, *taps), reference.ConvWindow(strides, dilations, pads, group)


def _attributes(window: reference.ConvWindow) -> dict[str, object]:
    return {"strides": window.strides, "dilations": window.dilations, "pads": window.pads, "group": window.group}


def conv_integer(rng: np.random.Generator, dtype: str) -> RandomCase:
    """Every pair of types, zero points by filter, padding that counts as the zero point."""
    left, right, window = _convolution(rng)
    kinds = _byte_type(rng), _byte_type(rng)
    x, w = _integers(rng, left, kinds[0]), _integers(rng, right, kinds[1])
    x_zero, w_zero = (_integers(rng, (), kinds[0]) if rng.random() < 0.7 else None), _zero(rng, kinds[1], right[0])
    y = reference.conv_integer(x, w, x_zero, w_zero, window)
    inputs = [x, w, x_zero, w_zero]
    while inputs[-1] is None:
        inputs.pop()
    return RandomCase("ConvInteger", "int32", inputs, [y], _attributes(window), (1,), name=f"{kinds[0]} by {kinds[1]}")


def qlinear_conv(rng: np.random.Generator, dtype: str) -> RandomCase:
    """The same sums with a bias, quantized; some of the answers saturate."""
    left, right, window = _convolution(rng)
    kinds = [_byte_type(rng) for _ in range(3)]
    x, w = _integers(rng, left, kinds[0]), _integers(rng, right, kinds[1])
    places = (right[0],) if rng.random() < 0.5 else ()
    x_zero, w_zero, y_zero = _integers(rng, (), kinds[0]), _integers(rng, places, kinds[1]), _integers(rng, (), kinds[2])
    x_scale, w_scale = _scale(rng, (), "float32"), _scale(rng, places, "float32")
    y_scale = _scale(rng, (), "float32", 100 * math.sqrt(max(math.prod(right[1:]), 1)))
    bias = rng.integers(-(10**4), 10**4, right[0]).astype(np.int32) if rng.random() < 0.6 else None
    y = reference.qlinear_conv(reference.conv_integer(x, w, x_zero, w_zero, window), bias, x_scale, w_scale, y_scale, y_zero)
    inputs = [x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, *([] if bias is None else [bias])]
    return RandomCase("QLinearConv", "int8", inputs, [y], _attributes(window), (3,), name=f"{kinds[0]} by {kinds[1]} to {kinds[2]}")


def _scaling(rng: np.random.Generator, dtype: str) -> tuple[tuple[int, ...], Array, int, int]:
    """A shape, its scale, the axis and the block: per tensor, per axis, in blocks."""
    shape = tuple(int(rng.choice([1, 2, 3, 7, 16, 33, 64])) for _ in range(int(rng.integers(1, 5))))
    axis = int(rng.integers(-len(shape), len(shape)))
    way = int(rng.integers(3))
    if way == 0:
        return shape, _scale(rng, (), dtype, 0.05), axis, 0
    if way == 1:
        return shape, _scale(rng, (shape[axis],), dtype, 0.05), axis, 0
    block = int(rng.choice([2, 4, 16]))
    return shape, _scale(rng, tuple(-(-d // block) if i == axis % len(shape) else d for i, d in enumerate(shape)), dtype, 0.05), axis, block


def quantize_linear(rng: np.random.Generator, dtype: str) -> RandomCase:
    """Values on both sides of the range, and some half way between two integers."""
    shape, scale, axis, block = _scaling(rng, dtype)
    zero = _integers(rng, scale.shape, str(rng.choice(["int8", "uint8", "int16", "uint16"])))
    x = _floats(rng, shape, dtype, 6)
    if scale.ndim == 0:
        x = np.asarray(np.where(rng.random(shape) < 0.3, (np.rint(x) + 0.5) * scale, x)).astype(dtype)
    y = reference.quantize_linear(x, scale, zero, axis, block)
    return RandomCase("QuantizeLinear", "int8", [x, scale, zero], [y], {"axis": axis, "block_size": block}, name=f"{dtype} to {zero.dtype}")


def dequantize_linear(rng: np.random.Generator, dtype: str) -> RandomCase:
    """With and without a zero point; int32 without."""
    shape, scale, axis, block = _scaling(rng, dtype)
    kind = str(rng.choice(["int8", "uint8", "int16", "uint16", "int32"]))
    x = _integers(rng, shape, kind) if kind != "int32" else rng.integers(-1000, 1000, shape).astype(kind)
    zero = _integers(rng, scale.shape, kind) if kind != "int32" and rng.random() < 0.7 else None
    y = reference.dequantize_linear(x, scale, zero, axis, block)
    inputs = [x, scale] if zero is None else [x, scale, zero]
    return RandomCase("DequantizeLinear", dtype, inputs, [y.astype(dtype)], {"axis": axis, "block_size": block}, name=kind)


def dynamic_quantize_linear(rng: np.random.Generator, dtype: str) -> RandomCase:
    """Of one sign and of both, and of more than one part."""
    size = int(rng.choice([0, 1, 7, 100, 5000, 40000]))
    x = (_floats(rng, (size,), "float32") + np.float32(rng.choice([-5, 0, 0, 5]))).astype(np.float32)
    if rng.random() < 0.1:
        x[:] = 0
    return RandomCase("DynamicQuantizeLinear", "int8", [x], reference.dynamic_quantize_linear(x))


MAKERS: dict[str, Callable[[np.random.Generator, str], RandomCase]] = {
    "MatMulNBits": matmul_nbits, "MatMulInteger": matmul_integer, "QLinearMatMul": qlinear_matmul, "ConvInteger": conv_integer,
    "QLinearConv": qlinear_conv, "QuantizeLinear": quantize_linear, "DequantizeLinear": dequantize_linear, "DynamicQuantizeLinear": dynamic_quantize_linear,
}  # fmt: skip
