"""Turns a correctness case (ONNX inputs and attributes) into a launcher's parameters and the arrays they point to."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from conv.reference import same_pads

from tools import device as d
from tools.case import OperatorCase


@dataclass
class KernelArguments:
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


def _image(case: OperatorCase, last: bool) -> tuple[dict[str, np.ndarray], tuple[int, ...], Callable[[np.ndarray], np.ndarray]]:
    x = case.inputs["X"]
    assert x is not None
    shape = case.expected_values.shape
    if not last:
        return {"x": x}, shape, _same
    return {"x": _last(x)}, (shape[0], *shape[2:], shape[1]), _first


def _activation(case: OperatorCase) -> d.Activation:
    return d.Activation(d.ACTIVATIONS[str(case.attributes.get("activation", "none"))],
                        float(case.attributes.get("activation_alpha", 0.01)), 0.0)  # type: ignore[arg-type]


def leaky_relu(case: OperatorCase, last: bool) -> KernelArguments:
    x = case.inputs["X"]
    assert x is not None
    params = d.LeakyRelu(d.DTYPES[x.dtype], x.size, float(case.attributes.get("alpha", 0.01)))  # type: ignore[arg-type]
    return KernelArguments(params, {"x": x}, x.shape, _same)


def batch_norm(case: OperatorCase, last: bool) -> KernelArguments:
    x, scale, bias, mean, var = (np.asarray(v) for v in case.inputs.values())
    arrays, shape, back = _image(case, last)
    params = d.BatchNorm(d.DTYPES[x.dtype], d.DTYPES[scale.dtype], d.DTYPES[mean.dtype], int(last), x.shape[0],
                         x.shape[1], math.prod(x.shape[2:]), float(case.attributes.get("epsilon", 1e-5)))  # type: ignore[arg-type]
    params.activation = _activation(case)
    return KernelArguments(params, arrays | {"scale": scale, "bias": bias, "mean": mean, "variance": var}, shape, back)


def group_norm(case: OperatorCase, last: bool) -> KernelArguments:
    x, scale, bias = (np.asarray(v) for v in case.inputs.values())
    arrays, shape, back = _image(case, last)
    groups = int(case.attributes["num_groups"])  # type: ignore[arg-type]
    params = d.GroupNorm(d.DTYPES[x.dtype], d.DTYPES[scale.dtype], int(last), x.shape[0], x.shape[1], groups,
                         math.prod(x.shape[2:]), scale.size != x.shape[1],
                         float(case.attributes.get("epsilon", 1e-5)))  # type: ignore[arg-type]
    params.activation = _activation(case)
    return KernelArguments(params, arrays | {"scale": scale, "bias": bias}, shape, back)


def conv(case: OperatorCase, last: bool) -> KernelArguments:
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
    values = (x.shape[2:], case.expected_values.shape[2:], w.shape[2:], strides, dilations, pads[:axes])
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
    return KernelArguments(params, arrays, shape, back)


def _heads(x: np.ndarray, heads: int) -> tuple[tuple[int, int, int, int], list[int]]:
    """(batch, heads, length, size) of a 3-D or 4-D tensor, and its strides over batch, head and sequence."""
    if x.ndim == 4:
        b, h, s, size = x.shape
        return (b, h, s, size), [h * s * size, s * size, size]
    b, s, hidden_size = x.shape
    return (b, heads, s, hidden_size // heads), [s * hidden_size, hidden_size // heads, hidden_size]


def _extend(x: np.ndarray, past: np.ndarray | None, heads: int) -> np.ndarray:
    """A key or value behind its past, with 4 axes; itself where there is none."""
    if past is None:
        return x
    (b, h, s, size), _ = _heads(x, heads)
    fresh = x if x.ndim == 4 else x.reshape(b, s, h, size).transpose(0, 2, 1, 3)
    return np.concatenate([past, fresh], axis=2)


def attention(case: OperatorCase, last: bool) -> KernelArguments:
    q, k, v, mask, past_key, past_value, lengths = case.inputs.values()
    assert q is not None and k is not None and v is not None
    heads, key_heads = (int(case.attributes.get(n, 0)) for n in ("q_num_heads", "kv_num_heads"))  # type: ignore[arg-type]
    k, v = _extend(k, past_key, key_heads), _extend(v, past_value, key_heads)
    (b, h, s, size), qs = _heads(q, heads)
    (_, hk, t, _), ks = _heads(k, key_heads)
    (_, _, _, value_size), vs = _heads(v, key_heads)
    _, ys = _heads(np.empty(case.expected_values.shape, np.int8), heads)
    params = d.Attention(d.DTYPES[q.dtype], b, h, hk, s, t, size, value_size,
                         float(case.attributes.get("scale", 1 / math.sqrt(size) if size else 1.0)),  # type: ignore[arg-type]
                         float(case.attributes["softcap"]), bool(case.attributes["is_causal"]))  # type: ignore[arg-type]
    params.causal_offset = 0 if past_key is None else past_key.shape[2]
    for field, numbers in ((params.q_strides, qs), (params.k_strides, ks), (params.v_strides, vs), (params.y_strides, ys)):
        field[:] = numbers
    arrays = {"q": q, "k": k, "v": v}
    if mask is not None:
        arrays["mask"] = mask
        params.key_length = mask.shape[3]
        _place_mask(params, mask)
    if lengths is not None:
        arrays["key_lengths"] = lengths.astype(np.int32)
        params.causal_from_lengths = params.causal
    return KernelArguments(params, arrays, case.expected_values.shape, _same)


def _with_bias(case: OperatorCase) -> dict[str, np.ndarray | None]:
    """The inputs of a MultiHeadAttention with its bias in query, key and value, rounded to their type as the custom op rounds."""
    inputs = dict(case.inputs)
    query, key, value, bias = (inputs[name] for name in ("query", "key", "value", "bias"))
    if bias is None:
        return inputs
    assert query is not None
    heads = int(case.attributes["num_heads"])  # type: ignore[arg-type]
    if query.ndim == 5:
        parts = {"query": bias.reshape(3, heads, -1).transpose(1, 0, 2)}
    else:
        assert key is not None and value is not None
        ends = np.cumsum([query.shape[2], key.shape[2]])
        parts = dict(zip(("query", "key", "value"), np.split(bias, ends), strict=True))
    for name, part in parts.items():
        whole = inputs[name]
        assert whole is not None
        inputs[name] = (whole.astype(np.float32) + part.astype(np.float32)).astype(whole.dtype)
    return inputs


AttentionParts = tuple[list[np.ndarray], list[tuple[int, int, int, int]], list[list[int]]]


def _parts(query: np.ndarray, key: np.ndarray | None, value: np.ndarray | None, heads: int) -> AttentionParts:
    """query, key and value: memory from the first number of each on, (batch, heads, length, size) and strides."""
    packed_input = query if key is None else key if value is None else None
    if packed_input is None:
        assert key is not None and value is not None
        extents, strides = zip(*(_heads(x, heads) for x in (query, key, value)), strict=True)
        return [query, key, value], list(extents), list(strides)
    b, s, n, parts, size = packed_input.shape
    memory = [packed_input.ravel()[part * size:] for part in range(parts)]
    at = [(b, n, s, size)] * parts, [[s * n * parts * size, parts * size, n * parts * size]] * parts
    if parts == 3:
        return memory, *at
    of_query = _heads(query, heads)
    return [query, *memory], [of_query[0], *at[0]], [of_query[1], *at[1]]


def _score_bias(case: OperatorCase, batch: int, queries: int, keys: int) -> np.ndarray | None:
    """What MultiHeadAttention adds to the scores, [1 or B, 1 or N, 1 or S, T] in the query's type."""
    padding, bias = case.inputs["key_padding_mask"], case.inputs["attention_bias"]
    if padding is None:
        return bias
    counts = np.arange(keys) < padding[:batch, None] if padding.ndim == 1 else padding > 0
    counts = counts.reshape(batch, 1, padding.shape[1] if padding.ndim == 3 else 1, keys)
    visible = np.ones((1, keys), bool)
    if case.attributes["unidirectional"] and queries > 1:
        past = case.inputs["past_key"]
        visible = np.tri(queries, keys, 0 if past is None else past.shape[2], dtype=bool)
    one_counts = (counts & visible).any(axis=3, keepdims=True)
    numbers = np.where(~counts & one_counts, np.float32(case.attributes.get("mask_filter_value", -10000.0)), np.float32(0))  # type: ignore[arg-type]
    with np.errstate(over="ignore"):
        return (numbers if bias is None else numbers + bias.astype(np.float32)).astype(case.dtype)


