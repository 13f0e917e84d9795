"""Attention by its definition, in float64: the whole score matrix at once."""

from __future__ import annotations

import numpy as np


def attention(q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: np.ndarray | None = None, scale: float | None = None,
              causal: bool = False, softcap: float = 0.0, causal_offset: int = 0) -> np.ndarray:
    """`q` [B, Hq, S, D], `k` [B, Hkv, T, D], `v` [B, Hkv, T, Dv]. A boolean or integer mask keeps where nonzero, a
    floating one is added. A query with no key left gets zeros."""
    q, k, v = (a.astype(np.float64) for a in (q, k, v))
    repeat = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, repeat, axis=1), np.repeat(v, repeat, axis=1)
    scores = np.einsum("bhid,bhjd->bhij", q, k) * (1 / np.sqrt(q.shape[-1]) if scale is None else scale)
    if softcap > 0:
        scores = softcap * np.tanh(scores / softcap)
    if mask is not None:
        scores = np.where(mask != 0, scores, -np.inf) if mask.dtype.kind in "bi" else scores + mask.astype(np.float64)
    if causal:
        i, j = np.arange(q.shape[2])[:, None], np.arange(k.shape[2])[None, :]
        scores = np.where(j <= i + causal_offset, scores, -np.inf)
    top = scores.max(axis=-1, keepdims=True, initial=-np.inf)
    weights = np.exp(scores - np.where(np.isfinite(top), top, 0))
    total = weights.sum(axis=-1, keepdims=True)
    return np.einsum("bhij,bhjd->bhid", weights / np.where(total == 0, 1, total), v)
