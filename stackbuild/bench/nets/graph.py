"""A small hand for writing ONNX graphs with seeded weights: the one module that imports onnx.

    g = Graph("net", "float16")
    x = g.input("input", ("batch", 3, 224, 224))
    g.output("logits", g.linear(x, 1000), ("batch", 1000))
    g.save(path)

Weights are drawn in float32 from a generator seeded by the graph's name and the weight's number, then rounded to the
graph's dtype: the fp16 model is the fp32 one rounded, and the same everywhere.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from stackbuild.core.file_kinds import HEAD, kind_of

OPSET = 17
_TYPES = {
    "float32": TensorProto.FLOAT, "float16": TensorProto.FLOAT16, "int64": TensorProto.INT64,
    "int32": TensorProto.INT32, "int8": TensorProto.INT8, "bool": TensorProto.BOOL,
}  # fmt: skip
Dim = int | str
Numbers = int | float | Sequence["Numbers"]
Attribute = int | float | str | Sequence[int] | Sequence[float]


class Graph:
    """A graph being written: every method that adds something returns the name of the tensor it made."""

    def __init__(self, name: str, dtype: str = "float32", opset: int = OPSET) -> None:
        self.name, self.dtype, self.opset = name, dtype, opset
        self.parameters = 0
        self._nodes: list[onnx.NodeProto] = []
        self._inputs: list[onnx.ValueInfoProto] = []
        self._outputs: list[onnx.ValueInfoProto] = []
        self._weights: list[Callable[[], NDArray[np.generic]]] = []
        self._domains: set[str] = set()

    def input(self, name: str, shape: Sequence[Dim], dtype: str = "") -> str:
        self._inputs.append(helper.make_tensor_value_info(name, _TYPES[dtype or self.dtype], list(shape)))
        return name

    def output(self, name: str, tensor: str, shape: Sequence[Dim], dtype: str = "") -> None:
        self._nodes.append(helper.make_node("Identity", [tensor], [name]))
        self._outputs.append(helper.make_tensor_value_info(name, _TYPES[dtype or self.dtype], list(shape)))

    def op(self, kind: str, *inputs: str, domain: str = "", **attributes: Attribute) -> str:
        """Add one node with one output."""
        return self.ops(kind, *inputs, outputs=1, domain=domain, **attributes)[0]

    def ops(self, kind: str, *inputs: str, outputs: int, domain: str = "", **attributes: Attribute) -> list[str]:
        """Add one node with several outputs."""
        names = [f"{kind.lower()}_{len(self._nodes)}_{i}" for i in range(outputs)]
        node = helper.make_node(kind, list(inputs), names, domain=domain)
        node.attribute.extend(helper.make_attribute(name, value) for name, value in sorted(attributes.items()))
        self._nodes.append(node)
        self._domains.add(domain)
        return names

    def weight(self, shape: Sequence[int], scale: float | None = None, mean: float = 0.0) -> str:
        """A seeded normal weight. Without a scale, He's: sqrt(2 / fan in), the fan being all but the first axis."""
        fan = math.prod(shape[1:]) if len(shape) > 1 else shape[0]
        spread = math.sqrt(2.0 / max(1, fan)) if scale is None else scale
        self.parameters += math.prod(shape)
        seed = zlib.crc32(f"{self.name}/{len(self._weights)}".encode())
        return self._initialiser(lambda: self._random_array(seed, tuple(shape), spread, mean))

    def constant(self, value: Numbers, dtype: str = "") -> str:
        """An initialiser that is not counted as a parameter: a float has the graph's dtype, all else is int64."""
        kind = dtype or (self.dtype if isinstance(value, float) else "int64")
        return self._initialiser(lambda: np.asarray(value, kind))

    def _random_array(self, seed: int, shape: tuple[int, ...], spread: float, mean: float) -> NDArray[np.generic]:
        values = np.random.default_rng(seed).standard_normal(shape, np.float32)
        return (values * np.float32(spread) + np.float32(mean)).astype(self.dtype)

    def _initialiser(self, make: Callable[[], NDArray[np.generic]]) -> str:
        """Numbers are drawn when the graph is saved: writing one is quick, and counts its parameters."""
        self._weights.append(make)
        return f"w{len(self._weights) - 1}"

    def linear(self, x: str, inside: int, outside: int, scale: float | None = None) -> str:
        """x · W + b over the last axis."""
        spread = math.sqrt(1.0 / inside) if scale is None else scale
        return self.op(
            "Add", self.op("MatMul", x, self.weight((inside, outside), spread)), self.weight((outside,), 0.02)
        )

    def layer_norm(self, x: str, width: int, epsilon: float = 1e-5) -> str:
        return self.op(
            "LayerNormalization", x, self.weight((width,), 0.05, 1.0), self.weight((width,), 0.02), axis=-1,
            epsilon=epsilon,
        )  # fmt: skip

    def gelu(self, x: str) -> str:
        """The error-function form, as exporters write it and optimisers look for it."""
        erf = self.op("Erf", self.op("Div", x, self.constant(math.sqrt(2.0))))
        half = self.op("Mul", x, self.op("Add", erf, self.constant(1.0)))
        return self.op("Mul", half, self.constant(0.5))

    def reshape(self, x: str, shape: Sequence[int]) -> str:
        return self.op("Reshape", x, self.constant(list(shape)))

    def split_heads(self, x: str, heads: int, size: int, transposed: bool = False) -> str:
        """(batch, tokens, heads·size) to (batch, heads, tokens, size), or with the last two axes swapped."""
        parts = self.reshape(x, (0, -1, heads, size))
        return self.op("Transpose", parts, perm=[0, 2, 3, 1] if transposed else [0, 2, 1, 3])

    def merge_heads(self, x: str, width: int) -> str:
        """(batch, heads, tokens, size) back to (batch, tokens, heads·size)."""
        return self.reshape(self.op("Transpose", x, perm=[0, 2, 1, 3]), (0, -1, width))

    def save(self, path: Path) -> None:
        """Write the model, checked. Raises onnx.checker.ValidationError for a graph that is not one."""
        weights = [numpy_helper.from_array(make(), f"w{number}") for number, make in enumerate(self._weights)]
        graph = helper.make_graph(self._nodes, self.name, self._inputs, self._outputs, weights)
        imports = [helper.make_opsetid(d, self.opset if d == "" else 1) for d in sorted(self._domains | {""})]
        model = helper.make_model(graph, opset_imports=imports, ir_version=8, producer_name="stackbuild")
        if self._domains <= {""}:
            onnx.checker.check_model(model)
        path.write_bytes(model.SerializeToString(deterministic=True))


