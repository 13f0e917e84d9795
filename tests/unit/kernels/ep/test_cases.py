"""The random cases of kernels/tools/ep: valid models, and the same for the same seed."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import pytest

np = pytest.importorskip("numpy")
onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")


@pytest.fixture
def cases(checks: Callable[[str], ModuleType]) -> ModuleType:
    return checks("cases")


def test_every_case_is_a_valid_model_with_finite_answers(cases: ModuleType) -> None:
    for name in cases.MAKERS:
        for case in cases.cases(name, 2):
            onnx.checker.check_model(case.model())
            assert all(np.isfinite(np.asarray(w, np.float64)).all() for w in case.reference), name


def test_a_case_is_the_same_for_the_same_seed(cases: ModuleType) -> None:
    for first, second in zip(cases.cases("MatMul", 3, seed=5), cases.cases("MatMul", 3, seed=5), strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(first.inputs, second.inputs, strict=True))


def test_seeds_and_operators_draw_different_values(cases: ModuleType) -> None:
    one, two = (next(cases.cases("Add", 1, seed=s)).inputs[0] for s in (0, 1))
    assert one.shape != two.shape or not np.array_equal(one, two)
