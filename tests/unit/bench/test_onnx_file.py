"""A model of the user's."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackbuild.bench.nets.graph import Graph
from stackbuild.bench.onnx_file import UserModel, parse_shape, user_case
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