MOST_MODEL_BYTES = (2 << 30) - 1
"""What protobuf reads at most."""


def _no_model(path: Path, reason: str) -> str:
    """What a file is that is not a model, with the next step after `; ` where its first bytes tell; else the reason."""
    with path.open("rb") as file:
        kind, step = kind_of(file.read(HEAD))
    return f"not an ONNX model but {kind}; {step}" if kind else f"not an ONNX model: {reason}"


def describe_inputs(path: Path) -> tuple[int, dict[str, tuple[str, tuple[Dim, ...] | None]]]:
    """A model file's opset, and its inputs as name to (dtype, shape); a dimension without a size keeps its name.

    The shape of an input is () for a scalar, and None where the model does not say how many dimensions it has.
    Raises ValueError for a file that is not an ONNX model, and for one whose data files are not there; what to do may
    follow its cause after `; `.
    """
    if path.stat().st_size > MOST_MODEL_BYTES:
        raise ValueError("not an ONNX model: it is larger than 2 GiB, where weights lie in files of their own")
    try:
        model = onnx.load(str(path), load_external_data=False)
    except Exception as error:  # protobuf's DecodeError, and what else a broken file brings
        raise ValueError(_no_model(path, str(error))) from error
    if not model.graph.node:
        raise ValueError(_no_model(path, "it has no nodes"))
    _require_data_files(model.graph, path.absolute().parent)
    opset = max((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), default=0)
    constants = {w.name for w in model.graph.initializer}
    return opset, {i.name: _input(i.name, i.type.tensor_type) for i in model.graph.input if i.name not in constants}


def _tensors(graph: onnx.GraphProto) -> Iterator[onnx.TensorProto]:
    """Every tensor of a graph and of the graphs inside its nodes."""
    yield from graph.initializer
    for node in graph.node:
        for attribute in node.attribute:
            yield from (attribute.t, *attribute.tensors)
            for inner in (attribute.g, *attribute.graphs):
                yield from _tensors(inner)


def _require_data_files(graph: onnx.GraphProto, folder: Path) -> None:
    """Raises ValueError where a file beside the model that has a tensor's data is not there, or is too short."""
    for tensor in _tensors(graph):
        if tensor.data_location != TensorProto.EXTERNAL:
            continue
        values = {entry.key: entry.value for entry in tensor.external_data}
        name = values.get("location", "")
        file = folder / name
        if not file.is_file():
            raise ValueError(f"its data file {name!r} is not there; put {name} beside the model: it has the weights")
        numbers = [values.get(key, "") for key in ("offset", "length")]
        end = sum(int(number) for number in numbers if number.isdecimal())
        if file.stat().st_size < end:
            raise ValueError(
                f"its data file {name!r} has {file.stat().st_size} bytes, and {tensor.name!r} ends at {end}; "
                f"copy {name} again: it is cut off, or of another model"
            )


def _input(name: str, tensor: onnx.TypeProto.Tensor) -> tuple[str, tuple[Dim, ...] | None]:
    try:
        dtype = np.dtype(helper.tensor_dtype_to_np_dtype(tensor.elem_type)).name
    except (KeyError, TypeError, ValueError):
        raise ValueError(f"the input {name!r} is not a tensor of a known type: values cannot be made for it") from None
    if not tensor.HasField("shape"):
        return dtype, None
    return dtype, tuple(d.dim_value if d.HasField("dim_value") else d.dim_param or "?" for d in tensor.shape.dim)
