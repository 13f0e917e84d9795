"""`model check` names seeded fallbacks: the bundled provider's CPU test platform takes what it can, the CPU has the rest."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from stackbuild.bench.environment import plain_environment
from stackbuild.bench.model_check import ModelCheck, ModelRequest, check_model
from stackbuild.bench.onnx_file import input_parts

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(1500)]
PROVIDER = "RocKernelsCpuTestExecutionProvider"
node = helper.make_node


def weight(name: str, kind: type = np.float32, shape: tuple[int, ...] = (8, 8)) -> onnx.TensorProto:
    return onnx.numpy_helper.from_array(np.linspace(-1, 1, int(np.prod(shape))).reshape(shape).astype(kind), name)


def saved(nodes: list[onnx.NodeProto], path: Path, *weights: onnx.TensorProto, domain: str = "") -> Path:
    """A model of `x`, any batch of 8 rows and columns, to `y`."""
    opsets = [helper.make_opsetid("", 21), *([helper.make_opsetid(domain, 1)] if domain else [])]
    given = helper.make_tensor_value_info("x", 1, ["batch", 8, 8])
    graph = helper.make_graph(nodes, "seeded", [given], [onnx.ValueInfoProto(name="y")], list(weights))
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=10), path)
    return path


def branches() -> list[onnx.NodeProto]:
    one = helper.make_graph([node("Relu", ["a"], ["o"], name="inside")], "one", [], [onnx.ValueInfoProto(name="o")])
    two = helper.make_graph([node("Neg", ["a"], ["o2"], name="other")], "two", [], [onnx.ValueInfoProto(name="o2")])
    return [
        node("ReduceSum", ["a"], ["s"], keepdims=0, name="sum"), node("Cast", ["s"], ["b"], to=TensorProto.BOOL, name="bool"),
        node("If", ["b"], ["y"], then_branch=one, else_branch=two, name="choice"),
    ]  # fmt: skip


FIRST = node("MatMul", ["x", "w"], ["a"], name="first")
W, DOUBLE = weight("w"), weight("d", np.float64)
LSTM = (weight("lw", shape=(1, 16, 8)), weight("lr", shape=(1, 16, 4)))
K = onnx.numpy_helper.from_array(np.array([2]), "k")
SEEDS: dict[str, tuple[list[onnx.NodeProto], tuple[onnx.TensorProto, ...], str, str]] = {
    "Einsum": ([FIRST, node("Einsum", ["a"], ["y"], equation="bij->bji", name="seed")], (W,), "", "took no Einsum"),
    "double": (
        [FIRST, node("Cast", ["a"], ["c"], to=TensorProto.DOUBLE, name="up"), node("MatMul", ["c", "d"], ["y"], name="seed")],
        (W, DOUBLE), "", "its inputs are double: the provider took 1 other MatMul",
    ),
    "domain": (
        [FIRST, node("Inverse", ["a"], ["y"], domain="com.microsoft", name="seed")], (W,), "com.microsoft",
        "of the domain com.microsoft",
    ),
    "control flow": ([FIRST, *branches()], (W,), "", "control flow"),
    "TopK": ([FIRST, node("TopK", ["a", "k"], ["y", "i"], name="seed")], (W, K), "", "took no TopK"),
    "LSTM": ([FIRST, node("LSTM", ["a", "lw", "lr"], ["y"], hidden_size=4, name="seed")], (W, *LSTM), "", "took no LSTM"),
    "NonZero": ([FIRST, node("NonZero", ["a"], ["y"], name="seed")], (W,), "", "took no NonZero"),
}  # fmt: skip
SEEDED = {"control flow": "choice"}


@pytest.fixture(scope="module")
def checked(cpu_ep: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., ModelCheck]:
    library = cpu_ep / "checks" / "librockernels_ep_cpu_test.so"

    def check(path: Path, provider: str = PROVIDER, plugin: str | None = None) -> ModelCheck:
        used = str(library) if plugin is None else plugin
        return check_model(
            ModelRequest(path, input_parts(path, []), provider, {}, used, plain_environment(Path(sys.executable)))
        )

    return check


@pytest.mark.parametrize("name", SEEDS)
def test_a_node_that_falls_back_is_named_with_the_reason(
    name: str, checked: Callable[..., ModelCheck], tmp_path: Path
) -> None:
    nodes, weights, domain, why = SEEDS[name]
    found = checked(saved(nodes, tmp_path / "seeded.onnx", *weights, domain=domain))
    wanted = SEEDED.get(name, "seed")
    named = {fallen.name: fallen for fallen in found.fallback}
    assert not found.problem and wanted in named, found
    assert why in named[wanted].why, named[wanted]
    assert "first" not in named and 0 < found.node_share < 1 and found.time_share > 0
    assert [shape.sizes["x"][0] for shape in found.shapes] == [1, 2, 1] and found.create > 0


def test_a_model_that_fits_falls_back_nowhere(checked: Callable[..., ModelCheck], tmp_path: Path) -> None:
    found = checked(saved([FIRST, node("Relu", ["a"], ["y"], name="r")], tmp_path / "fits.onnx", W))
    assert found.node_share == 1 and not found.fallback and not found.problem


@pytest.mark.parametrize(
    ("provider", "plugin", "problem", "next"),
    [
        ("MIGraphXExecutionProvider", "", "this onnxruntime has no MIGraphXExecutionProvider", "stackbuild start"),
        (PROVIDER, "broken.so", "broken.so", "doctor --venv"),
        ("AzureExecutionProvider", "", "", ""),
    ],
    ids=["not in the build", "cannot be loaded", "takes nothing"],
)
def test_a_provider_that_does_not_take_part_is_named(
    provider: str, plugin: str, problem: str, next: str, checked: Callable[..., ModelCheck], tmp_path: Path
) -> None:
    (tmp_path / "broken.so").write_text("no library")
    path = saved([FIRST, node("Relu", ["a"], ["y"], name="r")], tmp_path / "seeded.onnx", W)
    found = checked(path, provider, str(tmp_path / plugin) if plugin else "")
    assert found.node_share == 0 and problem in found.problem and next in found.next
    if not problem:
        assert {fallen.why for fallen in found.fallback} == {"the provider took no node of this model"}
