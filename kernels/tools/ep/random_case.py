"""What a random case is: one node, its inputs and its answer."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import onnx
from onnx import helper, numpy_helper

Array = np.ndarray
OPSET = 21


@dataclass(frozen=True)
class RandomCase:
    """One node, its inputs and what they must give. Inputs named in `constants` become initializers; `name` tells cases apart."""

    op: str
    dtype: str
    inputs: list[Array | None]
    reference: list[Array]
    attributes: dict[str, object] = field(default_factory=dict)
    constants: tuple[int, ...] = ()
    domain: str = ""
    name: str = ""

    def model(self) -> onnx.ModelProto:
        """The case as a model; every extent of a graph input is symbolic."""
        names = ["" if x is None else f"x{i}" for i, x in enumerate(self.inputs)]
        outputs = [f"y{i}" for i in range(len(self.reference))]
        node = helper.make_node(self.op, names, outputs, domain=self.domain, **self.attributes)
        present = [(n, x) for n, x in zip(names, self.inputs, strict=True) if x is not None]
        constant_names = {f"x{i}" for i in self.constants}
        infos = [
            helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(x.dtype), [f"{n}_{i}" for i in range(x.ndim)])
            for n, x in present
            if n not in constant_names
        ]
        weights = [numpy_helper.from_array(x, n) for n, x in present if n in constant_names]
        results = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(w.dtype), [f"{n}_{i}" for i in range(w.ndim)]) for n, w in zip(outputs, self.reference, strict=True)]
        graph = helper.make_graph([node], self.op, infos, results, weights)
        opsets = [helper.make_opsetid("", OPSET)] + [helper.make_opsetid(self.domain, 1)] * bool(self.domain)
        return helper.make_model(graph, opset_imports=opsets, ir_version=10)

    def feeds(self) -> dict[str, Array]:
        """Graph inputs by name."""
        return {f"x{i}": x for i, x in enumerate(self.inputs) if x is not None and i not in self.constants}