def multi_head(case: OperatorCase, last: bool) -> KernelArguments:
    inputs, heads = _with_bias(case), int(case.attributes["num_heads"])  # type: ignore[arg-type]
    assert inputs["query"] is not None
    arrays, extents, strides = _parts(inputs["query"], inputs["key"], inputs["value"], heads)
    past = inputs["past_key"]
    if past is not None:
        for i, before in ((1, past), (2, inputs["past_value"])):
            arrays[i] = _extend(arrays[i], before, heads)
            extents[i], strides[i] = _heads(arrays[i], heads)
    (b, _, s, size), (_, _, t, _), (_, _, _, value_size) = extents
    scale = float(case.attributes.get("scale", 0.0)) or (1 / math.sqrt(size) if size else 1.0)  # type: ignore[arg-type]
    params = d.Attention(d.DTYPES[case.dtype], b, heads, heads, s, t, size, value_size, scale, 0.0,
                         bool(case.attributes["unidirectional"]) and s > 1)
    params.causal_offset = 0 if past is None else past.shape[2]
    answer = _heads(np.empty(case.expected_values.shape, np.int8), heads)[1]
    for field, numbers in ((params.q_strides, strides[0]), (params.k_strides, strides[1]), (params.v_strides, strides[2]), (params.y_strides, answer)):
        field[:] = numbers
    arrays_by_name = dict(zip("qkv", arrays, strict=True))
    mask = _score_bias(case, b, s, t)
    if mask is not None and mask.size:
        arrays_by_name["mask"] = mask
        _place_mask(params, mask)
    return KernelArguments(params, arrays_by_name, case.expected_values.shape, _same)


def _place_mask(params: d.Attention, mask: np.ndarray) -> None:
    params.mask_kind = d.MASK_KINDS.get(mask.dtype, d.ADDITIVE)
    strides = [0 if extent == 1 else stride // mask.itemsize for extent, stride in zip(mask.shape, mask.strides, strict=True)]
    params.mask_batch_stride, params.mask_head_stride, params.mask_query_stride = strides[:3]


BUILDERS: dict[str, Callable[[OperatorCase, bool], KernelArguments]] = {
    "Attention": attention, "BatchNormalization": batch_norm, "Conv": conv, "GroupNormalization": group_norm,
    "LeakyRelu": leaky_relu, "MultiHeadAttention": multi_head,
}
# Operators that know a channels-last layout.
LAYOUTS = {"BatchNormalization", "Conv", "GroupNormalization"}
