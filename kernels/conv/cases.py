"""Shapes Conv is checked on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np
from conv.reference import conv, same_pads
from tools.case import AttributeValue, OperatorCase, activate, normal

# x shape, w shape, attributes
SHAPES: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, AttributeValue]]] = [
    ((1, 1, 1, 1), (1, 1, 1, 1), {}),
    ((1, 3, 8, 8), (4, 3, 3, 3), {"pads": [1, 1, 1, 1]}),
    ((2, 3, 15, 17), (8, 3, 7, 7), {"pads": [3, 3, 3, 3], "strides": [2, 2]}),
    ((2, 16, 9, 9), (32, 16, 1, 1), {}),
    ((2, 16, 9, 9), (8, 16, 1, 1), {"strides": [2, 2]}),
    ((2, 8, 10, 12), (8, 2, 3, 3), {"group": 4, "pads": [1, 1, 1, 1]}),
    ((1, 6, 11, 13), (6, 1, 3, 3), {"group": 6, "pads": [1, 0, 2, 1]}),
    ((1, 4, 14, 14), (5, 4, 3, 3), {"dilations": [2, 3], "pads": [2, 2, 2, 2]}),
    ((1, 4, 14, 14), (5, 4, 4, 2), {"auto_pad": "SAME_UPPER", "strides": [2, 1]}),
    ((1, 4, 13, 14), (5, 4, 4, 2), {"auto_pad": "SAME_LOWER", "strides": [2, 3]}),
    ((1, 4, 7, 7), (5, 4, 3, 3), {"auto_pad": "VALID"}),
    ((1, 4, 14, 15), (5, 4, 3, 3), {"auto_pad": "SAME_UPPER", "dilations": [2, 3]}),
    ((1, 4, 15, 14), (5, 4, 3, 2), {"auto_pad": "SAME_LOWER", "dilations": [2, 3], "strides": [2, 1]}),
    ((1, 4, 17, 16), (5, 4, 2, 3), {"auto_pad": "VALID", "dilations": [3, 2], "strides": [1, 2]}),
    ((1, 4, 23, 19), (6, 4, 3, 3), {"strides": [5, 4], "pads": [2, 3, 3, 2]}),
    ((1, 4, 6, 5), (6, 4, 3, 3), {"strides": [7, 9], "pads": [4, 1, 0, 6]}),
    ((2, 3, 0, 5), (4, 3, 3, 3), {"pads": [2, 1, 2, 1]}),
    ((2, 0, 5, 5), (4, 0, 3, 3), {}),
    ((2, 3, 8, 7, 9), (4, 3, 2, 3, 2), {"dilations": [3, 2, 4], "pads": [1, 0, 2, 0, 1, 1]}),
    ((1, 6, 5, 6, 7), (4, 3, 3, 2, 3), {"group": 2, "strides": [2, 1, 3]}),
    ((1, 6, 4, 5, 3), (6, 1, 2, 2, 2), {"group": 6, "auto_pad": "SAME_UPPER"}),
    ((2, 5, 33), (7, 5, 5), {"pads": [2, 2], "strides": [2]}),
    ((1, 3, 5, 6, 7), (4, 3, 3, 2, 3), {"pads": [1, 0, 1, 1, 1, 1], "strides": [1, 2, 1]}),
    ((0, 3, 8, 8), (4, 3, 3, 3), {}),
    ((2, 64, 13, 15), (64, 64, 3, 3), {"pads": [1, 1, 1, 1]}),
    ((1, 20, 5, 5), (70, 20, 3, 3), {"pads": [1, 1, 1, 1]}),
    # Winograd: one output, padding on one side only, wider than a block's strip, channels in no whole vector
    ((2, 9, 3, 3), (17, 9, 3, 3), {}),
    ((2, 10, 6, 21), (19, 10, 3, 3), {"pads": [0, 2, 1, 0]}),
    ((3, 33, 7, 18), (40, 33, 3, 3), {"pads": [2, 2, 2, 2]}),
    # whole stages of channels, for the tensor copy engine: uneven padding, strides and dilations, groups, a line, 1 x 1
    ((2, 64, 11, 14), (80, 64, 3, 2), {"pads": [2, 0, 1, 1], "strides": [1, 2], "dilations": [2, 1]}),
    ((1, 128, 9, 8), (72, 64, 2, 3), {"group": 2, "pads": [0, 1, 1, 1], "strides": [2, 1]}),
    ((3, 64, 40), (24, 64, 5), {"pads": [2, 1], "dilations": [3]}),
    ((2, 192, 7, 9), (136, 192, 1, 1), {"strides": [2, 2]}),
    # depthwise: squares of both sizes and strides, two filters to a channel, channels of no whole vector, a line
    ((2, 12, 13, 9), (12, 1, 3, 3), {"group": 12, "pads": [1, 1, 1, 1]}),
    ((1, 144, 10, 11), (144, 1, 3, 3), {"group": 144, "pads": [1, 1, 1, 1], "strides": [2, 2]}),
    ((2, 8, 11, 14), (8, 1, 5, 5), {"group": 8, "pads": [2, 2, 2, 2]}),
    ((1, 20, 12, 9), (20, 1, 5, 5), {"group": 20, "pads": [2, 1, 2, 3], "strides": [2, 2]}),
    ((2, 5, 9, 9), (10, 1, 3, 3), {"group": 5, "pads": [1, 1, 1, 1]}),
    ((2, 8, 9, 12), (8, 1, 3, 4), {"group": 8, "dilations": [2, 1]}),
    ((2, 6, 30), (6, 1, 5), {"group": 6, "pads": [2, 2]}),
    ((2, 12, 9, 13), (12, 1, 7, 7), {"group": 12, "pads": [3, 3, 3, 3]}),
    ((1, 20, 15, 10), (20, 1, 7, 7), {"group": 20, "pads": [3, 2, 1, 3], "strides": [2, 2]}),
    ((1, 8, 14, 9), (8, 1, 3, 3), {"group": 8, "dilations": [3, 2], "pads": [2, 3, 4, 1]}),
    # groups of few channels, which are merged
    ((2, 32, 9, 10), (32, 4, 3, 3), {"group": 8, "pads": [1, 1, 1, 1]}),
    ((1, 128, 6, 7), (128, 4, 3, 3), {"group": 32, "pads": [1, 1, 1, 1], "strides": [2, 2]}),
    ((2, 64, 7, 6), (64, 8, 3, 3), {"group": 8, "pads": [1, 0, 0, 1]}),
    ((1, 15, 8, 9), (10, 3, 3, 2), {"group": 5, "dilations": [1, 2]}),
    ((2, 12, 20), (24, 2, 5), {"group": 6, "pads": [2, 2]}),
    ((2, 24, 6, 6), (12, 4, 1, 1), {"group": 6}),
    # no window and few outputs: whole vectors of pixels and of channels and not, more channels than a thread has at once
    ((2, 32, 8, 12), (4, 32, 1, 1), {}),
    ((2, 7, 9, 9), (9, 7, 1, 1), {}),
    ((3, 40, 6, 8), (16, 40, 1, 1), {}),
    ((1, 13, 4, 5, 6), (3, 13, 1, 1, 1), {}),
    ((2, 264, 40), (8, 264, 1), {}),
    ((1, 96, 5, 7), (13, 96, 1, 1), {}),
    # three axes: whole vectors and not, groups, more taps than bits of a word, no window
    ((2, 16, 5, 6, 7), (24, 16, 3, 3, 3), {"pads": [1, 1, 1, 1, 1, 1]}),
    ((1, 64, 4, 5, 6), (32, 64, 3, 1, 1), {"pads": [1, 0, 0, 1, 0, 0]}),
    ((1, 9, 7, 8, 9), (17, 9, 3, 4, 3), {"strides": [2, 1, 2], "dilations": [1, 2, 1], "pads": [2, 3, 1, 0, 1, 2]}),
    ((1, 32, 5, 5, 6), (32, 4, 3, 3, 3), {"group": 8, "pads": [1, 1, 1, 1, 1, 1]}),
    ((2, 8, 5, 4, 6), (8, 1, 3, 3, 3), {"group": 8, "pads": [1, 1, 1, 1, 1, 1]}),
    ((2, 24, 3, 4, 5), (40, 24, 1, 1, 1), {}),
    ((2, 3, 6, 7, 8), (16, 3, 3, 3, 3), {"strides": [2, 2, 2], "pads": [1, 1, 1, 1, 1, 1]}),
]
BENCH: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, AttributeValue]]] = [
    ((1, 64, 56, 56), (64, 64, 3, 3), {"pads": [1, 1, 1, 1]}),
]


def make(rng: np.random.Generator, shape: tuple[int, ...], filters: tuple[int, ...], attributes: dict[str, AttributeValue],
         dtype: type, bias: bool = True) -> OperatorCase:
    x, w = normal(rng, shape, dtype), normal(rng, filters, dtype)
    return conv_case(x, w, normal(rng, (filters[0],), dtype) if bias else None, attributes)


def conv_case(x: np.ndarray, w: np.ndarray, b: np.ndarray | None, attributes: dict[str, AttributeValue]) -> OperatorCase:
    """The convolution of these values."""
    axes = x.ndim - 2
    strides, dilations = (list(attributes.get(k, [1] * axes)) for k in ("strides", "dilations"))  # type: ignore[arg-type]
    pads = list(attributes.get("pads", [0] * 2 * axes))  # type: ignore[arg-type]
    if str(attributes.get("auto_pad", "")).startswith("SAME"):
        pads = same_pads(x.shape[2:], w.shape[2:], strides, dilations, attributes["auto_pad"] == "SAME_UPPER")
    answer = partial(conv, x, w, b, strides, dilations, pads, int(attributes.get("group", 1)))  # type: ignore[arg-type]
    text = " ".join(f"{k}={v}".replace(" ", "") for k, v in attributes.items())
    name = f"{'x'.join(map(str, x.shape))} by {'x'.join(map(str, w.shape))} {text}" + " no bias" * (b is None)
    return OperatorCase("Conv", name, {"X": x, "W": w, "B": b}, {"kernel_shape": list(w.shape[2:]), **attributes}, answer, opset=11)


def fused_case(case: OperatorCase, rng: np.random.Generator, activation: str, residual: bool, alpha: float | None = 0.2,
          spread: float = 1.0) -> OperatorCase:
    """The same with a residual added (its values times `spread`) and an activation applied; ONNX has no such operator."""
    more = (spread * rng.standard_normal(case.expected_values.shape)).astype(case.dtype) if residual else None
    total = case.expected_values + (0 if more is None else more.astype(np.float64))
    attributes: dict[str, AttributeValue] = {**case.attributes, "activation": activation}
    if alpha is not None:
        attributes["activation_alpha"] = alpha
    name = f"{case.name} {activation}" + " residual" * residual + f" times {spread:g}" * (spread != 1) + " alpha not given" * (alpha is None)
    reference = activate(total, activation, 0.01 if alpha is None else alpha)
    return OperatorCase("Conv", name, {**case.inputs, "residual": more}, attributes, reference, opset=0)


# Of each way that takes float16: depthwise in both sizes and strides and by the plain loop, whole stages of channels and not, 1 x 1,
# and what the direct form alone takes. (Winograd is float32's.)
BESIDE_LARGE: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, AttributeValue]]] = [
    ((2, 8, 9, 10), (8, 1, 3, 3), {"group": 8}),
    ((1, 8, 9, 10), (8, 1, 3, 3), {"group": 8, "strides": [2, 2], "pads": [1, 1, 1, 1]}),
    ((1, 12, 9, 10), (12, 1, 5, 5), {"group": 12, "pads": [2, 2, 2, 2]}),
    ((1, 12, 9, 10), (12, 1, 5, 5), {"group": 12, "strides": [2, 2]}),
    ((1, 6, 9, 12), (6, 1, 3, 4), {"group": 6, "dilations": [2, 1]}),
    ((2, 64, 7, 8), (24, 64, 3, 3), {"pads": [1, 1, 1, 1]}),
    ((1, 20, 7, 7), (40, 20, 3, 3), {}),
    ((2, 72, 6, 5), (36, 72, 1, 1), {}),
    ((2, 72, 6, 4), (7, 72, 1, 1), {}),
    ((1, 6, 5, 6, 7), (4, 3, 3, 2, 3), {"group": 2}),
]


def beside_large(rng: np.random.Generator, shape: tuple[int, ...], filters: tuple[int, ...], attributes: dict[str, AttributeValue]) -> OperatorCase:
    """Small products between 2048 and -2048 times values: float32 holds every sum exactly, float16 would lose them."""
    x, w = rng.integers(1, 3, shape).astype(np.float16), rng.integers(1, 4, filters).astype(np.float16)
    taps = w.reshape(filters[0], -1)
    taps[:, 0], taps[:, -1] = 2048, -2048
    case = conv_case(x, w, None, attributes)
    return replace(case, name=f"{case.name} beside 2048", tags=frozenset({"exact"}))


def one_odd_value(rng: np.random.Generator, shape: tuple[int, ...], filters: tuple[int, ...], attributes: dict[str, AttributeValue],
                  dtype: type, odd: float) -> OperatorCase:
    """`odd` in one pixel: it shows where a window holds it and nowhere else. The filters' values are below 1 where `odd` is finite."""
    x, w = normal(rng, shape, dtype), normal(rng, filters, dtype)
    x[(0, shape[1] // 2, *(n // 2 for n in shape[2:]))] = odd
    case = conv_case(x, np.tanh(w) if np.isfinite(odd) else w, None, attributes)
    return replace(case, name=f"{case.name} one {odd:g}")


def far_from_one(rng: np.random.Generator, dtype: type) -> OperatorCase:
    """Products that fit where sums of inputs would not."""
    return scaled_case(rng, (1, 64, 12, 12), (64, 64, 3, 3), {"pads": [1, 1, 1, 1]}, dtype, 1e37, 1e-10)


def scaled_case(rng: np.random.Generator, shape: tuple[int, ...], filters: tuple[int, ...], attributes: dict[str, AttributeValue],
           dtype: type, inputs: float, weights: float) -> OperatorCase:
    """Normal values times `inputs` and `weights`."""
    x, w = normal(rng, shape, dtype) * dtype(inputs), normal(rng, filters, dtype) * dtype(weights)
    case = conv_case(x, w, None, attributes)
    return replace(case, name=f"{case.name} of {inputs:g} by {weights:g}")


LOCAL = [((1, 64, 20, 21), (64, 64, 3, 3), {"pads": [1, 1, 1, 1]}), ((2, 9, 11, 10), (17, 9, 3, 3), {}), ((1, 12, 13, 9), (12, 1, 3, 3), {"group": 12}),
         ((1, 72, 9, 10), (40, 72, 1, 1), {}), ((1, 32, 9, 8), (32, 4, 3, 3), {"group": 8}), ((1, 16, 5, 6, 5), (24, 16, 3, 3, 3), {}), ((1, 6, 5, 6, 7), (4, 3, 3, 2, 3), {"group": 2}),
         ((1, 24, 9, 8), (6, 24, 1, 1), {})]

FUSED_CASES = [((2, 16, 9, 9), (32, 16, 1, 1), {}), ((2, 24, 10, 13), (40, 24, 3, 3), {"pads": [1, 1, 1, 1]}),
         ((1, 6, 7, 7), (6, 1, 3, 3), {"group": 6}), ((2, 24, 6, 8), (8, 24, 1, 1), {}), ((2, 9, 5, 7), (3, 9, 1, 1), {})]


def any_shape(rng: np.random.Generator, dtype: type) -> OperatorCase:
    """A random convolution of 1 to 3 axes, mostly 2, with at least one output value."""
    axes, group = int(rng.choice([1, 2, 2, 2, 3])), int(rng.choice([1, 1, 2, 3]))
    c, k = group * int(rng.integers(1, 9)), group * int(rng.integers(1, 9))
    taps, strides, dilations = (rng.integers(1, hi, size=axes) for hi in (5, 6, 4))
    pads = rng.integers(0, 4, size=2 * axes)
    size = [int((t - 1) * d + 1 + rng.integers(0, 12)) for t, d in zip(taps, dilations, strict=True)]
    attributes: dict[str, AttributeValue] = {"group": group, "strides": [int(s) for s in strides],
                                        "dilations": [int(d) for d in dilations], "pads": [int(p) for p in pads]}
    filters = (k, c // group, *(int(t) for t in taps))
    return make(rng, (int(rng.integers(1, 4)), c, *size), filters, attributes, dtype, bool(rng.integers(2)))


def cases(rng: np.random.Generator, dtype: type) -> Iterator[OperatorCase]:
    for shape, filters, attributes in SHAPES:
        yield make(rng, shape, filters, attributes, dtype)
    for _ in range(30):
        yield any_shape(rng, dtype)
    for shape, filters, attributes in FUSED_CASES:
        for activation, residual in (("none", True), ("relu", True), ("leaky_relu", False), ("silu", True)):
            yield fused_case(make(rng, shape, filters, attributes, dtype), rng, activation, residual)
        yield fused_case(make(rng, shape, filters, attributes, dtype), rng, "leaky_relu", True, alpha=None)
        yield fused_case(make(rng, shape, filters, attributes, dtype), rng, "silu", True, spread=300.0)  # beyond where exp overflows
    for shape, filters, attributes in BESIDE_LARGE if dtype is np.float16 else []:
        yield beside_large(rng, shape, filters, attributes)
    for shape, filters, attributes in LOCAL:
        yield one_odd_value(rng, shape, filters, attributes, dtype, np.nan)
    if dtype is np.float32:
        yield far_from_one(rng, dtype)
        for shape, filters, attributes in LOCAL:
            yield one_odd_value(rng, shape, filters, attributes, dtype, 3.4e38)  # float32's greatest numbers
            # Below, tf32's low parts are subnormal: 7e-6 is lost at 1e-36, 3.5e-4 at 1e-38.
            yield scaled_case(rng, shape, filters, attributes, dtype, 1e-34, 1.0)


# Big enough to fill a device with the largest tiles; too slow for the CPU implementation's turn.
DEVICE_SHAPES: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, AttributeValue]]] = [
    ((8, 24, 48, 50), (130, 24, 3, 3), {"pads": [1, 1, 1, 1]}),
    ((9, 16, 47, 49), (72, 16, 1, 1), {}),
    ((8, 3, 97, 95), (64, 3, 7, 7), {"pads": [3, 3, 3, 3], "strides": [2, 2]}),
    ((4, 64, 40, 40), (256, 32, 3, 3), {"group": 2, "pads": [1, 1, 1, 1], "dilations": [1, 2]}),
    ((16, 32, 257), (160, 32, 5), {"pads": [2, 2]}),
    ((17, 64, 41, 39), (64, 64, 3, 3), {"pads": [1, 1, 1, 1]}),
    ((3, 96, 19, 33), (200, 96, 3, 3), {"pads": [1, 0, 0, 1]}),
    # depthwise, channels last: two lines of outputs a thread on a device of 300 compute units too
    ((20, 136, 31, 29), (136, 1, 3, 3), {"group": 136, "pads": [1, 1, 1, 1]}),
    ((20, 136, 61, 57), (136, 1, 3, 3), {"group": 136, "pads": [1, 1, 1, 1], "strides": [2, 2]}),
    ((20, 136, 31, 29), (136, 1, 5, 5), {"group": 136, "pads": [2, 2, 2, 2]}),
    ((20, 136, 61, 57), (136, 1, 5, 5), {"group": 136, "pads": [2, 2, 2, 2], "strides": [2, 2]}),
    ((4, 128, 28, 30), (128, 4, 3, 3), {"group": 32, "pads": [1, 1, 1, 1]}),
    ((4, 256, 15, 14), (256, 8, 3, 3), {"group": 32, "pads": [1, 1, 1, 1], "strides": [2, 2]}),
    ((40, 96, 28, 27), (96, 1, 7, 7), {"group": 96, "pads": [3, 3, 3, 3]}),
    ((2, 64, 12, 14, 13), (64, 64, 3, 3, 3), {"pads": [1, 1, 1, 1, 1, 1]}),
    ((2, 20, 18, 16, 17), (36, 20, 3, 3, 3), {"pads": [1, 0, 1, 0, 1, 0], "strides": [1, 2, 1]}),
    ((3, 32, 24, 25, 28), (4, 32, 1, 1, 1), {}),
    ((6, 64, 40, 56), (136, 64, 3, 3), {"pads": [1, 1, 1, 1]}),
    ((5, 72, 33, 80), (200, 72, 1, 1), {}),
    ((4, 256, 16, 32), (264, 256, 3, 3), {"pads": [1, 1, 1, 1]}),
    # few channels, which a line's taps may multiply: one to four, one to three axes, whole vectors then and not, filters wider than images
    ((8, 3, 95, 190), (40, 3, 6, 6), {"pads": [2, 2, 2, 2], "strides": [2, 2]}),
    ((1, 1, 40, 41, 42), (32, 1, 3, 3, 3), {"pads": [1, 1, 1, 1, 1, 1]}),
    ((2, 1, 7, 6, 9), (20, 1, 3, 3, 3), {"pads": [1, 1, 1, 1, 1, 1]}),
    ((1, 1, 4, 5, 11), (9, 1, 2, 3, 4), {"strides": [1, 2, 3], "dilations": [2, 1, 2], "pads": [0, 1, 2, 1, 0, 5]}),
    ((3, 2, 13, 12), (4, 2, 5, 5), {"pads": [2, 2, 2, 2]}),
    ((2, 3, 14, 15), (33, 3, 6, 6), {"strides": [2, 2], "pads": [2, 2, 2, 2]}),
    ((2, 4, 9, 10), (24, 4, 1, 7), {"dilations": [1, 2], "pads": [0, 6, 0, 6]}),
    ((2, 1, 37), (12, 1, 9), {"strides": [2], "pads": [4, 4]}),
    ((1, 4, 6, 3), (8, 4, 3, 9), {"pads": [1, 4, 1, 4]}),
    ((2, 1, 8, 9), (7, 1, 3, 3), {}),
    ((2, 4, 523, 521), (3, 4, 1, 1), {}),  # more pixels than a grid has threads
    ((65540, 9, 2, 1), (3, 9, 1, 1), {}),  # more images than a grid has blocks in z
    # no window and at most four outputs: few channels in whole vectors, and so many that four threads share a pixel, in whole vectors and not
    ((2, 12, 7, 9), (4, 12, 1, 1), {}),
    ((2, 136, 5, 7), (4, 136, 1, 1), {}),
    ((1, 131, 6, 5), (3, 131, 1, 1), {}),
]


