"""One-operator models of common ONNX operators, and their answers in float64 by the onnx package's own evaluator."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

#: Operator → (shapes of its inputs, attributes).
TABLE: dict[str, tuple[list[tuple[int, ...]], dict[str, Any]]] = {
    "Conv": ([(2, 8, 14, 14), (16, 8, 3, 3)], {"pads": [1, 1, 1, 1]}),
    "MatMul": ([(32, 48), (48, 24)], {}),
    "Gemm": ([(32, 48), (48, 24), (24,)], {}),
    "Add": ([(4, 32), (4, 32)], {}),
    "Sub": ([(4, 32), (4, 32)], {}),
    "Mul": ([(4, 32), (4, 32)], {}),
    "Div": ([(4, 32), (4, 32)], {}),
    "Relu": ([(4, 32)], {}),
    "LeakyRelu": ([(4, 32)], {"alpha": 0.1}),
    "Sigmoid": ([(4, 32)], {}),
    "Tanh": ([(4, 32)], {}),
    "Erf": ([(4, 32)], {}),
    "Sqrt": ([(4, 32)], {}),
    "Exp": ([(4, 32)], {}),
    "Softmax": ([(4, 32)], {"axis": -1}),
    "LayerNormalization": ([(4, 32), (32,), (32,)], {"epsilon": 1e-5}),
    "BatchNormalization": ([(2, 8, 7, 7), (8,), (8,), (8,), (8,)], {"epsilon": 1e-5}),
    "MaxPool": ([(2, 8, 14, 14)], {"kernel_shape": [2, 2], "strides": [2, 2]}),
    "AveragePool": ([(2, 8, 14, 14)], {"kernel_shape": [2, 2], "strides": [2, 2]}),
    "GlobalAveragePool": ([(2, 8, 7, 7)], {}),
    "Transpose": ([(4, 8, 16)], {"perm": [0, 2, 1]}),
    "Concat": ([(4, 8), (4, 8)], {"axis": 1}),
    "ReduceMean": ([(4, 32)], {"axes": [1]}),
}
POSITIVE: dict[str, tuple[int, ...]] = {"Sqrt": (0,), "Div": (1,), "BatchNormalization": (4,)}
OPSET = 17


def inputs(op: str, seed: int = 0) -> dict[str, np.ndarray]:
    """Seeded float32 values; positive where the operator needs them so."""
    rng = np.random.default_rng(seed)
    values = {}
    for number, shape in enumerate(TABLE[op][0]):
        random_values = rng.standard_normal(shape)
        values[f"x{number}"] = (
            np.abs(random_values) + 0.5 if number in POSITIVE.get(op, ()) else random_values
        ).astype(np.float32)
    return values


def model(op: str, kind: int = TensorProto.FLOAT) -> Any:
    shapes, attributes = TABLE[op]
    names = [f"x{number}" for number in range(len(shapes))]
    node = helper.make_node(op, names, ["y"], name=op, **attributes)
    values = [helper.make_tensor_value_info(n, kind, shape) for n, shape in zip(names, shapes, strict=True)]
    graph = helper.make_graph([node], op, values, [helper.make_tensor_value_info("y", kind, shape_of(op))])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)


def shape_of(op: str) -> tuple[int, ...]:
    return tuple(reference(op).shape)


def reference(op: str) -> np.ndarray:
    """The answer in float64, from the same values as rounded to float32."""
    shapes, attributes = TABLE[op]
    names = [f"x{number}" for number in range(len(shapes))]
    node = helper.make_node(op, names, ["y"], **attributes)
    values = [
        helper.make_tensor_value_info(n, TensorProto.DOUBLE, shape) for n, shape in zip(names, shapes, strict=True)
    ]
    graph = helper.make_graph([node], op, values, [helper.make_tensor_value_info("y", TensorProto.DOUBLE, None)])
    wide = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)
    wide_inputs = {name: value.astype(np.float64) for name, value in inputs(op).items()}
    return np.asarray(next(iter(ReferenceEvaluator(wide).run(None, wide_inputs))))
