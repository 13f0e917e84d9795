"""Folds BatchNormalization into the convolution before it: one operator less, the same answer.

    import onnx
    from stackbuild_kernels.fold import fold_batch_norm
    model = onnx.load("model.onnx")
    print(fold_batch_norm(model), "folded")

ONNX Runtime does this itself when a session is made, for its own operators. This is for models that are changed to the
operators of this package first, and for other runtimes. Needs numpy and onnx.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
import onnx
from onnx import helper, numpy_helper
from onnx.external_data_helper import uses_external_data

DOMAINS = ("", "ai.onnx", "stackbuild.kernels")
INFERENCE_SINCE = 7  # the opset whose BatchNormalization no longer trains unless is_test says otherwise
TYPES = (np.float16, np.float32, np.float64)


def fold_batch_norm(model: onnx.ModelProto) -> int:
    """Changes `model`; returns how many were folded.

    Taken are pairs in the main graph where the convolution's result has no other reader and is not an output, its weights and
    bias and the normalisation's four parameters are constants (initializers that are not inputs, and loaded), and nothing (an
    activation, a residual) comes between. Factors are worked out in float64 and rounded once to the weights' type; a pair
    whose weights that type does not hold, being too large or too small for it, is left.
    """
    index = _GraphIndex(model.graph)
    old = any(o.domain in DOMAINS[:2] and o.version < INFERENCE_SINCE for o in model.opset_import)
    places = []
    for place, norm in enumerate(list(model.graph.node)):
        if norm.op_type != "BatchNormalization" or norm.domain not in DOMAINS or not _infers(norm, old):
            continue
        conv = index.only_producer(norm.input[0])
        if conv is not None and _fold(index, conv, norm):
            places.append(place)
    for place in reversed(places):
        del model.graph.node[place]
    index.remove_unread()
    return len(places)


class _GraphIndex:
    """Who makes and who reads each value of a graph, by the graph's outputs and by nodes' bodies too."""

    def __init__(self, graph: onnx.GraphProto) -> None:
        inputs = {i.name for i in graph.input}
        self.graph = graph
        self.constants = {t.name: t for t in graph.initializer if t.name not in inputs and not uses_external_data(t)}
        self.producers = {name: node for node in graph.node for name in node.output if name}
        self.readers = Counter(_read(graph))
        self.names = set(_names(graph))
        self.released_names: set[str] = set()

    def only_producer(self, name: str) -> onnx.NodeProto | None:
        """The convolution that makes a value with one reader, if one does."""
        conv = self.producers.get(name)
        if conv is None or conv.op_type != "Conv" or conv.domain not in DOMAINS or self.readers[name] != 1:
            return None
        plain = _attribute(conv, "activation", b"none") in (b"none", b"") and not any(conv.input[3:])
        return conv if plain else None

    def add(self, name: str, value: np.ndarray) -> str:
        """A new initializer under a name that nothing else in the graph or in a body has; the name."""
        while name in self.names:
            name += "_"
        tensor = numpy_helper.from_array(value, name)
        self.graph.initializer.append(tensor)
        self.constants[name] = tensor
        self.names.add(name)
        self.readers[name] += 1
        return name

    def release(self, names: list[str]) -> None:
        """Of each name, one reader is gone."""
        self.readers.subtract(names)
        self.released_names.update(names)

    def remove_unread(self) -> None:
        """Takes out the initializers that had readers and have none left."""
        inputs = {i.name for i in self.graph.input}
        unread = {name for name in self.released_names if self.readers[name] == 0 and name not in inputs}
        for place in reversed([i for i, t in enumerate(self.graph.initializer) if t.name in unread]):
            del self.graph.initializer[place]


def _bodies(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    for node in graph.node:
        for attribute in node.attribute:
            yield from [attribute.g] if attribute.type == onnx.AttributeProto.GRAPH else attribute.graphs


def _read(graph: onnx.GraphProto) -> Iterator[str]:
    """Each reading of a value."""
    yield from (o.name for o in graph.output)
    for node in graph.node:
        yield from node.input
    for body in _bodies(graph):
        yield from _read(body)


def _names(graph: onnx.GraphProto) -> Iterator[str]:
    """Every name of a value, made here, given or only read."""
    for values in (graph.input, graph.output, graph.value_info, graph.initializer):
        yield from (v.name for v in values)
    yield from (t.values.name for t in graph.sparse_initializer)
    for node in graph.node:
        yield from (*node.input, *node.output)
    for body in _bodies(graph):
        yield from _names(body)


def _attribute(node: onnx.NodeProto, name: str, default: object) -> object:
    return next((helper.get_attribute_value(a) for a in node.attribute if a.name == name), default)


def _infers(norm: onnx.NodeProto, old: bool) -> bool:
    """Whether it uses the statistics it is given, one for each channel. `old`: by the schemas before opset 7."""
    if _attribute(norm, "training_mode", 0) or any(norm.output[1:]) or not _attribute(norm, "spatial", 1):
        return False
    return not old or norm.domain not in DOMAINS[:2] or bool(_attribute(norm, "is_test", 0))


def _fold(index: _GraphIndex, conv: onnx.NodeProto, norm: onnx.NodeProto) -> bool:
    bias_names = [name for name in conv.input[2:3] if name]
    names = [conv.input[1], *norm.input[1:5], *bias_names]
    if any(name not in index.constants for name in names):
        return False
    weights, *channels = (numpy_helper.to_array(index.constants[name]) for name in names)
    if weights.dtype not in TYPES or any(c.shape != weights.shape[:1] for c in channels):
        return False
    folded_weights = _fold_normalisation(weights, channels, float(_attribute(norm, "epsilon", 1e-5)))  # type: ignore[arg-type]
    if folded_weights is None:
        return False
    index.release([conv.output[0], *names])
    conv.input[1] = index.add(names[0] + "_folded", folded_weights[0])
    bias_name = index.add(norm.input[2] + "_folded", folded_weights[1])
    if len(conv.input) > 2:
        conv.input[2] = bias_name
    else:
        conv.input.append(bias_name)
    conv.output[0] = norm.output[0]
    index.producers[norm.output[0]] = conv
    return True


def _fold_normalisation(weights: np.ndarray, channels: list[np.ndarray], epsilon: float) -> tuple[np.ndarray, np.ndarray] | None:
    """Weights and bias with the normalisation in them; None where their type does not hold them."""
    scale, shift, mean, variance, *bias = (c.astype(np.float64) for c in channels)
    with np.errstate(all="ignore"):
        factor = scale / np.sqrt(variance + epsilon)
        exact = weights.astype(np.float64) * factor.reshape(-1, *[1] * (weights.ndim - 1))
        new_weights = exact.astype(weights.dtype)
        new_bias = (((bias[0] if bias else 0.0) - mean) * factor + shift).astype(weights.dtype)
        filters = (exact.shape[0], -1)
        losses = np.linalg.norm((exact - new_weights.astype(np.float64)).reshape(filters), axis=1)
        whole = np.linalg.norm(exact.reshape(filters), axis=1)
        is_exact = bool((losses <= np.finfo(weights.dtype).eps * whole).all())  # false also where one is not finite
    return (new_weights, new_bias) if is_exact and np.isfinite(new_bias).all() else None
