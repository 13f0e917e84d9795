"""A transformer chess network of the shape lc0's larger nets have: 768 wide, 15 blocks, 24 heads, 64 squares.

The shape is theirs: embedding, post-norm encoders whose attention has smolgen's bias, policy by a product of two
projections, value, moves left. Smolgen (lc0's `network_tf_attention`, `smolgen_*` of its weights): each encoder squeezes
the whole position into 256 numbers a head, and one matrix for all encoders turns those into a bias for every pair of
squares. The weights are seeded noise.
"""

from __future__ import annotations

from stackbuild.bench.nets.graph import Graph
from stackbuild.bench.nets.net import Input, Net

WIDTH, BLOCKS, HEADS, INNER, SQUARES, PLANES = 768, 15, 24, 1024, 64, 112
SQUEEZED_WIDTH, HIDDEN_WIDTH, GENERATED_WIDTH = 32, 256, 256
"""Smolgen's sizes: numbers a square, the dense layer over all squares, numbers a head."""


def _smolgen(g: Graph, x: str, shared_weight: str) -> str:
    """A bias for every pair of squares and head, from the whole position: (batch, heads, 64, 64)."""
    squeezed_input = g.op("MatMul", x, g.weight((WIDTH, SQUEEZED_WIDTH), WIDTH**-0.5))
    whole = g.reshape(squeezed_input, (0, SQUARES * SQUEEZED_WIDTH))
    dense = _swish(g, g.linear(whole, SQUARES * SQUEEZED_WIDTH, HIDDEN_WIDTH))
    dense = g.layer_norm(dense, HIDDEN_WIDTH)
    wide = _swish(g, g.linear(dense, HIDDEN_WIDTH, HEADS * GENERATED_WIDTH))
    wide = g.layer_norm(wide, HEADS * GENERATED_WIDTH)
    bias = g.op("MatMul", g.reshape(wide, (0, HEADS, GENERATED_WIDTH)), shared_weight)
    return g.reshape(bias, (0, HEADS, SQUARES, SQUARES))


def _swish(g: Graph, x: str) -> str:
    return g.op("Mul", x, g.op("Sigmoid", x))


def _attention(g: Graph, x: str, shared_weight: str) -> str:
    size = WIDTH // HEADS
    q = g.split_heads(g.linear(x, WIDTH, WIDTH), HEADS, size)
    k = g.split_heads(g.linear(x, WIDTH, WIDTH), HEADS, size, transposed=True)
    v = g.split_heads(g.linear(x, WIDTH, WIDTH), HEADS, size)
    scores = g.op("Mul", g.op("MatMul", q, k), g.constant(float(size) ** -0.5))
    scores = g.op("Add", scores, _smolgen(g, x, shared_weight))
    return g.linear(g.merge_heads(g.op("MatMul", g.op("Softmax", scores, axis=-1), v), WIDTH), WIDTH, WIDTH)


def _mish(g: Graph, x: str) -> str:
    return g.op("Mul", x, g.op("Tanh", g.op("Softplus", x)))


def _policy(g: Graph, x: str) -> str:
    """From-square times to-square scores, one per pair: (batch, 64, 64)."""
    e = _mish(g, g.linear(x, WIDTH, WIDTH))
    q, k = g.linear(e, WIDTH, WIDTH), g.linear(e, WIDTH, WIDTH)
    scores = g.op("MatMul", q, g.op("Transpose", k, perm=[0, 2, 1]))
    return g.op("Mul", scores, g.constant(WIDTH**-0.5))


def _head(g: Graph, x: str, narrow: int, outside: int) -> str:
    """Squeeze each square, then one dense layer over all of them."""
    y = g.reshape(_mish(g, g.linear(x, WIDTH, narrow)), (0, SQUARES * narrow))
    return g.linear(_mish(g, g.linear(y, SQUARES * narrow, 128)), 128, outside)


def _write(g: Graph) -> None:
    planes = g.input("planes", ("batch", PLANES, 8, 8))
    x = g.op("Transpose", g.reshape(planes, (0, PLANES, SQUARES)), perm=[0, 2, 1])
    x = _mish(g, g.linear(x, PLANES, WIDTH))
    x = g.op("Add", x, g.weight((1, SQUARES, WIDTH), 0.1))
    strength = g.constant((2 * BLOCKS) ** -0.25)
    shared_weight = g.weight((GENERATED_WIDTH, SQUARES * SQUARES), GENERATED_WIDTH**-0.5)
    for _ in range(BLOCKS):
        x = g.layer_norm(g.op("Add", g.op("Mul", _attention(g, x, shared_weight), strength), x), WIDTH)
        inner = g.linear(_mish(g, g.linear(x, WIDTH, INNER)), INNER, WIDTH)
        x = g.layer_norm(g.op("Add", g.op("Mul", inner, strength), x), WIDTH)
    g.output("policy", _policy(g, x), ("batch", SQUARES, SQUARES))
    g.output("wdl", g.op("Softmax", _head(g, x, 32, 3), axis=-1), ("batch", 3))
    g.output("moves_left", g.op("Relu", _head(g, x, 8, 1)), ("batch", 1))


chess = Net(
    "chess",
    "Transformer chess network with smolgen, 768 wide, 15 blocks, 24 heads, 64 tokens",
    _write,
    {"planes": Input(("batch", PLANES, 8, 8), fill="normal")},
    {"batch": 1},
    unit="position",
    optimiser=("bert", HEADS, WIDTH),
    version=2,
)
