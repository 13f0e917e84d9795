"""The quantized operators in NumPy, after ONNX's definitions and ONNX Runtime's documentation of its own (ContribOperators.md).

Products and sums of floats are float64, those of integers exact. Quotients that are rounded to integers are float32, as the
operators have them: a float64 quotient would be rounded otherwise where it lies between two integers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from conv.reference import conv

Array = np.ndarray


def codes(packed_codes: Array, bits: int) -> Array:
    """The codes in the last axis of `packed_codes` (uint8), low bits first: eight bits of it are 8 / `bits` of them."""
    within = packed_codes[..., None] >> np.arange(0, 8, bits, dtype=np.uint8)
    return (within & ((1 << bits) - 1)).reshape(*packed_codes.shape[:-1], -1)


def block_weights(b: Array, scales: Array, zeros: Array | None, bits: int, k: int) -> Array:
    """MatMulNBits' weights [N, K]: b [N, blocks, bytes], scales [N, blocks], zeros packed [N, bytes], [N, blocks] or None."""
    n, blocks = b.shape[:2]
    if zeros is None:
        points = np.full((n, blocks), float(1 << (bits - 1)))
    elif zeros.dtype == np.uint8:
        points = codes(zeros.reshape(n, -1), bits)[:, :blocks].astype(np.float64)
    else:
        points = zeros.reshape(n, blocks).astype(np.float64)
    values = codes(b, bits).astype(np.float64) - points[:, :, None]
    return np.asarray((values * scales.reshape(n, blocks, 1).astype(np.float64)).reshape(n, -1)[:, :k])


def matmul_nbits(a: Array, weights: Array, bias: Array | None) -> Array:
    """a [..., K] times the weights' transpose, plus the bias."""
    y = a.astype(np.float64) @ weights.T
    return y if bias is None else y + bias.astype(np.float64)


def to_whole(quotient: Array, zero: Array, kind: type) -> Array:
    """`quotient` rounded to even plus `zero`, in the range of `kind`."""
    limits = np.iinfo(kind)
    whole = np.rint(quotient).astype(np.float64) + zero.astype(np.float64)
    return np.asarray(np.clip(whole, limits.min, limits.max)).astype(kind)


def along(values: Array, shape: tuple[int, ...], axis: int, block: int) -> Array:
    """A scale or zero point for each element of `shape`: one for all, one for each place of `axis`, or one for each `block` of them."""
    if block:
        return np.asarray(np.take(values, np.arange(shape[axis]) // block, axis))
    if values.ndim == 0 or values.size == 1:
        return np.broadcast_to(values.reshape(()), shape)
    return np.broadcast_to(values.reshape([-1 if i == axis % len(shape) else 1 for i in range(len(shape))]), shape)


def quantize_linear(x: Array, scale: Array, zero: Array, axis: int, block: int) -> Array:
    """QuantizeLinear, of the zero point's type."""
    scales, zeros = along(scale, x.shape, axis, block), along(zero, x.shape, axis, block)
    return to_whole(x.astype(np.float32) / scales.astype(np.float32), zeros, zero.dtype.type)


def dequantize_linear(x: Array, scale: Array, zero: Array | None, axis: int, block: int) -> Array:
    """DequantizeLinear in float64."""
    zeros = np.zeros(x.shape) if zero is None else along(zero, x.shape, axis, block).astype(np.float64)
    return np.asarray((x.astype(np.float64) - zeros) * along(scale, x.shape, axis, block).astype(np.float64))


def dynamic_quantize_linear(x: Array) -> list[Array]:
    """DynamicQuantizeLinear: values, scale and zero point."""
    low, high = np.float32(min(0.0, x.min(initial=0))), np.float32(max(0.0, x.max(initial=0)))
    scale = np.float32(1) if low == high else np.asarray((high - low) / np.float32(255), np.float32)
    zero = to_whole(np.asarray(np.float32(0) - low / scale), np.asarray(0), np.uint8)
    return [to_whole(x / scale, zero, np.uint8), np.asarray(scale), zero]


def matmul_integer(a: Array, b: Array, a_zero: Array | None, b_zero: Array | None) -> Array:
    """MatMulInteger: int32 as it wraps. Zero points of rows have one axis, or a's axes with the last of extent 1."""
    rows = np.int64(0) if a_zero is None else a_zero.astype(np.int64)
    columns = np.int64(0) if b_zero is None else b_zero.astype(np.int64)
    if rows.ndim == 1 and rows.size > 1:
        rows = rows[:, None]
    return np.asarray(np.matmul(a.astype(np.int64) - rows, b.astype(np.int64) - columns)).astype(np.int32)


def qlinear_matmul(sums: Array, a_scale: Array, b_scale: Array, y_scale: Array, y_zero: Array) -> Array:
    """QLinearMatMul from the sums; scales of rows have one axis."""
    rows = a_scale.astype(np.float32).reshape(-1, 1) if a_scale.size > 1 else a_scale.astype(np.float32).reshape(())
    factor = rows * b_scale.astype(np.float32).reshape(-1 if b_scale.size > 1 else ()) / y_scale.astype(np.float32).reshape(())
    return to_whole(sums.astype(np.float32) * factor, y_zero.reshape(()), y_zero.dtype.type)


@dataclass(frozen=True)
class ConvWindow:
    """Strides, dilations and pads of a convolution as ONNX gives them, and its groups."""

    strides: list[int]
    dilations: list[int]
    pads: list[int]
    group: int


def conv_integer(x: Array, w: Array, x_zero: Array | None, w_zero: Array | None, window: ConvWindow) -> Array:
    """ConvInteger: int32 as it wraps; the padding counts as the zero point of x. Zero points of filters have one axis."""
    inputs = x.astype(np.int64) - (0 if x_zero is None else x_zero.astype(np.int64).reshape(()))
    zeros = np.zeros(1, np.int64) if w_zero is None else w_zero.astype(np.int64)
    filters = w.astype(np.int64) - zeros.reshape(-1, *(1,) * (w.ndim - 1))
    sums = conv(inputs, filters, None, window.strides, window.dilations, window.pads, window.group)
    return np.asarray(sums.astype(np.int64)).astype(np.int32)


def qlinear_conv(sums: Array, bias: Array | None, x_scale: Array, w_scale: Array, y_scale: Array, y_zero: Array) -> Array:
    """QLinearConv from the sums; scales of filters have one axis."""
    per_filter = (1, -1, *(1,) * (sums.ndim - 2))
    total = sums if bias is None else (sums.astype(np.int64) + bias.astype(np.int64).reshape(per_filter)).astype(np.int32)
    factor = x_scale.astype(np.float32).reshape(()) * w_scale.astype(np.float32).reshape(per_filter) / y_scale.astype(np.float32).reshape(())
    return to_whole(total.astype(np.float32) * factor, y_zero.reshape(()), y_zero.dtype.type)
