"""A small node for each operator, in any combination of the element types of its type variables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from onnx import numpy_helper

from tools.ep.registry import Schema

Array = np.ndarray
Kinds = dict[str, type]  # of each type variable


@dataclass
class Example:
    """Inputs (None: left out), attributes and the number of outputs."""

    inputs: list[Array | None]
    attributes: dict[str, object] = field(default_factory=dict)
    outputs: int = 1


_rng = np.random.default_rng(23)


def draw(kind: type, *shape: int) -> Array:
    """Normal values, small integers of both signs, or booleans."""
    dtype = np.dtype(kind)
    if dtype.kind == "f":
        return np.asarray(_rng.standard_normal(shape)).astype(kind)
    if dtype.kind == "b":
        return _rng.integers(0, 2, shape).astype(kind)
    return _rng.integers(-5 if dtype.kind == "i" else 0, 6, shape).astype(kind)


def positive(kind: type, *shape: int) -> Array:
    """Values from 1 to 4."""
    whole = np.asarray(_rng.integers(1, 4, shape))
    return np.asarray(whole + (_rng.random(shape) if np.dtype(kind).kind == "f" else 0)).astype(kind)


def _ints(*values: int, kind: type = np.int64) -> Array:
    return np.array(values, kind)


def _axes(op_input: Array, axes: list[int], schema: Schema, *more: Array) -> Example:
    """`axes` as the attribute that they were, or as the input that they have become."""
    if "axes" in schema.attributes:
        return Example([op_input, *more], {"axes": axes})
    return Example([op_input, *more, _ints(*axes)])


def _plain(kinds: Kinds, schema: Schema) -> Example:
    """An input of each that must be there; of two, the second broadcasts."""
    needed_types = [kinds[t] for t, must in schema.inputs if must]
    return Example([draw(k, *((2, 3, 4) if i == 0 else (3, 1))) for i, k in enumerate(needed_types)])


def _positive(kinds: Kinds, schema: Schema) -> Example:
    return Example([positive(kinds["T"], 2, 3, 4) for _, must in schema.inputs if must])


def _pow(kinds: Kinds, schema: Schema) -> Example:
    exponents = np.array([0, 1, 2, 3]).astype(kinds.get("T1", kinds["T"]))
    return Example([positive(kinds["T"], 2, 3, 4), exponents])


def _mod(kinds: Kinds, schema: Schema) -> Example:
    return Example([draw(kinds["T"], 2, 3, 4), positive(kinds["T"], 3, 1)], {"fmod": int(np.dtype(kinds["T"]).kind == "f")})


def _clip(kinds: Kinds, schema: Schema) -> Example:
    x = draw(kinds["T"], 3, 50)
    if "min" in schema.attributes:
        return Example([x], {"min": -0.5, "max": 0.75})
    return Example([x, np.array(0, x.dtype), np.array(3, x.dtype)])


def _cast(kinds: Kinds, schema: Schema) -> Example:
    return Example([positive(kinds["T1"], 3, 50)], {"to": int(np_type(kinds["T2"]))})


def np_type(kind: type) -> int:
    """ONNX's number of an element type."""
    return int(numpy_helper.from_array(np.zeros(1, kind)).data_type)


def _is_nan(kinds: Kinds, schema: Schema) -> Example:
    x = draw(kinds["T1"], 3, 5)
    x[1, 2] = np.nan
    return Example([x])


def _dropout(kinds: Kinds, schema: Schema) -> Example:
    more = [np.array(0.5, kinds["T1"])] if len(schema.inputs) > 1 else []
    return Example([draw(kinds["T"], 2, 3, 4), *more], outputs=2)


def _reduce(kinds: Kinds, schema: Schema) -> Example:
    return _axes(positive(kinds["T"], 2, 3, 4), [1], schema)


def _split(kinds: Kinds, schema: Schema) -> Example:
    x = draw(kinds["T"], 2, 6)
    if "split" in schema.attributes:
        return Example([x], {"axis": 1, "split": [2, 4]}, 2)
    return Example([x, _ints(2, 4)], {"axis": 1}, 2)


def _slice(kinds: Kinds, schema: Schema) -> Example:
    x = draw(kinds["T"], 4, 5)
    if "starts" in schema.attributes:
        return Example([x], {"starts": [1, -3], "ends": [4, 9], "axes": [0, 1]})
    index = kinds["Tind"]
    return Example([x, *(_ints(*v, kind=index) for v in ((1, -1), (4, -9), (0, 1), (2, -2)))])


def _pad(kinds: Kinds, schema: Schema) -> Example:
    x = draw(kinds["T"], 3, 4)
    inputs: list[Array | None] = [x, _ints(1, 0, 2, -1), np.array(1, x.dtype)]
    return Example([*inputs, _ints(0, 1, kind=kinds["Tind"])] if "Tind" in kinds else inputs)


