"""The probes' quantized models beside ONNX Runtime's CPU provider: every answer is the same number."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from stackbuild.verification.probe_sandbox import PROBES

np = pytest.importorskip("numpy")
ort = pytest.importorskip("onnxruntime")
pytest.importorskip("onnx")


@pytest.fixture(scope="module")
def quantized() -> Any:
    sys.path.insert(0, str(PROBES))
    try:
        import quantized

        yield quantized
    finally:
        sys.path.remove(str(PROBES))
        sys.modules.pop("quantized", None)


def test_every_answer_is_the_one_of_the_cpu_provider(quantized: Any) -> None:
    for name in quantized.TABLE:
        session = ort.InferenceSession(quantized.model(name).SerializeToString(), providers=["CPUExecutionProvider"])
        answer = session.run(None, quantized.inputs(name))[0]
        assert answer.shape == quantized.reference(name).shape, name
        assert (answer == quantized.reference(name)).all(), name


def test_answers_vary_and_some_saturate(quantized: Any) -> None:
    assert all(len(np.unique(quantized.reference(name))) > 30 for name in quantized.TABLE)
    answers = quantized.reference("QLinearMatMul")
    assert answers.min() == 0 and answers.max() == 255


def test_names_are_no_names_of_other_operators(quantized: Any) -> None:
    sys.path.insert(0, str(PROBES))
    try:
        import oneop
    finally:
        sys.path.remove(str(PROBES))
        sys.modules.pop("oneop", None)
    assert not quantized.TABLE.keys() & oneop.TABLE.keys()
    assert len(quantized.TABLE) == 12
