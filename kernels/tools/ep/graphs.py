"""Small graphs that fusion and layout conversion change: each against ONNX Runtime's own CPU provider, fused and plain."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper, numpy_helper

from tools.ep.session import nodes_elsewhere, open_session, parts, relative_error

Array = np.ndarray
TOLERANCE = {np.float32: 2e-5, np.float16: 1e-2}  # the CPU provider rounds float16 between nodes, a fused step does not


@dataclass
class GraphBuilder:
    """A graph being written. Extents of inputs are symbolic unless `is_static`."""

    opset: int = 17
    dtype: type = np.float32
    is_static: bool = False
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    inputs: dict[str, Array] = field(default_factory=dict)
    weights: dict[str, Array] = field(default_factory=dict)
    outputs: list[str] = field(default_factory=list)
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(7))

    def graph_input(self, name: str, *shape: int) -> str:
        """A graph input of normal values."""
        self.inputs[name] = self.rng.standard_normal(shape).astype(self.dtype)
        return name

    def weight(self, *shape: int, scale: float = 0.3) -> str:
        """A constant of normal values."""
        return self.constant((self.rng.standard_normal(shape) * scale).astype(self.dtype))

    def constant(self, value: Array) -> str:
        """A constant."""
        name = f"w{len(self.weights)}"
        self.weights[name] = np.asarray(value)
        return name

    def op(self, kind: str, *inputs: str, **attributes: object) -> str:
        """A node of one output."""
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def model(self) -> onnx.ModelProto:
        """The graph; every output's rank is left to shape inference."""
        infos = [
            helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape if self.is_static else [f"{n}_{i}" for i in range(v.ndim)])
            for n, v in self.inputs.items()
        ]
        results = [onnx.ValueInfoProto(name=n) for n in self.outputs]
        graph = helper.make_graph(self.nodes, "sketch", infos, results, [numpy_helper.from_array(v, n) for n, v in self.weights.items()])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=9)
        return onnx.shape_inference.infer_shapes(model)


def linear(s: GraphBuilder, x: str, inside: int, outside: int, swap: bool = False) -> str:
    product, bias = s.op("MatMul", x, s.weight(inside, outside)), s.weight(outside)
    return s.op("Add", bias, product) if swap else s.op("Add", product, bias)


def gelu(s: GraphBuilder, x: str, half_first: bool) -> str:
    erf = s.op("Erf", s.op("Div", x, s.constant(s.dtype(math.sqrt(2)))))
    plus = s.op("Add", erf, s.constant(s.dtype(1)))
    half = s.constant(s.dtype(0.5))
    return s.op("Mul", s.op("Mul", x, half), plus) if half_first else s.op("Mul", s.op("Mul", x, plus), half)


def _heads(s: GraphBuilder, x: str, heads: int, size: int, perm: list[int]) -> str:
    return s.op("Transpose", s.op("Reshape", x, s.constant(np.array([0, -1, heads, size]))), perm=perm)


def attention(s: GraphBuilder, x: str, memory: str, mask: str | None, divide: bool) -> str:
    q = _heads(s, linear(s, x, 24, 24), 3, 8, [0, 2, 1, 3])
    k = _heads(s, linear(s, memory, 24, 24), 3, 8, [0, 2, 3, 1])
    v = _heads(s, linear(s, memory, 24, 24), 3, 8, [0, 2, 1, 3])
    factor = s.constant(s.dtype(math.sqrt(8) if divide else 1 / math.sqrt(8)))
    scores = s.op("Div" if divide else "Mul", s.op("MatMul", q, k), factor)
    if mask is not None:
        scores = s.op("Add", scores, mask)
    y = s.op("Transpose", s.op("MatMul", s.op("Softmax", scores, axis=-1), v), perm=[0, 2, 1, 3])
    return s.op("Reshape", y, s.constant(np.array([0, -1, 24])))


