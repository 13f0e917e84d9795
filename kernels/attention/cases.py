"""Shapes Attention is checked on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from attention.reference import attention
from common.case import Attribute, Case, normal


@dataclass(frozen=True)
class Shape:
    """Sizes and options of one attention."""

    batch: int
    heads: int
    key_heads: int
    queries: int
    keys: int
    size: int
    value_size: int
    mask: str = "none"  # none, bool, additive; "+" after it: with axes of extent 1
    causal: bool = False
    softcap: float = 0.0
    scale: float | None = None
    rank: int = 4


SHAPES = [
    Shape(1, 1, 1, 1, 1, 1, 1),
    Shape(2, 3, 3, 5, 7, 8, 8),
    Shape(1, 2, 2, 64, 64, 64, 64),
    Shape(1, 2, 2, 65, 129, 64, 64),
    Shape(1, 4, 2, 33, 33, 16, 24),
    Shape(2, 4, 1, 17, 70, 80, 80, causal=True),
    Shape(1, 2, 2, 100, 100, 64, 64, causal=True),
    Shape(2, 2, 2, 31, 63, 32, 32, mask="bool"),
    Shape(2, 2, 2, 31, 63, 64, 64, mask="additive+"),
    Shape(2, 2, 1, 9, 40, 128, 128, mask="bool+", softcap=5.0),
    Shape(1, 2, 2, 20, 20, 256, 256, softcap=2.0, scale=0.3),
    Shape(2, 4, 4, 30, 30, 64, 64, rank=3),
    Shape(2, 6, 2, 12, 21, 40, 24, rank=3, mask="additive"),
    Shape(0, 2, 2, 4, 4, 8, 8),
    Shape(1, 2, 2, 0, 4, 8, 8),
]
BENCH = [Shape(1, 12, 12, 128, 128, 64, 64)]


def mask_of(rng: np.random.Generator, s: Shape, dtype: type) -> np.ndarray | None:
    """A mask that leaves every query its first key."""
    if s.mask == "none":
        return None
    shape = (s.batch, 1, s.queries, s.keys) if s.mask.endswith("+") else (s.batch, s.heads, s.queries, s.keys)
    if s.mask.startswith("additive"):
        return normal(rng, shape, dtype)
    keep = rng.random(shape) < 0.7
    keep[..., 0] = True
    return keep


def flat(x: np.ndarray) -> np.ndarray:
    """[B, H, S, D] to [B, S, H * D]."""
    b, h, s, d = x.shape
    return np.ascontiguousarray(x.transpose(0, 2, 1, 3)).reshape(b, s, h * d)


def make(rng: np.random.Generator, s: Shape, dtype: type) -> Case:
    q = normal(rng, (s.batch, s.heads, s.queries, s.size), dtype)
    k = normal(rng, (s.batch, s.key_heads, s.keys, s.size), dtype)
    v = normal(rng, (s.batch, s.key_heads, s.keys, s.value_size), dtype)
    mask = mask_of(rng, s, dtype)
    expected = attention(q, k, v, mask, s.scale, s.causal, s.softcap)
    attributes: dict[str, Attribute] = {"is_causal": int(s.causal), "softcap": s.softcap}
    if s.scale is not None:
        attributes["scale"] = s.scale
    if s.rank == 3:
        q, k, v, expected = (flat(a) for a in (q, k, v, expected))
        attributes |= {"q_num_heads": s.heads, "kv_num_heads": s.key_heads}
    name = f"B{s.batch} H{s.heads}/{s.key_heads} S{s.queries} T{s.keys} D{s.size}/{s.value_size} mask={s.mask}"
    name += " causal" * s.causal + f" softcap={s.softcap:g}" * (s.softcap > 0) + f" {s.rank}-D"
    return Case("Attention", name, {"Q": q, "K": k, "V": v, "attn_mask": mask}, attributes, expected, opset=23)


def any_shape(rng: np.random.Generator) -> Shape:
    key_heads = int(rng.integers(1, 4))
    sizes = [int(n) for n in rng.integers(1, 70, size=4)]
    return Shape(int(rng.integers(1, 3)), key_heads * int(rng.integers(1, 3)), key_heads, *sizes,
                 mask=str(rng.choice(["none", "bool", "additive", "bool+", "additive+"])), causal=bool(rng.integers(2)),
                 softcap=float(rng.choice([0.0, 3.0])), rank=int(rng.choice([3, 4])))


def cases(rng: np.random.Generator, dtype: type) -> Iterator[Case]:
    for shape in SHAPES:
        yield make(rng, shape, dtype)
    for _ in range(30):
        yield make(rng, any_shape(rng), dtype)


# Enough heads to fill a device with the largest tiles.
DEVICE_SHAPES = [
    Shape(2, 12, 12, 777, 777, 64, 64),
    Shape(2, 12, 6, 700, 513, 64, 48, causal=True),
    Shape(2, 12, 12, 640, 300, 64, 64, mask="bool+"),
    Shape(2, 12, 4, 333, 401, 128, 128, rank=3),
    Shape(2, 12, 12, 777, 641, 128, 128),
    Shape(2, 12, 6, 700, 513, 128, 120, causal=True),
    Shape(2, 12, 12, 650, 300, 96, 128, mask="additive+"),
    Shape(1, 2, 2, 65, 70, 160, 160),
    Shape(3, 22, 11, 1025, 300, 64, 64),
    Shape(3, 22, 22, 1030, 290, 64, 56, causal=True),
]


def device_cases(rng: np.random.Generator, dtype: type) -> Iterator[Case]:
    for shape in DEVICE_SHAPES:
        yield make(rng, shape, dtype)


def bench(rng: np.random.Generator, dtype: type) -> Iterator[Case]:
    for shape in BENCH:
        yield make(rng, shape, dtype)
