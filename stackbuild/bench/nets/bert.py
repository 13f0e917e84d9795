"""BERT-base, uncased (Devlin et al., 2018): 12 layers, 768 wide, 12 heads, 109,482,240 parameters."""

from __future__ import annotations

from stackbuild.bench.nets.graph import Graph
from stackbuild.bench.nets.net import Input, Net

WIDTH, HEADS, LAYERS, VOCABULARY, POSITIONS = 768, 12, 12, 30522, 512
EPSILON = 1e-12


def _embedding(g: Graph, ids: str, types: str) -> str:
    words = g.op("Gather", g.weight((VOCABULARY, WIDTH), 0.05), ids, axis=0)
    table = g.weight((POSITIONS, WIDTH), 0.05)
    length = g.op("Gather", g.op("Shape", ids), g.constant(1), axis=0)
    ends = g.op("Unsqueeze", length, g.constant([0]))
    places = g.op("Slice", g.constant([list(range(POSITIONS))]), g.constant([0]), ends, g.constant([1]))
    where = g.op("Gather", table, places, axis=0)
    kinds = g.op("Gather", g.weight((2, WIDTH), 0.05), types, axis=0)
    return g.layer_norm(g.op("Add", g.op("Add", words, kinds), where), WIDTH, EPSILON)


def _attention_mask(g: Graph, mask: str) -> str:
    """0 where a token counts, a large negative number where it does not, for (batch, heads, tokens, tokens)."""
    wide = g.op("Unsqueeze", g.op("Unsqueeze", mask, g.constant([1])), g.constant([2]))
    dtype = {"float32": 1, "float16": 10}[g.dtype]
    out = g.op("Sub", g.constant(1.0), g.op("Cast", wide, to=dtype))
    return g.op("Mul", out, g.constant(-10000.0))


def _attention(g: Graph, x: str, mask: str) -> str:
    size = WIDTH // HEADS
    q = g.split_heads(g.linear(x, WIDTH, WIDTH), HEADS, size)
    k = g.split_heads(g.linear(x, WIDTH, WIDTH), HEADS, size, transposed=True)
    v = g.split_heads(g.linear(x, WIDTH, WIDTH), HEADS, size)
    scores = g.op("Add", g.op("Div", g.op("MatMul", q, k), g.constant(float(size) ** 0.5)), mask)
    y = g.op("MatMul", g.op("Softmax", scores, axis=-1), v)
    return g.linear(g.merge_heads(y, WIDTH), WIDTH, WIDTH)


def _write(g: Graph) -> None:
    ids, mask, types = (
        g.input(n, ("batch", "sequence"), "int64") for n in ("input_ids", "attention_mask", "token_type_ids")
    )
    x, blind = _embedding(g, ids, types), _attention_mask(g, mask)
    for _ in range(LAYERS):
        x = g.layer_norm(g.op("Add", _attention(g, x, blind), x), WIDTH, EPSILON)
        inner = g.gelu(g.linear(x, WIDTH, 4 * WIDTH))
        x = g.layer_norm(g.op("Add", g.linear(inner, 4 * WIDTH, WIDTH), x), WIDTH, EPSILON)
    first = g.op("Gather", x, g.constant(0), axis=1)
    pooled_output = g.op("Tanh", g.linear(first, WIDTH, WIDTH))
    g.output("last_hidden_state", x, ("batch", "sequence", WIDTH))
    g.output("pooler_output", pooled_output, ("batch", WIDTH))


bert = Net(
    "bert-base",
    "BERT-base uncased encoder with pooler",
    _write,
    {
        "input_ids": Input(("batch", "sequence"), "int64", "ids", VOCABULARY),
        "attention_mask": Input(("batch", "sequence"), "int64", "ones"),
        "token_type_ids": Input(("batch", "sequence"), "int64", "flags", 2),
    },
    {"batch": 1, "sequence": 128},
    unit="sequence",
    optimiser=("bert", HEADS, WIDTH),
)
