"""Models and inputs that do not fit, or only just do.

The provider must answer as ONNX Runtime's CPU provider does, and refuse where that refuses. Where that differs from ONNX's
text (rulings.py), the provider must answer by ONNX's text.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper

from tools.ep.attention_edges import attentions
from tools.ep.edge import Array, Edge, InputArrays, Ruling, model
from tools.ep.edge import floats as _x
from tools.ep.edge import ints as _i
from tools.ep.edge import one as _one
from tools.ep.multi_head_edges import multi_heads
from tools.ep.nans import nans
from tools.ep.quantized_edges import quantized_edges
from tools.ep.resize_edges import resize_edges
from tools.ep.rulings import edges_with_rulings
from tools.ep.session import open_on_cpu, open_session, relative_error

TOLERANCE = 2e-5
OF_HALF = 4e-3  # where an answer is float16
RELEASE = ".".join(ort.__version__.split(".")[:2])


def _movement() -> Iterator[Edge]:
    for perm in ([1, 0], [0, 0, 1], [2, 0, 1], [3, 2, 1, 0]):
        yield _one("Transpose", _x(2, 3, 4), perm=perm)
    # planes to pixels in whole packs, and tiles that end within a matrix
    for shape, perm in (((2, 3, 8, 16), [0, 2, 3, 1]), ((3, 2, 24), [0, 2, 1]), ((2, 70, 67), [0, 2, 1]), ((129, 65), [1, 0])):
        yield _one("Transpose", _x(*shape), perm=perm)
    for other in ((2, 5), (2,), (0, 3), (4, 3)):
        yield _one("Concat", _x(2, 3), _x(*other), axis=0)
    for length in (81, 130, 259):  # lines that threads share, in no whole packs
        yield _one("Concat", _x(3, 2, length), _x(3, 2, 4), axis=-1)
    for sizes in ((2, 1), (2, 5), (-1, 4), (3, 0), (1, 1)):
        yield _one("Split", _x(3, 2), _i(*sizes), outputs=2, axis=0)
    far = 2**63 - 1
    for start, end, axis, step in ((-1, -9, 0, -1), (0, far, 1, far), (3, -far - 1, 1, -far - 1), (far, -far, -1, -3), (0, 2, 7, 1), (0, 2, 0, 0)):
        yield _one("Slice", _x(4, 5), _i(start), _i(end), _i(axis), _i(step))
    yield _one("Slice", _x(4, 5), _i(0, 1), _i(2), _i(0, 1), _i(1, 1))
    for start, end, step in ((-8, -9, -1), (-8, -far - 1, -2), (-4, -4, -1), (-4, 0, 1), (-8, 2, 1), (7, -9, -3)):
        yield _one("Slice", _x(3), _i(start), _i(end), _i(0), _i(step))
        yield _one("Slice", _x(0), _i(start), _i(end), _i(0), _i(step))
    yield _one("Slice", _x(4, 5), _i(0, 0), _i(2, 2), _i(0, 0), _i(1, 1))
    for mode in ("constant", "edge", "reflect"):
        for pads, shape in (((1, 1, 2, 2), (3, 4)), ((1, 0, 1, 0), (0, 4)), ((-1, 0, 1, 0), (3, 4)), ((-4, 0, 0, 0), (3, 4)), ((1, 1), (3, 4))):
            yield _one("Pad", _x(*shape), _i(*pads), mode=mode)
    for shape in ((-1, -1), (-2, -2), (6, -1), (0, -1), (7,), (0, 0, 0)):
        yield _one("Reshape", _x(2, 3), _i(*shape))
    for axes in ((0,), (5,), (-1, 3), (0, 0)):
        yield _one("Unsqueeze", _x(2, 3), _i(*axes))
        yield _one("Squeeze", _x(1, 3, 1), _i(*axes))
    for shape in ((2, 3), (-1,), (2, -3), ()):
        yield _one("ConstantOfShape", _i(*shape))
    for shape in ((3, 4), (0, 1), (5, 4), (2, 1, 1)):
        yield _one("Expand", _x(3, 1), _i(*shape))
    for indices in (np.zeros((5, 2), np.int64), np.zeros((2,), np.int64), np.ones((2, 2), np.int64)):
        yield _one("GatherElements", _x(2, 4), indices, axis=1)
    for scales in ((1, 1, 2, 2), (1, 1, 0.5, 1), (1, 1, 0.1, 1), (1, 1, 0, 1), (1, 1, -1, 1), (1, 2)):
        edge = _one("Resize", _x(1, 2, 3, 4), np.zeros(0, np.float32), np.array(scales, np.float32))
        yield replace(edge, name=f"Resize by {scales}")
    for sizes in ((1, 2, 6, 7), (1, 2, 0, 4), (1, 2, 6)):
        yield _one("Resize", _x(1, 2, 3, 4), np.zeros(0, np.float32), np.zeros(0, np.float32), _i(*sizes), mode="linear")
    for shape, scales in (((2, 3, 4, 8), (1, 1, 2, 2)), ((2, 3, 4, 6), (1, 1, 1.5, 2)), ((3, 4, 8), (2, 1, 1))):  # whole packs of a line
        yield _one("Resize", _x(*shape), np.zeros(0, np.float32), np.array(scales, np.float32), coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    yield _one("Resize", _x(0, 2, 3), np.zeros(0, np.float32), np.array((1, 2, 2), np.float32))
    for k in (far, -far - 1, 0, 2, -2):
        yield _one("Trilu", _x(2, 3, 5), np.array(k), upper=0)
        yield _one("Trilu", _x(2, 3, 5), np.array(k))
        yield _one("Trilu", _x(0, 3), np.array(k))
    yield _one("Trilu", _x(3), np.array(0))
    yield _one("DepthToSpace", _x(1, 6, 2, 2), blocksize=2)
    yield _one("SpaceToDepth", _x(1, 2, 3, 2), blocksize=2)


def _compute() -> Iterator[Edge]:
    for c in ((5,), (3,), (2, 1), (1, 2, 3)):
        yield _one("Gemm", _x(2, 4), _x(4, 3), _x(*c))
    yield _one("Gemm", _x(2, 0), _x(0, 3), _x(3))
    for a, b in (((2, 0), (0, 3)), ((2, 3), (4, 2)), ((2, 1, 3, 4), (5, 4, 2)), ((3, 2, 3, 4), (2, 4, 2)), ((3,), (3,))):
        yield _one("MatMul", _x(*a), _x(*b))
    for scale in (3, 5):
        yield _one("BatchNormalization", _x(1, 5, 3, 3), _x(scale), _x(5), _x(5), np.abs(_x(5)))
        yield _one("InstanceNormalization", _x(2, 5, 4), _x(scale), _x(5))
        yield _one("GroupNormalization", _x(2, 10, 4), _x(2 * scale), _x(10), num_groups=5)
    for scale in ((5,), (1,), (6,), (3, 6), (7, 6)):
        yield _one("LayerNormalization", _x(2, 3, 6), _x(*scale), _x(6), axis=-2)
    yield _one("Clip", _x(50), np.array(1, np.float32), np.array(-1, np.float32))
    large = [np.array([60000.0, 3.0], np.float16), np.array([60000.0, 5.0], np.float16), np.array([-60000.0, 1.0], np.float16)]
    yield _one("Mean", *large[:2])
    yield _one("Mean", *large)
    yield _one("Sum", *large)
    past = {"q": _x(2, 4, 5, 8), "k": _x(2, 4, 6, 8), "v": _x(2, 4, 6, 8)}
    for shape in ((2, 4, 3, 8), (1, 4, 3, 8), (2, 2, 3, 8), (2, 4, 3, 7)):
        feeds = past | {"pk": _x(*shape), "pv": _x(*shape)}
        node = helper.make_node("Attention", ["q", "k", "v", "", "pk", "pv"], ["y", "a", "b"], is_causal=1)
        yield Edge(f"Attention past {shape}", model([node], feeds, ["y", "a", "b"], {}), feeds)
    for shape in ((5, 6), (4, 6), (2, 1, 5, 6), (5, 7), (5, 3), (5, 0), (2, 5, 6)):  # a short one fits since opset 24
        feeds = past | {"m": _x(*shape)}
        graph = model([helper.make_node("Attention", list(feeds), ["y"])], feeds, ["y"], {})
        yield Edge(f"Attention mask {shape}", graph, feeds)


def _windows() -> Iterator[Edge]:
    for attributes in ({"group": 2}, {"kernel_shape": [1, 1]}, {"strides": [2]}, {"pads": [1, 1]}, {"pads": [-1, 0, 0, -1]}, {"dilations": [2**40, 1]}, {"dilations": [1, 2**62]}, {"dilations": [2**63 - 1] * 2}, {"pads": [2**62, 0, 2**62, 0]}, {"auto_pad": "SAME_LOWER", "strides": [2, 3]}):
        feeds, weights = {"x": _x(1, 4, 7, 6)}, {"w": _x(6, 4, 3, 3)}
        nodes = [helper.make_node("Conv", ["x", "w"], ["t"], **attributes), helper.make_node("Relu", ["t"], ["y"])]
        yield Edge(f"Conv, Relu {attributes}", model(nodes, feeds, ["y"], weights), feeds)
    for bias in (5, 6, 7):
        feeds, weights = {"x": _x(1, 4, 7, 6), "b": _x(bias)}, {"w": _x(6, 4, 3, 3)}
        yield Edge(f"Conv bias {bias}", model([helper.make_node("Conv", ["x", "w", "b"], ["y"])], feeds, ["y"], weights), feeds)
    for pads in ([1, 1, 1, 1], [3, 0, 0, 0]):
        yield _one("MaxPool", _x(1, 3, 6, 7), kernel_shape=[3, 3], pads=pads, ceil_mode=1, strides=[2, 2])
        yield _one("AveragePool", _x(1, 3, 6, 7), kernel_shape=[3, 3], pads=pads, count_include_pad=1)


def _windows_without_bounds() -> Iterator[Edge]:
    """Attributes whose products do not fit 64 bits; where the window is one element, none of them matters."""
    for op in ("MaxPool", "AveragePool"):
        for attributes in ({"dilations": [1, 2**62]}, {"dilations": [1, 2**40], "kernel_shape": [2, 1]}, {"strides": [1, 2**62]}, {"strides": [2**33, 2**33], "ceil_mode": 1}):
            yield _one(op, _x(1, 2, 4, 4), **({"kernel_shape": [2, 3]} | attributes))
    feeds, weights = {"x": _x(1, 1, 5, 5)}, {"w": _x(1, 1, 1, 5)}
    yield Edge("Conv of dilation 2^62", model([helper.make_node("Conv", ["x", "w"], ["y"], dilations=[1, 2**62])], feeds, ["y"], weights), feeds)


def _larger_windows() -> Iterator[Edge]:
    """One place more than the input has; ceil_mode lets it lie there in part."""
    for op in ("MaxPool", "AveragePool"):
        for kernel, stride, ceil in ((5, 1, 0), (6, 1, 0), (6, 2, 0), (7, 3, 0), (7, 2, 1), (5, 2, 1), (6, 3, 1)):
            yield _one(op, _x(1, 2, 4, 4), kernel_shape=[1, kernel], strides=[1, stride], ceil_mode=ceil)
        yield _one(op, _x(1, 2, 5, 4), kernel_shape=[3, 3], dilations=[1, 2])


def _no_memory() -> Iterator[Edge]:
    """More than any machine addresses: an error, and the process goes on."""
    yield _one("Expand", _x(1), _i(2**30, 2**27))
    yield _one("ConstantOfShape", _i(2**30, 2**27))
    yield _one("Tile", _x(1, 1), _i(2**29, 2**28))
    feeds = {"x": _x(1), "s": _i(2**30, 2**27)}
    nodes = [helper.make_node("Expand", ["x", "s"], ["t"]), helper.make_node("Relu", ["t"], ["u"]), helper.make_node("ReduceMax", ["u"], ["y"], keepdims=0)]
    yield Edge("Expand, Relu, ReduceMax without the memory", model(nodes, feeds, ["y"], {}), feeds)


def _sums_over_nothing() -> Iterator[Edge]:
    for op in ("ReduceSum", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp"):
        for shape, axes, keep in (((2, 0, 3), (1,), 1), ((2, 0, 3), (0, 1), 0), ((2, 0, 3), (0,), 1), ((0,), (0,), 0)):
            yield _one(op, _x(*shape), _i(*axes), keepdims=keep)  # ReduceMean of nothing is undefined in ONNX
    for op in ("Softmax", "LogSoftmax"):
        for shape, axis in (((2, 0), -1), ((2, 0, 3), 0), ((0, 3), 1)):
            yield _one(op, _x(*shape), axis=axis)
    for a, b in (((4, 2, 0), (4, 0, 3)), ((4, 2, 0), (0, 3)), ((0,), (0,)), ((0,), (0, 3)), ((0, 2, 3), (3, 4)), ((2, 3), (3, 0))):
        yield _one("MatMul", _x(*a), _x(*b))
    for a, b, c, attributes in (
        ((2, 0), (0, 3), (2, 1), {"beta": 0.0}),
        ((2, 0), (0, 3), (3,), {"alpha": 0.5}),
        ((0, 2), (0, 3), (3,), {"transA": 1}),
        ((2, 0), (3, 0), (2, 1), {"transB": 1}),
        ((0, 3), (3, 2), (2,), {"beta": 0.5}),
        ((2, 3), (3, 0), (0,), {"beta": 0.5}),
    ):
        yield _one("Gemm", _x(*a), _x(*b), _x(*c), **attributes)
    yield _one("Gemm", _x(2, 0), _x(0, 3), beta=0.5)
    yield _one("LayerNormalization", _x(2, 0), _x(0), _x(0), outputs=3)
    yield _one("LayerNormalization", _x(0, 4), _x(4), _x(4), outputs=3)
    yield _one("RMSNormalization", _x(2, 0), _x(0))
    yield _one("InstanceNormalization", _x(2, 3, 0), _x(3), _x(3))
    yield _one("BatchNormalization", _x(2, 0, 3), *(_x(0) for _ in range(4)))


def _windows_over_nothing() -> Iterator[Edge]:
    for op in ("MaxPool", "AveragePool"):
        yield _one(op, _x(1, 3, 0, 7), kernel_shape=[2, 2], pads=[1, 1, 1, 1])
        yield _one(op, _x(0, 3, 4, 7), kernel_shape=[2, 2])
        yield _one(f"Global{op}", _x(1, 3, 0, 7))
        yield _one(f"Global{op}", _x(0, 3, 2, 7))
    for shape, kernel, pads in (((0, 2, 5, 5), 3, 0), ((1, 2, 0, 5), 3, 2), ((1, 2, 0, 5), 1, 0), ((1, 2, 0, 5), 1, 1)):
        feeds, weights = {"x": _x(*shape)}, {"w": _x(4, 2, kernel, kernel), "b": _x(4)}
        nodes = [helper.make_node("Conv", ["x", "w", "b"], ["t"], pads=[pads] * 4), helper.make_node("Relu", ["t"], ["y"])]
        yield Edge(f"Conv {shape}, kernel {kernel}, pads {pads}", model(nodes, feeds, ["y"], weights), feeds)


def _fused_over_nothing() -> Iterator[Edge]:
    """A linear layer of no inputs with what fuses to it; shapes are known, as a fusion asks."""
    weights = {"w": _x(0, 4), "b": _x(4), "s": _x(4), "h": _x(4)}
    linear = [helper.make_node("MatMul", ["x", "w"], ["t"]), helper.make_node("Add", ["t", "b"], ["u"])]
    norm = [helper.make_node("Add", ["u", "r"], ["v"]), helper.make_node("LayerNormalization", ["v", "s", "h"], ["y"])]
    for name, after in (("Gelu", [helper.make_node("Gelu", ["u"], ["y"])]), ("Relu", [helper.make_node("Relu", ["u"], ["y"])]), ("norm", norm)):
        feeds = {"x": _x(2, 3, 0)} | ({"r": _x(2, 3, 4)} if name == "norm" else {})
        graph = model(linear + after, feeds, ["y"], weights)
        for info in graph.graph.input:
            info.CopyFrom(helper.make_tensor_value_info(info.name, onnx.TensorProto.FLOAT, feeds[info.name].shape))
        yield Edge(f"linear layer of no inputs, {name}", graph, feeds)


def _pools_of_known_rank() -> Iterator[Edge]:
    """Of known rank, so that they are pools of channels last too; and strides that pass over some of the input."""
    for op in ("GlobalMaxPool", "GlobalAveragePool"):
        for shape in ((0, 17, 1, 0), (0, 3, 2, 2), (2, 3, 0, 1)):
            feeds = {"x": _x(*shape)}
            graph = model([helper.make_node(op, ["x"], ["y"])], feeds, ["y"], {})
            graph.graph.input[0].CopyFrom(helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, shape))
            yield Edge(f"{op} of known rank {shape}", graph, feeds)
    for stride in (2, 3, 4):
        yield _one("AveragePool", _x(1, 1, 9), kernel_shape=[1], strides=[stride], auto_pad="SAME_UPPER", opset=22)


def _scales_of_norms() -> Iterator[Edge]:
    """That broadcast to the input, to more of it than the normalized axes, or not."""
    for scale in ((1, 8), (3, 8), (2, 1, 8), (2, 3, 8), (1, 1, 8), (3, 1), (2, 1, 1), (1, 2, 3, 8), (2, 8), (4, 8)):
        for bias in ((8,), scale):
            yield _one("LayerNormalization", _x(2, 3, 8), _x(*scale), _x(*bias))
            yield _one("LayerNormalization", _x(2, 3, 8), _x(*scale), _x(*bias), outputs=2, axis=-1)
        yield _one("RMSNormalization", _x(2, 3, 8), _x(*scale))
        yield _one("RMSNormalization", _x(2, 3, 8), _x(*scale), axis=1)


def edges() -> Iterator[Edge]:
    """All of them."""
    yield from _movement()
    yield from _compute()
    yield from _windows()
    yield from _sums_over_nothing()
    yield from _windows_over_nothing()
    yield from _pools_of_known_rank()
    yield from _fused_over_nothing()
    yield from _larger_windows()
    yield from _windows_without_bounds()
    yield from _no_memory()
    yield from _scales_of_norms()
    yield from multi_heads()
    yield from attentions()
    yield from edges_with_rulings()
    yield from nans()
    yield from quantized_edges()
    yield from resize_edges()


@dataclass(frozen=True)
class EdgeResult:
    """`wrong`: what the provider did wrong, or "". `cpu`: what the CPU provider did that ONNX does not say, or ""."""

    name: str
    wrong: str
    cpu: str = ""


def _answers(make: Callable[[], ort.InferenceSession], feeds: InputArrays) -> list[Array] | None:
    try:
        return [np.asarray(a) for a in make().run(None, feeds)]
    except Exception:  # whichever way it refuses
        return None


def _wrong(actual: list[Array] | None, reference: list[Array] | None, who: str) -> str:
    if reference is None or actual is None:
        return "" if actual is reference else ("refused" if actual is None else f"answered what {who} refuses")
    error = max(relative_error(a, b) for a, b in zip(actual, reference, strict=True))
    limit = OF_HALF if any(w.dtype == np.float16 for w in reference) else TOLERANCE
    return "" if error <= limit else f"relative error {error:.1e} against {who}"


def _by_cpu(edge: Edge) -> list[Array] | None:
    return _answers(lambda: open_on_cpu(edge.model), edge.feeds)


def _astray(edge: Edge, ruling: Ruling) -> str:
    """What is reported of the CPU provider at an edge that it has been seen to get wrong."""
    deviation = ruling.astray.get(RELEASE)
    if ruling.fatal:
        return f"not asked: {deviation or 'in other releases it ' + next(iter(ruling.astray.values()))}"
    differs = _wrong(_by_cpu(edge), ruling.answer, "ONNX")
    if not ruling.astray:
        return f"differs where {ruling.sentence}" if differs else ""
    if deviation:
        return deviation if differs else f"as ONNX says this time; known of {RELEASE}: {deviation}"
    return f"{differs}: not known of {RELEASE}" if differs else ""


def judge(edge: Edge, actual: list[Array] | None) -> EdgeResult:
    """The provider's answers (None: it refused) by ONNX's ruling where there is one, else by the CPU provider's."""
    if edge.ruling is None:
        return EdgeResult(edge.name, _wrong(actual, _by_cpu(edge), "the CPU provider"))
    wrong = _wrong(actual, edge.ruling.answer, "ONNX")
    return EdgeResult(edge.name, wrong and f"{wrong}; {edge.ruling.sentence}", _astray(edge, edge.ruling))


