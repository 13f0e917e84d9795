"""What an edge is: a small model that does not fit, or only just does, its inputs, and who says what the answer is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import onnx
from onnx import helper, numpy_helper

Array = np.ndarray
InputArrays = dict[str, Array]
_rng = np.random.default_rng(11)


@dataclass(frozen=True)
class Ruling:
    """What ONNX says, where releases of ONNX Runtime have a CPU provider that does something else.

    `answer` None: the model is to be refused. `astray`: the releases (major.minor) in which that was seen, and what it did.
    """

    answer: list[Array] | None
    sentence: str
    astray: dict[str, str]
    fatal: bool = False  # the CPU provider ends the process over it, and must not be asked


@dataclass(frozen=True)
class Edge:
    """One model; without a ruling, the CPU provider's answer or refusal is the right one."""

    name: str
    model: onnx.ModelProto
    feeds: InputArrays
    ruling: Ruling | None = None


def floats(*shape: int) -> Array:
    """Normally distributed float32 values."""
    return np.asarray(_rng.standard_normal(shape), np.float32)


def ints(*values: int) -> Array:
    """A one-axis int64 tensor."""
    return np.array(values, np.int64)


def model(nodes: list[onnx.NodeProto], feeds: InputArrays, outputs: list[str], weights: InputArrays, opset: int = 23) -> onnx.ModelProto:
    """A graph whose inputs have types and no shapes, so that nothing but the kernels looks at their ranks."""
    infos = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), None) for n, v in feeds.items()]
    results = [onnx.ValueInfoProto(name=n) for n in outputs]
    constants = [numpy_helper.from_array(v, n) for n, v in weights.items()]
    graph = helper.make_graph(nodes, "edge", infos, results, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def one(op: str, *inputs: Array, outputs: int = 1, opset: int = 23, ruling: Ruling | None = None, **attributes: object) -> Edge:
    """A model of one node."""
    feeds = {f"x{i}": v for i, v in enumerate(inputs)}
    names = [f"y{i}" for i in range(outputs)]
    shapes = " ".join(str(v.tolist()) if v.dtype == np.int64 and v.size < 9 else str(v.shape) for v in inputs)
    node = helper.make_node(op, list(feeds), names, **attributes)
    return Edge(f"{op} {shapes} {attributes or ''}", model([node], feeds, names, {}, opset), feeds, ruling)
