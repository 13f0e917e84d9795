"""What the custom ops refuse, and in which words: ONNX Runtime checks neither a custom op's attributes nor its shapes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest
from onnx import helper

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(1500)]
CONV = ((1, 4, 5, 5), (6, 4, 3, 3))
ATTENTION = ((1, 4, 5, 8), (1, 2, 6, 8), (1, 2, 6, 8))
NORM = ((2, 4, 3), (4,), (4,))
Shapes = tuple[tuple[int, ...] | None, ...]


def answer(library: Path, op: str, inputs: list[np.ndarray | None], attributes: Mapping[str, object]) -> np.ndarray:
    """The first output of one node."""
    names = [f"x{i}" if value is not None else "" for i, value in enumerate(inputs)]
    feeds = {name: value for name, value in zip(names, inputs, strict=True) if value is not None}
    node = helper.make_node(op, names, ["y"], domain="stackbuild.kernels", **attributes)
    infos = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(v.dtype), [None] * v.ndim)
        for n, v in feeds.items()
    ]
    graph = helper.make_graph(
        [node], "g", infos, [helper.make_tensor_value_info("y", infos[0].type.tensor_type.elem_type, None)]
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("stackbuild.kernels", 1)]
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.register_custom_ops_library(str(library))
    made = helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()
    return np.asarray(ort.InferenceSession(made, options, providers=["CPUExecutionProvider"]).run(None, feeds)[0])


def of_shapes(shapes: Shapes) -> list[np.ndarray | None]:
    rng = np.random.default_rng(1)
    return [None if shape is None else rng.standard_normal(shape).astype(np.float32) for shape in shapes]


@pytest.mark.parametrize(
    ("op", "shapes", "attributes", "says"),
    [
        # an attribute of another type than ONNX's would be taken for a missing one
        ("Attention", ATTENTION, {"scale": 1}, "scale must be a float"),
        ("Attention", ATTENTION, {"scale": "1"}, "scale must be a float"),
        ("Attention", ATTENTION, {"softcap": [1.0]}, "softcap must be a float"),
        ("Attention", ATTENTION, {"is_causal": 1.0}, "is_causal must be an int"),
        ("LeakyRelu", ((3,),), {"alpha": 0}, "alpha must be a float"),
        ("Conv", CONV, {"group": 1.0}, "group must be an int"),
        ("Conv", CONV, {"strides": [2.0, 2.0]}, "strides must be a list of ints"),
        ("Conv", CONV, {"kernel_shape": 3}, "kernel_shape must be a list of ints"),
        ("Conv", CONV, {"pads": helper.make_tensor("t", 7, [4], [1] * 4)}, "pads must be a list of ints"),
        ("Conv", CONV, {"auto_pad": 1}, "auto_pad must be a string"),
        ("Conv", CONV, {"activation": "leaky_relu", "activation_alpha": 1}, "activation_alpha must be a float"),
        ("BatchNormalization", (*NORM, (4,), (4,)), {"epsilon": 1}, "epsilon must be a float"),
        ("GroupNormalization", NORM, {"num_groups": 2.0}, "num_groups must be an int"),
        # one misspelt would be ignored
        ("Conv", CONV, {"stride": [2, 2]}, "unknown attribute stride; it is strides"),
        ("Conv", CONV, {"groups": 2}, "unknown attribute groups; it is group"),
        ("GroupNormalization", NORM, {"num_group": 2}, "unknown attribute num_group"),
        # what ONNX forbids, or defines in an opset that is not taken
        ("Attention", ATTENTION, {"is_causal": 2}, "is_causal must be 0 or 1"),
        ("Attention", ATTENTION, {"scale": -1.0}, "scale must not be negative"),
        ("Attention", ATTENTION, {"left_window_size": 3}, "left_window_size is not supported"),
        ("Attention", ATTENTION, {"q_num_heads": 3}, "q_num_heads"),
        ("Attention", ATTENTION, {"kv_num_heads": 7}, "kv_num_heads"),
        ("Attention", ((1, 5, 32), *ATTENTION[1:]), {"q_num_heads": 4, "kv_num_heads": 2}, "all have 3 axes or all 4"),
        ("Attention", (*ATTENTION, (1, 1, 1, 5, 6)), {}, "at most 4 axes"),
        ("Attention", (*ATTENTION, None, (1, 2, 0, 8)), {}, "past_key and past_value go together"),
        ("Attention", (ATTENTION[0], (1, 3, 6, 8), (1, 3, 6, 8)), {}, "number of K's heads does not divide Q's"),
        ("Conv", CONV, {"auto_pad": "VALID", "pads": [0, 0, 0, 0]}, "pads and auto_pad"),
        ("Conv", CONV, {"pads": [0, 0, -1, 0]}, "pads must be 0 to"),
        ("Conv", CONV, {"dilations": [2**62, 1]}, "dilations must be 1 to"),
        ("Conv", CONV, {"dilations": [2**31 - 1, 1]}, "dilated filter is too large"),
        ("Conv", CONV, {"strides": [2**63 - 1, 1], "auto_pad": "SAME_UPPER"}, "strides must be 1 to"),
        ("Conv", ((1, 4, 2, 5), CONV[1]), {}, "over 3 elements does not fit into 2"),
        ("Conv", ((1, 4, 0, 5), CONV[1]), {}, "does not fit into 0"),
        ("Conv", ((1, 4, 5, 5), CONV[1]), {"dilations": [1, 3]}, "over 7 elements does not fit into 5"),
        ("Conv", (*CONV, (6, 1)), {}, "B must have one axis"),
        ("Conv", ((1, 4, 5, 5), (1, 4, 3, 3), ()), {}, "B must have one axis"),
        ("GroupNormalization", (NORM[0], (4, 1), (4, 1)), {"num_groups": 2}, "scale must have one axis, of 4 values"),
        ("BatchNormalization", (*NORM, (1, 4), (4,)), {}, "input_mean must have one axis"),
    ],
)  # fmt: skip
def test_it_is_refused_in_words(cpu: Path, op: str, shapes: Shapes, attributes: dict[str, object], says: str) -> None:
    with pytest.raises(Exception, match=says):
        answer(cpu, op, of_shapes(shapes), attributes)


def test_a_length_beside_a_past_is_refused(cpu: Path) -> None:
    past = (1, 2, 3, 8)
    inputs = [*of_shapes((*ATTENTION, None, past, past)), np.array([6], np.int64)]
    with pytest.raises(Exception, match="nonpad_kv_seqlen excludes a past"):
        answer(cpu, "Attention", inputs, {})


@pytest.mark.parametrize("dtype", [np.int64, np.int8, np.uint8, np.float16, np.float64])
def test_a_mask_of_another_type_is_refused(cpu: Path, dtype: type) -> None:
    with pytest.raises(Exception, match="attn_mask must be bool, int32 or of Q's type"):
        answer(cpu, "Attention", [*of_shapes(ATTENTION), np.ones((5, 6), dtype)], {})


def test_what_only_looks_odd_is_taken(cpu: Path) -> None:
    """Windows without bounds; head counts that 4-axis inputs have; padding that makes room for a filter; a mask of one axis."""
    q, k, v = of_shapes(ATTENTION)
    plain = answer(cpu, "Attention", [q, k, v], {})
    same = {"left_window_size": -1, "right_window_size": -1, "q_num_heads": 4, "kv_num_heads": 2}
    np.testing.assert_array_equal(answer(cpu, "Attention", [q, k, v], same), plain)
    one_axis = [q, k, v, np.zeros(6, np.float32)]
    np.testing.assert_array_equal(answer(cpu, "Attention", one_axis, {}), plain)
    assert answer(cpu, "Conv", of_shapes(((1, 4, 0, 5), CONV[1])), {"pads": [2, 1, 2, 1]}).shape == (1, 6, 2, 5)
