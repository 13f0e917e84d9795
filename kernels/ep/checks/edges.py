"""Models and inputs that do not fit, or only just do: the provider must answer as ONNX Runtime's CPU provider does, or
refuse where that refuses. Inputs' ranks are hidden from shape inference, so that nothing but the kernels looks at them.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper, numpy_helper
from session import open_session, relative_error

Array = np.ndarray
Feeds = dict[str, Array]
TOLERANCE = 2e-5
_rng = np.random.default_rng(11)


def _x(*shape: int) -> Array:
    return _rng.standard_normal(shape).astype(np.float32)


def _i(*values: int) -> Array:
    return np.array(values, np.int64)


def model(nodes: list[onnx.NodeProto], feeds: Feeds, outputs: list[str], weights: Feeds) -> onnx.ModelProto:
    """A graph of opset 23 whose inputs have types and no shapes."""
    infos = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), None) for n, v in feeds.items()]
    results = [onnx.ValueInfoProto(name=n) for n in outputs]
    constants = [numpy_helper.from_array(v, n) for n, v in weights.items()]
    graph = helper.make_graph(nodes, "edge", infos, results, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=10)


def _one(op: str, *inputs: Array, outputs: int = 1, **attributes: object) -> tuple[str, onnx.ModelProto, Feeds]:
    feeds = {f"x{i}": v for i, v in enumerate(inputs)}
    names = [f"y{i}" for i in range(outputs)]
    shapes = " ".join(str(v.tolist()) if v.dtype == np.int64 and v.size < 9 else str(v.shape) for v in inputs)
    node = helper.make_node(op, list(feeds), names, **attributes)
    return f"{op} {shapes} {attributes or ''}", model([node], feeds, names, {}), feeds


def _movement() -> Iterator[tuple[str, onnx.ModelProto, Feeds]]:
    for perm in ([1, 0], [0, 0, 1], [2, 0, 1], [3, 2, 1, 0]):
        yield _one("Transpose", _x(2, 3, 4), perm=perm)
    for other in ((2, 5), (2,), (0, 3), (4, 3)):
        yield _one("Concat", _x(2, 3), _x(*other), axis=0)
    for sizes in ((2, 1), (2, 5), (-1, 4), (3, 0), (1, 1)):
        yield _one("Split", _x(3, 2), _i(*sizes), outputs=2, axis=0)
    far = 2**63 - 1
    for start, end, axis, step in ((-1, -9, 0, -1), (0, far, 1, far), (3, -far - 1, 1, -far - 1), (far, -far, -1, -3), (0, 2, 7, 1), (0, 2, 0, 0)):
        yield _one("Slice", _x(4, 5), _i(start), _i(end), _i(axis), _i(step))
    yield _one("Slice", _x(4, 5), _i(0, 1), _i(2), _i(0, 1), _i(1, 1))
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
    yield _one("DepthToSpace", _x(1, 6, 2, 2), blocksize=2)
    yield _one("SpaceToDepth", _x(1, 2, 3, 2), blocksize=2)


def _compute() -> Iterator[tuple[str, onnx.ModelProto, Feeds]]:
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
    past = {"q": _x(2, 4, 5, 8), "k": _x(2, 4, 6, 8), "v": _x(2, 4, 6, 8)}
    for shape in ((2, 4, 3, 8), (1, 4, 3, 8), (2, 2, 3, 8), (2, 4, 3, 7)):
        feeds = past | {"pk": _x(*shape), "pv": _x(*shape)}
        node = helper.make_node("Attention", ["q", "k", "v", "", "pk", "pv"], ["y", "a", "b"], is_causal=1)
        yield f"Attention past {shape}", model([node], feeds, ["y", "a", "b"], {}), feeds
    for shape in ((5, 6), (4, 6), (2, 1, 5, 6), (5, 7)):
        feeds = past | {"m": _x(*shape)}
        yield f"Attention mask {shape}", model([helper.make_node("Attention", list(feeds), ["y"])], feeds, ["y"], {}), feeds


def _windows() -> Iterator[tuple[str, onnx.ModelProto, Feeds]]:
    for attributes in ({"group": 2}, {"kernel_shape": [1, 1]}, {"strides": [2]}, {"pads": [1, 1]}, {"pads": [-1, 0, 0, -1]}, {"dilations": [2**40, 1]}, {"auto_pad": "SAME_LOWER", "strides": [2, 3]}):
        feeds, weights = {"x": _x(1, 4, 7, 6)}, {"w": _x(6, 4, 3, 3)}
        nodes = [helper.make_node("Conv", ["x", "w"], ["t"], **attributes), helper.make_node("Relu", ["t"], ["y"])]
        yield f"Conv, Relu {attributes}", model(nodes, feeds, ["y"], weights), feeds
    for bias in (5, 6, 7):
        feeds, weights = {"x": _x(1, 4, 7, 6), "b": _x(bias)}, {"w": _x(6, 4, 3, 3)}
        yield f"Conv bias {bias}", model([helper.make_node("Conv", ["x", "w", "b"], ["y"])], feeds, ["y"], weights), feeds
    for pads in ([1, 1, 1, 1], [3, 0, 0, 0]):
        yield _one("MaxPool", _x(1, 3, 6, 7), kernel_shape=[3, 3], pads=pads, ceil_mode=1, strides=[2, 2])
        yield _one("AveragePool", _x(1, 3, 6, 7), kernel_shape=[3, 3], pads=pads, count_include_pad=1)


def edges() -> Iterator[tuple[str, onnx.ModelProto, Feeds]]:
    """Name, model and inputs."""
    yield from _movement()
    yield from _compute()
    yield from _windows()


def _answers(make: object, feeds: Feeds) -> list[Array] | None:
    try:
        return [np.asarray(a) for a in make().run(None, feeds)]  # type: ignore[operator]
    except Exception:  # whichever way it refuses
        return None


def _wrong(found: list[Array] | None, wanted: list[Array] | None) -> str:
    if wanted is None or found is None:
        return "" if found is wanted else ("refused" if found is None else "answered what the CPU provider refuses")
    error = max(relative_error(a, b) for a, b in zip(found, wanted, strict=True))
    return "" if error <= TOLERANCE else f"relative error {error:.1e}"


def run(device: ort.OrtEpDevice) -> list[tuple[str, str]]:
    """(edge, what is wrong or "") for each; then the ways to choose a convolution's algorithm."""
    results = []
    settings = ort.SessionOptions()
    settings.log_severity_level = 4
    for name, made, feeds in edges():
        payload = made.SerializeToString()
        wanted = _answers(lambda p=payload: ort.InferenceSession(p, settings, providers=["CPUExecutionProvider"]), feeds)
        found = _answers(lambda m=made: open_session(m, device, severity=4), feeds)
        results.append((name, _wrong(found, wanted)))
    return results + _choices(device)


def _choices(device: ort.OrtEpDevice) -> list[tuple[str, str]]:
    feeds, weights = {"x": _x(2, 16, 12, 12)}, {"w": _x(32, 16, 3, 3)}
    made = model([helper.make_node("Conv", ["x", "w"], ["y"])], feeds, ["y"], weights)
    wanted = open_session(made, device, options={"conv_choice": "rule"}).run(None, feeds)
    results = []
    with tempfile.TemporaryDirectory() as folder:
        file = str(Path(folder) / "choices")
        for how in ("measure", "cached"):
            Path(file).touch()
            found = _answers(lambda h=how: open_session(made, device, options={"conv_choice": h, "conv_cache": file}), feeds)
            results.append((f"conv_choice {how}", _wrong(found, [np.asarray(w) for w in wanted])))
    return results
