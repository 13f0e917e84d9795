"""stackbuild_kernels.fold: BatchNormalization into Conv, against ONNX's reference evaluator."""

from __future__ import annotations

import importlib.util
import time
from pathlib import Path
from types import ModuleType

import pytest

np = pytest.importorskip("numpy")
onnx = pytest.importorskip("onnx")

SOURCE = Path(__file__).parents[4] / "kernels" / "package" / "fold.py"


@pytest.fixture(scope="module")
def fold() -> ModuleType:
    spec = importlib.util.spec_from_file_location("stackbuild_kernels_fold", SOURCE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def model(bias: bool = True, between: str = "", output: bool = False, variable: str = "", group: int = 1,
          opset: int = 15, dtype: type = np.float32, var: float | None = None, **norm: object) -> object:
    """Conv and BatchNormalization; `between` an operator, `output` the first's result too, `variable` an input's name,
    `var` the variance of every channel, `norm` attributes of the second."""
    from onnx import helper, numpy_helper

    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    rng = np.random.default_rng(3)
    shapes = {"w": (6, 4 // group, 3, 3), "b": (6,), "scale": (6,), "shift": (6,), "mean": (6,), "var": (6,)}
    values = {k: rng.standard_normal(s).astype(dtype) for k, s in shapes.items()}
    values["var"] = (np.abs(values["var"]) + np.float32(0.1) if var is None else np.full(6, var)).astype(dtype)
    if not bias:
        del values["b"]
    middle = "c" if not between else "m"
    nodes = [helper.make_node("Conv", ["x", "w", *(["b"] if bias else [])], ["c"], group=group, pads=[1, 1, 1, 1])]
    if between:
        nodes.append(helper.make_node(between, ["c"], ["m"]))
    nodes.append(helper.make_node("BatchNormalization", [middle, "scale", "shift", "mean", "var"], ["y"], **{"epsilon": 1e-3} | norm))
    outputs = [helper.make_tensor_value_info(n, kind, [2, 6, 5, 5]) for n in ("y", *(["c"] if output else []))]
    inputs = [helper.make_tensor_value_info("x", kind, [2, 4, 5, 5])]
    if variable:
        inputs.append(helper.make_tensor_value_info(variable, kind, shapes[variable]))
    graph = helper.make_graph(nodes, "g", inputs, outputs, [numpy_helper.from_array(v, k) for k, v in values.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])


def run(m: object) -> np.ndarray:
    from onnx.reference import ReferenceEvaluator

    x = np.random.default_rng(5).standard_normal((2, 4, 5, 5)).astype(np.float32)
    return np.asarray(ReferenceEvaluator(m).run(None, {"x": x})[0])  # type: ignore[arg-type]


@pytest.mark.parametrize(("bias", "group"), [(True, 1), (False, 1), (True, 2)])
def test_the_answer_stays_and_the_node_goes(fold: ModuleType, bias: bool, group: int) -> None:
    changed = model(bias, group=group)
    before = run(changed)
    assert fold.fold_batch_norm(changed) == 1
    onnx.checker.check_model(changed)
    assert [n.op_type for n in changed.graph.node] == ["Conv"]  # type: ignore[attr-defined]
    assert len(changed.graph.initializer) == 2  # type: ignore[attr-defined]
    np.testing.assert_allclose(run(changed), before, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("more", [
    {"between": "Relu"}, {"output": True}, {"variable": "scale"}, {"variable": "w"},
    {"dtype": np.float16, "var": 0.0, "epsilon": 1e-12},  # weights beyond 65504
    {"dtype": np.float16, "var": 6e4, "epsilon": 1e9},  # weights of which float16 has two digits left
    {"var": -1.0},
    {"opset": 6}, {"opset": 14, "training_mode": 1}, {"opset": 7, "spatial": 0},
])
def test_what_would_change_the_answer_is_left(fold: ModuleType, more: dict[str, object]) -> None:
    changed = model(**more)  # type: ignore[arg-type]
    before = changed.SerializeToString()  # type: ignore[attr-defined]
    assert fold.fold_batch_norm(changed) == 0
    assert changed.SerializeToString() == before  # type: ignore[attr-defined]


def test_weights_that_another_node_reads_stay_for_it(fold: ModuleType) -> None:
    from onnx import TensorProto, helper

    changed = model()
    changed.graph.node.append(helper.make_node("Conv", ["x", "w"], ["z"]))  # type: ignore[attr-defined]
    changed.graph.output.append(helper.make_tensor_value_info("z", TensorProto.FLOAT, [2, 6, 3, 3]))  # type: ignore[attr-defined]
    before = run(changed)
    assert fold.fold_batch_norm(changed) == 1
    onnx.checker.check_model(changed)
    np.testing.assert_allclose(run(changed), before, rtol=1e-5, atol=1e-5)
    assert {"w", "w_folded"} <= {t.name for t in changed.graph.initializer}  # type: ignore[attr-defined]


def test_before_opset_7_one_that_is_said_to_infer_is_folded(fold: ModuleType) -> None:
    changed = model(opset=6, is_test=1)
    assert fold.fold_batch_norm(changed) == 1


def test_parameters_that_are_not_one_for_each_channel_are_left(fold: ModuleType) -> None:
    from onnx import numpy_helper

    changed = model()
    for tensor in changed.graph.initializer:  # type: ignore[attr-defined]
        if tensor.name == "scale":
            tensor.CopyFrom(numpy_helper.from_array(np.ones((1, 1, 1), np.float32), "scale"))
    assert fold.fold_batch_norm(changed) == 0


def test_a_name_that_is_an_input_or_is_made_in_a_body_is_not_taken(fold: ModuleType) -> None:
    from onnx import TensorProto, helper

    changed = model()
    graph = changed.graph  # type: ignore[attr-defined]
    graph.input.append(helper.make_tensor_value_info("w_folded", TensorProto.FLOAT, [6, 4, 3, 3]))
    made = helper.make_tensor_value_info("shift_folded", TensorProto.FLOAT, [2, 6, 5, 5])
    body = helper.make_graph([helper.make_node("Neg", ["y"], ["shift_folded"])], "body", [], [made])
    graph.node.append(helper.make_node("If", ["choice"], ["z"], then_branch=body, else_branch=body))
    graph.input.append(helper.make_tensor_value_info("choice", TensorProto.BOOL, []))
    graph.output.append(helper.make_tensor_value_info("z", TensorProto.FLOAT, [2, 6, 5, 5]))
    assert fold.fold_batch_norm(changed) == 1
    onnx.checker.check_model(changed)
    assert list(graph.node[0].input) == ["x", "w_folded_", "shift_folded_"]


def test_weights_that_were_not_loaded_are_left(fold: ModuleType, tmp_path: Path) -> None:
    path = str(tmp_path / "model.onnx")
    onnx.save(model(), path, save_as_external_data=True, location="weights", size_threshold=0)
    assert fold.fold_batch_norm(onnx.load(path, load_external_data=False)) == 0
    assert fold.fold_batch_norm(onnx.load(path)) == 1


def test_time_grows_with_the_model_and_not_its_square(fold: ModuleType) -> None:
    """Readings of the graph's nodes, counted: a second per hundred pairs was the price of asking all for each."""
    from onnx import TensorProto, helper, numpy_helper

    def chain(pairs: int) -> object:
        nodes, weights, at = [], [], "x"
        for i in range(pairs):
            weights += [numpy_helper.from_array(np.ones((2, 2, 1, 1), np.float32), f"w{i}")]
            weights += [numpy_helper.from_array(np.ones(2, np.float32), f"p{i}")]
            nodes += [helper.make_node("Conv", [at, f"w{i}"], [f"c{i}"])]
            nodes += [helper.make_node("BatchNormalization", [f"c{i}", *[f"p{i}"] * 4], [f"y{i}"])]
            at = f"y{i}"
        ends = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, 2, 3, 3]) for n in ("x", at)]
        return helper.make_model(helper.make_graph(nodes, "g", ends[:1], ends[1:], weights))

    spent = {}
    for pairs in (100, 800):
        made = chain(pairs)
        start = time.process_time()
        assert fold.fold_batch_norm(made) == pairs
        spent[pairs] = time.process_time() - start
    assert spent[800] < 30 * spent[100]