def norm(s: GraphBuilder, x: str, width: int) -> str:
    return s.op("LayerNormalization", x, s.weight(width), s.weight(width), axis=-1)


def _fusion_graphs() -> Iterator[tuple[str, Callable[[GraphBuilder], str]]]:
    for half_first in (False, True):
        yield f"linear, gelu, half first {half_first}", lambda s, h=half_first: gelu(s, linear(s, s.graph_input("x", 2, 5, 12), 12, 20, h), h)
    yield "linear, relu", lambda s: s.op("Relu", linear(s, s.graph_input("x", 3, 7), 7, 9))
    yield "linear, residual, norm", lambda s: norm(s, s.op("Add", linear(s, s.graph_input("x", 2, 5, 12), 12, 16), s.graph_input("r", 2, 5, 16)), 16)
    yield "linear, residual that broadcasts, norm", lambda s: norm(
        s, s.op("Add", s.graph_input("r", 1, 5, 16), linear(s, s.graph_input("x", 2, 5, 12), 12, 16)), 16
    )
    yield "residual that broadcasts, norm", lambda s: norm(s, s.op("Add", s.graph_input("r", 1, 5, 16), s.graph_input("x", 2, 5, 16)), 16)
    for divide in (False, True):
        yield f"self attention, divide {divide}", lambda s, d=divide: attention(s, s.graph_input("x", 2, 6, 24), "x", None, d)
    for shape in ((2, 1, 1, 6), (1, 1, 6, 6), (2, 3, 6, 6), (6, 6), (6,), (2, 1, 6, 1)):
        yield f"self attention, mask {shape}", lambda s, m=shape: attention(s, s.graph_input("x", 2, 6, 24), "x", s.graph_input("m", *m), True)
    for batch, queries, shape in ((1, 6, (4, 1, 6, 6)), (1, 6, (4, 1, 1, 6)), (1, 6, (2, 3, 6, 6)), (2, 1, (1, 1, 4, 9)), (1, 1, (2, 3, 5, 1))):
        yield f"attention of {queries} queries in a batch of {batch}, larger mask {shape}", lambda s, b=batch, q=queries, m=shape: attention(
            s, s.graph_input("x", b, q, 24), "x" if q > 1 else s.graph_input("y", b, 9, 24), s.graph_input("m", *m), True
        )
    for one in ("q", "k"):
        yield f"attention with one {one}, and masks for more", lambda s, o=one: _bare_attention(s, o)
    yield "attention over no keys", lambda s: _bare_attention(s, "", keys=0)
    yield "cross attention", lambda s: attention(s, s.graph_input("x", 2, 6, 24), s.graph_input("y", 2, 9, 24), s.graph_input("m", 2, 1, 1, 9), True)
    yield "conv, residual, relu", lambda s: s.op("Relu", s.op("Add", _conv(s, s.graph_input("x", 2, 8, 9, 9), 8, 16), s.graph_input("r", 2, 16, 9, 9)))
    yield "conv, residual that broadcasts, relu", lambda s: s.op(
        "Relu", s.op("Add", _conv(s, s.graph_input("x", 2, 8, 9, 9), 8, 16), s.graph_input("r", 1, 16, 1, 1))
    )
    for shape in ((2, 1, 6, 6), (2, 1, 1, 6)):
        yield f"attention, mask of finfo.min {shape}", lambda s, m=shape: attention(s, s.graph_input("x", 2, 6, 24), "x", _least(s, *m), True)
    yield "attention, rows without a key", lambda s: attention(s, s.graph_input("x", 2, 6, 24), "x", _closed_rows(s, 2, 1, 6, 6), True)
    yield "conv smaller than its residual, relu", lambda s: s.op(
        "Relu", s.op("Add", _conv(s, s.graph_input("x", 1, 8, 9, 9), 8, 16), s.graph_input("r", 3, 16, 9, 9))
    )
    yield "linear smaller than its residual, norm", lambda s: norm(
        s, s.op("Add", linear(s, s.graph_input("x", 1, 1, 12), 12, 16), s.graph_input("r", 2, 5, 16)), 16
    )
    yield "linear, norm of NaN", lambda s: norm(s, s.op("Add", linear(s, with_nan(s, "x", 2, 5, 12), 12, 16), s.graph_input("r", 2, 5, 16)), 16)
    yield "attention of NaN", lambda s: attention(s, with_nan(s, "x", 2, 6, 24), "x", s.graph_input("m", 2, 1, 1, 6), True)
    yield "attention with NaN queries", lambda s: attention(s, with_nan(s, "x", 2, 6, 24), s.graph_input("y", 2, 9, 24), None, False)
    yield "conv, relu of NaN", lambda s: s.op("Relu", _conv(s, with_nan(s, "x", 2, 8, 9, 9), 8, 16))
    yield "conv, leaky relu, conv, clip", lambda s: s.op(
        "Clip", _conv(s, s.op("LeakyRelu", _conv(s, s.graph_input("x", 2, 8, 9, 9), 8, 16), alpha=0.2), 16, 5), s.constant(np.float32(-1)),
        s.constant(np.float32(1)),
    )  # fmt: skip
    yield "conv, silu", lambda s: _silu(s, _conv(s, s.graph_input("x", 2, 8, 9, 9), 8, 16))
    yield "conv, residual that broadcasts, silu", lambda s: _silu(
        s, s.op("Add", _conv(s, s.graph_input("x", 2, 8, 9, 9), 8, 16), s.graph_input("r", 2, 16, 1, 9)), swap=True
    )
    yield "conv, sigmoid of it times something else", lambda s: s.op("Mul", s.op("Sigmoid", _conv(s, s.graph_input("x", 2, 8, 9, 9), 8, 16)), s.graph_input("r", 2, 16, 9, 9))
    yield "conv, relu, batch normalization, pools", _pools
    yield "conv, concat with max pool", _inception
    yield "1-D conv, relu", lambda s: s.op("Relu", s.op("Conv", s.graph_input("x", 2, 4, 11), s.weight(6, 4, 3), s.weight(6), pads=[1, 1]))


