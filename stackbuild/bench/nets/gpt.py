"""GPT-2 small's shape (Radford et al., 2019), 124,439,808 parameters: one decoding step, its cache growing."""

from __future__ import annotations

from stackbuild.bench.nets.graph import Graph
from stackbuild.bench.nets.net import Input, Net

WIDTH, HEADS, LAYERS, VOCABULARY, POSITIONS = 768, 12, 12, 50257, 1024
SIZE = WIDTH // HEADS
PAST = ("batch", HEADS, "past", SIZE)


def _attention(g: Graph, x: str, layer: int) -> str:
    """Attend to the cache and the new token; the grown cache is an output."""
    q, k, v = (g.split_heads(g.linear(x, WIDTH, WIDTH), HEADS, SIZE) for _ in range(3))
    keys = g.op("Concat", g.input(f"past_key_{layer}", PAST), k, axis=2)
    values = g.op("Concat", g.input(f"past_value_{layer}", PAST), v, axis=2)
    grown_shape = ("batch", HEADS, "grown", SIZE)
    g.output(f"key_{layer}", keys, grown_shape)
    g.output(f"value_{layer}", values, grown_shape)
    scores = g.op("MatMul", q, g.op("Transpose", keys, perm=[0, 1, 3, 2]))
    chances = g.op("Softmax", g.op("Div", scores, g.constant(float(SIZE) ** 0.5)), axis=-1)
    return g.linear(g.merge_heads(g.op("MatMul", chances, values), WIDTH), WIDTH, WIDTH)


def _write(g: Graph) -> None:
    ids = g.input("input_ids", ("batch", 1), "int64")
    table = g.weight((VOCABULARY, WIDTH), 0.05)
    places = g.weight((POSITIONS, WIDTH), 0.02)
    x = g.op("Gather", table, ids, axis=0)
    position = g.op("Gather", g.op("Shape", "past_key_0"), g.constant([2]), axis=0)
    x = g.op("Add", x, g.op("Gather", places, position, axis=0))
    for layer in range(LAYERS):
        x = g.op("Add", x, _attention(g, g.layer_norm(x, WIDTH), layer))
        inner = g.gelu(g.linear(g.layer_norm(x, WIDTH), WIDTH, 4 * WIDTH))
        x = g.op("Add", x, g.linear(inner, 4 * WIDTH, WIDTH))
    last = g.layer_norm(x, WIDTH)
    logits = g.op("MatMul", last, g.op("Transpose", table, perm=[1, 0]))
    best = g.op("ArgMax", logits, axis=-1, keepdims=0)
    g.output("next_ids", best, ("batch", 1), "int64")
    g.output("logits", logits, ("batch", 1, VOCABULARY))


def _inputs() -> dict[str, Input]:
    past = {f"past_{kind}_{n}": Input(PAST) for n in range(LAYERS) for kind in ("key", "value")}
    return {"input_ids": Input(("batch", 1), "int64", "ids", VOCABULARY)} | past


gpt = Net(
    "gpt2-decode",
    "GPT-2 small, greedy decoding of one token at a time with a growing key-value cache",
    _write,
    _inputs(),
    {"batch": 1, "past": 128},
    unit="token",
    optimiser=("gpt2", HEADS, WIDTH),
    feed={"next_ids": "input_ids"}
    | {f"{kind}_{n}": f"past_{kind}_{n}" for n in range(LAYERS) for kind in ("key", "value")},
    steps=16,
)