def _gather(kinds: Kinds, schema: Schema) -> Example:
    return Example([draw(kinds["T"], 4, 5), _ints(3, 0, -1, kind=kinds["Tind"])], {"axis": 1})


def _gather_elements(kinds: Kinds, schema: Schema) -> Example:
    return Example([draw(kinds["T"], 2, 3), np.array([[1, -1, 0], [0, 1, 1]], kinds["Tind"])])


def _constant(kinds: Kinds, schema: Schema) -> Example:
    return Example([_ints(2, 3)], {"value": numpy_helper.from_array(np.array([1], kinds["T2"]))})


def _conv(kinds: Kinds, schema: Schema) -> Example:
    t = kinds["T"]
    return Example([draw(t, 1, 4, 6, 5), draw(t, 8, 4, 3, 3), draw(t, 8)])


def _batch_norm(kinds: Kinds, schema: Schema) -> Example:
    t = kinds["T"]
    scale, stats = kinds.get("T1", t), kinds.get("T2", kinds.get("U", t))
    return Example([draw(t, 2, 4, 3, 5), draw(scale, 4), draw(scale, 4), draw(stats, 4), positive(stats, 4)])


def _group_norm(kinds: Kinds, schema: Schema) -> Example:
    values = 2 if schema.version < 21 else 4
    return Example([draw(kinds["T"], 2, 4, 7), draw(kinds["T"], values), draw(kinds["T"], values)], {"num_groups": 2})


def _instance_norm(kinds: Kinds, schema: Schema) -> Example:
    return Example([draw(kinds["T"], 2, 4, 7), draw(kinds["T"], 4), draw(kinds["T"], 4)])


def _layer_norm(kinds: Kinds, schema: Schema) -> Example:
    scale = kinds.get("V", kinds["T"])
    return Example([draw(kinds["T"], 3, 5, 24), draw(scale, 24), draw(scale, 24)], outputs=1)


def _rms_norm(kinds: Kinds, schema: Schema) -> Example:
    return Example([draw(kinds["T"], 3, 5, 24), draw(kinds["V"], 24)])


def _attention(kinds: Kinds, schema: Schema) -> Example:
    q, v = kinds["T1"], kinds["T2"]
    past = [draw(q, 1, 2, 2, 8), draw(v, 1, 2, 2, 8)]
    return Example([draw(q, 1, 2, 3, 8), draw(q, 1, 2, 4, 8), draw(v, 1, 2, 4, 8), draw(kinds["U"], 3, 6), *past], outputs=3)


def _multi_head(kinds: Kinds, schema: Schema) -> Example:
    t = kinds["T"]
    mask = np.array([[1, 1, 0, 1, 0], [1, 0, 0, 1, 1]], kinds["M"])
    return Example([draw(t, 2, 3, 16), draw(t, 2, 5, 16), draw(t, 2, 5, 16), draw(t, 48), mask], {"num_heads": 2})


def _matmul_nbits(kinds: Kinds, schema: Schema) -> Example:
    t, z = kinds["T1"], kinds["T3"]
    zeros = _rng.integers(0, 256, (5, 2)).astype(z) if z == np.uint8 else positive(z, 5, 3)
    codes = _rng.integers(0, 256, (5, 3, 8)).astype(kinds["T2"])
    return Example([draw(t, 3, 40), codes, draw(t, 5, 3), zeros, None, draw(t, 5)], {"K": 40, "N": 5, "bits": 4, "block_size": 16})


def _byte_matrices(kinds: Kinds, schema: Schema) -> Example:
    a, b = draw(kinds["T1"], 3, 20), draw(kinds["T2"], 20, 5)
    return Example([a, b, draw(kinds["T1"]), draw(kinds["T2"])])


def _qlinear_matmul(kinds: Kinds, schema: Schema) -> Example:
    scale = kinds.get("TS", np.float32)
    a, b = draw(kinds["T1"], 3, 20), draw(kinds["T2"], 20, 5)
    return Example([a, np.array(0.5, scale), draw(kinds["T1"]), b, np.array(0.25, scale), draw(kinds["T2"]), np.array(1.7, scale), draw(kinds["T3"])])


def _conv_integer(kinds: Kinds, schema: Schema) -> Example:
    x, w = draw(kinds["T1"], 1, 4, 6, 5), draw(kinds["T2"], 8, 4, 3, 3)
    return Example([x, w, draw(kinds["T1"]), draw(kinds["T2"])])


