"""Whisper tiny (Radford et al., 2022): 4 layers each way, 384 wide, 6 heads; 7,632,384 and 29,552,256 parameters.

Two graphs, as exporters write them: the encoder of 30 seconds of sound, and the decoder of the tokens so far, without
a cache.
"""

from __future__ import annotations

import numpy as np

from stackbuild.bench.nets.graph import Graph
from stackbuild.bench.nets.net import Input, Net

WIDTH, HEADS, LAYERS, VOCABULARY, POSITIONS = 384, 6, 4, 51865, 448
MELS, FRAMES, STATES = 80, 3000, 1500
"""Mel bands, frames of 30 s, and the encoder's states of them."""
SIZE = WIDTH // HEADS


def _conv(g: Graph, x: str, inside: int, stride: int) -> str:
    w, b = g.weight((WIDTH, inside, 3)), g.weight((WIDTH,), 0.02)
    return g.gelu(g.op("Conv", x, w, b, kernel_shape=[3], strides=[stride], pads=[1, 1]))


def _attention(g: Graph, x: str, memory: str, mask: str = "") -> str:
    """From `x` to `memory`; keys have no bias. `mask` is added to the scores where there is one."""
    q = g.op("Mul", g.linear(x, WIDTH, WIDTH), g.constant(float(SIZE) ** -0.5))
    keys = g.op("MatMul", memory, g.weight((WIDTH, WIDTH), float(WIDTH) ** -0.5))
    values = g.linear(memory, WIDTH, WIDTH)
    scores = g.op("MatMul", g.split_heads(q, HEADS, SIZE), g.split_heads(keys, HEADS, SIZE, transposed=True))
    chances = g.op("Softmax", g.op("Add", scores, mask) if mask else scores, axis=-1)
    heads = g.op("MatMul", chances, g.split_heads(values, HEADS, SIZE))
    return g.linear(g.merge_heads(heads, WIDTH), WIDTH, WIDTH)


def _feed_forward(g: Graph, x: str) -> str:
    inner = g.gelu(g.linear(g.layer_norm(x, WIDTH), WIDTH, 4 * WIDTH))
    return g.op("Add", x, g.linear(inner, 4 * WIDTH, WIDTH))


def _sinusoids() -> list[list[float]]:
    """The encoder's positions: sines, then cosines, of wavelengths up to 10,000 states."""
    rates = np.exp(-np.log(10000) / (WIDTH // 2 - 1) * np.arange(WIDTH // 2))
    angles = np.arange(STATES)[:, None] * rates
    table: list[list[float]] = np.concatenate([np.sin(angles), np.cos(angles)], axis=1).astype(np.float32).tolist()
    return table


def _write_encoder(g: Graph) -> None:
    x = g.input("input_features", ("batch", MELS, FRAMES))
    x = _conv(g, _conv(g, x, MELS, 1), WIDTH, 2)
    x = g.op("Add", g.op("Transpose", x, perm=[0, 2, 1]), g.constant(_sinusoids(), g.dtype))
    for _ in range(LAYERS):
        y = g.layer_norm(x, WIDTH)
        x = _feed_forward(g, g.op("Add", x, _attention(g, y, y)))
    g.output("last_hidden_state", g.layer_norm(x, WIDTH), ("batch", STATES, WIDTH))


def _later_tokens(g: Graph, length: str) -> str:
    """0 up to a token's own place, a large negative number behind it: (tokens, tokens)."""
    square = g.op("Concat", length, length, axis=0)
    ones = g.op("Expand", g.constant(-10000.0), square)
    return g.op("Trilu", ones, g.constant(1), upper=1)


def _write_decoder(g: Graph) -> None:
    ids = g.input("input_ids", ("batch", "tokens"), "int64")
    states = g.input("encoder_hidden_states", ("batch", STATES, WIDTH))
    table = g.weight((VOCABULARY, WIDTH), 0.05)
    length = g.op("Slice", g.op("Shape", ids), g.constant([1]), g.constant([2]))
    places = g.op("Slice", g.weight((POSITIONS, WIDTH), 0.02), g.constant([0]), length, g.constant([0]))
    x, mask = g.op("Add", g.op("Gather", table, ids, axis=0), places), _later_tokens(g, length)
    for _ in range(LAYERS):
        y = g.layer_norm(x, WIDTH)
        x = g.op("Add", x, _attention(g, y, y, mask))
        x = g.op("Add", x, _attention(g, g.layer_norm(x, WIDTH), states))
        x = _feed_forward(g, x)
    logits = g.op("MatMul", g.layer_norm(x, WIDTH), g.op("Transpose", table, perm=[1, 0]))
    g.output("logits", logits, ("batch", "tokens", VOCABULARY))


whisper_encoder = Net(
    "whisper-tiny-encoder",
    "Whisper tiny's encoder, 30 seconds of sound",
    _write_encoder,
    {"input_features": Input(("batch", MELS, FRAMES))},
    {"batch": 1},
    unit="sound",
)
whisper_decoder = Net(
    "whisper-tiny-decoder",
    "Whisper tiny's decoder of the tokens so far, without a cache",
    _write_decoder,
    {
        "input_ids": Input(("batch", "tokens"), "int64", "ids", VOCABULARY),
        "encoder_hidden_states": Input(("batch", STATES, WIDTH)),
    },
    {"batch": 1, "tokens": 32},
    unit="sequence",
)
