"""Attention at its edges: what is not a number and where it must show, keys that are all masked, scales, and what ONNX forbids.

In float16 the lengths are those that the provider gives to BLAS, and the answers such that no rounding shows.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from onnx import helper

from tools.ep.edge import Array, Edge, InputArrays, Ruling, floats, ints, model

SCALE = "Attention, scale: Scaling factor applied to Q*K^T; of 0, every key weighs the same"
HEADS = "Attention: a sum over a head size of 0 is 0, and every key weighs the same"
INPUTS = ("Q", "K", "V", "attn_mask", "past_key", "past_value", "nonpad_kv_seqlen")


def _edge(name: str, feeds: InputArrays, ruling: Ruling | None = None, outputs: int = 1, opset: int = 24, **attributes: object) -> Edge:
    inputs = [n if n in feeds else "" for n in INPUTS]
    while not inputs[-1]:
        inputs.pop()
    result_names = ["y", "present_key", "present_value", "scores"]
    output_names = [n if n == "y" or (outputs == 4 and n == "scores") else "" for n in result_names[:outputs]]
    node = helper.make_node("Attention", inputs, output_names, **attributes)
    return Edge(f"Attention, {name}", model([node], feeds, [n for n in output_names if n], {}, opset), feeds, ruling)


def _feeds(dtype: type = np.float32, queries: int = 5, keys: int = 6) -> InputArrays:
    return {n: floats(2, 4, s, 8).astype(dtype) for n, s in (("Q", queries), ("K", keys), ("V", keys))}


def _with(feeds: InputArrays, name: str, value: float, *at: object) -> InputArrays:
    """`feeds` with `value` at an index of one of them."""
    changed_input = feeds[name].copy()
    changed_input[at] = value
    return feeds | {name: changed_input}


def _not_numbers() -> Iterator[Edge]:
    feeds = _feeds()
    feeds["K"][..., 0], feeds["K"][..., 1] = 1, -1  # infinite queries meet keys of both signs: their scores are NaN
    every = slice(None)
    for what, spoiled_feeds in (
        ("NaN query", _with(feeds, "Q", np.nan, 0, 1, 2)),
        ("NaN in one key", _with(feeds, "K", np.nan, 1, 2, 3, 4)),
        ("NaN in all keys", _with(feeds, "K", np.nan, 0)),
        ("infinite query", _with(feeds, "Q", np.inf, 0, 0, 0)),
        ("NaN value", _with(feeds, "V", np.nan, 0, 0, 1)),
    ):
        yield _edge(what, spoiled_feeds)
        yield _edge(f"{what}, its scores", spoiled_feeds, outputs=4, qk_matmul_output_mode=3)
        yield _edge(f"{what}, causal and soft cap", spoiled_feeds, softcap=2.0, **({} if "key" in what or "value" in what else {"is_causal": 1}))
    keep = np.ones((5, 6), bool)
    keep[2:4] = False
    closed_feeds = _with(feeds, "Q", np.nan, every, every, 2) | {"attn_mask": keep}
    yield _edge("NaN query without keys", closed_feeds)
    yield _edge("NaN query without keys, its scores", closed_feeds, outputs=4, qk_matmul_output_mode=3)
    added_mask = np.where(keep, np.float32(0), np.float32(-np.inf))
    yield _edge("query without keys, added mask", feeds | {"attn_mask": added_mask})
    yield _edge("query without keys, added mask, its scores", feeds | {"attn_mask": added_mask}, outputs=4, qk_matmul_output_mode=3)
    long = _feeds(np.float16, 64, 64)
    yield _edge("NaN in all keys, float16", _with(long, "K", np.nan, every))
    yield _edge("NaN in all queries, float16", _with(long, "Q", np.nan, every))
    # Weights of 4.5e-5, which gfx90a's matrix units take for zero.
    sink = {n: np.full_like(x, n == "V") for n, x in long.items()}
    for name, at, value in (("Q", (..., 0), 4), ("K", (every, every, 0, 0), 7.07), ("V", (every, every, 0), 0)):
        sink[name][at] = value
    yield _edge("one key far above the others, float16", sink)


def _scales() -> Iterator[Edge]:
    def mean(v: Array, queries: int) -> list[Array]:
        return [np.repeat(v.astype(np.float64).mean(axis=2, keepdims=True), queries, axis=2).astype(v.dtype)]

    refuses = dict.fromkeys(("1.30", "1.31", "1.32"), "refuses")
    feeds = _feeds()
    yield _edge("scale 0", feeds, Ruling(mean(feeds["V"], 5), SCALE, refuses), scale=0.0)
    long = _feeds(np.float16, 64, 64) | {"V": np.ones((2, 4, 64, 8), np.float16)}
    yield _edge("scale 0, float16", long, Ruling([np.ones_like(long["Q"])], SCALE, refuses), scale=0.0)
    spoiled_feeds = _with(long, "Q", np.nan, slice(None))
    yield _edge("scale 0 times NaN, float16", spoiled_feeds, Ruling([np.full_like(long["Q"], np.nan)], SCALE, refuses), scale=0.0)
    yield _edge("scale -1", feeds, scale=-1.0)
    empty = feeds | {"Q": floats(2, 4, 5, 0), "K": floats(2, 4, 6, 0)}
    yield _edge("head size 0", empty, Ruling(mean(feeds["V"], 5), HEADS, refuses))


def _edges_of_forbidden() -> Iterator[Edge]:
    feeds = _feeds()
    past = {"past_key": floats(2, 4, 3, 8), "past_value": floats(2, 4, 3, 8)}
    yield _edge("past and nonpad_kv_seqlen", feeds | past | {"nonpad_kv_seqlen": ints(6, 6)})
    yield _edge("past_key alone", feeds | {"past_key": past["past_key"][:, :, :0]})
    yield _edge("Q of 3 axes, K and V of 4", feeds | {"Q": floats(2, 5, 32)}, q_num_heads=4, kv_num_heads=4)
    yield _edge("head counts that 4 axes contradict", feeds, q_num_heads=3, kv_num_heads=7)
    yield _edge("int32 mask", feeds | {"attn_mask": np.arange(30, dtype=np.int32).reshape(5, 6) % 3})


def attentions() -> Iterator[Edge]:
    """All of them."""
    yield from _not_numbers()
    yield from _scales()
    yield from _edges_of_forbidden()
