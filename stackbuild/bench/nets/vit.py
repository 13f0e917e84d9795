"""ViT-B/16 (Dosovitskiy et al., 2020): patches of 16 pixels, 12 layers, 768 wide, 12 heads, 86,567,656 parameters."""

from __future__ import annotations

from stackbuild.bench.nets.graph import Graph
from stackbuild.bench.nets.net import Input, Net

WIDTH, HEADS, LAYERS, PATCH, IMAGE, CLASSES = 768, 12, 12, 16, 224, 1000
PATCHES = (IMAGE // PATCH) ** 2
EPSILON = 1e-6


def _tokens(g: Graph, images: str) -> str:
    """A token for each patch, behind the one of the class: (batch, 197, 768), positions added."""
    w, b = g.weight((WIDTH, 3, PATCH, PATCH), 0.02), g.weight((WIDTH,), 0.02)
    x = g.op("Conv", images, w, b, kernel_shape=[PATCH] * 2, strides=[PATCH] * 2)
    x = g.op("Transpose", g.reshape(x, (0, WIDTH, PATCHES)), perm=[0, 2, 1])
    batch = g.op("Slice", g.op("Shape", images), g.constant([0]), g.constant([1]))
    shape = g.op("Concat", batch, g.constant([1, WIDTH]), axis=0)
    x = g.op("Concat", g.op("Expand", g.weight((1, 1, WIDTH), 0.02), shape), x, axis=1)
    return g.op("Add", x, g.weight((1, PATCHES + 1, WIDTH), 0.02))


def _attention(g: Graph, x: str) -> str:
    size = WIDTH // HEADS
    q = g.split_heads(g.linear(x, WIDTH, WIDTH), HEADS, size)
    k = g.split_heads(g.linear(x, WIDTH, WIDTH), HEADS, size, transposed=True)
    v = g.split_heads(g.linear(x, WIDTH, WIDTH), HEADS, size)
    chances = g.op("Softmax", g.op("Div", g.op("MatMul", q, k), g.constant(float(size) ** 0.5)), axis=-1)
    return g.linear(g.merge_heads(g.op("MatMul", chances, v), WIDTH), WIDTH, WIDTH)


def _write(g: Graph) -> None:
    x = _tokens(g, g.input("images", ("batch", 3, IMAGE, IMAGE)))
    for _ in range(LAYERS):
        x = g.op("Add", x, _attention(g, g.layer_norm(x, WIDTH, EPSILON)))
        inner = g.gelu(g.linear(g.layer_norm(x, WIDTH, EPSILON), WIDTH, 4 * WIDTH))
        x = g.op("Add", x, g.linear(inner, 4 * WIDTH, WIDTH))
    first = g.op("Gather", g.layer_norm(x, WIDTH, EPSILON), g.constant(0), axis=1)
    g.output("logits", g.linear(first, WIDTH, CLASSES), ("batch", CLASSES))


vit = Net(
    "vit-b16",
    "ViT-B/16 image classifier, 224x224",
    _write,
    {"images": Input(("batch", 3, IMAGE, IMAGE))},
    {"batch": 1},
    unit="image",
)
