"""Shapes com.microsoft's MultiHeadAttention is checked on: every form of its inputs, every shape of its masks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from attention.multi_head_reference import multi_head
from tools.case import AttributeValue, OperatorCase, normal


@dataclass(frozen=True)
class MultiHeadShape:
    """Sizes and options of one attention. Packed forms have one length (of a query) and one size of heads."""

    batch: int
    heads: int
    queries: int
    keys: int  # the new ones
    size: int
    value_size: int
    form: str = "plain"  # plain, apart (key and value of 4 axes), packed kv, packed qkv
    bias: bool = False
    padding: str = ""  # lengths, starts (the form of 3 B + 2 numbers), keys, pairs; "none count": for the last batch entry; "left": the first half
    bias_shape: str = ""  # the first two extents of attention_bias: BN, 1N, B1, 11
    causal: bool = False
    past: int = 0
    scale: float | None = None
    filter: float | None = None


SHAPES = [
    MultiHeadShape(1, 1, 1, 1, 1, 1),
    MultiHeadShape(2, 3, 5, 7, 8, 6),
    MultiHeadShape(2, 3, 5, 7, 8, 6, bias=True),
    MultiHeadShape(2, 4, 33, 65, 64, 64, bias=True, bias_shape="1N"),
    MultiHeadShape(2, 3, 5, 7, 8, 6, form="apart"),
    MultiHeadShape(2, 3, 40, 70, 64, 64, form="apart", padding="keys", bias_shape="B1"),
    MultiHeadShape(2, 3, 5, 7, 8, 8, form="packed kv"),
    MultiHeadShape(2, 2, 40, 70, 64, 64, form="packed kv", padding="lengths", bias_shape="11"),
    MultiHeadShape(2, 3, 7, 7, 8, 8, form="packed qkv"),
    MultiHeadShape(2, 3, 7, 7, 5, 5, form="packed qkv", bias=True),
    MultiHeadShape(2, 2, 70, 70, 64, 64, form="packed qkv", bias=True, padding="keys"),
    MultiHeadShape(1, 2, 65, 65, 128, 128, form="packed qkv", causal=True),
    MultiHeadShape(3, 2, 5, 9, 7, 5, padding="lengths"),
    MultiHeadShape(3, 2, 5, 9, 7, 5, padding="starts"),
    MultiHeadShape(3, 2, 5, 9, 7, 5, padding="keys"),
    MultiHeadShape(3, 2, 5, 9, 7, 5, padding="pairs"),
    MultiHeadShape(3, 2, 5, 9, 7, 5, padding="pairs", bias_shape="BN", bias=True),
    MultiHeadShape(2, 2, 9, 9, 16, 16, padding="keys", causal=True),
    MultiHeadShape(2, 2, 40, 40, 64, 64, padding="lengths", causal=True, bias_shape="1N"),
    MultiHeadShape(2, 2, 5, 9, 7, 7, padding="lengths, none count"),
    MultiHeadShape(2, 2, 9, 9, 7, 7, padding="pairs, none count", causal=True, bias_shape="B1"),
    MultiHeadShape(2, 2, 9, 9, 7, 7, padding="keys, left", causal=True),
    MultiHeadShape(2, 2, 40, 40, 64, 64, padding="keys, left", causal=True, bias_shape="11"),
    MultiHeadShape(2, 2, 9, 9, 8, 8, padding="pairs, left", causal=True, past=3),
    MultiHeadShape(2, 2, 5, 9, 7, 7, padding="keys", filter=-3.0),
    MultiHeadShape(2, 2, 40, 72, 64, 64, padding="pairs", filter=-0.5),
    MultiHeadShape(2, 2, 5, 9, 7, 7, padding="keys", filter=-1e9),
    MultiHeadShape(2, 3, 5, 5, 8, 6, past=3, causal=True),
    MultiHeadShape(2, 3, 5, 5, 8, 8, past=3, bias=True, padding="keys", bias_shape="BN"),
    MultiHeadShape(1, 2, 1, 1, 64, 64, past=130, causal=True),
    MultiHeadShape(2, 2, 1, 1, 64, 64, past=33, padding="lengths", bias=True),
    MultiHeadShape(2, 2, 33, 33, 64, 64, past=40, causal=True, padding="pairs"),
    MultiHeadShape(1, 2, 6, 10, 12, 12, scale=0.3),
    MultiHeadShape(1, 2, 6, 10, 12, 12, scale=0.0),
    MultiHeadShape(1, 2, 6, 10, 12, 12, scale=-0.2),
    MultiHeadShape(1, 2, 9, 4, 12, 12, causal=True),  # more queries than keys
    MultiHeadShape(1, 2, 1, 9, 12, 12, causal=True),  # one sees all
    MultiHeadShape(0, 2, 5, 9, 8, 8, padding="lengths", bias=True),
    MultiHeadShape(0, 2, 5, 5, 8, 8, form="packed qkv", padding="starts"),
    MultiHeadShape(2, 2, 0, 9, 8, 8, bias=True, padding="pairs"),
    MultiHeadShape(2, 2, 5, 0, 8, 8, padding="keys"),
    MultiHeadShape(2, 2, 5, 0, 8, 8, past=4),
    MultiHeadShape(2, 2, 5, 9, 0, 3),
    MultiHeadShape(2, 2, 5, 9, 3, 0, bias=True),
]


def padding_mask(rng: np.random.Generator, s: MultiHeadShape) -> tuple[np.ndarray | None, np.ndarray | None]:
    """key_padding_mask, and which keys count by it ([B, 1 or S, T]). Every query sees one that does, but as asked for."""
    total, kind = s.past + s.keys, s.padding.partition(",")[0]
    if not kind:
        return None, None
    if kind in ("lengths", "starts"):
        lengths = rng.integers(min(1, total), total + 1, s.batch).astype(np.int32)
        if "none" in s.padding:
            lengths[-1] = 0
        starts = np.arange(s.batch + 1) * np.array([[s.queries], [total]])
        mask = np.concatenate([lengths, starts.ravel()]).astype(np.int32) if kind == "starts" else lengths
        return mask, np.arange(total) < lengths[:, None, None]
    rows = s.queries if kind == "pairs" else 1
    mask = rng.integers(-1, 3, (s.batch, rows, total)).astype(np.int32)
    mask[..., :1] = 1
    if "left" in s.padding:
        mask[..., : total // 2], mask[..., total // 2 :] = 0, 1
    if "none" in s.padding:
        mask[-1] = 0
    return (mask if kind == "pairs" else mask[:, 0]), mask > 0


def flat(x: np.ndarray) -> np.ndarray:
    """[B, N, S, H] to [B, S, N * H]."""
    b, n, s, h = x.shape
    return np.ascontiguousarray(x.transpose(0, 2, 1, 3)).reshape(b, s, n * h)


def pack(*parts: np.ndarray) -> np.ndarray:
    """Each [B, N, S, H] to one [B, S, N, parts, H]."""
    return np.ascontiguousarray(np.stack(parts, axis=3).transpose(0, 2, 1, 3, 4))


def form_inputs(s: MultiHeadShape, q: np.ndarray, k: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
    """query, key and value in their form."""
    if s.form == "packed qkv":
        return pack(q, k, v), None, None
    if s.form == "packed kv":
        return flat(q), pack(k, v), None
    return (flat(q), k, v) if s.form == "apart" else (flat(q), flat(k), flat(v))


def make(rng: np.random.Generator, s: MultiHeadShape, dtype: type) -> OperatorCase:
    q = normal(rng, (s.batch, s.heads, s.queries, s.size), dtype)
    k = normal(rng, (s.batch, s.heads, s.keys, s.size), dtype)
    v = normal(rng, (s.batch, s.heads, s.keys, s.value_size), dtype)
    query, key, value = form_inputs(s, q, k, v)
    bias = normal(rng, (s.heads * (2 * s.size + s.value_size),), dtype) if s.bias else None
    if bias is not None:
        parts = np.split(bias, [s.heads * s.size, 2 * s.heads * s.size])
        q, k, v = ((x.astype(np.float64) + part.reshape(s.heads, 1, -1)).astype(dtype) for x, part in zip((q, k, v), parts, strict=True))
    past_key = past_value = None
    if s.past:
        past_key = normal(rng, (s.batch, s.heads, s.past, s.size), dtype)
        past_value = normal(rng, (s.batch, s.heads, s.past, s.value_size), dtype)
        k, v = np.concatenate([past_key, k], axis=2), np.concatenate([past_value, v], axis=2)
    added_bias = None
    if s.bias_shape:
        first = [count if letter != "1" else 1 for letter, count in zip(s.bias_shape, (s.batch, s.heads), strict=True)]
        added_bias = normal(rng, (*first, s.queries, s.past + s.keys), dtype)
    mask, counts = padding_mask(rng, s)
    attributes: dict[str, AttributeValue] = {"num_heads": s.heads, "unidirectional": int(s.causal)}
    if s.scale is not None:
        attributes["scale"] = s.scale
    if s.filter is not None:
        attributes["mask_filter_value"] = s.filter
    filter_ = -10000.0 if s.filter is None else s.filter
    reference = multi_head(q, k, v, counts, added_bias, s.scale or 0.0, s.causal, s.past, filter_)
    inputs = {"query": query, "key": key, "value": value, "bias": bias, "key_padding_mask": mask, "attention_bias": added_bias,
              "past_key": past_key, "past_value": past_value}
    return OperatorCase("MultiHeadAttention", name_of(s), inputs, attributes, reference, opset=0)


def name_of(s: MultiHeadShape) -> str:
    name = f"B{s.batch} N{s.heads} S{s.queries} L{s.keys} H{s.size}/{s.value_size} {s.form}" + " bias" * s.bias
    name += f" padding={s.padding}" * bool(s.padding) + f" added={s.bias_shape}" * bool(s.bias_shape) + " causal" * s.causal
    name += f" past={s.past}" * (s.past > 0) + ("" if s.scale is None else f" scale={s.scale:g}")
    return name + ("" if s.filter is None else f" filter={s.filter:g}")


def any_shape(rng: np.random.Generator) -> MultiHeadShape:
    form = str(rng.choice(["plain", "plain", "apart", "packed kv", "packed qkv"]))
    queries, keys, size, value_size = (int(n) for n in rng.integers(1, 70, size=4))
    causal = bool(rng.integers(2))
    past = int(rng.integers(1, 40)) if form == "plain" and rng.integers(2) else 0
    if form == "packed qkv" or past or causal:  # causal: no fewer queries than new keys
        keys = queries
    if form.startswith("packed") or ((past or form == "apart") and rng.integers(2)):  # ONNX Runtime's own take no other there
        value_size = size
    return MultiHeadShape(int(rng.integers(1, 4)), int(rng.integers(1, 5)), queries, keys, size, value_size, form,
                 bias=form in ("plain", "packed qkv") and bool(rng.integers(2)),
                 padding=str(rng.choice(["", "lengths", "starts", "keys", "pairs", "keys, none count"])),
                 bias_shape=str(rng.choice(["", "BN", "1N", "B1", "11"])), causal=causal, past=past)


def cases(rng: np.random.Generator, dtype: type) -> Iterator[OperatorCase]:
    for shape in SHAPES:
        yield make(rng, shape, dtype)
    for _ in range(40):
        yield make(rng, any_shape(rng), dtype)


def bench(rng: np.random.Generator, dtype: type) -> Iterator[OperatorCase]:
    """None: what is worth timing is Attention's."""
    return iter(())
