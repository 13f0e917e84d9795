"""How many steps a run has: a model whose extents are all known may not have more than the same model with symbols."""

from __future__ import annotations

import onnx
import onnxruntime as ort

from tools.ep import models
from tools.ep.session import open_session, parts

SIZES = {"resnet50": {"batch": 2}, "bert-base": {"batch": 2, "sequence": 16}}


def model_with_extents(name: str, dtype: str) -> onnx.ModelProto:
    """The model with each input's extents written out, as exporters do by default."""
    model = onnx.ModelProto()
    model.CopyFrom(models.model(name, dtype))
    feeds = models.feeds(name, dtype, **SIZES[name])
    for value in model.graph.input:
        for axis, extent in zip(value.type.tensor_type.shape.dim, feeds[value.name].shape, strict=True):
            axis.dim_value = extent
    return model


def step_counts(model: onnx.ModelProto, device: ort.OrtEpDevice) -> tuple[int, int]:
    """Fused groups, and nodes alone."""
    sizes = [len(part) for part in parts(open_session(model, device))]
    return sum(n > 1 for n in sizes), sum(n == 1 for n in sizes)


def run(device: ort.OrtEpDevice, dtypes: list[str]) -> list[tuple[str, tuple[int, int], tuple[int, int], bool]]:
    """(model and type, groups and nodes alone with symbols, the same with extents, whether that is wrong)."""
    rows = []
    for name in SIZES:
        for dtype in dtypes:
            symbols, extents = step_counts(models.model(name, dtype), device), step_counts(model_with_extents(name, dtype), device)
            rows.append((f"{name} {dtype}", symbols, extents, extents[0] != symbols[0] or extents[1] > symbols[1]))
    return rows
