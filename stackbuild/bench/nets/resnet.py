"""ResNet-50 v1.5 (He et al., 2015; the stride in the 3x3 convolution): 25,557,032 parameters."""

from __future__ import annotations

from dataclasses import dataclass

from stackbuild.bench.nets.graph import Graph
from stackbuild.bench.nets.net import Input, Net

STAGES = ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2))


@dataclass(frozen=True)
class Bottleneck:
    """A block: the channels that come in, the channels of its middle, a quarter of those that go out, and its stride."""

    inside: int
    width: int
    stride: int

    @property
    def outside(self) -> int:
        return 4 * self.width


def _conv_bn(g: Graph, x: str, inside: int, outside: int, kernel: int, stride: int = 1, gain: float = 1.0) -> str:
    pad = kernel // 2
    w = g.weight((outside, inside, kernel, kernel))
    y = g.op("Conv", x, w, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pad] * 4)
    scale, shift = g.weight((outside,), 0.05, gain), g.weight((outside,), 0.05)
    before = g.parameters
    mean, variance = g.weight((outside,), 0.05), g.weight((outside,), 0.02, 1.0)
    g.parameters = before  # running statistics are not parameters
    return g.op("BatchNormalization", y, scale, shift, mean, variance, epsilon=1e-5)


def _bottleneck(g: Graph, x: str, block: Bottleneck) -> str:
    y = g.op("Relu", _conv_bn(g, x, block.inside, block.width, 1))
    y = g.op("Relu", _conv_bn(g, y, block.width, block.width, 3, block.stride))
    y = _conv_bn(g, y, block.width, block.outside, 1, gain=0.2)  # small, so that sixteen sums keep fp16 in range
    if block.inside != block.outside or block.stride != 1:
        x = _conv_bn(g, x, block.inside, block.outside, 1, block.stride)
    return g.op("Relu", g.op("Add", y, x))


def _write(g: Graph) -> None:
    x = g.input("input", ("batch", 3, 224, 224))
    x = g.op("Relu", _conv_bn(g, x, 3, 64, 7, 2))
    x = g.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    inside = 64
    for width, blocks, stride in STAGES:
        for number in range(blocks):
            block = Bottleneck(inside, width, stride if number == 0 else 1)
            x, inside = _bottleneck(g, x, block), block.outside
    x = g.op("Flatten", g.op("GlobalAveragePool", x), axis=1)
    y = g.op("Gemm", x, g.weight((1000, 2048), 0.02), g.weight((1000,), 0.02), transB=1)
    g.output("logits", y, ("batch", 1000))


resnet50 = Net(
    "resnet50",
    "ResNet-50 v1.5, 224x224",
    _write,
    {"input": Input(("batch", 3, 224, 224))},
    {"batch": 1},
    unit="image",
)