def run(device: ort.OrtEpDevice) -> list[EdgeResult]:
    """Every edge; then the ways to choose a convolution's algorithm."""
    results = [judge(e, _answers(lambda m=e.model: open_session(m, device, severity=4), e.feeds)) for e in edges()]
    return results + _choices(device)


def _choices(device: ort.OrtEpDevice) -> list[EdgeResult]:
    feeds, weights = {"x": _x(2, 16, 12, 12)}, {"w": _x(32, 16, 3, 3)}
    graph = model([helper.make_node("Conv", ["x", "w"], ["y"])], feeds, ["y"], weights)
    reference = [np.asarray(w) for w in open_session(graph, device, options={"conv_choice": "rule"}).run(None, feeds)]
    results = []
    with tempfile.TemporaryDirectory() as folder:
        file = str(Path(folder) / "choices")
        for how in ("measure", "cached"):
            Path(file).touch()
            actual = _answers(lambda h=how: open_session(graph, device, options={"conv_choice": h, "conv_cache": file}), feeds)
            results.append(EdgeResult(f"conv_choice {how}", _wrong(actual, reference, "the rule's choice")))
    odd = _x(1, 64, 40, 40)
    odd[0, 5, 9, 9] = np.nan  # no output is to be NaN whose window does not hold it
    feeds, weights = {"x": odd}, {"w": _x(64, 64, 3, 3)}
    edge = Edge("conv_choice no_winograd", model([helper.make_node("Conv", ["x", "w"], ["y"])], feeds, ["y"], weights), feeds)
    actual = _answers(lambda: open_session(edge.model, device, options={"conv_choice": "no_winograd"}), feeds)
    return [*results, judge(edge, actual)]
