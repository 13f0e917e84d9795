"""com.microsoft's MultiHeadAttention by its definition, in float64, on heads that are apart."""

from __future__ import annotations

import numpy as np


def multi_head(q: np.ndarray, k: np.ndarray, v: np.ndarray, counts: np.ndarray | None = None, added_bias: np.ndarray | None = None,
               scale: float = 0.0, unidirectional: bool = False, past: int = 0, mask_filter_value: float = -10000.0) -> np.ndarray:
    """`q` [B, N, S, H], `k` [B, N, T, H], `v` [B, N, T, Hv] with bias and past in them; the answer [B, S, N * Hv].

    `counts` (bool, [B, 1 or S, T]): keys that do not count get `mask_filter_value` added to their score. `added_bias` [B or 1, N or 1, S, T].
    `unidirectional`: query i of several sees the first past + i + 1 keys; of a single one, all. `scale` 0 is 1 / sqrt(H).
    """
    q, k, v = (a.astype(np.float64) for a in (q, k, v))
    batch, heads, queries, size = q.shape
    keys = k.shape[2]
    factor = scale or (1 / np.sqrt(size) if size else 1.0)
    scores = np.einsum("bnsh,bnth->bnst", q, k) * factor
    if added_bias is not None:
        scores = scores + added_bias.astype(np.float64)
    if counts is not None:
        scores = scores + np.where(counts, 0.0, mask_filter_value)[:, None]
    if unidirectional and queries > 1:
        causal = np.tri(queries, keys, past, dtype=bool)
        scores = np.where(causal, scores, -np.inf)
    if keys == 0:
        return np.zeros((batch, queries, heads * v.shape[3]))
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    return np.einsum("bnst,bnth->bsnh", weights, v).reshape(batch, queries, heads * v.shape[3])
