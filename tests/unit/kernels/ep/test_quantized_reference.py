"""The references of the quantized operators: ONNX Runtime's own CPU provider answers their cases alike."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import pytest

from support.cpu import saturates

np = pytest.importorskip("numpy")
pytest.importorskip("onnx")
ort = pytest.importorskip("onnxruntime")

LEAST = {"MatMulNBits": 20, "MatMulInteger": 10, "QLinearMatMul": 6, "ConvInteger": 20, "QLinearConv": 10, "QuantizeLinear": 20,
         "DequantizeLinear": 20, "DynamicQuantizeLinear": 20}  # fmt: skip
"""Cases of 40 that the CPU provider takes at least: it has no zero points by row or by filter, no float16 scales of products, and
ConvInteger and QLinearConv for some pairs of types alone."""


def answers(case: object) -> list[object] | None:
    """The CPU provider's; None where it does not take the case."""
    settings = ort.SessionOptions()
    settings.log_severity_level = 4
    try:
        return ort.InferenceSession(case.model().SerializeToString(), settings, providers=["CPUExecutionProvider"]).run(None, case.feeds())
    except Exception:
        return None


@pytest.mark.skipif(saturates(), reason="needs VNNI: ONNX Runtime's CPU provider saturates here")
@pytest.mark.parametrize("operator", LEAST)
def test_the_cpu_provider_answers_as_the_reference_does(checks: Callable[[str], ModuleType], operator: str) -> None:
    cases, session = checks("cases"), checks("session")
    taken = 0
    for case in cases.cases(operator, 20, seed=4):
        if "MatMul" in operator and 0 in case.inputs[0].shape[-1:]:
            continue  # it leaves the answer as it found the memory
        got = answers(case)
        if got is None:
            continue
        taken += 1
        error = max(session.relative_error(a, b) for a, b in zip(got, case.reference, strict=True))
        assert error <= max(cases.TOLERANCE[case.dtype], 5e-3 if operator == "QLinearMatMul" else 0.0), case.name
    assert taken >= LEAST[operator]


def test_codes_come_low_bits_first(checks: Callable[[str], ModuleType]) -> None:
    reference = checks("quantized_reference")
    packed = np.array([[0b11100100, 0x21]], np.uint8)
    assert reference.codes(packed, 2).tolist() == [[0, 1, 2, 3, 1, 0, 2, 0]]
    assert reference.codes(packed, 4).tolist() == [[4, 14, 1, 2]]
    assert reference.codes(packed, 8).tolist() == [[0xE4, 0x21]]


def test_weights_are_codes_less_zero_points_times_scales(checks: Callable[[str], ModuleType]) -> None:
    """Two blocks of 16 codes of 4 bits, the last of which K fills in part."""
    reference = checks("quantized_reference")
    b = np.full((1, 2, 8), 0x3C, np.uint8)
    scales = np.array([[0.5, 2.0]], np.float32)
    plain = reference.block_weights(b, scales, None, 4, 18)
    assert plain.tolist() == [[2.0, -2.5] * 8 + [8.0, -10.0]]
    packed = reference.block_weights(b, scales, np.array([[0xF1]], np.uint8), 4, 18)
    assert packed.tolist() == [[5.5, 1.0] * 8 + [-6.0, -24.0]]


def test_ties_are_rounded_to_even_before_the_zero_point(checks: Callable[[str], ModuleType]) -> None:
    reference = checks("quantized_reference")
    quotients = np.array([0.5, 1.5, -0.5, 300, -300])
    assert reference.to_whole(quotients, np.array(1), np.int8).tolist() == [1, 3, 1, 127, -128]


def test_padding_counts_as_the_zero_point_of_x(checks: Callable[[str], ModuleType]) -> None:
    """One channel of 2 by a filter of 2 with padding at both ends, and a bias."""
    reference = checks("quantized_reference")
    window = reference.ConvWindow([1], [1], [1, 1], 1)
    x, w = np.array([[[10, 20]]], np.uint8), np.array([[[1, 3]]], np.int8)
    sums = reference.conv_integer(x, w, np.array(5, np.uint8), np.array([1], np.int8), window)
    assert sums.tolist() == [[[10, 30, 0]]]
    quantized = reference.qlinear_conv(sums, np.array([4], np.int32), np.float32(0.5), np.array([2], np.float32), np.float32(4), np.array(100, np.uint8))
    assert quantized.tolist() == [[[104, 108, 101]]]
