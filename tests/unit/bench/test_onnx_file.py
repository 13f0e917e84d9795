"""A model of the user's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from stackbuild.bench.nets.graph import Graph
from stackbuild.bench.onnx_file import UserModel, input_parts, parse_shape, user_case
from stackbuild.core.errors import UsageError


@pytest.fixture
def small_model(tmp_path: Path) -> Path:
    graph = Graph("small")
    x = graph.input("x", ("batch", 3, 8))
    graph.output("y", graph.op("Relu", x), ("batch", 3, 8))
    graph.save(tmp_path / "small.onnx")
    return tmp_path / "small.onnx"


def test_a_users_model(small_model: Path) -> None:
    case, work = user_case(UserModel(small_model, {"x": (4, 3, 8)}))
    assert (case.batch, case.items, case.opset, case.shapes) == (4, 4, 17, {"x": (4, 3, 8)})
    assert case.name == "small/4x3x8" and work["parts"] == [
        {"inputs": {"x": {"shape": [4, 3, 8], "dtype": "float32", "high": 2}}}
    ]


@pytest.mark.parametrize(
    ("shapes", "what", "next"),
    [
        ({}, "is batchx3x8: its open dimensions need sizes", "--shape x=1x3x8"),
        ({"x": (4, 3)}, "the shape 4x3 does not fit the input 'x', which is batchx3x8", "fixed dimensions"),
        ({"x": (4, 3, 9)}, "the shape 4x3x9 does not fit", "fixed dimensions"),
        ({"z": (4, 3, 8)}, "it has no input 'z'", "its inputs are x"),
    ],
)
def test_shapes_that_do_not_fit(small_model: Path, shapes: dict[str, tuple[int, ...]], what: str, next: str) -> None:
    with pytest.raises(UsageError) as stop:
        user_case(UserModel(small_model, shapes))
    assert what in stop.value.what and next in stop.value.next


def test_files_that_are_no_models(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no such model"):
        user_case(UserModel(tmp_path / "none.onnx", {}))
    (tmp_path / "x.onnx").write_text("<html>")
    with pytest.raises(UsageError, match="not an ONNX model"):
        user_case(UserModel(tmp_path / "x.onnx", {}))
    for text in ("x", "x=", "=1x2", "x=1x-2", "x=axb"):
        with pytest.raises(UsageError, match="NAME=AxBxC"):
            parse_shape(text)


@pytest.mark.parametrize("inner", [False, True], ids=["initializer", "in a branch"])
def test_a_data_file_that_is_not_there_is_named(tmp_path: Path, inner: bool) -> None:
    weights = numpy_helper.from_array(np.ones(1024, np.float32), "w")
    values = [helper.make_tensor_value_info("x", 1, [1024]), helper.make_tensor_value_info("c", 9, [])]
    y = onnx.ValueInfoProto(name="y")
    if inner:
        constant = helper.make_node("Constant", [], ["y"], value=weights)
        branch = helper.make_graph([constant], "b", [], [y])
        node, kept = helper.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=branch), []
    else:
        node, kept = helper.make_node("Add", ["x", "w"], ["y"]), [weights]
    whole = helper.make_model(helper.make_graph([node], "g", values, [y], kept))
    path = tmp_path / "m.onnx"
    onnx.save(whole, path, save_as_external_data=True, location="weights.bin", size_threshold=0, convert_attribute=True)
    assert len(input_parts(path, [])) == 1
    data = (tmp_path / "weights.bin").read_bytes()
    (tmp_path / "weights.bin").write_bytes(data[:-1])
    with pytest.raises(UsageError, match=f"has {len(data) - 1} bytes, and '.*' ends at {len(data)}") as stop:
        input_parts(path, [])
    assert "copy weights.bin again" in stop.value.next
    (tmp_path / "weights.bin").unlink()
    for read in (lambda: input_parts(path, []), lambda: user_case(UserModel(path, {}))):
        with pytest.raises(UsageError, match=r"its data file 'weights\.bin' is not there") as stop:
            read()
        assert "put weights.bin beside the model" in stop.value.next


def test_a_measurement_names_the_types_that_it_makes_no_values_of(tmp_path: Path) -> None:
    value = helper.make_tensor_value_info("x", onnx.TensorProto.BFLOAT16, [3])
    graph = helper.make_graph(
        [helper.make_node("Identity", ["x"], ["y"])], "g", [value], [onnx.ValueInfoProto(name="y")]
    )
    onnx.save(helper.make_model(graph), tmp_path / "m.onnx")
    with pytest.raises(UsageError, match="'x' is of bfloat16") as stop:
        user_case(UserModel(tmp_path / "m.onnx", {}))
    assert "model check" in stop.value.next
