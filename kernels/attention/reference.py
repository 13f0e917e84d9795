"""Attention by its definition, in float64: the whole score matrix at once."""

from __future__ import annotations

import numpy as np


def attention(q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: np.ndarray | None = None, scale: float | None = None,
              causal: bool = False, softcap: float = 0.0, past: int = 0, lengths: np.ndarray | None = None) -> np.ndarray:
    """`q` [B, Hq, S, D], `k` [B, Hkv, T, D], `v` [B, Hkv, T, Dv]. A boolean mask excludes keys, one of numbers is added. A
    query whose keys all are excluded, or get minus infinity, has zeros; a NaN among the scores of another makes it NaN.
    `lengths` [B]: keys that count. A causal query i sees `past` keys and i + 1 more, with `lengths` its last query all."""
    q, k, v = (a.astype(np.float64) for a in (q, k, v))
    repeat = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, repeat, axis=1), np.repeat(v, repeat, axis=1)
    if scale is None:
        scale = 1 / np.sqrt(q.shape[-1]) if q.shape[-1] else 1.0
    bias, exclusions = np.zeros((1, 1, 1, 1)), np.zeros((1, 1, 1, k.shape[2]), bool)
    if mask is not None and mask.dtype == np.bool_:
        exclusions = exclusions | ~mask
    elif mask is not None:
        bias = mask.astype(np.float64)
    i, j = np.arange(q.shape[2])[:, None], np.arange(k.shape[2])[None, :]
    if lengths is not None:
        exclusions = exclusions | (j >= lengths[:, None, None, None])
    if causal:
        exclusions = exclusions | (j > i + (past if lengths is None else lengths[:, None, None, None] - q.shape[2]))
    with np.errstate(invalid="ignore"):
        scores = np.matmul(q, k.swapaxes(2, 3)) * scale
        if softcap > 0:
            scores = softcap * np.tanh(scores / softcap)
        scores += bias
        np.copyto(scores, -np.inf, where=exclusions)
        top = scores.max(axis=-1, keepdims=True, initial=-np.inf)
        weights = np.exp(np.subtract(scores, np.where(np.isneginf(top), 0, top), out=scores))
        total = weights.sum(axis=-1, keepdims=True)
        is_closed = (exclusions | np.isneginf(bias)).all(axis=-1, keepdims=True)
        weights /= np.where(total == 0, 1, total)
        np.copyto(weights, 0, where=is_closed)
        return np.matmul(weights, v)
