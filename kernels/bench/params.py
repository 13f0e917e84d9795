"""Turns a correctness case (ONNX inputs and attributes) into a launcher's parameters and the arrays they point to."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from bench import device as d
from common.case import Case
from conv.reference import same_pads


@dataclass
class Job:
    """`arrays` maps a pointer field to its host array; the output is the field `y`, laid out like `output_shape`.

    `to_case` turns the output as laid out in memory into the case's axes.
    """

    params: d.Params
    arrays: dict[str, np.ndarray]
    output_shape: tuple[int, ...]
    to_case: Callable[[np.ndarray], np.ndarray]


def _same(y: np.ndarray) -> np.ndarray:
    return y


def _last(x: np.ndarray) -> np.ndarray:
    """[N, C, spatial…] to [N, spatial…, C], in memory."""
    return np.ascontiguousarray(np.moveaxis(x, 1, -1))


def _first(x: np.ndarray) -> np.ndarray:
    return np.moveaxis(x, -1, 1)


def _image(case: Case, last: bool) -> tuple[dict[str, np.ndarray], tuple[int, ...], Callable[[np.ndarray], np.ndarray]]:
    x = case.inputs["X"]
    assert x is not None
    shape = case.expected.shape
    if not last:
        return {"x": x}, shape, _same
    return {"x": _last(x)}, (shape[0], *shape[2:], shape[1]), _first


def _activation(case: Case) -> d.Activation:
    return d.Activation(d.ACTIVATIONS[str(case.attributes.get("activation", "none"))],
                        float(case.attributes.get("activation_alpha", 0.01)), 0.0)  # type: ignore[arg-type]


def leaky_relu(case: Case, last: bool) -> Job:
    x = case.inputs["X"]
    assert x is not None
    params = d.LeakyRelu(d.DTYPES[x.dtype], x.size, float(case.attributes.get("alpha", 0.01)))  # type: ignore[arg-type]
    return Job(params, {"x": x}, x.shape, _same)


def batch_norm(case: Case, last: bool) -> Job:
    x, scale, bias, mean, var = (np.asarray(v) for v in case.inputs.values())
    arrays, shape, back = _image(case, last)
    params = d.BatchNorm(d.DTYPES[x.dtype], d.DTYPES[scale.dtype], d.DTYPES[mean.dtype], int(last), x.shape[0],
                         x.shape[1], math.prod(x.shape[2:]), float(case.attributes.get("epsilon", 1e-5)))  # type: ignore[arg-type]
    params.activation = _activation(case)
    return Job(params, arrays | {"scale": scale, "bias": bias, "mean": mean, "variance": var}, shape, back)


def group_norm(case: Case, last: bool) -> Job:
    x, scale, bias = (np.asarray(v) for v in case.inputs.values())
    arrays, shape, back = _image(case, last)
    groups = int(case.attributes["num_groups"])  # type: ignore[arg-type]
    params = d.GroupNorm(d.DTYPES[x.dtype], d.DTYPES[scale.dtype], int(last), x.shape[0], x.shape[1], groups,
                         math.prod(x.shape[2:]), scale.size != x.shape[1],
                         float(case.attributes.get("epsilon", 1e-5)))  # type: ignore[arg-type]
    params.activation = _activation(case)
    return Job(params, arrays | {"scale": scale, "bias": bias}, shape, back)


def conv(case: Case, last: bool) -> Job:
    x, w, bias = case.inputs["X"], case.inputs["W"], case.inputs["B"]
    assert x is not None and w is not None
    axes = x.ndim - 2
    read = {k: v for k, v in case.attributes.items() if isinstance(v, list)}
    strides, dilations = (read.get(k, [1] * axes) for k in ("strides", "dilations"))
    pads = read.get("pads", [0] * 2 * axes)
    if str(case.attributes.get("auto_pad", "")).startswith("SAME"):
        pads = same_pads(x.shape[2:], w.shape[2:], strides, dilations, case.attributes["auto_pad"] == "SAME_UPPER")
    params = d.Conv(d.DTYPES[x.dtype], int(last), int(last), 0, 0, axes, x.shape[0], x.shape[1], w.shape[0],
                    int(case.attributes.get("group", 1)))  # type: ignore[arg-type]
    fields = (params.in_, params.out, params.kernel, params.stride, params.dilation, params.pad_begin)
    values = (x.shape[2:], case.expected.shape[2:], w.shape[2:], strides, dilations, pads[:axes])
    for field, numbers in zip(fields, values, strict=True):
        for i, number in enumerate(numbers):
            field[i] = number
    params.activation = _activation(case)
    arrays, shape, back = _image(case, last)
    arrays["w"] = _last(w) if last else w
    if bias is not None:
        arrays["bias"] = bias
    residual = case.inputs.get("residual")
    if residual is not None:
        arrays["residual"] = _last(residual) if last else residual
    return Job(params, arrays, shape, back)


def _heads(x: np.ndarray, heads: int) -> tuple[tuple[int, int, int, int], list[int]]:
    """(batch, heads, length, size) of a 3-D or 4-D tensor, and its strides over batch, head and sequence."""
    if x.ndim == 4:
        b, h, s, size = x.shape
        return (b, h, s, size), [h * s * size, s * size, size]
    b, s, hidden = x.shape
    return (b, heads, s, hidden // heads), [s * hidden, hidden // heads, hidden]


def _extended(x: np.ndarray, past: np.ndarray | None, heads: int) -> np.ndarray:
    """A key or value behind its past, with 4 axes; itself where there is none."""
    if past is None:
        return x
    (b, h, s, size), _ = _heads(x, heads)
    fresh = x if x.ndim == 4 else x.reshape(b, s, h, size).transpose(0, 2, 1, 3)
    return np.concatenate([past, fresh], axis=2)


def attention(case: Case, last: bool) -> Job:
    q, k, v, mask, past_key, past_value, lengths = case.inputs.values()
    assert q is not None and k is not None and v is not None
    heads, key_heads = (int(case.attributes.get(n, 0)) for n in ("q_num_heads", "kv_num_heads"))  # type: ignore[arg-type]
    k, v = _extended(k, past_key, key_heads), _extended(v, past_value, key_heads)
    (b, h, s, size), qs = _heads(q, heads)
    (_, hk, t, _), ks = _heads(k, key_heads)
    (_, _, _, value_size), vs = _heads(v, key_heads)
    _, ys = _heads(np.empty(case.expected.shape, np.int8), heads)
    params = d.Attention(d.DTYPES[q.dtype], b, h, hk, s, t, size, value_size,
                         float(case.attributes.get("scale", 1 / math.sqrt(size) if size else 1.0)),  # type: ignore[arg-type]
                         float(case.attributes["softcap"]), bool(case.attributes["is_causal"]))  # type: ignore[arg-type]
    params.causal_offset = 0 if past_key is None else past_key.shape[2]
    for field, numbers in ((params.q_strides, qs), (params.k_strides, ks), (params.v_strides, vs), (params.y_strides, ys)):
        field[:] = numbers
    arrays = {"q": q, "k": k, "v": v}
    if mask is not None:
        arrays["mask"] = mask = np.repeat(mask, t, axis=3) if mask.shape[3] == 1 else mask  # rows are read whole
        params.key_length = mask.shape[3]
        params.mask_kind = d.MASK_KINDS.get(mask.dtype, d.ADDITIVE)
        strides = [0 if extent == 1 else stride // mask.itemsize
                   for extent, stride in zip(mask.shape, mask.strides, strict=True)]
        params.mask_batch_stride, params.mask_head_stride, params.mask_query_stride = strides[:3]
    if lengths is not None:
        arrays["key_lengths"] = lengths.astype(np.int32)
        params.causal_from_lengths = params.causal
    return Job(params, arrays, case.expected.shape, _same)


BUILDERS: dict[str, Callable[[Case, bool], Job]] = {
    "Attention": attention, "BatchNormalization": batch_norm, "Conv": conv, "GroupNormalization": group_norm,
    "LeakyRelu": leaky_relu,
}
# Operators that know a channels-last layout.
LAYOUTS = {"BatchNormalization", "Conv", "GroupNormalization"}
