"""The probes' quantized models beside ONNX Runtime's CPU provider: every answer is the same number."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from stackbuild.verification.probe_sandbox import PROBES
from support.cpu import saturates

np = pytest.importorskip("numpy")
ort = pytest.importorskip("onnxruntime")
pytest.importorskip("onnx")


@pytest.fixture(scope="module")
def quantization() -> Any:
    sys.path.insert(0, str(PROBES))
    try:
        import quantization

        yield quantization
    finally:
        sys.path.remove(str(PROBES))
        sys.modules.pop("quantization", None)


def test_every_answer_is_the_one_of_the_cpu_provider(quantization: Any) -> None:
    """On a CPU that saturates, the products of full uint8 and int8 ranges are left out; one channel a group has no pairs."""
    pairs = {name for name in quantization.TABLE if name.startswith("MatMulInteger")} | {"QLinearMatMul", "QLinearConv"}
    for name in quantization.TABLE.keys() - (pairs if saturates() else set()):
        session = ort.InferenceSession(quantization.model(name).SerializeToString(), providers=["CPUExecutionProvider"])
        answer = session.run(None, quantization.inputs(name))[0]
        assert answer.shape == quantization.reference(name).shape, name
        assert (answer == quantization.reference(name)).all(), name


def test_answers_vary_and_some_saturate(quantization: Any) -> None:
    assert all(len(np.unique(quantization.reference(name))) > 30 for name in quantization.TABLE)
    answers = quantization.reference("QLinearMatMul")
    assert answers.min() == 0 and answers.max() == 255


def test_names_are_no_names_of_other_operators(quantization: Any) -> None:
    sys.path.insert(0, str(PROBES))
    try:
        import oneop
    finally:
        sys.path.remove(str(PROBES))
        sys.modules.pop("oneop", None)
    assert not quantization.TABLE.keys() & oneop.TABLE.keys()
    assert len(quantization.TABLE) == 12
