"""Conv by its definition, in float64: one product of shifted views per filter tap."""

from __future__ import annotations

import itertools

import numpy as np


def conv(x: np.ndarray, w: np.ndarray, bias: np.ndarray | None, strides: list[int], dilations: list[int],
         pads: list[int], group: int) -> np.ndarray:
    """`x` [N, C, spatial…], `w` [K, C / group, taps…]; `pads` as ONNX: all beginnings, then all ends."""
    axes = x.ndim - 2
    padding = [(0, 0), (0, 0), *((pads[i], pads[axes + i]) for i in range(axes))]
    padded_input = np.pad(x.astype(np.float64), padding)
    windows = [(w.shape[2 + i] - 1) * dilations[i] + 1 for i in range(axes)]
    out = [(padded_input.shape[2 + i] - windows[i]) // strides[i] + 1 for i in range(axes)]
    n, k = x.shape[0], w.shape[0]
    y = np.zeros((n, group, k // group, *out))
    grouped_w = w.astype(np.float64).reshape(group, k // group, *w.shape[1:])
    grouped_x = padded_input.reshape(n, group, x.shape[1] // group, *padded_input.shape[2:])
    for tap in itertools.product(*(range(t) for t in w.shape[2:])):
        view = grouped_x[(..., *(slice(t * d, t * d + (o - 1) * s + 1, s)
                                 for t, d, o, s in zip(tap, dilations, out, strides, strict=True)))]
        y += np.einsum("ngc...,gkc->ngk...", view, grouped_w[(..., *tap)])
    y = y.reshape(n, k, *out)
    return y if bias is None else y + bias.astype(np.float64).reshape(1, k, *(1,) * axes)


def same_pads(shape: tuple[int, ...], kernel: tuple[int, ...], strides: list[int], dilations: list[int],
              upper: bool) -> list[int]:
    """The padding that ONNX's auto_pad SAME_UPPER or SAME_LOWER stands for."""
    begin, end = [], []
    for extent, taps, stride, dilation in zip(shape, kernel, strides, dilations, strict=True):
        total = max(0, (-(-extent // stride) - 1) * stride + (taps - 1) * dilation + 1 - extent)
        begin.append(total // 2 if upper else total - total // 2)
        end.append(total - begin[-1])
    return begin + end