WINDOWS: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, AttributeValue]]] = [
    ((2, 3, 19, 23), (16, 3, 7, 7), {"pads": [3, 3, 3, 3], "strides": [2, 2]}),
    ((1, 4, 18, 20), (24, 4, 6, 6), {"pads": [2, 2, 2, 2], "strides": [2, 2]}),
    ((3, 2, 17, 21), (8, 2, 3, 3), {"pads": [0, 1, 1, 2], "strides": [1, 2], "dilations": [2, 1]}),
    ((1, 3, 29, 31), (40, 3, 11, 11), {"pads": [2, 2, 2, 2], "strides": [4, 4]}),
    ((2, 3, 10, 16), (8, 3, 2, 2), {"strides": [2, 2]}),
    ((3, 3, 21, 31), (64, 3, 7, 7), {"pads": [3, 3, 3, 4], "strides": [2, 2]}),
    ((2, 1, 41), (8, 1, 20), {"pads": [5, 30], "strides": [2]}),
    ((2, 3, 5, 50), (12, 3, 1, 9), {"pads": [0, 0, 0, 4], "strides": [3, 6]}),
]


def device_cases(rng: np.random.Generator, dtype: type) -> Iterator[OperatorCase]:
    for shape, filters, attributes in DEVICE_SHAPES:
        yield make(rng, shape, filters, attributes, dtype)
    yield fused_case(make(rng, (2, 1, 9, 12), (20, 1, 3, 6), {"strides": [2, 2]}, dtype), rng, "relu", True)
    yield one_odd_value(rng, (2, 1, 9, 9), (12, 1, 5, 5), {}, dtype, np.nan)
    # windows that overlap, as Hopper's copy engine reads them: what lies behind a window is not multiplied, and lines may end behind the image
    for shape, filters, attributes in WINDOWS:
        yield one_odd_value(rng, shape, filters, attributes, dtype, np.nan)
        yield fused_case(make(rng, shape, filters, attributes, dtype), rng, "silu", True)


def bench(rng: np.random.Generator, dtype: type) -> Iterator[OperatorCase]:
    for shape, filters, attributes in BENCH:
        yield make(rng, shape, filters, attributes, dtype)
