"""The rung of custom operators, on a stand-in for the sandbox."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from stackbuild.verification.probe_sandbox import ProbeResult
from stackbuild.verification.rung import RungContext
from stackbuild.verification.rungs import operators
from stackbuild.verification.rungs.gpu import GpuWatch
from stackbuild.verification.subject import Form
from support.paths import ROOT
from support.rung_samples import GOOD, SUBJECT, CannedAnswers, card, rules

BAD = GOOD | {"rel_rms": 0.5, "snr_db": 6.0}


def custom(**rows: Any) -> operators.CustomOpProbes:
    good = {"rows": {"float32": {"cases": 10, "wrong": [], "failed": [], "worst": GOOD}}}
    subject = replace(SUBJECT, form=Form.CUSTOM_OPS, package=operators.PACKAGE)
    sandbox = CannedAnswers({"kernelops": lambda job: rows.get(job["op"], good)})
    kernels = ROOT / "kernels"
    return operators.CustomOpProbes(RungContext(subject, (), sandbox, kernels, Path("work")))  # type: ignore[arg-type]


def test_custom_operators():
    assert rules(operators.check_operators(custom())) == rules(operators.check_numerics(custom())) == []
    assert "60 cases" in operators.check_operators(custom()).says
    wrong = {"rows": {"float16": {"cases": 4, "wrong": ["odd shape: relative error 3e-1"], "failed": [], "worst": BAD}}}
    assert (
        rules(operators.check_numerics(custom(Conv=wrong))) == ["SB-RUN-NUMERICS"]
        and rules(operators.check_operators(custom(Conv=wrong))) == []
    )
    failed = {"rows": {"float32": {"cases": 4, "wrong": [], "failed": ["batch 1: Fail: x"], "worst": None}}}
    assert rules(operators.check_operators(custom(Attention=failed))) == ["SB-RUN-OPERATOR"]
    assert rules(operators.check_operators(custom(Attention=ProbeResult(-11, False, 1.0, {}, "")))) == ["SB-RUN-CRASH"]
    assert rules(operators.check_operators(custom(Attention={"rows": {}}))) == ["SB-RUN-OPERATOR"]


def test_custom_operators_on_a_gpu(tmp_path: Path):
    context = custom().context
    idle = operators.check_gpu(context, GpuWatch(card(tmp_path)), "")
    assert rules(idle) == ["SB-RUN-GPU-IDLE"]
    assert operators.check_gpu(context, GpuWatch(tmp_path), "no libamdhip64.so.6").skip == "no libamdhip64.so.6"
    assert operators.check_gpu(context, GpuWatch(tmp_path / "none"), "").skip == "no AMD GPU here"
