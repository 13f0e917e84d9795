"""Edge cases in which ONNX Runtime's CPU provider differs from ONNX: what it did, in which releases, and ONNX's sentence.

Each was seen with 1.30.0, 1.31.1 and 1.32.0 unless its table names fewer. A release that has fixed one is reported and does not fail.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from onnx import helper

from tools.ep.edge import Array, Edge, InputArrays, Ruling, floats, model, one

GEMM = "Gemm: Compute Y = alpha * A' * B' + beta * C"
MATMUL = "MatMul: Matrix product that behaves like numpy.matmul"
CONV = "Conv: B: Optional 1D bias to be added to the convolution; a sum over no channels is 0"
BROADCAST = "Attention, attn_mask: Shape must be broadcastable to 4D tensor with shape (batch_size, q_num_heads, q_sequence_length, total_sequence_length)"
SHORT = (
    "Attention (24), attn_mask: The last dimension can also be shorter than total_sequence_length and will be padded to "
    "total_sequence_length with negative infinity"
)
NO_KEY = "Attention: A fully-masked query row (no key attended) produces a zero output row, not NaN"
SCALE = "Attention, scale: Scaling factor applied to Q*K^T; default is 1/sqrt(head_size)"
BACKWARDS = "Slice: end is clamped to [-1, dims[axes[i]] - 1] for negative stepping"
POOL_PADS = "MaxPool, SAME: pad_shape[i] = (output_spatial_shape[i] - 1) * strides_spatial_shape[i] + ((kernel_spatial_shape[i] - 1) * dilations[i] + 1) - input_spatial_shape[i]"
POOL_SAME = "{}, SAME: output_spatial_shape[i] = floor((input_spatial_shape[i] - 1) / strides_spatial_shape[i]) + 1"
SHAPE = "GroupNormalization: Y: The output tensor of the same shape as X"


def _deviation(what: str, *releases: str) -> dict[str, str]:
    return dict.fromkeys(releases or ("1.30", "1.31", "1.32"), what)


def _older_deviation(what: str) -> dict[str, str]:
    """A deviation of 1.30 and 1.31 that 1.32 does not have."""
    return _deviation(what, "1.30", "1.31")


def _products() -> Iterator[Edge]:
    for beta, shape in ((0.5, (3,)), (2.0, (2, 1)), (0.5, (2, 3)), (-1.0, ())):
        c = floats(*shape)
        reference = [np.broadcast_to(np.float32(beta) * c, (2, 3))]
        yield one("Gemm", floats(2, 0), floats(0, 3), c, beta=beta, ruling=Ruling(reference, GEMM, _older_deviation("leaves beta out where K is 0")))
    for a, b, astray in (
        ((4, 1, 2, 0), (5, 0, 3), _older_deviation("leaves an axis of the batch unbroadcast where K is 0")),
        ((2, 0), (0,), {"1.31": "leaves the answer as it found the memory"}),
        ((2, 3), (0, 3, 4), _older_deviation("refuses an empty batch on one side")),
    ):
        x, y = floats(*a), floats(*b)
        yield one("MatMul", x, y, ruling=Ruling([np.matmul(x, y)], MATMUL, astray))


def _convolutions() -> Iterator[Edge]:
    astray = {"1.30": "leaves the answer as it found the memory", "1.31": "refuses"}
    for kernel, extent in ((3, 3), (1, 5)):
        bias = floats(4)
        feeds, weights = {"x": floats(1, 0, 5, 5)}, {"w": floats(4, 0, kernel, kernel), "b": bias}
        reference = [np.broadcast_to(bias[None, :, None, None], (1, 4, extent, extent))]
        graph = model([helper.make_node("Conv", ["x", "w", "b"], ["y"])], feeds, ["y"], weights)
        yield Edge(f"Conv over no channels, kernel {kernel}", graph, feeds, Ruling(reference, CONV, astray))


def _attend(q: Array, k: Array, v: Array, bias: Array | None = None) -> Array:
    """Attention by its definition, in float64; a row without a key is zeros."""
    scores = q.astype(np.float64) @ np.swapaxes(k.astype(np.float64), 2, 3) / np.sqrt(q.shape[3])
    scores = scores if bias is None else scores + bias
    weights = np.exp(scores - scores.max(axis=3, keepdims=True, initial=-np.finfo(np.float64).max))
    return np.asarray(weights @ v / np.maximum(weights.sum(axis=3, keepdims=True), 1e-300), np.float32)


def _attention(name: str, feeds: InputArrays, reference: Array, sentence: str, astray: str | dict[str, str], opset: int = 23, fatal: bool = False, **attributes: float) -> Edge:
    graph = model([helper.make_node("Attention", list(feeds), ["y"], **attributes)], feeds, ["y"], {}, opset)
    return Edge(f"Attention {opset}, {name}", graph, feeds, Ruling([reference], sentence, _deviation(astray) if isinstance(astray, str) else astray, fatal))


def _attentions() -> Iterator[Edge]:
    q, k, v = floats(2, 4, 5, 8), floats(2, 4, 6, 8), floats(2, 4, 6, 8)
    for shape in ((1, 6), (5, 1), (4, 1, 6), (1, 4, 1, 6), (6,)):
        mask = floats(*shape)
        yield _attention(f"mask {shape}", {"q": q, "k": k, "v": v, "m": mask}, _attend(q, k, v, mask), BROADCAST, "refuses to broadcast it")
    for shape in ((5, 3), (2, 1, 5, 3), (5, 1), (5, 0)):
        mask = floats(*shape)
        reference = _attend(q, k[:, :, : shape[-1]], v[:, :, : shape[-1]], mask)
        yield _attention(f"mask {shape}", {"q": q, "k": k, "v": v, "m": mask}, reference, SHORT, "refuses a short mask", opset=24)
    mean = np.broadcast_to(v.mean(axis=2, keepdims=True, dtype=np.float64), q.shape).astype(np.float32)
    yield _attention("scale 0", {"q": q, "k": k, "v": v}, mean, SCALE, "refuses a scale of 0", scale=0.0)
    none = floats(2, 4, 0, 8)
    yield _attention("no keys", {"q": q, "k": none, "v": none}, np.zeros_like(q), NO_KEY, "refuses", opset=24)
    yield _attention("no queries", {"q": none, "k": k, "v": v}, none, "Attention: Y has q_sequence_length rows", "refuses")
    q, k = floats(2, 0, 5, 8), floats(2, 0, 3, 8)
    ends = _older_deviation("divides by zero, which ends the process") | {"1.32": "refuses (asked apart from these checks)"}
    yield _attention("no heads", {"q": q, "k": k, "v": k}, q, "Attention: Y has q_num_heads heads", ends, fatal=True)


def _slices() -> Iterator[Edge]:
    far = 2**63 - 1
    for start, end in ((3, far), (-8, far), (-1, far)):
        at = [np.array([v], np.int64) for v in (start, end, 0, -1)]
        yield one("Slice", floats(5), *at, ruling=Ruling([np.zeros(0, np.float32)], BACKWARDS, _deviation("takes the largest integer for the end of the axis backwards, too")))


def _pools() -> Iterator[Edge]:
    """SAME padding where the last stride ends before the input does, and where a kernel is dilated."""
    x = np.arange(9, dtype=np.float32).reshape(1, 1, 9)
    reference = [np.array([[[1, 4, 7]]], np.float32)]
    ruling = Ruling(reference, POOL_PADS, _deviation("refuses"))
    yield one("MaxPool", x, kernel_shape=[1], strides=[3], auto_pad="SAME_UPPER", opset=22, ruling=ruling)
    for op in ("MaxPool", "AveragePool"):
        spread = np.max if op == "MaxPool" else np.mean
        taps = [[x[0, 0, i] for i in (o - 3, o, o + 3) if 0 <= i < 5] for o in range(5)]
        reference = [np.array([[[spread(t) for t in taps]]], np.float32)]
        astray = _deviation("answers as if it were not padded")
        yield one(op, x[:, :, :5], kernel_shape=[3], dilations=[3], auto_pad="SAME_UPPER", opset=22, ruling=Ruling(reference, POOL_SAME.format(op), astray))


def edges_with_rulings() -> Iterator[Edge]:
    """The edges, each with its ruling."""
    yield from _products()
    yield from _convolutions()
    yield from _attentions()
    yield from _slices()
    yield from _pools()
    yield one("GroupNormalization", floats(2, 4, 0), floats(4), floats(4), num_groups=2, ruling=Ruling([floats(2, 4, 0)], SHAPE, _deviation("refuses")))
