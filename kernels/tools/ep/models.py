"""ResNet-50, BERT-base, YOLOv5s, ViT-B/16 and Whisper tiny, as the product's benchmarks build them (stackbuild.bench.nets): seeded, no download."""

from __future__ import annotations

import sys
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import onnx

sys.path.insert(0, str(Path(__file__).resolve().parents[3]))
from stackbuild.bench.nets import NETS
from stackbuild.bench.nets.graph import Graph


@cache
def model(name: str, dtype: str) -> onnx.ModelProto:
    """`name` is a net of stackbuild.bench.nets, such as "resnet50"; dtype float32 or float16."""
    graph = Graph(name, dtype)
    NETS[name].write(graph)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        graph.save(path)
        return onnx.load(path)


def feeds(name: str, dtype: str, seed: int = 0, **sizes: int) -> dict[str, np.ndarray]:
    """Random inputs of the sizes given (batch, sequence); a mask hides the last quarter of each sequence."""
    rng = np.random.default_rng(seed)
    net = NETS[name]
    values = {}
    for key, shape in net.shapes(sizes).items():
        spec = net.inputs[key]
        if spec.fill == "normal":
            values[key] = rng.standard_normal(shape, np.float32).astype(spec.dtype or dtype)
        elif spec.fill == "ones":
            values[key] = np.ones(shape, spec.dtype)
            values[key][:, -max(1, shape[1] // 4) :] = 0
        else:
            values[key] = rng.integers(0, spec.high, shape).astype(spec.dtype)
    return values


def output_shapes(name: str, dtype: str, **sizes: int) -> dict[str, tuple[int, ...]]:
    """The extents of each output where the inputs have those sizes."""
    all_sizes = NETS[name].sizes | sizes
    return {
        output.name: tuple(all_sizes[d.dim_param] if d.dim_param else d.dim_value for d in output.type.tensor_type.shape.dim)
        for output in model(name, dtype).graph.output
    }


def sizes_of(name: str, text: str) -> dict[str, int]:
    """`8x512` as the sizes of that net: the batch, and where it has one the length."""
    return dict(zip(NETS[name].sizes, (int(n) for n in text.split("x")), strict=False))