def _qlinear_conv(kinds: Kinds, schema: Schema) -> Example:
    x, w = draw(kinds["T1"], 1, 4, 6, 5), draw(kinds["T2"], 8, 4, 3, 3)
    first = [x, np.array(0.5, np.float32), draw(kinds["T1"]), w, np.array(0.25, np.float32), draw(kinds["T2"])]
    return Example([*first, np.array(1.7, np.float32), draw(kinds["T3"]), draw(kinds["T4"], 8)])


def _quantize(kinds: Kinds, schema: Schema) -> Example:
    scale = np.float32 if schema.version < 19 else kinds["T1" if schema.version < 23 else "T2"]
    return Example([draw(kinds["T1"], 3, 20), np.array(0.25, scale), positive(kinds["T2" if schema.version < 23 else "T3"])])


def _dequantize(kinds: Kinds, schema: Schema) -> Example:
    whole = kinds["T" if schema.version < 19 else "T1"]
    zero = [] if whole == np.int32 else [positive(whole)]
    attributes = {"output_dtype": np_type(kinds["T3"])} if "T3" in kinds else {}
    return Example([draw(whole, 3, 20), np.array(0.25, kinds.get("T2", np.float32)), *zero], attributes)


def _of(*shapes: tuple[int, ...], **attributes: object) -> Callable[[Kinds, Schema], Example]:
    """Inputs of type T and these shapes."""
    return lambda kinds, schema: Example([draw(kinds["T"], *shape) for shape in shapes], dict(attributes))


def _with(shape: tuple[int, ...], *integers: int) -> Callable[[Kinds, Schema], Example]:
    """An input of type T and one of integers."""
    return lambda kinds, schema: Example([draw(kinds["T"], *shape), _ints(*integers)])


_REDUCTIONS = ("ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp")
_MAKERS: dict[str, Callable[[Kinds, Schema], Example]] = {
    **dict.fromkeys(("Log", "Sqrt", "Reciprocal", "Div"), _positive), **dict.fromkeys(_REDUCTIONS, _reduce),
    **dict.fromkeys(("MaxPool", "AveragePool"), _of((1, 4, 5, 6), kernel_shape=[2, 3])),
    **dict.fromkeys(("GlobalMaxPool", "GlobalAveragePool"), _of((2, 4, 5, 6))),
    "Pow": _pow, "Mod": _mod, "Clip": _clip, "Cast": _cast, "IsNaN": _is_nan, "Dropout": _dropout, "Split": _split, "Slice": _slice,
    "Pad": _pad, "Gather": _gather, "GatherElements": _gather_elements, "ConstantOfShape": _constant, "Conv": _conv,
    "BatchNormalization": _batch_norm, "GroupNormalization": _group_norm, "InstanceNormalization": _instance_norm,
    "LayerNormalization": _layer_norm, "RMSNormalization": _rms_norm, "Attention": _attention, "MultiHeadAttention": _multi_head,
    "MatMulNBits": _matmul_nbits, "MatMulInteger": _byte_matrices, "QLinearMatMul": _qlinear_matmul, "ConvInteger": _conv_integer,
    "QLinearConv": _qlinear_conv, "QuantizeLinear": _quantize,
    "DequantizeLinear": _dequantize, "DynamicQuantizeLinear": lambda kinds, schema: Example([draw(np.float32, 3, 20)], outputs=3),
    "MatMul": _of((2, 3, 4), (4, 5)), "Gemm": _of((3, 4), (4, 5), (5,)), "Concat": _of((2, 3), (2, 4), axis=1),
    "Sum": _of((2, 3, 4), (3, 1)), "Mean": _of((2, 3, 4), (3, 1)), "Min": _of((2, 3, 4), (3, 1)), "Max": _of((2, 3, 4), (3, 1)),
    "Reshape": _with((2, 3, 4), 4, -1), "Expand": _with((3, 1), 2, 3, 4), "Tile": _with((2, 3), 2, 3),
    "Squeeze": lambda kinds, schema: _axes(draw(kinds["T"], 1, 3, 1), [0], schema),
    "Unsqueeze": lambda kinds, schema: _axes(draw(kinds["T"], 2, 3), [1], schema),
    "Resize": lambda kinds, schema: Example([draw(kinds["T1"], 1, 2, 3, 4), np.zeros(0, kinds.get("T2", np.float32)), np.array([1, 1, 2, 1.5], np.float32)]),
    "Trilu": _of((2, 3, 4)), "DepthToSpace": _of((1, 8, 2, 3), blocksize=2), "SpaceToDepth": _of((1, 2, 4, 6), blocksize=2),
}  # fmt: skip


def example(op: str, kinds: Kinds, schema: Schema) -> Example:
    """A node of `op` whose type variables are of `kinds`."""
    return _MAKERS.get(op, _plain)(kinds, schema)
