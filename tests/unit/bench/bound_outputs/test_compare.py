"""What the worker finds of two files of outputs: in this process, no session is opened."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from stackbuild.bench import bound_outputs
from stackbuild.bench.job import ERROR_METRICS, WORKER


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    pytest.importorskip("onnxruntime")
    monkeypatch.syspath_prepend(str(WORKER.parent))
    for name in ("worker", "devices", "bound_outputs", "error_metrics"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return importlib.import_module("worker")


def compared(worker: ModuleType, folder: Path, **outputs: list[float]) -> dict[str, float]:
    arrays: dict[str, Any] = {name: np.array(value) for name, value in outputs.items()}
    np.savez(folder / "a.npz", **arrays)
    case = {"ours": str(folder / "a.npz"), "theirs": str(folder / "a.npz")}
    found: dict[str, float] = worker.compare({"error_metrics": str(ERROR_METRICS)}, case)
    return found


class Bound:
    """A run whose session and whose bound outputs say what they are told to."""

    loop, copies, feeds = None, False, dict[str, Any]()

    def __init__(self, left: np.ndarray[Any, Any], *plain: np.ndarray[Any, Any]) -> None:
        self.left, self.plain = left, iter(plain)
        self.binding, self.session = self, self

    def update_inplace(self, value: np.ndarray[Any, Any]) -> None:
        self.left = value

    def get_outputs(self) -> list[Bound]:
        return [self]

    def is_tensor(self) -> bool:
        return True

    def shape(self) -> tuple[int, ...]:
        return tuple(self.left.shape)

    def synchronize_outputs(self) -> None: ...

    def copy_outputs_to_cpu(self) -> list[np.ndarray[Any, Any]]:
        return [self.left]

    def run(self, names: None, feeds: dict[str, Any]) -> list[np.ndarray[Any, Any]]:
        return [next(self.plain)]


def checked(run: Bound) -> str:
    """Why the run's outputs are not compared, or ""; raises where they are wrong."""
    plain = bound_outputs.plain_outputs(run)
    bound_outputs.check(run, plain)
    return plain.reason


def test_what_is_timed_is_what_was_found_right() -> None:
    """A bound run that computes nothing is fast and wrong; a model that draws at random is not called wrong, but named."""
    right, nothing = np.ones((2, 3, 4, 5), np.float32), np.zeros((2, 3, 4, 5), np.float32)
    assert checked(Bound(right, right, right)) == ""
    assert "vary from run to run" in checked(Bound(nothing, right, 2 * right))
    with pytest.raises(RuntimeError, match="computes something else than a plain run"):
        checked(Bound(nothing, right, right))
    large = np.zeros(bound_outputs.SMALL + 1, np.float32)
    assert "more than 1,000,000 elements" in checked(Bound(large, large))
    odd = np.where(np.arange(4) == 1, np.nan, 1.0)
    assert bound_outputs.differ([odd], [np.ones(4)]) and not bound_outputs.differ([odd], [odd])


@pytest.mark.parametrize("value", [np.ones(6), np.full(6, -0.5), np.zeros(6), np.arange(6), np.array([-0.5])])
def test_outputs_are_overwritten_with_values_that_are_no_right_answer(value: np.ndarray[Any, Any]) -> None:
    answer = value.astype(np.float32)
    run = Bound(answer, answer, answer)
    plain = bound_outputs.plain_outputs(run)
    assert bound_outputs.overwrite(run, plain) == ""
    with pytest.raises(RuntimeError, match="or nothing at all"):
        bound_outputs.check(run, plain)


def double(folder: Path) -> Path:
    """A model that doubles its input."""
    onnx = pytest.importorskip("onnx")
    kind = onnx.TensorProto.FLOAT
    infos = [onnx.helper.make_tensor_value_info(name, kind, [8]) for name in ("x", "y")]
    node = onnx.helper.make_node("Add", ["x", "x"], ["y"])
    graph = onnx.helper.make_graph([node], "double", infos[:1], infos[1:])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, folder / "double.onnx")
    return folder / "double.onnx"


@pytest.mark.parametrize("computes", [3, 20, 10**9])
def test_a_run_that_stops_computing_is_no_measurement(
    worker: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, computes: int
) -> None:
    """It leaves what an earlier run computed: right, and not its own."""
    calls = iter(range(10**9))
    infer = worker.Run.infer
    monkeypatch.setattr(worker.Run, "infer", lambda run, b: infer(run, b) if next(calls) < computes else None)
    budget = {"warm_seconds": 0.01, "least": 5, "seconds": 0.01, "most": 10}
    job = {"session": {"provider": "CPUExecutionProvider"}, "budget": budget}
    inputs = {"x": {"shape": [8], "dtype": "float32"}}
    case = {"model": str(double(tmp_path)), "parts": [{"inputs": inputs}]}
    if computes > 1000:
        timed = worker.time_case(job, case)
        assert timed["runs"] >= 6 and timed["unchecked"] == ""
    else:
        with pytest.raises(RuntimeError, match="or nothing at all"):
            worker.time_case(job, case)


def test_an_output_without_a_finite_element_is_no_evidence(worker: ModuleType, tmp_path: Path) -> None:
    nan = float("nan")
    assert compared(worker, tmp_path, y=[1.0, nan], empty=[])["max_abs"] == 0
    with pytest.raises(ValueError, match="no element of z is finite"):
        compared(worker, tmp_path, y=[1.0], z=[nan, nan])
    with pytest.raises(ValueError, match="no element of any output"):
        compared(worker, tmp_path, empty=[])
