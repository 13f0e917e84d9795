"""The demo's own gates can fail: as measured they pass, and one kernel that is slower or wrong fails them."""

from __future__ import annotations

import random
from datetime import date

import pytest

from stackbuild.core.errors import GateClosed
from stackbuild.judgement import judge, require_open
from stackbuild.model.results import Benchmarks, Case, Fingerprint, GateOutcome, Series, Side
from stackbuild.pipeline.run_record import of_results
from stackbuild.recipe.load import load
from stackbuild.views.text import headline
from support.gate_samples import exact

MEASURED = {  # case: milliseconds of the kernel's CPU implementation and of ONNX Runtime's operator, one thread each
    "Conv/float32/1x64x28x28": (16.51, 0.3382, 127.5),
    "Attention/float32/B1_H4": (1.961, 0.09117, 129.6),
    "BatchNormalization/float32/2x64x56x56": (0.03699, 0.03607, 146.5),
    "GroupNormalization/float32/2x64x56x56": (0.8199, 0.3355, 146.6),
    "LeakyRelu/float32/2x64x56x56": (0.04938, 0.07887, 191.9),
}
"""Medians and SNR in dB of `stackbuild gate -c WHEEL -r debian-13 --threads 1` on a busy machine of two cores."""


def measured(slower: dict[str, float], snr: dict[str, float]) -> Benchmarks:
    """The measurement, with kernels that take so many times longer, or whose output has another SNR."""
    rng = random.Random(1)
    cases = []
    for name, (ours, theirs, decibel) in MEASURED.items():
        op = name.partition("/")[0]
        noise = [1 + abs(rng.gauss(0, 0.1)) for _ in range(20)]
        seconds = tuple(ours * slower.get(op, 1.0) * n / 1e3 for n in noise)
        series = (
            Series("candidate", seconds, accuracy=exact(snr.get(op, decibel))),
            Series("onnxruntime", tuple(theirs * n / 1e3 for n in reversed(noise)), accuracy=exact()),
        )
        cases.append(Case(name, op, "float32", {}, 1, 1, "run", 17, "0" * 64, series))
    sides = (Side("candidate", "CPUExecutionProvider"), Side("onnxruntime", "CPUExecutionProvider"))
    return Benchmarks("kernels-quick", "kernels", "2026-11-23T07:44:00Z", Fingerprint({"cpu": "x"}), sides, tuple(cases))


def failures(slower: dict[str, float], snr: dict[str, float]) -> tuple[list[tuple[str, str]], str]:
    """Which gates fail on which operators, and the report's headline."""
    made = measured(slower, snr)
    found = judge(made, load("debian-13").recipe.gates, date(2026, 11, 23))
    failed = [(g.gate, g.case.partition("/")[0]) for g in found.gates if g.outcome is GateOutcome.FAIL]
    if failed:
        with pytest.raises(GateClosed):
            require_open(found)
    return failed, headline(of_results(made, found))[0]


def test_as_measured_every_gate_passes() -> None:
    assert failures({}, {}) == ([], "10 of 10 gates passed; no GPU ran")


@pytest.mark.parametrize(
    ("op", "factor"),
    [("Conv", 6), ("Attention", 13), ("BatchNormalization", 7), ("GroupNormalization", 3), ("LeakyRelu", 11)],
)
def test_a_slow_kernel_fails_its_gate(op: str, factor: float) -> None:
    failed, said = failures({op: factor}, {})
    assert failed == [("speedup", op)] and said.startswith("9 of 10 gates passed, 1 failed: speedup: ")
    assert "× the time of onnxruntime" in said and "at most " in said


@pytest.mark.parametrize("op", ["Conv", "Attention", "BatchNormalization", "GroupNormalization", "LeakyRelu"])
def test_a_wrong_kernel_fails_its_gate(op: str) -> None:
    """An SNR of 40 dB is that of a kernel which is wrong by 1 %."""
    failed, said = failures({}, {op: 40.0})
    assert failed == [("accuracy", op), ("speedup", op)], "a wrong output has no speed"
    assert said.startswith("8 of 10 gates passed, 2 failed: accuracy: ") and "snr_db 40 (at least 100)" in said
