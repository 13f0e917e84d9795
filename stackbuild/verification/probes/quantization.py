"""One-operator models of quantized operators, with answers that float32 has exactly.

Scales are powers of two and sums stay below 2²⁴, so that nothing is rounded but what the operator rounds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from onnx import helper, numpy_helper

OPSET = 17


class QuantizedCase(NamedTuple):
    """A node, its inputs in order, and the first of its answers. All inputs but the first are constants of the model."""

    operator: str
    inputs: list[Any]
    answer: Any
    attributes: Mapping[str, Any] = MappingProxyType({})
    domain: str = ""
    outputs: int = 1


def _bytes(shape: tuple[int, ...], kind: str, seed: int = 0) -> Any:
    limits = np.iinfo(kind)
    return np.random.default_rng(seed).integers(limits.min, int(limits.max) + 1, shape).astype(kind)


def _sums(a: Any, b: Any, a_zero: Any, b_zero: Any) -> Any:
    return (a.astype("i8") - a_zero.astype("i8")) @ (b.astype("i8") - b_zero.astype("i8"))


def _quantize_to(values: Any, zero: Any) -> Any:
    limits = np.iinfo(zero.dtype)
    return np.clip(np.rint(values) + zero, limits.min, limits.max).astype(zero.dtype)


def _matmul_integer(rows: int, depth: int, columns: int) -> QuantizedCase:
    a, b = _bytes((rows, depth), "u1"), _bytes((depth, columns), "i1", 1)
    zeros = np.uint8(131), np.int8(-3)
    return QuantizedCase("MatMulInteger", [a, b, *zeros], _sums(a, b, *zeros))


def _qlinear_matmul() -> QuantizedCase:
    a, b = _bytes((33, 70), "u1"), _bytes((70, 65), "i1", 1)
    a_zero, b_zero, y_zero = np.uint8(120), np.int8(4), np.uint8(128)
    scales = np.float32(0.5), np.float32(0.25), np.float32(128)
    y = _quantize_to(_sums(a, b, a_zero, b_zero) / 1024, y_zero)
    return QuantizedCase("QLinearMatMul", [a, scales[0], a_zero, b, scales[1], b_zero, scales[2], y_zero], y)


def _convolution(x: Any, w: Any, x_zero: Any, w_zero: Any, group: int) -> Any:
    """The sums of a convolution of two axes with a border of one, which has the zero point."""
    wide = np.pad(x.astype("i8") - x_zero.astype("i8"), ((0, 0), (0, 0), (1, 1), (1, 1)))
    filters = w.astype("i8") - w_zero.astype("i8")
    windows = np.lib.stride_tricks.sliding_window_view(wide, w.shape[2:], axis=(2, 3))
    per_in, per_out = x.shape[1] // group, w.shape[0] // group
    parts = [
        np.einsum("nchwij,ocij->nohw", windows[:, g * per_in : (g + 1) * per_in], filters[g * per_out : (g + 1) * per_out])
        for g in range(group)
    ]  # fmt: skip
    return np.concatenate(parts, axis=1)


def _conv_integer() -> QuantizedCase:
    x, w = _bytes((2, 8, 9, 11), "u1"), _bytes((20, 8, 3, 3), "i1", 1)
    zeros = np.uint8(100), np.int8(0)
    y = _convolution(x, w, *zeros, 1)
    return QuantizedCase("ConvInteger", [x, w, *zeros], y, {"pads": [1, 1, 1, 1], "group": 1})


def _qlinear_conv(filters: int, per_group: int, group: int) -> QuantizedCase:
    x, w = _bytes((2, per_group * group, 9, 11), "u1"), _bytes((filters, per_group, 3, 3), "i1", 1)
    x_zero, y_zero = np.uint8(100), np.uint8(126)
    w_scales = np.where(np.arange(filters) % 2, np.float32(0.25), np.float32(0.5))
    bias = np.arange(filters, dtype="i4") * 50 - 300
    sums = _convolution(x, w, x_zero, np.int8(0), group) + bias[:, None, None]
    y = _quantize_to(sums * w_scales[:, None, None] / 512, y_zero)
    inputs = [x, np.float32(0.5), x_zero, w, w_scales, np.zeros(filters, "i1"), np.float32(256), y_zero, bias]
    return QuantizedCase("QLinearConv", inputs, y, {"pads": [1, 1, 1, 1], "group": group})


def _matmul_nbits(rows: int) -> QuantizedCase:
    depth, columns, block = 96, 33, 32
    codes = _bytes((columns, depth // block, block // 2), "u1")
    scales = np.where(_bytes((columns, depth // block), "u1", 1) % 2, np.float32(0.25), np.float32(-0.125))
    whole = np.stack([codes & 15, codes >> 4], axis=-1).reshape(columns, depth // block, block).astype("f8")
    weights = ((whole - 8) * scales[:, :, None]).reshape(columns, depth)
    a = _bytes((rows, depth), "i1", 2).astype("f4") / 16
    attributes = {"K": depth, "N": columns, "bits": 4, "block_size": block}
    return QuantizedCase("MatMulNBits", [a, codes, scales], a @ weights.T, attributes, "com.microsoft")


def _quantize() -> QuantizedCase:
    x = _bytes((40, 33), "i2").astype("f4") / 512
    zero = np.int8(5)
    return QuantizedCase("QuantizeLinear", [x, np.float32(0.25), zero], _quantize_to(x.astype("f8") * 4, zero))


def _dequantize() -> QuantizedCase:
    x, zeros = _bytes((40, 33), "u1"), _bytes((33,), "u1", 1)
    scales = np.where(np.arange(33) % 2, np.float32(0.25), np.float32(2))
    return QuantizedCase("DequantizeLinear", [x, scales, zeros], (x.astype("f8") - zeros) * scales, {"axis": 1})


def _dynamic() -> QuantizedCase:
    codes = _bytes((70, 90), "i1")
    codes[0, :2] = -128, 127  # the range is 255 steps of 1/64
    answer = (codes.astype("i8") + 128).astype("u1")
    return QuantizedCase("DynamicQuantizeLinear", [codes.astype("f4") / 64], answer, outputs=3)


#: The case's name, as it is reported → the case. Several forms of one operator have kernels of their own.
TABLE: dict[str, Callable[[], QuantizedCase]] = {
    "MatMulInteger": lambda: _matmul_integer(33, 70, 65),
    "MatMulInteger of one row": lambda: _matmul_integer(1, 129, 70),
    "MatMulInteger of many tiles": lambda: _matmul_integer(40, 16, 17000),
    "QLinearMatMul": _qlinear_matmul,
    "ConvInteger": _conv_integer,
    "QLinearConv": lambda: _qlinear_conv(20, 8, 1),
    "QLinearConv in groups": lambda: _qlinear_conv(12, 1, 12),
    "MatMulNBits": lambda: _matmul_nbits(20),
    "MatMulNBits of one row": lambda: _matmul_nbits(1),
    "QuantizeLinear": _quantize,
    "DequantizeLinear": _dequantize,
    "DynamicQuantizeLinear": _dynamic,
}


@cache
def case(name: str) -> QuantizedCase:
    return TABLE[name]()


def inputs(name: str) -> dict[str, Any]:
    """The model's one input."""
    return {"x0": case(name).inputs[0]}


def reference(name: str) -> Any:
    """The answer."""
    return np.asarray(case(name).answer, dtype="f8")


def model(name: str) -> Any:
    """The model of a case."""
    row = case(name)
    names = [f"x{i}" for i in range(len(row.inputs))]
    outputs = [f"y{i}" for i in range(row.outputs)]
    node = helper.make_node(row.operator, names, outputs, name=row.operator, domain=row.domain, **row.attributes)
    constants = [numpy_helper.from_array(np.asarray(x), n) for n, x in zip(names[1:], row.inputs[1:], strict=True)]
    kind = helper.np_dtype_to_tensor_dtype(row.inputs[0].dtype)
    first_input = helper.make_tensor_value_info("x0", kind, row.inputs[0].shape)
    answers = [helper.make_empty_tensor_value_info(n) for n in outputs]
    graph = helper.make_graph([node], "quantized", [first_input], answers, constants)
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)
