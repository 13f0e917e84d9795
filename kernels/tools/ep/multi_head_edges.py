"""com.microsoft's MultiHeadAttention at its edges: its other outputs, and inputs that do not belong together."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from onnx import helper

from tools.ep.edge import Array, Edge, InputArrays, floats, model

INPUTS = ("query", "key", "value", "bias", "key_padding_mask", "attention_bias", "past_key", "past_value")
OUTPUTS = ("y", "present_key", "present_value")


def _edge(name: str, feeds: InputArrays, outputs: int = 1, **attributes: object) -> Edge:
    inputs = [n if n in feeds else "" for n in INPUTS]
    while not inputs[-1]:
        inputs.pop()
    output_names = list(OUTPUTS[:outputs])
    node = helper.make_node("MultiHeadAttention", inputs, output_names, domain="com.microsoft", **({"num_heads": 2} | attributes))
    graph = model([node], feeds, output_names, {}, 17)
    graph.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    for info in graph.graph.input:  # it is claimed where its ranks are known
        kind = helper.np_dtype_to_tensor_dtype(feeds[info.name].dtype)
        info.CopyFrom(helper.make_tensor_value_info(info.name, kind, [None] * feeds[info.name].ndim))
    return Edge(f"MultiHeadAttention, {name}", graph, feeds)


def _feeds(queries: int = 5, keys: int = 6, **more: Array) -> InputArrays:
    return {"query": floats(2, queries, 8), "key": floats(2, keys, 8), "value": floats(2, keys, 8)} | more


def _numbers(*values: int) -> Array:
    return np.array(values, np.int32)


def multi_heads() -> Iterator[Edge]:
    """All of them."""
    for queries, keys in ((1, 3), (3, 3), (4, 2)):  # with 3 and 6, ONNX Runtime's kernel answers by no triangle
        yield _edge(f"unidirectional, {queries} queries, {keys} keys", _feeds(queries, keys), unidirectional=1)
    past = {"past_key": floats(2, 2, 3, 4), "past_value": floats(2, 2, 3, 4)}
    apart = {"query": floats(2, 5, 8), "key": floats(2, 2, 6, 4), "value": floats(2, 2, 6, 4)}
    yield _edge("present", _feeds(), outputs=3)
    yield _edge("past and present", _feeds(**past), outputs=3)
    yield _edge("past, bias and lengths", _feeds(bias=floats(24), key_padding_mask=_numbers(4, 9), **past), outputs=3)
    yield _edge("past of nothing", _feeds(past_key=floats(2, 2, 0, 4), past_value=floats(2, 2, 0, 4)), outputs=3)
    yield _edge("keys and values of 4 axes", apart)
    for name, mask in (("lengths", _numbers(4, 6)), ("starts", _numbers(4, 6, 0, 5, 10, 0, 6, 12)), ("keys", np.tri(2, 6, 3, np.int32))):
        yield _edge(f"padding by {name}", _feeds(key_padding_mask=mask, attention_bias=floats(2, 2, 5, 6)))
    # Refused.
    yield _edge("bias too short", _feeds(bias=floats(16)))
    yield _edge("bias of two axes", _feeds(bias=floats(3, 8)))
    yield _edge("lengths of another batch", _feeds(key_padding_mask=_numbers(4, 6, 5)))
    yield _edge("padding of other keys", _feeds(key_padding_mask=np.ones((2, 5), np.int32)))
    yield _edge("padding that forgets the past", _feeds(key_padding_mask=np.ones((2, 6), np.int32), **past))
    yield _edge("attention_bias of other keys", _feeds(attention_bias=floats(2, 2, 5, 7)))
    yield _edge("past of other heads", _feeds(past_key=floats(2, 4, 3, 4), past_value=floats(2, 4, 3, 4)), outputs=3)
    yield _edge("past of another batch", _feeds(past_key=floats(3, 2, 3, 4), past_value=floats(3, 2, 3, 4)), outputs=3)
    yield _edge("past_key alone", _feeds(past_key=past["past_key"]), outputs=3)
    yield _edge("heads that do not divide", _feeds(), num_heads=3)
    yield _edge("keys and values of other lengths", _feeds() | {"value": floats(2, 7, 8)})
    yield _edge("keys of 4 axes and other heads", apart, num_heads=4)
