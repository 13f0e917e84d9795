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


def test_what_is_timed_is_what_was_found_right() -> None:
    """A bound run that computes nothing is fast and wrong; a model that draws at random is not called wrong."""
    right, nothing = np.ones((2, 3, 4, 5), np.float32), np.zeros((2, 3, 4, 5), np.float32)
    bound_outputs.check(Bound(right, right))
    bound_outputs.check(Bound(nothing, right, 2 * right))
    with pytest.raises(RuntimeError, match="compute something else than a plain run"):
        bound_outputs.check(Bound(nothing, right, right))
    bound_outputs.check(Bound(np.zeros(bound_outputs.SMALL + 1, np.float32)))
    odd = np.where(np.arange(4) == 1, np.nan, 1.0)
    assert bound_outputs.differ([odd], [np.ones(4)]) and not bound_outputs.differ([odd], [odd])


def test_an_output_without_a_finite_element_is_no_evidence(worker: ModuleType, tmp_path: Path) -> None:
    nan = float("nan")
    assert compared(worker, tmp_path, y=[1.0, nan], empty=[])["max_abs"] == 0
    with pytest.raises(ValueError, match="no element of z is finite"):
        compared(worker, tmp_path, y=[1.0], z=[nan, nan])
    with pytest.raises(ValueError, match="no element of any output"):
        compared(worker, tmp_path, empty=[])