def _least(s: GraphBuilder, *shape: int) -> str:
    """A mask as Hugging Face makes it: the least finite value, in some rows at every key."""
    s.graph_input("m", *shape)
    s.inputs["m"][:] = np.where(s.inputs["m"] > 0, np.finfo(s.dtype).min, 0)
    if s.dtype == np.float32:  # float16 rounds the score away, where it is rounded between the nodes
        s.inputs["m"][0, :, 0] = np.finfo(s.dtype).min
    return "m"


def _closed_rows(s: GraphBuilder, *shape: int) -> str:
    """A mask of -inf, in some rows at every key: the Softmax of such a row is NaN."""
    s.graph_input("m", *shape)
    s.inputs["m"][s.inputs["m"] > 0] = -np.inf
    s.inputs["m"][0, :, 1] = -np.inf
    return "m"


def with_nan(s: GraphBuilder, name: str, *shape: int) -> str:
    """An input of normal values with one NaN."""
    s.graph_input(name, *shape)
    s.inputs[name].reshape(-1)[s.inputs[name].size // 3] = np.nan
    return name


def _bare_attention(s: GraphBuilder, one: str, keys: int = 6) -> str:
    """q, k and v as they come; those of a sequence of one broadcast to the mask."""
    q, k, v = (s.graph_input(n, 2, 3, 1 if n == one else extent, 8) for n, extent in (("q", 5), ("k", keys), ("v", keys)))
    scores = s.op("Add", s.op("MatMul", q, s.op("Transpose", k, perm=[0, 1, 3, 2])), s.graph_input("m", 2, 1, 5, keys))
    return s.op("MatMul", s.op("Softmax", scores, axis=-1), v)


def _silu(s: GraphBuilder, x: str, swap: bool = False) -> str:
    gate = s.op("Sigmoid", x)
    return s.op("Mul", gate, x) if swap else s.op("Mul", x, gate)


def _group_norm(opset: int) -> GraphBuilder:
    """GroupNormalization, SiLU and a convolution; scale and bias have a value a group before opset 21."""
    s = GraphBuilder(opset=opset)
    values = 4 if opset < 21 else 12
    x = s.op("GroupNormalization", s.graph_input("x", 2, 12, 9, 7), s.weight(values), s.weight(values), num_groups=4, epsilon=1e-4)
    s.outputs = [_silu(s, _conv(s, _silu(s, x), 12, 8))]
    return s


def _conv(s: GraphBuilder, x: str, inside: int, outside: int) -> str:
    return s.op("Conv", x, s.weight(outside, inside, 3, 3), s.weight(outside), pads=[1] * 4)


def _pools(s: GraphBuilder) -> str:
    x = s.op("Relu", _conv(s, s.graph_input("x", 2, 8, 9, 9), 8, 16))
    variance = s.constant(np.abs(s.rng.standard_normal(16)).astype(np.float32) + np.float32(0.1))
    x = s.op("BatchNormalization", x, s.weight(16), s.weight(16), s.weight(16), variance)
    x = s.op("AveragePool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 0, 1, 1])
    return s.op("GlobalMaxPool", s.op("MaxPool", x, kernel_shape=[2, 2], pads=[0, 1, 0, 1], ceil_mode=1))


def _inception(s: GraphBuilder) -> str:
    x = s.graph_input("x", 2, 8, 9, 9)
    return s.op("Concat", _conv(s, x, 8, 12), s.op("MaxPool", x, kernel_shape=[3, 3], pads=[1] * 4), axis=1)


def _indexed_pool() -> tuple[str, onnx.ModelProto, dict[str, Array]]:
    s = GraphBuilder()
    s.nodes.append(helper.make_node("MaxPool", [_conv(s, s.graph_input("x", 2, 8, 9, 9), 8, 16)], ["p", "i"], kernel_shape=[2, 2]))
    s.outputs = ["p", "i"]
    return "conv, max pool with indices", s.model(), s.inputs


def _mixed_norm(x: type, scale: type) -> tuple[str, onnx.ModelProto, dict[str, Array]]:
    """Add and LayerNormalization as ONNX Runtime's own schema has it, before opset 17: scale, bias and result of a type of their own."""
    s = GraphBuilder(opset=16, dtype=x)
    total = s.op("Add", s.graph_input("x", 2, 5, 16), s.graph_input("r", 2, 5, 16))
    s.dtype = scale
    s.outputs = [norm(s, total, 16)]
    return f"residual of {np.dtype(x)}, norm of {np.dtype(scale)}", s.model(), s.inputs


def _read_by_nobody() -> Iterator[tuple[str, onnx.ModelProto, dict[str, Array]]]:
    """Every group that fuses, in a branch that ends: ONNX Runtime leaves such nodes in, and gives one made of them no outputs."""
    ends = ("linear, relu", "linear, residual, norm", "residual that broadcasts, norm", "self attention, divide False", "conv, silu", "1-D conv, relu")
    for name, write in _fusion_graphs():
        if name in ends:
            s = GraphBuilder()
            write(s)
            s.outputs = [s.op("Neg", "x")]
            yield f"{name}, read by nobody", s.model(), s.inputs
    s = GraphBuilder(opset=21)
    _silu(s, s.op("GroupNormalization", s.graph_input("x", 2, 12, 9, 7), s.weight(12), s.weight(12), num_groups=4))
    s.outputs = [s.op("Neg", "x")]
    yield "group normalization, silu, read by nobody", s.model(), s.inputs


def graphs() -> Iterator[tuple[str, onnx.ModelProto, dict[str, Array]]]:
    """Name, model and inputs of each graph."""
    for name, write in _fusion_graphs():
        s = GraphBuilder()
        s.outputs = [write(s)]
        yield name, s.model(), s.inputs
    yield _indexed_pool()
    yield from _read_by_nobody()
    for opset in (18, 21):
        s = _group_norm(opset)
        yield f"group normalization of opset {opset}, silu, conv, silu", s.model(), s.inputs
    yield from (_mixed_norm(x, scale) for x, scale in ((np.float16, np.float32), (np.float32, np.float16), (np.float16, np.float16)))
    for shape in (None, (2, 1, 1, 72), (1, 3, 72, 72), (72, 72)):  # long enough for the form with two batched products
        s = GraphBuilder(dtype=np.float16)
        s.outputs = [attention(s, s.graph_input("x", 2, 72, 24), "x", s.graph_input("m", *shape) if shape else None, True)]
        yield f"float16 self attention, mask {shape}", s.model(), s.inputs
    s = GraphBuilder(dtype=np.float16)
    s.outputs = [attention(s, s.graph_input("x", 2, 72, 24), "x", _closed_rows(s, 2, 1, 72, 72), True)]
    yield "float16 attention, rows without a key", s.model(), s.inputs
    for shape in ((2, 1, 72, 72), (2, 1, 1, 72)):
        s = GraphBuilder(dtype=np.float16)
        s.outputs = [attention(s, s.graph_input("x", 2, 72, 24), "x", _least(s, *shape), True)]
        yield f"float16 attention, mask of finfo.min {shape}", s.model(), s.inputs
    s = GraphBuilder(dtype=np.float16)
    s.outputs = [attention(s, with_nan(s, "x", 2, 72, 24), s.graph_input("y", 2, 80, 24), None, True)]
    yield "float16 attention with NaN queries", s.model(), s.inputs


@dataclass(frozen=True)
class Steps:
    """How many groups of nodes there must be, and how many nodes alone."""

    groups: int
    alone: int = 0

    def mismatch(self, actual_groups: list[list[str]]) -> str:
        """What is not so, or ""."""
        groups = [part for part in actual_groups if len(part) > 1]
        alone = len(actual_groups) - len(groups)
        return "" if len(groups) == self.groups and alone == self.alone else f"not {self}: {actual_groups}"


GraphOutcome = tuple[str, float, str]  # graph and options, worst relative error, what is wrong or ""


def judge(
    device: ort.OrtEpDevice, name: str, model: onnx.ModelProto, feeds: dict[str, Array], options: list[dict[str, str]], steps: Steps | None = None
) -> Iterator[GraphOutcome]:
    """One graph with each of the options, against the CPU provider; where it is fused, in those steps if any are named."""
    settings = ort.SessionOptions()
    settings.log_severity_level = 3
    reference = ort.InferenceSession(model.SerializeToString(), settings, providers=["CPUExecutionProvider"]).run(None, feeds)
    for option in options:
        try:
            session = open_session(model, device, options=option)
            elsewhere = nodes_elsewhere(session, device.ep_name)
            error = max(relative_error(np.asarray(a), np.asarray(b)) for a, b in zip(session.run(None, feeds), reference, strict=True))
            limit = TOLERANCE[next(iter(feeds.values())).dtype.type]
            wrong = f"on the CPU: {dict(elsewhere)}" if elsewhere else ("" if error <= limit else "beyond tolerance")
            if steps and option.get("fuse") != "0":
                wrong = wrong or steps.mismatch(parts(session))
        except Exception as failure:
            error, wrong = float("inf"), str(failure)[:200]
        yield f"{name} {option or 'as it comes'}", error, wrong


def run(device: ort.OrtEpDevice) -> list[GraphOutcome]:
    """Each graph, with every option on and off."""
    every = [{}, {"fuse": "0"}, {"channels_last": "0"}, {"fuse": "0", "channels_last": "0"}]
    return [row for name, model, feeds in graphs() for row in judge(device, name, model, feeds, every)]
