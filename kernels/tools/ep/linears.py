"""Linear layers and attention as ONNX Runtime and exporters spell them where extents are known, and what only looks alike.

Where extents are known ONNX Runtime makes Reshape, Gemm, Reshape of MatMul + Add, and merges these Reshapes with their
neighbours; exporters write the extents into every Reshape, or the Gemm itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
import onnxruntime as ort
from onnx import ModelProto

from tools.ep.graphs import Array, GraphBuilder, GraphOutcome, Steps, attention, gelu, judge, linear, norm, with_nan

HEADS, SIZE = 3, 8
WIDTH = HEADS * SIZE


@dataclass(frozen=True)
class CountedGraph:
    """One graph, and the steps that it must come to."""

    name: str
    model: ModelProto
    feeds: dict[str, Array]
    steps: Steps | None


Write = Callable[[GraphBuilder], str]
ONE = Steps(1)


def _shape(s: GraphBuilder, x: str, *extents: int) -> str:
    return s.op("Reshape", x, s.constant(np.array(extents, np.int64)))


@dataclass(frozen=True)
class Addmm:
    """Reshape, Gemm, Reshape of x [2, 5, 12] to `after`, and what may be unusual about them."""

    before: tuple[int, ...] = (10, 12)
    after: tuple[int, ...] = (2, 5, 16)
    bias: tuple[int, ...] = (16,)
    attributes: dict[str, float | int] = field(default_factory=dict)
    extra_input: str = ""  # "w" or "c": an input of the graph, not a constant

    def write(self, s: GraphBuilder) -> str:
        """The three nodes."""
        weight = (16, 12) if self.attributes.get("transB") else (12, 16)
        a = _shape(s, s.graph_input("x", 2, 5, 12), *self.before)
        w = s.graph_input("w", *weight) if self.extra_input == "w" else s.weight(*weight)
        c = s.graph_input("c", *self.bias) if self.extra_input == "c" else s.weight(*self.bias)
        return _shape(s, s.op("Gemm", a, w, c, **self.attributes), *self.after)


def _relu(product: Addmm) -> Write:
    return lambda s: s.op("Relu", product.write(s))


def _layers() -> Iterator[tuple[str, Write, Steps | None]]:
    for half_first in (False, True):
        yield f"linear, gelu, half first {half_first}", lambda s, h=half_first: gelu(s, linear(s, s.graph_input("x", 2, 5, 12), 12, 20, h), h), ONE
    yield "linear, relu", lambda s: s.op("Relu", linear(s, s.graph_input("x", 2, 3, 4, 7), 7, 9)), ONE
    yield "linear of a matrix, relu", lambda s: s.op("Relu", linear(s, s.graph_input("x", 6, 7), 7, 9)), ONE
    yield "linear, relu of NaN", lambda s: s.op("Relu", linear(s, with_nan(s, "x", 2, 5, 12), 12, 16)), ONE
    yield "linear, residual, norm", lambda s: norm(s, s.op("Add", linear(s, s.graph_input("x", 2, 5, 12), 12, 16), s.graph_input("r", 2, 5, 16)), 16), ONE
    for shape in ((1, 5, 16), (16,), (3, 2, 5, 16)):
        yield f"linear, residual {shape}, norm", lambda s, r=shape: norm(s, s.op("Add", linear(s, s.graph_input("x", 2, 5, 12), 12, 16), s.graph_input("r", *r)), 16), ONE
    yield "residual that broadcasts, norm", lambda s: norm(s, s.op("Add", s.graph_input("x", 1, 5, 16), s.graph_input("r", 2, 1, 16)), 16), ONE
    yield "addmm, relu", _relu(Addmm()), ONE
    yield "addmm with its weight transposed, relu", _relu(Addmm(attributes={"transB": 1})), ONE
    yield "addmm, gelu", lambda s: gelu(s, Addmm(attributes={"transB": 1}).write(s), True), ONE
    yield "addmm, residual, norm", lambda s: norm(s, s.op("Add", Addmm().write(s), s.graph_input("r", 2, 5, 16)), 16), ONE
    yield "addmm of other rows than x has, relu", _relu(Addmm(after=(5, 2, 16))), ONE
    yield "addmm, its result parted, relu", _relu(Addmm(after=(10, 2, 8))), ONE
    yield "addmm, its result's rows cut and joined, relu", _relu(Addmm(after=(4, 40))), ONE
    yield "addmm of rows cut and joined, relu", lambda s: s.op(
        "Relu", _shape(s, s.op("Gemm", _shape(s, s.graph_input("x", 2, 6, 10), 10, 12), s.weight(12, 16), s.weight(16)), 5, -1, 16)
    ), ONE  # fmt: skip


def _lookalikes() -> Iterator[tuple[str, Write, Steps | None]]:
    """Gemm and what follows run by themselves, or as far as they are what they seem."""
    yield "addmm halved, relu", _relu(Addmm(attributes={"alpha": 0.5})), Steps(0, 4)
    yield "addmm with its bias doubled, relu", _relu(Addmm(attributes={"beta": 2.0})), Steps(0, 4)
    yield "addmm without its bias, relu", _relu(Addmm(attributes={"beta": 0.0})), Steps(0, 4)
    yield "addmm of x transposed, relu", _relu(Addmm(before=(12, 10), attributes={"transA": 1})), Steps(0, 4)
    for bias in ((10, 16), (10, 1), (1,)):
        yield f"addmm with a bias of {bias}, relu", _relu(Addmm(bias=bias)), Steps(0, 4)
    yield "addmm of two inputs, relu", _relu(Addmm(extra_input="w")), Steps(0, 4)
    yield "addmm with a bias given, relu", _relu(Addmm(extra_input="c")), Steps(0, 4)
    yield "linear of one, residual, norm", lambda s: norm(s, s.op("Add", linear(s, s.graph_input("x", 2, 5, 12), 12, 1), s.graph_input("r", 2, 5, 16)), 16), None
    yield "addmm to other rows, residual, norm", lambda s: norm(s, s.op("Add", Addmm(after=(20, 8)).write(s), s.graph_input("r", 20, 8)), 8), Steps(2)
    yield "addmm used twice", _used_twice, Steps(1, 3)
    yield "addmm that is an output", _is_output, Steps(1, 1)
    yield "addmm's matrix is an output", _matrix_is_output, Steps(1, 2)


def _used_twice(s: GraphBuilder) -> str:
    y = Addmm().write(s)
    return s.op("Concat", s.op("Relu", y), s.op("Sin", y), axis=-1)


def _is_output(s: GraphBuilder) -> str:
    y = Addmm().write(s)
    s.outputs.append(y)
    return s.op("Relu", y)


def _matrix_is_output(s: GraphBuilder) -> str:
    y = s.op("Relu", Addmm().write(s))
    s.outputs.append(s.nodes[1].output[0])
    return y


@dataclass(frozen=True)
class AttentionForm:
    """softmax(q kᵀ) v of one x [2, 6, 24], each extent written out; what may be unusual about it."""

    linear: str = "matmul"  # or addmm, of one Reshape or of three
    part_shapes: tuple[tuple[int, ...], ...] = ((2, 6, HEADS, SIZE),) * 3  # q, k, v
    joined_shape: tuple[int, ...] = (2, 6, WIDTH)
    factors: tuple[float | Array | None, float | Array | None, float | None] = (None, None, None)  # of q, k, v
    twice: bool = False  # q is needed elsewhere

    def write(self, s: GraphBuilder) -> str:
        """The whole of it."""
        x = s.graph_input("x", 2, 6, WIDTH)
        rows = _shape(s, x, -1, WIDTH) if self.linear == "addmm" else ""
        perms = ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3])
        q, k, v = (self._operand(s, x, rows, i, perm) for i, perm in enumerate(perms))
        y = s.op("MatMul", s.op("Softmax", s.op("MatMul", q, k), axis=-1), v)
        if self.twice:
            s.outputs.append(s.op("Sin", q))
        return _shape(s, s.op("Transpose", y, perm=[0, 2, 1, 3]), *self.joined_shape)

    def _operand(self, s: GraphBuilder, x: str, rows: str, i: int, perm: list[int]) -> str:
        y = s.op("Gemm", rows, s.weight(WIDTH, WIDTH), s.weight(WIDTH), transB=1) if rows else linear(s, x, WIDTH, WIDTH)
        y = s.op("Transpose", _shape(s, y, *self.part_shapes[i]), perm=perm)
        factor = self.factors[i]
        return y if factor is None else s.op("Mul", y, s.constant(np.asarray(factor, s.dtype)))


def _attentions() -> Iterator[tuple[str, Write, Steps | None]]:
    root = SIZE**-0.25
    for name, form, steps in (
        ("attention", AttentionForm(), ONE),
        ("attention of addmm", AttentionForm("addmm"), ONE),
        ("attention, its scale on q and k", AttentionForm(factors=(root, root, None)), ONE),
        ("attention, a negative scale on q", AttentionForm(factors=(-0.3, None, None)), ONE),
        ("attention, its result a matrix", AttentionForm(joined_shape=(12, WIDTH)), ONE),
        ("attention, its result's rows cut and joined", AttentionForm(joined_shape=(3, 4, WIDTH)), ONE),
        ("attention over both of a batch", AttentionForm(part_shapes=((1, 12, HEADS, SIZE),) * 3, joined_shape=(1, 12, WIDTH)), ONE),
        ("attention of one batch to two", AttentionForm(part_shapes=((1, 12, HEADS, SIZE), *((2, 6, HEADS, SIZE),) * 2), joined_shape=(2, 12, WIDTH)), ONE),
        ("attention, v scaled", AttentionForm(factors=(None, None, 3.0)), None),
        ("attention, q times zero", AttentionForm(factors=(0.0, None, None)), None),
        ("attention, q times a vector", AttentionForm(factors=(np.linspace(-1, 1, SIZE), None, None)), None),
        ("attention, k times a row", AttentionForm(factors=(None, np.linspace(-1, 1, 6), None)), None),
        ("attention, q used twice", AttentionForm(twice=True, factors=(root, root, None)), None),
        ("attention, heads across the rows", AttentionForm(part_shapes=((2, 3, 6, SIZE),) * 3, joined_shape=(2, 3, 48)), None),
    ):
        yield name, form.write, steps
    yield "attention, linear, residual, norm", _block, Steps(2)


def _block(s: GraphBuilder) -> str:
    y = attention(s, s.graph_input("x", 2, 6, WIDTH), "x", s.graph_input("m", 2, 1, 1, 6), True)
    return norm(s, s.op("Add", linear(s, y, WIDTH, WIDTH), "x"), WIDTH)


def graphs() -> Iterator[CountedGraph]:
    """All of them, with every extent known; those that have one step in float16 as well."""
    for name, write, steps in (*_layers(), *_lookalikes(), *_attentions()):
        for dtype in (np.float32, np.float16) if steps == ONE else (np.float32,):
            s = GraphBuilder(is_static=True, dtype=dtype)
            s.outputs.append(write(s))
            yield CountedGraph(f"known extents, {np.dtype(dtype)}: {name}", s.model(), s.inputs, steps)


def run(device: ort.OrtEpDevice) -> list[GraphOutcome]:
    """Each graph, fused and plain."""
    return [row for graph in graphs() for row in judge(device, graph.name, graph.model, graph.feeds, [{}, {"fuse": "0"}], graph.steps)]
