"""The quantized operators at their edges: scales that are not finite, nothing to multiply, and inputs that do not belong together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from onnx import helper

from tools.ep.edge import Array, Edge, InputArrays, Ruling, floats, model
from tools.ep.edge import one as _any_edge

NBITS = ("a", "b", "scales", "zeros", "groups", "bias")
_rng = np.random.default_rng(17)


def _bytes(*shape: int) -> Array:
    return _rng.integers(0, 256, shape).astype(np.uint8)


def _nbits(name: str, feeds: InputArrays, **attributes: int) -> Edge:
    """The weights are constants: ONNX Runtime asks for the bias' shape. No projection: they are inputs, as in a model that may have one."""
    inputs = [n if n in feeds else "" for n in NBITS]
    while not inputs[-1]:
        inputs.pop()
    node = helper.make_node("MatMulNBits", inputs, ["y"], domain="com.microsoft", **({"K": 40, "N": 5, "bits": 4, "block_size": 16} | attributes))
    used_feeds = feeds if 0 in feeds["b"].shape else {"a": feeds["a"]}
    graph = model([node], used_feeds, ["y"], {n: v for n, v in feeds.items() if n not in used_feeds}, 21)
    for info in graph.graph.input:
        kind = helper.np_dtype_to_tensor_dtype(feeds[info.name].dtype)
        info.CopyFrom(helper.make_tensor_value_info(info.name, kind, feeds[info.name].shape if info.name == "bias" else None))
    graph.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    return Edge(f"MatMulNBits, {name}", graph, used_feeds)


def _weights(**more: Array) -> InputArrays:
    """Of 40 inputs in three blocks of 16 codes of 4 bits, and 5 outputs."""
    return {"a": floats(3, 40), "b": _bytes(5, 3, 8), "scales": floats(5, 3)} | more


