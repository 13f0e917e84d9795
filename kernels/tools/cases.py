"""All operators' cases, and ONNX models of them. Needs numpy and onnx, and the folder `kernels/` on sys.path.

`all_cases()` yields correctness cases; `model(case)` is a one-node model
with the operator of the domain `stackbuild.kernels`, `standard_model(case)` the same with ONNX's own operator.
"""

from __future__ import annotations

from collections.abc import Iterator

import attention.cases
import attention.multi_head_cases
import batch_norm.cases
import conv.cases
import group_norm.cases
import leaky_relu.cases
import numpy as np
import onnx
from onnx import TensorProto, helper

from tools.case import OperatorCase

DOMAIN = "stackbuild.kernels"
OPERATORS = {
    "Attention": attention.cases,
    "BatchNormalization": batch_norm.cases,
    "Conv": conv.cases,
    "GroupNormalization": group_norm.cases,
    "LeakyRelu": leaky_relu.cases,
    "MultiHeadAttention": attention.multi_head_cases,
}
DTYPES = (np.float32, np.float16)


def all_cases(seed: int = 0, dtypes: tuple[type, ...] = DTYPES) -> Iterator[OperatorCase]:
    """Every correctness case; another seed draws other values and other random shapes."""
    for number, module in enumerate(OPERATORS.values()):
        for dtype in dtypes:
            yield from module.cases(np.random.default_rng([seed, number, np.dtype(dtype).itemsize]), dtype)


def model(case: OperatorCase, domain: str = DOMAIN) -> onnx.ModelProto:
    """The case as a model of one operator of its name: a custom one, or that of another domain."""
    return _one_node(case, domain, 1)


def standard_model(case: OperatorCase) -> onnx.ModelProto | None:
    """The case as a model of ONNX's own operator, or None where there is none."""
    return _one_node(case, "", case.opset) if case.opset else None


def feeds(case: OperatorCase) -> dict[str, np.ndarray]:
    """What to run either model with."""
    return {name: value for name, value in case.inputs.items() if value is not None}


def _one_node(case: OperatorCase, domain: str, version: int) -> onnx.ModelProto:
    names = [name if value is not None else "" for name, value in case.inputs.items()]
    while names and not names[-1]:
        names.pop()
    node = helper.make_node(case.op, names, [case.output], domain=domain, **case.attributes)
    inputs = [_value(name, value.dtype, value.shape) for name, value in feeds(case).items()]
    graph = helper.make_graph([node], case.op, inputs, [_value(case.output, case.dtype, case.expected_values.shape)])
    opsets = [helper.make_opsetid("", max(case.opset, 17))]
    if domain:
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid(domain, version)]
    elif case.opset:
        opsets = [helper.make_opsetid("", version)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8 if domain or version < 20 else 10)


def _value(name: str, dtype: np.dtype, shape: tuple[int, ...]) -> onnx.ValueInfoProto:
    kinds = {"float32": TensorProto.FLOAT, "float16": TensorProto.FLOAT16, "bool": TensorProto.BOOL,
             "int32": TensorProto.INT32, "int64": TensorProto.INT64}
    return helper.make_tensor_value_info(name, kinds[np.dtype(dtype).name], list(shape))
