"""Shapes Attention is checked on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from attention.reference import attention
from tools.case import AttributeValue, OperatorCase, normal


@dataclass(frozen=True)
class AttentionShape:
    """Sizes and options of one attention."""

    batch: int
    heads: int
    key_heads: int
    queries: int
    keys: int
    size: int
    value_size: int
    mask: str = "none"  # none, bool, int, additive; "+" after it: with axes of extent 1; "1": one value
    causal: bool = False
    softcap: float = 0.0
    scale: float | None = None
    rank: int = 4
    odd: str = ""  # what ODD puts in
    past: int = 0  # keys before the new ones, as past_key and past_value
    short: int = 0  # keys that the mask does not reach
    lengths: tuple[int, ...] = ()  # nonpad_kv_seqlen


SHAPES = [
    AttentionShape(1, 1, 1, 1, 1, 1, 1),
    AttentionShape(2, 3, 3, 5, 7, 8, 8),
    AttentionShape(1, 2, 2, 64, 64, 64, 64),
    AttentionShape(1, 2, 2, 65, 129, 64, 64),
    AttentionShape(1, 4, 2, 33, 33, 16, 24),
    AttentionShape(2, 4, 1, 17, 70, 80, 80, causal=True),
    AttentionShape(1, 2, 2, 100, 100, 64, 64, causal=True),
    AttentionShape(2, 2, 2, 31, 63, 32, 32, mask="bool"),
    AttentionShape(2, 2, 2, 31, 63, 64, 64, mask="additive+"),
    AttentionShape(2, 2, 1, 9, 40, 128, 128, mask="bool+", softcap=5.0),
    AttentionShape(1, 2, 2, 20, 20, 256, 256, softcap=2.0, scale=0.3),
    AttentionShape(1, 2, 2, 40, 150, 64, 64, softcap=1e6),  # far above the scores, which come out as they were
    AttentionShape(1, 2, 1, 33, 70, 128, 128, softcap=1e6, mask="bool"),
    AttentionShape(1, 2, 2, 40, 150, 64, 64, softcap=50.0, causal=True),
    AttentionShape(1, 2, 1, 33, 70, 128, 128, softcap=50.0),
    AttentionShape(2, 4, 4, 30, 30, 64, 64, rank=3),
    AttentionShape(2, 6, 2, 12, 21, 40, 24, rank=3, mask="additive"),
    AttentionShape(1, 1, 1, 2, 32768, 8, 8),
    # one query or a few on many keys, and heads of more than 128
    AttentionShape(2, 4, 2, 1, 700, 64, 64),
    AttentionShape(1, 6, 2, 1, 1030, 128, 120, mask="additive+"),
    AttentionShape(2, 8, 2, 1, 600, 64, 64, mask="bool", softcap=5.0),
    AttentionShape(2, 4, 1, 3, 600, 72, 40, causal=True, past=597),
    AttentionShape(3, 4, 2, 1, 530, 40, 40, lengths=(530, 257, 0)),
    AttentionShape(2, 2, 2, 2, 520, 80, 80, lengths=(520, 3), causal=True),
    AttentionShape(1, 2, 1, 1, 520, 256, 256, mask="int"),
    AttentionShape(1, 2, 2, 1, 515, 7, 9, mask="additive"),
    AttentionShape(1, 2, 1, 2, 515, 250, 133),
    AttentionShape(1, 2, 1, 1, 520, 64, 64, odd="nan query"),
    AttentionShape(2, 2, 1, 4, 520, 64, 64, odd="nan keys"),
    AttentionShape(2, 2, 1, 4, 520, 64, 64, odd="closed rows", mask="additive"),
    AttentionShape(2, 2, 1, 4, 520, 64, 64, odd="closed rows of nan", mask="bool"),
    AttentionShape(2, 2, 1, 4, 520, 12, 12, odd="nan key excluded", mask="bool"),
    AttentionShape(1, 2, 2, 1, 520, 64, 64, odd="sink"),
    AttentionShape(2, 2, 2, 3, 520, 64, 64, odd="least numbers", mask="additive"),
    AttentionShape(1, 2, 1, 70, 70, 160, 160),
    AttentionShape(1, 2, 2, 40, 90, 192, 128, mask="bool", causal=True),
    AttentionShape(1, 2, 1, 66, 50, 256, 200, mask="additive+"),
    AttentionShape(1, 2, 2, 33, 40, 160, 256, softcap=4.0),
    AttentionShape(1, 2, 1, 33, 70, 256, 256, odd="sink"),
    AttentionShape(2, 2, 2, 40, 90, 160, 160, lengths=(90, 33), causal=True),
    AttentionShape(2, 2, 2, 33, 70, 96, 80, causal=True),
    AttentionShape(1, 1, 1, 5, 20, 300, 270),
    AttentionShape(0, 2, 2, 4, 4, 8, 8),
    AttentionShape(1, 2, 2, 0, 4, 8, 8),
    AttentionShape(1, 2, 2, 5, 9, 7, 7, mask="int"),
    AttentionShape(1, 2, 2, 70, 70, 64, 64, mask="int+", causal=True),
    AttentionShape(1, 2, 2, 6, 10, 12, 12, scale=0.0),
    AttentionShape(1, 2, 2, 40, 72, 64, 64, scale=0.0, causal=True),
    AttentionShape(1, 2, 2, 40, 72, 64, 64, scale=0.0, mask="additive"),
    AttentionShape(1, 2, 1, 3, 7, 0, 5),
    AttentionShape(2, 2, 2, 5, 9, 7, 7, mask="additive1"),
    AttentionShape(2, 2, 2, 33, 70, 64, 64, mask="bool1", causal=True),
    AttentionShape(2, 4, 2, 5, 7, 8, 6, past=3, causal=True),
    AttentionShape(2, 4, 2, 5, 7, 8, 6, past=3, mask="additive+", rank=3),
    AttentionShape(1, 2, 2, 1, 1, 64, 64, past=130, causal=True),
    AttentionShape(2, 2, 1, 40, 40, 64, 64, past=33, mask="bool", causal=True),
    AttentionShape(2, 2, 2, 5, 9, 8, 8, mask="additive", short=3),
    AttentionShape(2, 2, 2, 40, 90, 64, 64, mask="bool", short=25, causal=True),
    AttentionShape(3, 2, 2, 5, 9, 7, 7, lengths=(9, 4, 0)),
    AttentionShape(3, 2, 1, 5, 9, 7, 7, lengths=(9, 3, 6), causal=True),
    AttentionShape(3, 2, 2, 40, 90, 64, 64, lengths=(90, 33, 1), causal=True),
    AttentionShape(3, 2, 2, 40, 90, 64, 64, lengths=(64, 65, 0), mask="additive"),
    AttentionShape(1, 2, 2, 5, 9, 7, 7, odd="nan query"),
    AttentionShape(1, 2, 2, 5, 200, 7, 7, odd="nan keys"),
    AttentionShape(2, 2, 1, 40, 100, 64, 64, odd="nan query", causal=True),
    AttentionShape(2, 2, 2, 40, 200, 64, 64, odd="nan keys"),
    AttentionShape(2, 2, 2, 70, 90, 128, 128, odd="nan keys", mask="bool"),
    AttentionShape(2, 2, 2, 9, 90, 12, 12, odd="nan key excluded", mask="bool"),
    AttentionShape(2, 2, 2, 70, 90, 64, 64, odd="nan key excluded", mask="bool"),
    AttentionShape(2, 2, 2, 40, 100, 64, 64, odd="infinite query", softcap=3.0),
    AttentionShape(2, 2, 2, 5, 40, 6, 6, odd="closed rows of nan", mask="bool"),
    AttentionShape(2, 2, 2, 5, 40, 6, 6, odd="closed rows of nan", mask="additive"),
    AttentionShape(2, 2, 2, 70, 90, 64, 64, odd="closed rows of nan", mask="bool"),
    AttentionShape(2, 2, 2, 70, 90, 64, 64, odd="closed rows", mask="additive"),
    AttentionShape(2, 2, 2, 5, 40, 6, 6, odd="least numbers", mask="additive"),
    AttentionShape(2, 2, 2, 70, 150, 64, 64, odd="least numbers", mask="additive"),
    AttentionShape(1, 2, 2, 20, 150, 128, 128, odd="least numbers", mask="additive+", causal=True),
    AttentionShape(2, 2, 2, 70, 150, 64, 64, odd="greatest numbers", mask="additive"),
    AttentionShape(2, 2, 2, 70, 150, 64, 64, odd="far numbers", mask="additive"),
    AttentionShape(3, 2, 2, 200, 90, 64, 64, lengths=(90, 33, 0), causal=True),  # whole tiles of queries that see no key
    AttentionShape(2, 2, 1, 150, 40, 128, 128, lengths=(40, 7), causal=True),
    AttentionShape(1, 1, 1, 9, 300, 12, 12, odd="sink"),
    AttentionShape(1, 2, 2, 40, 300, 64, 64, odd="sink"),
    AttentionShape(1, 2, 1, 70, 300, 128, 128, odd="sink", mask="bool"),
    AttentionShape(2, 2, 2, 5, 40, 12, 12, scale=0.25, odd="products beside 2048"),
    AttentionShape(1, 2, 2, 40, 150, 64, 64, scale=0.25, odd="products beside 2048"),
    AttentionShape(1, 2, 1, 33, 70, 128, 128, scale=0.25, odd="products beside 2048"),
    AttentionShape(2, 2, 2, 5, 32, 12, 12, odd="values beside 2048"),
    AttentionShape(1, 2, 2, 40, 256, 64, 64, odd="values beside 2048"),
    AttentionShape(1, 2, 1, 33, 128, 128, 128, odd="values beside 2048"),
]
BENCH = [AttentionShape(1, 12, 12, 128, 128, 64, 64)]


def mask_of(rng: np.random.Generator, s: AttentionShape, dtype: type) -> np.ndarray | None:
    """A mask that leaves every query its first key."""
    if s.mask == "none":
        return None
    keys = 1 if s.mask.endswith("1") else s.past + s.keys - s.short
    shape = (s.batch, 1, s.queries, keys) if s.mask.endswith("+") else (s.batch, s.heads, s.queries, keys)
    if s.mask.startswith("additive"):
        return normal(rng, shape, dtype)
    if s.mask.startswith("int"):
        return rng.integers(-2, 3, shape, np.int32)
    keep = rng.random(shape) < 0.7
    if shape[-1] > 0:
        keep[..., 0] = True
    return keep


def _close_rows(q: np.ndarray, k: np.ndarray, mask: np.ndarray | None) -> None:
    """Every third query has no key."""
    assert mask is not None
    mask[..., 1::3, :] = False if mask.dtype == np.bool_ else -np.inf


def _close_odd_rows(q: np.ndarray, k: np.ndarray, mask: np.ndarray | None) -> None:
    """The same, where some of those queries are NaN or infinite. (The tiled forms give NaN for them if the mask is added.)"""
    _close_rows(q, k, mask)
    q[:, :, 1::6], q[0, 0, 4::6] = np.nan, np.inf


def _least_numbers(q: np.ndarray, k: np.ndarray, mask: np.ndarray | None) -> None:
    """The type's least number instead of minus infinity, as exporters write it: a row of it throughout weighs its keys alike."""
    assert mask is not None
    mask[..., 1::3, :] = mask[..., 2::3, : mask.shape[-1] // 2] = np.finfo(mask.dtype).min
    if mask.dtype == np.float16:  # of which a float32 holds the sum with a score in part
        q[:, :, 1::3] = 0


def _far_numbers(q: np.ndarray, k: np.ndarray, mask: np.ndarray | None) -> None:
    """Numbers that other exporters mask with, each in rows of its own and in parts of others."""
    assert mask is not None
    for row, number in enumerate((-1e4, -1e9, -1e30, 1e30)):
        number = float(np.clip(number, np.finfo(mask.dtype).min, np.finfo(mask.dtype).max))
        mask[..., 2 * row :: 8, :], mask[..., 2 * row + 1 :: 8, ::2] = number, number
    q[:, :, ::2] = q[:, :, 7::8] = 0  # of which a sum with such a number holds nothing, or in part


def _greatest_numbers(q: np.ndarray, k: np.ndarray, mask: np.ndarray | None) -> None:
    assert mask is not None
    mask[..., 1::3, 1:4] = np.finfo(mask.dtype).max
    if mask.dtype == np.float16:
        q[:, :, 1::3] = 0


def _sink(q: np.ndarray, k: np.ndarray, mask: np.ndarray | None) -> None:
    """The first key's score is 10 above the others', whose weights are below float16's normal numbers. (What it has of values: make.)"""
    q[...], k[...] = 0, 0
    q[..., 0], k[:, :, 0, 0] = 4, 10 * np.sqrt(q.shape[-1]) / 4


def _products_beside_large(q: np.ndarray, k: np.ndarray, mask: np.ndarray | None) -> None:
    """Scores that are the sums of zeros and ones between 2048 and -2048: float32 holds them exactly, float16 would lose them."""
    q[...] = 1
    k[...] = k > 0
    k[..., 0], k[..., -1] = 2048, -2048


def _exclude_nan(q: np.ndarray, k: np.ndarray, mask: np.ndarray | None) -> None:
    assert mask is not None
    mask[..., -2:] = False
    k[:, :, -2:] = np.nan


ODD = {
    "nan query": lambda q, k, mask: q[0, 0, 2:4].fill(np.nan),
    "nan keys": lambda q, k, mask: k[0].fill(np.nan),
    "nan key excluded": _exclude_nan,
    "infinite query": lambda q, k, mask: q[-1, 0, 1].fill(np.inf),  # times keys of either sign
    "least numbers": _least_numbers,
    "greatest numbers": _greatest_numbers,
    "far numbers": _far_numbers,
    "sink": _sink,
    "products beside 2048": _products_beside_large,
    "values beside 2048": lambda q, k, mask: q.fill(0),  # all weights alike, 1 / 2ⁿ; what it has of values: make
    "closed rows": _close_rows,
    "closed rows of nan": _close_odd_rows,
}


def flat(x: np.ndarray) -> np.ndarray:
    """[B, H, S, D] to [B, S, H * D]."""
    b, h, s, d = x.shape
    return np.ascontiguousarray(x.transpose(0, 2, 1, 3)).reshape(b, s, h * d)


def whole(mask: np.ndarray | None, keys: int) -> np.ndarray | None:
    """The mask as opset 24 has it count: a shorter one, of one value too, excludes the keys behind it."""
    if mask is None or mask.shape[-1] == keys:
        return mask
    behind = ((0, 0),) * 3 + ((0, keys - mask.shape[-1]),)
    return np.pad(mask, behind, constant_values=False if mask.dtype == np.bool_ else -np.inf)


def make(rng: np.random.Generator, s: AttentionShape, dtype: type) -> OperatorCase:
    q = normal(rng, (s.batch, s.heads, s.queries, s.size), dtype)
    k = normal(rng, (s.batch, s.key_heads, s.past + s.keys, s.size), dtype)
    v = normal(rng, (s.batch, s.key_heads, s.past + s.keys, s.value_size), dtype)
    mask = mask_of(rng, s, dtype)
    if s.odd:
        ODD[s.odd](q, k, mask)
    if s.odd == "sink":
        v[...], v[:, :, 0] = 1, 0
    if s.odd == "values beside 2048":
        v[...] = v > 0
        v[:, :, 0], v[:, :, -1] = 2048, -2048
    lengths = np.array(s.lengths, np.int64) if s.lengths else None
    answer = partial(attention, q, k, v, whole(mask, s.past + s.keys), s.scale, s.causal, s.softcap, s.past, lengths)
    attributes: dict[str, AttributeValue] = {"is_causal": int(s.causal), "softcap": s.softcap}
    if s.scale is not None:
        attributes["scale"] = s.scale
    past = {"past_key": k[:, :, : s.past], "past_value": v[:, :, : s.past]} if s.past else {"past_key": None, "past_value": None}
    k, v = k[:, :, s.past :], v[:, :, s.past :]
    if s.rank == 3:
        q, k, v, answer = flat(q), flat(k), flat(v), partial(_flat_answer, answer)
        attributes |= {"q_num_heads": s.heads, "kv_num_heads": s.key_heads}
    inputs = {"Q": q, "K": k, "V": v, "attn_mask": mask, **past, "nonpad_kv_seqlen": lengths}
    inputs = {name: None if value is None else np.ascontiguousarray(value) for name, value in inputs.items()}
    opset = 24 if s.short or s.lengths or s.mask.endswith("1") else 23
    # ONNX's evaluator adds an integer mask only where nothing is causal, and has NaN for a score of NaN whose key is excluded.
    if (s.causal and s.mask.startswith("int")) or "excluded" in s.odd:
        opset = 0
    return OperatorCase("Attention", name_of(s), inputs, attributes, answer, opset=opset)


def _flat_answer(answer: Callable[[], np.ndarray]) -> np.ndarray:
    return flat(answer())


def name_of(s: AttentionShape) -> str:
    name = f"B{s.batch} H{s.heads}/{s.key_heads} S{s.queries} T{s.keys} D{s.size}/{s.value_size} mask={s.mask}"
    name += " causal" * s.causal + f" softcap={s.softcap:g}" * (s.softcap > 0) + f" {s.rank}-D"
    name += "" if s.scale is None else f" scale={s.scale:g}"
    name += f" past={s.past}" * (s.past > 0) + f" short by {s.short}" * (s.short > 0)
    return name + f" lengths={s.lengths}" * bool(s.lengths) + f", {s.odd}" * bool(s.odd)


def any_shape(rng: np.random.Generator) -> AttentionShape:
    key_heads = int(rng.integers(1, 4))
    sizes = [int(n) for n in rng.integers(1, 70, size=4)]
    return AttentionShape(int(rng.integers(1, 3)), key_heads * int(rng.integers(1, 3)), key_heads, *sizes,
                 mask=str(rng.choice(["none", "bool", "int", "additive", "bool+", "int+", "additive+"])), causal=bool(rng.integers(2)),
                 softcap=float(rng.choice([0.0, 3.0])), rank=int(rng.choice([3, 4])))


def cases(rng: np.random.Generator, dtype: type) -> Iterator[OperatorCase]:
    for shape in SHAPES:
        yield make(rng, shape, dtype)
    for _ in range(30):
        yield make(rng, any_shape(rng), dtype)


# Enough heads to fill a device with the largest tiles.
DEVICE_SHAPES = [
    # few tiles and some hundred keys
    AttentionShape(2, 4, 1, 4, 399, 24, 24),
    AttentionShape(2, 4, 1, 4, 399, 176, 168),
    AttentionShape(1, 2, 1, 70, 300, 32, 16, causal=True),
    AttentionShape(2, 12, 12, 777, 777, 64, 64),
    AttentionShape(2, 12, 6, 700, 513, 64, 48, causal=True),
    AttentionShape(2, 12, 12, 640, 300, 64, 64, mask="bool+"),
    AttentionShape(2, 12, 4, 333, 401, 128, 128, rank=3),
    AttentionShape(2, 12, 12, 777, 641, 128, 128),
    AttentionShape(2, 12, 6, 700, 513, 128, 120, causal=True),
    AttentionShape(2, 12, 12, 650, 300, 96, 128, mask="additive+"),
    AttentionShape(1, 2, 2, 65, 70, 160, 160),
    AttentionShape(3, 22, 11, 1025, 300, 64, 64),
    AttentionShape(3, 22, 22, 1030, 290, 64, 56, causal=True),
    AttentionShape(2, 12, 12, 300, 400, 64, 64, past=77, causal=True),
    AttentionShape(2, 12, 6, 300, 400, 128, 128, lengths=(399, 120), causal=True),
    AttentionShape(3, 22, 22, 1030, 290, 64, 64, odd="nan query"),
    AttentionShape(3, 22, 22, 1030, 290, 64, 64, odd="nan keys", causal=True),
    AttentionShape(2, 12, 12, 650, 300, 128, 128, odd="infinite query"),
    AttentionShape(2, 12, 12, 640, 300, 64, 64, mask="int"),
    AttentionShape(2, 12, 12, 640, 300, 64, 64, softcap=1e6),
    AttentionShape(2, 12, 6, 333, 300, 128, 128, softcap=50.0, mask="additive"),
    AttentionShape(3, 22, 22, 1030, 290, 64, 64, lengths=(290, 33, 0), causal=True),
    AttentionShape(2, 12, 12, 650, 300, 128, 128, lengths=(120, 0), causal=True),
    AttentionShape(2, 12, 12, 650, 700, 64, 64, odd="sink"),
    AttentionShape(2, 12, 6, 333, 300, 128, 128, odd="greatest numbers", mask="additive"),
    AttentionShape(2, 12, 12, 640, 300, 64, 64, odd="least numbers", mask="additive"),
    AttentionShape(2, 12, 12, 333, 300, 128, 128, odd="least numbers", mask="additive+"),
    AttentionShape(2, 12, 12, 640, 300, 64, 64, odd="closed rows", mask="additive"),
    AttentionShape(2, 12, 12, 333, 300, 128, 128, odd="closed rows", mask="additive"),
    AttentionShape(1, 8, 2, 1, 30011, 128, 128),
    AttentionShape(4, 32, 8, 1, 4097, 64, 64, lengths=(4097, 1, 300, 0)),
    AttentionShape(1, 8, 8, 16, 5000, 80, 80, mask="additive+"),
    AttentionShape(1, 4, 1, 7, 3000, 256, 256, past=2993, causal=True),
    AttentionShape(2, 8, 8, 600, 500, 160, 160),
    AttentionShape(2, 8, 4, 300, 650, 256, 256, causal=True),
    AttentionShape(2, 8, 4, 333, 333, 192, 128, mask="bool"),
    AttentionShape(2, 8, 8, 700, 700, 40, 40),
    AttentionShape(2, 8, 8, 700, 77, 80, 80),
]


def device_cases(rng: np.random.Generator, dtype: type) -> Iterator[OperatorCase]:
    for shape in DEVICE_SHAPES:
        yield make(rng, shape, dtype)


def bench(rng: np.random.Generator, dtype: type) -> Iterator[OperatorCase]:
    for shape in BENCH:
        yield make(rng, shape, dtype)
