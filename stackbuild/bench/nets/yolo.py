"""YOLOv5s v6 (Ultralytics' published architecture: CSP backbone, SPPF, path aggregation, three scales).

7,225,885 parameters, batch norms folded into the convolutions as exporters do it.
"""

from __future__ import annotations

from stackbuild.bench.nets.graph import Graph
from stackbuild.bench.nets.net import Input, Net

CLASSES, ANCHORS, IMAGE = 80, 3, 640
#: Anchor sizes in pixels for strides 8, 16, 32.
SIZES = (((10, 13), (16, 30), (33, 23)), ((30, 61), (62, 45), (59, 119)), ((116, 90), (156, 198), (373, 326)))


def _conv(g: Graph, x: str, inside: int, outside: int, kernel: int, stride: int = 1, pad: int | None = None) -> str:
    around = kernel // 2 if pad is None else pad
    w, b = g.weight((outside, inside, kernel, kernel)), g.weight((outside,), 0.05)
    y = g.op("Conv", x, w, b, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[around] * 4)
    return g.op("Mul", y, g.op("Sigmoid", y))


def _c3(g: Graph, x: str, inside: int, outside: int, depth: int, shortcut: bool = True) -> str:
    """Two branches of half the width, one through bottlenecks, joined by a 1x1."""
    half = outside // 2
    y = _conv(g, x, inside, half, 1)
    other = _conv(g, x, inside, half, 1)
    for _ in range(depth):
        inner = _conv(g, _conv(g, y, half, half, 1), half, half, 3)
        y = g.op("Add", y, inner) if shortcut else inner
    return _conv(g, g.op("Concat", y, other, axis=1), 2 * half, outside, 1)


def _sppf(g: Graph, x: str, width: int) -> str:
    y = _conv(g, x, width, width // 2, 1)
    pools = [y]
    for _ in range(3):
        pools.append(g.op("MaxPool", pools[-1], kernel_shape=[5, 5], strides=[1, 1], pads=[2, 2, 2, 2]))
    return _conv(g, g.op("Concat", *pools, axis=1), 2 * width, width, 1)


def _upsample(g: Graph, x: str) -> str:
    scales = g.constant([1, 1, 2, 2], "float32")
    return g.op(
        "Resize", x, "", scales, mode="nearest", nearest_mode="floor", coordinate_transformation_mode="asymmetric"
    )


def _detect(g: Graph, x: str, inside: int, scale: int) -> str:
    """One scale's boxes in pixels: (batch, anchors·cells, 85)."""
    stride, cells, fields = 8 << scale, IMAGE // (8 << scale), CLASSES + 5
    w, b = g.weight((ANCHORS * fields, inside, 1, 1), 0.02), g.weight((ANCHORS * fields,), 0.02, -2.0)
    t = g.reshape(g.op("Conv", x, w, b, kernel_shape=[1, 1]), (0, ANCHORS, fields, cells, cells))
    t = g.op("Sigmoid", g.op("Transpose", t, perm=[0, 1, 3, 4, 2]))
    centre, size, rest = g.ops("Split", t, g.constant([2, 2, CLASSES + 1]), outputs=3, axis=4)
    grid = [[[[[x - 0.5, y - 0.5] for x in range(cells)] for y in range(cells)]]]
    place = g.op("Add", g.op("Mul", centre, g.constant(2.0)), g.constant(grid, g.dtype))
    twice = g.op("Mul", size, g.constant(2.0))
    anchors = [[[[list(size)]] for size in SIZES[scale]]]
    box = g.op("Mul", g.op("Mul", twice, twice), g.constant(anchors, g.dtype))
    t = g.op("Concat", g.op("Mul", place, g.constant(float(stride))), box, rest, axis=4)
    return g.reshape(t, (0, -1, fields))


def _write(g: Graph) -> None:
    x = _conv(g, g.input("images", ("batch", 3, IMAGE, IMAGE)), 3, 32, 6, 2, pad=2)
    x = _c3(g, _conv(g, x, 32, 64, 3, 2), 64, 64, 1)
    p3 = x = _c3(g, _conv(g, x, 64, 128, 3, 2), 128, 128, 2)
    p4 = x = _c3(g, _conv(g, x, 128, 256, 3, 2), 256, 256, 3)
    x = _sppf(g, _c3(g, _conv(g, x, 256, 512, 3, 2), 512, 512, 1), 512)
    top = _conv(g, x, 512, 256, 1)
    x = _c3(g, g.op("Concat", _upsample(g, top), p4, axis=1), 512, 256, 1, shortcut=False)
    middle = _conv(g, x, 256, 128, 1)
    small = _c3(g, g.op("Concat", _upsample(g, middle), p3, axis=1), 256, 128, 1, shortcut=False)
    x = g.op("Concat", _conv(g, small, 128, 128, 3, 2), middle, axis=1)
    medium = _c3(g, x, 256, 256, 1, shortcut=False)
    x = g.op("Concat", _conv(g, medium, 256, 256, 3, 2), top, axis=1)
    large = _c3(g, x, 512, 512, 1, shortcut=False)
    detections = [_detect(g, x, inside, n) for n, (x, inside) in enumerate(((small, 128), (medium, 256), (large, 512)))]
    g.output("output", g.op("Concat", *detections, axis=1), ("batch", 25200, CLASSES + 5))


yolov5s = Net(
    "yolov5s",
    "YOLOv5s v6 detector, 640x640, with box decoding",
    _write,
    {"images": Input(("batch", 3, IMAGE, IMAGE))},
    {"batch": 1},
    unit="image",
)
