"""The check of element types in kernels/tools/ep: a type variable that a kernel leaves out is told, and nothing is left untried."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import pytest

np = pytest.importorskip("numpy")
pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

FLOATS = [1, 10]


@pytest.fixture
def types(checks: Callable[[str], ModuleType]) -> ModuleType:
    return checks("element_types")


def test_a_type_variable_that_a_kernel_says_nothing_of_is_told(types: ModuleType) -> None:
    """ONNX Runtime's own LayerNormalization gives scale and result a type of their own."""
    entry = types.KernelEntry("LayerNormalization", "", 1, 16, {"T": FLOATS, "U": [1]})
    (schema,) = types.schemas(entry)
    assert types.unnamed_types(entry, schema) == ["V"]
    assert schema.opset == 16


def test_every_combination_of_types_is_tried(types: ModuleType) -> None:
    entry = types.KernelEntry("Attention", "", 23, 24, {"T1": FLOATS, "T2": FLOATS, "U": [*FLOATS, 9]})
    for schema in types.schemas(entry):
        tried = types.combinations(entry, schema)
        assert len(tried) == 12
        assert {"T1": np.float16, "T2": np.float32, "U": np.bool_} in tried


def test_versions_that_no_model_can_have_are_left_out(types: ModuleType) -> None:
    entry = types.KernelEntry("Cast", "", 1, 25, {"T1": [1], "T2": [1]})
    versions = [s.version for s in types.schemas(entry)]
    assert 1 not in versions
    assert versions[0] == 6


def test_an_answer_of_other_values_or_of_another_type_is_told(types: ModuleType) -> None:
    x = np.arange(3, dtype=np.float32)
    assert types._differs([x], [x], 1e-5) == ""
    assert "relative error" in types._differs([x + 1], [x], 1e-5)
    assert "an answer of int64" in types._differs([x.astype(np.int64)], [x], 1e-5)
    assert types._differs([np.array([1, 2])], [np.array([1, 3])], 1e-5) == "other integers"
