"""Resize to the nearest: every way of finding a place, at extents whose places fall on ties and beside them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from onnx import helper

from tools.ep.edge import Edge, InputArrays, ints, model

FORMS = ("half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "asymmetric", "align_corners")
ROUNDINGS = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
SCALES = (0.34, 0.5, 0.7, 1.5, 2.0, 2.3, 3.0)
PAIRS = 96
MOST = 40  # places of an axis


def sizes() -> list[tuple[int, int]]:
    """An axis before and after, both ways: those that once went wrong, and others of 1 to MOST places."""
    random_pairs = np.random.default_rng(21).integers(1, MOST + 1, (PAIRS, 2)).tolist()
    one_way = [(7, 8), (14, 36), (29, 36), (26, 37), (22, 26), (34, 22), *map(tuple, random_pairs)]
    return one_way + [(new, extent) for extent, new in one_way]


def _edge(form: str, rounding: str, by_scale: bool) -> Edge:
    """One graph with a node of each resizing, so that a session answers for all."""
    ways = [(extent, scale) for extent in range(1, MOST + 1) for scale in SCALES if int(np.float32(extent) * np.float32(scale)) > 0] if by_scale else sizes()
    feeds = {f"x{extent}": np.arange(extent, dtype=np.float32)[None] for extent in sorted({extent for extent, _ in ways})}
    weights: InputArrays = {"none": np.zeros(0, np.float32)}
    nodes = []
    for i, (extent, to) in enumerate(ways):
        weights[f"to{i}"] = np.array((1, to), np.float32) if by_scale else ints(1, int(to))
        inputs = [f"x{extent}", "", f"to{i}"] if by_scale else [f"x{extent}", "", "none", f"to{i}"]
        nodes.append(helper.make_node("Resize", inputs, [f"y{i}"], mode="nearest", coordinate_transformation_mode=form, nearest_mode=rounding))
    graph = model(nodes, feeds, [f"y{i}" for i in range(len(ways))], weights)
    return Edge(f"Resize {form} {rounding} by {'scales' if by_scale else 'sizes'}", graph, feeds)


def resize_edges() -> Iterator[Edge]:
    """All of them. align_corners by scales is left to the CPU provider: ops/shape/resize.hip says why."""
    for form in FORMS:
        for rounding in ROUNDINGS:
            yield _edge(form, rounding, False)
            if form != "align_corners":
                yield _edge(form, rounding, True)