def nbits() -> Iterator[Edge]:
    """All of MatMulNBits."""
    for value in (np.inf, -np.inf, np.nan, 0.0, 1e-40, 3e38):
        scales = floats(5, 3)
        scales[2, 1] = value
        yield _nbits(f"a scale of {value}", _weights(scales=scales, a=floats(2, 40) / 64))
        yield _nbits(f"a scale of {value}, many rows", _weights(scales=scales, a=floats(20, 40) / 64))
    for value in (np.inf, np.nan, 3e38):
        a = floats(12, 40) / 64
        a[4, 7] = value
        yield _nbits(f"an input of {value}", _weights(a=a))
        yield _nbits(f"an input of {value}, one row", _weights(a=a[4:5]))
    zeros = floats(5, 3)
    zeros[1, 2] = np.nan
    yield _nbits("a zero point of NaN", _weights(zeros=zeros))
    for rows in ((), (0,), (2, 0), (2, 1, 3)):
        yield _nbits(f"rows {rows}", _weights(a=floats(*rows, 40)))
    for shape in ((5, 0, 8), (0, 3, 8), (5, 3, 0), (0, 0, 0), (5, 1, 0)):
        yield _nbits(f"no projection {shape}", _weights(b=_bytes(*shape), bias=floats(5)))
        yield _nbits(f"no projection {shape}, no bias", _weights(b=_bytes(*shape)))
    yield _nbits("no projection, no scales", _weights(b=_bytes(0, 3, 8), scales=floats(0)))
    yield _nbits("scales and zero points of one axis", _weights(scales=floats(15), zeros=_bytes(10)))
    yield _nbits("scales in another order", _weights(scales=floats(3, 5)))
    yield _nbits("scales too few", _weights(scales=floats(5, 2)))
    yield _nbits("zero points too few", _weights(zeros=_bytes(5, 1)))
    yield _nbits("zero points not packed", _weights(zeros=_bytes(5, 3)))
    yield _nbits("codes of two axes", _weights(b=_bytes(5, 24)))
    yield _nbits("codes of other blocks", _weights(b=_bytes(5, 2, 12)))
    yield _nbits("another K", _weights(a=floats(3, 41)))
    yield _nbits("bias of another N", _weights(bias=floats(4)))
    yield _nbits("groups by an index", _weights(groups=np.arange(48, dtype=np.int32) // 16))
    yield _nbits("blocks of 24", {"a": floats(3, 48), "b": _bytes(5, 2, 12), "scales": floats(5, 2)}, K=48, block_size=24)
    yield _nbits("codes of 3 bits", {"a": floats(3, 32), "b": _bytes(5, 2, 6), "scales": floats(5, 2)}, K=32, bits=3)


def _int8s(*shape: int) -> Array:
    return _rng.integers(-128, 128, shape).astype(np.int8)


def _full(value: int, kind: type, *shape: int) -> Array:
    return np.full(shape, value, kind)


def _number(value: float, kind: type = np.float32) -> Array:
    return np.array(value, kind)


def _text(value: Array) -> str:
    return f"{value.dtype} {value.item() if value.ndim == 0 else value.shape}"


def one(op: str, *inputs: Array, outputs: int = 1, opset: int = 21, ruling: Ruling | None = None, **attributes: object) -> Edge:
    """A model of one node, named by its inputs' types and shapes, and the values of scalars."""
    edge = _any_edge(op, *inputs, outputs=outputs, opset=opset, ruling=ruling, **attributes)
    first = f" {inputs[0].flat[0]}" if inputs[0].size else ""
    return replace(edge, name=f"{op}{first}, {', '.join(_text(value) for value in inputs)} {attributes or ''}")


ASTRAY = ("1.32",)
STALE = "leaves the answer as it found the memory where K is 0"
MATMUL = "MatMulInteger: Matrix product that behaves like numpy.matmul"
QUANTIZED_PRODUCT = "QLinearMatMul: y = saturate((x / y_scale) + y_zero_point); a sum over nothing is 0"
ROWS = "MatMulInteger, a_zero_point: Scalar refers to per tensor quantization whereas N-D refers to per row quantization"


def products() -> Iterator[Edge]:
    """All of MatMulInteger and QLinearMatMul."""
    nothing = Ruling([np.zeros((3, 4), np.int32)], MATMUL, dict.fromkeys(ASTRAY, STALE))
    yield one("MatMulInteger", _bytes(3, 0), _int8s(0, 4), ruling=nothing)
    yield one("MatMulInteger", _bytes(3, 0), _bytes(0, 4), _number(255, np.uint8), _number(255, np.uint8), ruling=nothing)
    for a, b in (((0, 3), (3, 4)), ((3, 4), (4, 0)), ((2, 0, 3), (3, 4)), ((7,), (7,)), ((7,), (7, 2)), ((2, 7), (7,)), ((2, 3), (4, 2)), ((2, 1, 3, 4), (5, 4, 2)), ((3, 2, 4), (2, 4, 3))):
        yield one("MatMulInteger", _bytes(*a), _int8s(*b))
        yield one("MatMulInteger", _bytes(*a), _bytes(*b), _number(255, np.uint8), _number(255, np.uint8))
    for left, right in ((-128, -128), (-128, 127), (127, 127)):  # sums that reach 2^31 less a little, and wrap
        for k in (131071, 131072, 140000):
            yield one("MatMulInteger", _full(left, np.int8, 1, k), _full(right, np.int8, k, 2))
    yield one("MatMulInteger", _full(255, np.uint8, 2, 30000), _full(255, np.uint8, 30000, 1), _number(0, np.uint8), _number(0, np.uint8))
    yield one("MatMulInteger", _full(0, np.uint8, 2, 300), _full(-128, np.int8, 300, 3), _number(255, np.uint8), _number(127, np.int8))
    a, b, rows = _bytes(3, 9), _bytes(9, 4), _bytes(3)
    reference = [((a.astype(np.int32) - rows[:, None]) @ b.astype(np.int32)).astype(np.int32)]
    yield one("MatMulInteger", a, b, rows, ruling=Ruling(reference, ROWS, dict.fromkeys(ASTRAY, "takes no zero points by row")))
    yield one("MatMulInteger", a, b, _number(3, np.uint8), _bytes(4))
    yield one("MatMulInteger", a, b, _number(3, np.uint8), _bytes(5))
    yield one("MatMulInteger", a, b, _bytes(2))
    yield from _quantized_products()


def _quantized_products() -> Iterator[Edge]:
    zero = _number(128, np.uint8)
    for y_scale in (1e-30, 1e30, np.inf, 0.5, -0.5):
        inputs = (_bytes(3, 40), _number(0.1), zero, _int8s(40, 5), _number(0.2), _number(-3, np.int8), _number(y_scale), _number(7, np.uint8))
        yield one("QLinearMatMul", *inputs, opset=20)
        yield one("QLinearMatMul", _bytes(0, 40), *inputs[1:], opset=20)
        nothing = Ruling([_full(7, np.uint8, 3, 5)], QUANTIZED_PRODUCT, dict.fromkeys(ASTRAY, STALE))
        yield one("QLinearMatMul", _bytes(3, 0), *inputs[1:3], _int8s(0, 5), *inputs[4:], opset=20, ruling=nothing)
    by_column = (_bytes(3, 40), _number(0.1), zero, _int8s(40, 5), np.abs(floats(5)), _int8s(5), _number(11), zero)
    yield one("QLinearMatMul", *by_column, opset=20)
    yield one("QLinearMatMul", *by_column[:4], np.abs(floats(4)), _int8s(4), *by_column[6:], opset=20)
    yield one("QLinearMatMul", *by_column[:3], _int8s(41, 5), *by_column[4:], opset=20)


def _conv(op: str, name: str, feeds: InputArrays, **attributes: object) -> Edge:
    """The filters are constants, as in models; a convolution is claimed where their rank is known."""
    node = helper.make_node(op, list(feeds), ["y"], **attributes)
    used_feeds = {n: v for n, v in feeds.items() if n != "w"}
    return Edge(f"{op}, {name}", model([node], used_feeds, ["y"], {"w": feeds["w"]}, 21), used_feeds)


def _conv_inputs(**more: Array) -> InputArrays:
    """Of 4 channels by 6 filters of 3 × 3."""
    first = {"x": _bytes(2, 4, 6, 5), "x_scale": _number(0.1), "x_zero": _number(128, np.uint8), "w": _int8s(6, 4, 3, 3)}
    scales = {"w_scale": _number(0.2), "w_zero": _number(0, np.int8), "y_scale": _number(11), "y_zero": _number(7, np.uint8)}
    return first | scales | more


def convolutions() -> Iterator[Edge]:
    """All of ConvInteger and QLinearConv."""
    for y_scale in (1e-30, 1e30, np.inf, 0.5, -0.5):
        yield _conv("QLinearConv", f"y_scale {y_scale}", _conv_inputs(y_scale=_number(y_scale)))
    largest = np.full(6, np.iinfo(np.int32).max, np.int32)
    for bias in (largest, np.zeros(6, np.int32), np.zeros(5, np.int32), np.zeros((1, 6), np.int32)):
        yield _conv("QLinearConv", f"bias {bias.shape} of {bias.flat[0]}", _conv_inputs(bias=bias))
    per_filter = {"w_scale": np.abs(floats(6)), "w_zero": np.zeros(6, np.int8)}
    yield _conv("QLinearConv", "a scale for each filter", _conv_inputs(**per_filter))
    yield _conv("QLinearConv", "scales too few", _conv_inputs(w_scale=np.abs(floats(5)), w_zero=np.zeros(5, np.int8)))
    yield _conv("QLinearConv", "two scales of x", _conv_inputs(x_scale=np.abs(floats(2)), x_zero=_bytes(2)))
    yield _conv("QLinearConv", "no images", _conv_inputs(x=_bytes(0, 4, 6, 5)))
    yield _conv("QLinearConv", "other channels", _conv_inputs(x=_bytes(2, 3, 6, 5)))
    yield _conv("QLinearConv", "another rank", _conv_inputs(x=_bytes(2, 4, 6)))
    yield _conv("QLinearConv", "a window beyond the input", _conv_inputs(x=_bytes(2, 4, 2, 5)))
    yield _conv("QLinearConv", "padding alone at the corners", _conv_inputs(), pads=[3, 3, 3, 3], strides=[3, 4])
    for pad in ("SAME_UPPER", "SAME_LOWER", "VALID"):
        yield _conv("QLinearConv", f"auto_pad {pad}", _conv_inputs(), auto_pad=pad, strides=[2, 1], dilations=[1, 2] if pad == "VALID" else [1, 1])
    yield _conv("QLinearConv", "the extents of another kernel", _conv_inputs(), kernel_shape=[3, 2])
    yield _conv("QLinearConv", "groups that do not divide", _conv_inputs(), group=3)
    for zeros in ((), (1,), (2,)):
        feeds = {"x": _bytes(2, 4, 6, 5), "w": _bytes(6, 4, 3, 3), "x_zero": _bytes(*zeros)}
        yield _conv("ConvInteger", f"a zero point of x {zeros}", feeds, pads=[1, 0, 2, 1])
        yield _conv("ConvInteger", f"zero points {zeros}", feeds | {"w_zero": _bytes(*zeros)}, pads=[1, 0, 2, 1])
    yield _conv("ConvInteger", "no images", {"x": _bytes(0, 4, 6, 5), "w": _bytes(6, 4, 3, 3)})
    yield _conv("ConvInteger", "groups", {"x": _bytes(2, 4, 6, 5), "w": _bytes(6, 2, 3, 3)}, group=2, pads=[1, 1, 1, 1])


def scalings() -> Iterator[Edge]:
    """All of QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear."""
    far = np.array([[np.inf, -np.inf, 3e38, -3e38, 0.5, 1.5, -0.5, -2.5, 127.5, 128.5, -128.5]], np.float32)
    for zero in (_number(0, np.uint8), _number(255, np.uint8), _number(-128, np.int8), _number(127, np.int8), _number(-32768, np.int16), _number(65535, np.uint16)):
        for scale in (1.0, 0.1, 1e-38, 3e38):
            yield one("QuantizeLinear", far, _number(scale), zero)
            yield one("DequantizeLinear", np.array([0, 1, zero, np.iinfo(zero.dtype).max], zero.dtype), _number(scale), zero)
    for scale in (np.inf, np.nan, 0.0):
        yield one("DequantizeLinear", _int8s(2, 3), _number(scale), _number(2, np.int8))
    yield one("QuantizeLinear", far, _number(0.5))  # without a zero point: uint8
    for shape, scale, axis in (((2, 3), (3,), 1), ((2, 3), (3,), -1), ((2, 3), (2,), 1), ((2, 3), (3,), 2), ((2, 3), (2, 1), 0), ((0, 3), (3,), 1), ((2, 0), (), 1), ((5,), (5,), 0), ((2, 3), (1,), 0)):
        scales = np.abs(floats(*scale))
        yield one("QuantizeLinear", floats(*shape), scales, np.zeros(scale, np.int8), axis=axis)
        yield one("DequantizeLinear", _int8s(*shape), scales, np.zeros(scale, np.int8), axis=axis)
    yield one("QuantizeLinear", floats(2, 3), np.abs(floats(3)), np.zeros(2, np.int8))
    yield one("DequantizeLinear", _int8s(2, 3), np.abs(floats(3)), np.zeros((), np.int8))
    for blocks, block in (((2, 2), 2), ((2, 2), 3), ((2, 2), 4), ((2, 3), 1), ((2,), 2), ((1, 2), 2)):
        yield one("QuantizeLinear", floats(2, 3), np.abs(floats(*blocks)), np.zeros(blocks, np.int8), block_size=block)
        yield one("DequantizeLinear", _int8s(2, 3), np.abs(floats(*blocks)), np.zeros(blocks, np.int8), block_size=block)
    for x in (floats(0), floats(3, 0), _number(0), _number(-7), np.zeros(9, np.float32), np.full(5, 3e38, np.float32), np.array([1e-40, -1e-40], np.float32)):
        yield one("DynamicQuantizeLinear", x, outputs=3)


def quantized_edges() -> Iterator[Edge]:
    """All of them."""
    yield from nbits()
    yield from products()
    yield from convolutions()
    yield from scalings()
