"""`model check`: what a worker's answer means. Real sessions are in tests/integration/kernels/test_model_check.py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from stackbuild.bench.environment import plain_environment
from stackbuild.bench.model_check import ModelCheck, ModelRequest, read_answer
from stackbuild.bench.model_problem import Culprit
from stackbuild.bench.onnx_file import input_parts
from stackbuild.core.errors import UsageError

EP = "MIGraphXExecutionProvider"
CPU = "CPUExecutionProvider"


def read(answer: dict[str, Any], said: str = "") -> ModelCheck:
    request = ModelRequest(Path("m.onnx"), (), EP, {}, "", plain_environment(Path("/v/bin/python")))
    return read_answer({"providers": [EP, CPU], **answer}, said, request)


def ran(name: str, op: str, provider: str, seconds: float, *types: str) -> dict[str, Any]:
    return {"name": name, "op": op, "provider": provider, "seconds": seconds, "types": list(types)}


def placed(name: str, op: str, provider: str, domain: str = "") -> dict[str, Any]:
    return {"name": name, "op": op, "provider": provider, "domain": domain}


def test_placement_counts_what_a_compiled_subgraph_hides() -> None:
    found = read(
        {
            "assigned": [placed(f"n{i}", "Conv", EP) for i in range(9)] + [placed("last", "TopK", CPU)],
            "nodes": [ran("fused", "MIGraphX_1", EP, 0.009), ran("last", "TopK", CPU, 0.001, "float", "int64")],
        }
    )
    assert found.node_share == 0.9 and found.time_share == pytest.approx(0.9)
    assert [(n.name, n.why) for n in found.fallback] == [
        ("last", "the provider took no TopK of this model; its inputs are int64")
    ]


def test_without_placement_the_profile_counts() -> None:
    found = read({"nodes": [ran("fused", "MIGraphX_1", EP, 3.0), ran("a", "Add", CPU, 1.0, "float")]})
    assert (found.node_share, found.time_share) == (0.5, 0.75)


@pytest.mark.parametrize(
    ("node", "types", "said", "why"),
    [
        (
            placed("n", "Gather", CPU),
            (),
            "x] Force fallback to CPU execution for node: n because the CPU",
            "ONNX Runtime keeps it",
        ),
        (placed("n", "Loop", CPU), (), "", "control flow"),
        (placed("n", "Foo", CPU, "my.domain"), (), "", "domain my.domain"),
        (placed("n", "Conv", CPU), ("double",), "", "its inputs are double: the provider took 1 other Conv"),
        (placed("n", "Conv", CPU), ("float",), "", "its shapes or attributes differ"),
        (placed("n", "Erf", CPU), ("float",), "", "the provider took no Erf of this model"),
    ],
)
def test_why_a_node_fell_back(node: dict[str, Any], types: tuple[str, ...], said: str, why: str) -> None:
    assigned = [placed("c", "Conv", EP), node]
    found = read({"assigned": assigned, "nodes": [ran("n", node["op"], CPU, 1.0, *types)]}, said)
    assert why in found.fallback[0].why


def test_a_session_without_the_provider_says_what_could_not_be_loaded() -> None:
    said = "2026 [E:onnxruntime] Failed to load library libonnxruntime_providers_migraphx.so with error: libmigraphx_c.so.3: cannot open"
    found = read({"providers": [CPU], "assigned": [placed("c", "Conv", CPU)]}, said)
    assert "libmigraphx_c.so.3" in found.problem and "doctor --venv /v" in found.next and found.node_share == 0


def test_a_second_shape_and_what_compiling_took() -> None:
    shapes = [
        {"sizes": {"x": [n]}, "first": first, "later": [0.01, 0.03, 0.02]} for n, first in ((1, 60.02), (2, 30.02))
    ]
    found = read({"shapes": [*shapes, {"sizes": {"x": [1]}, "first": 0.02, "later": []}]})
    assert found.compiles == pytest.approx((60, 30, 0.02)) and found.shapes[0].later == 0.02


def model(path: Path, *dims: object) -> Path:
    graph = helper.make_graph(
        [helper.make_node("Relu", ["x"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", 1, list(dims))],
        [onnx.ValueInfoProto(name="y")],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), path)
    return path


@pytest.mark.parametrize(
    ("dims", "given", "shapes"),
    [
        (("n", 3), [], [[1, 3], [2, 3]]),
        ((4, 3), [], [[4, 3]]),
        (("n", 3), ["x=8x3"], [[8, 3]]),
        (("n", 3), ["x=8x3", "x=16x3"], [[8, 3], [16, 3]]),
        (("n", 3), ["x=8x3", "x=16x3", "x=2x3", "x=9x3"], [[8, 3], [16, 3], [2, 3], [9, 3]]),
        ((), [], [[]]),
    ],
)
def test_the_shapes_that_are_run(
    dims: tuple[object, ...], given: list[str], shapes: list[list[int]], tmp_path: Path
) -> None:
    parts: Any = input_parts(model(tmp_path / "m.onnx", *dims), given)
    assert [part["inputs"]["x"]["shape"] for part in parts] == shapes
    assert np.dtype(parts[0]["inputs"]["x"]["dtype"]) == np.float32


def two_inputs(path: Path) -> Path:
    """`x` with an open dimension, a scalar `s`, and `u` whose number of dimensions nobody says."""
    values = [helper.make_tensor_value_info(*each) for each in (("x", 1, ["n", 3, "w"]), ("s", 7, []), ("u", 1, None))]
    nodes = [helper.make_node("Identity", [name], [f"{name}o"]) for name in "xsu"]
    graph = helper.make_graph(nodes, "g", values, [onnx.ValueInfoProto(name=f"{name}o") for name in "xsu"])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), path)
    return path


def test_shapes_of_several_inputs(tmp_path: Path) -> None:
    path = two_inputs(tmp_path / "m.onnx")
    parts: Any = input_parts(path, ["x=1x3x4", "u=5", "x=2x3x4", "x=3x3x8"])
    sizes = [{name: spec["shape"] for name, spec in part["inputs"].items()} for part in parts]
    assert sizes == [
        {"x": [1, 3, 4], "s": [], "u": [5]}, {"x": [2, 3, 4], "s": [], "u": [5]}, {"x": [3, 3, 8], "s": [], "u": [5]},
    ]  # fmt: skip
    assert not any("open" in spec for part in parts for spec in part["inputs"].values())
    (only,) = input_parts(path, ["u=5"])
    inputs: Any = only["inputs"]
    assert inputs["x"]["open"] == "N1x3xN2" and "open" not in inputs["s"] and "open" not in inputs["u"]


@pytest.mark.parametrize(
    ("given", "words", "next"),
    [
        ([], "'u' has no shape in the model", "--shape u=1x3"),
        (["u=5", "s=1"], "the shape 1 does not fit the input 's', which is a scalar", "leave out --shape s"),
        (["u=5", "u=6", "x=1x3x1", "x=2x3x2", "x=3x3x3"], "'u' has 2, 'x' has 3", "as often as"),
    ],
)
def test_shapes_that_nobody_can_follow_are_refused(tmp_path: Path, given: list[str], words: str, next: str) -> None:
    with pytest.raises(UsageError, match=words) as stop:
        input_parts(two_inputs(tmp_path / "m.onnx"), given)
    assert next in stop.value.next


def test_the_problem_of_an_answer_has_its_culprit() -> None:
    text = "Fail: [ONNXRuntimeError] : 1 : FAIL : Load model from m.onnx failed:Fatal error: my.ops:Foo(-1) is not a registered function/op"
    found = read({"stage": "session", "problem": text, "onnxruntime": "1.32.0"})
    assert found.culprit is Culprit.MODEL and "--library" in found.next and "my.ops" in found.problem
    assert read({"providers": [CPU]}).culprit is Culprit.PROVIDER and read({}).culprit is None


def test_wrong_shapes_are_refused(tmp_path: Path) -> None:
    path = model(tmp_path / "m.onnx", "n", 3)
    for given, words in ((["z=1x3"], "no input 'z'"), (["x=1x4"], "does not fit"), (["x=ax3"], "is not NAME")):
        with pytest.raises(UsageError, match=words):
            input_parts(path, given)


@pytest.mark.parametrize(
    ("dims", "what"),
    [((1 << 40,), "4096 GiB"), ((1 << 62,) * 30, "more than 16"), ((1 << 20, 1 << 20, 1 << 20), "GiB, more than 16"), ((-5,), "the least -5"), ((1,) * 100, "100 dimensions")],
)  # fmt: skip
def test_inputs_that_no_machine_holds_are_refused(tmp_path: Path, dims: tuple[int, ...], what: str) -> None:
    with pytest.raises(UsageError, match=what):
        input_parts(model(tmp_path / "m.onnx", *dims), [])


def test_a_file_of_holes_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "m.onnx").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(UsageError, match="larger than 2 GiB"):
        input_parts(tmp_path / "m.onnx", [])


def test_an_input_that_is_no_tensor_is_named(tmp_path: Path) -> None:
    path = model(tmp_path / "m.onnx", 3)
    proto = onnx.load(path)
    for number in (0, 999):
        proto.graph.input[0].type.tensor_type.elem_type = number
        path.write_bytes(proto.SerializeToString())
        with pytest.raises(UsageError, match="the input 'x' is not a tensor of a known type"):
            input_parts(path, [])
