"""The rung of emulated device code: what it skips, and what a stand-in's reports become."""

from __future__ import annotations

from pathlib import Path

import pytest

from stackbuild.emulator.service import EmulatorReport, EmulatorService
from stackbuild.model.findings import Rung, Status, Verification
from stackbuild.tables.gpu_limits import limits_of
from stackbuild.verification.ladder import VerifyOptions
from stackbuild.verification.probe_sandbox import ProbeSandbox
from stackbuild.verification.requirement import unmet_rungs
from stackbuild.verification.rung import RungContext
from stackbuild.verification.rungs import emulation
from stackbuild.verification.rungs.emulation import Emulation, check_emulated
from stackbuild.verification.subject import Form, Subject

SUBJECT = Subject(Form.CUSTOM_OPS, (), (), "stackbuild_kernels", (), (), (), (), ())


def context(folder: Path) -> RungContext:
    (folder / "env" / "lib" / "python3" / "site-packages").mkdir(parents=True)
    return RungContext(SUBJECT, (), ProbeSandbox(folder, Path("python")), folder, folder)


def test_without_its_tables_it_is_skipped_with_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(emulation, "find_spec", lambda name: None)
    outcome = check_emulated(context(tmp_path), Emulation("gfx1100", tmp_path))
    assert "pip install 'stackbuild[emulator]'" in outcome.skip and not outcome.findings


def test_a_wheel_without_the_hip_runtime_is_skipped(tmp_path: Path) -> None:
    assert "needs the HIP runtime" in check_emulated(context(tmp_path), Emulation("gfx1100", tmp_path)).skip


def test_each_report_becomes_one_finding_of_its_rule(tmp_path: Path) -> None:
    service = EmulatorService(limits_of("gfx1100"), tmp_path)
    error = {"call": "hipLaunchKernel", "code": "hipErrorNoBinaryForGpu", "text": "no code object for gfx1100"}
    fault = {
        "kind": "out of bounds (global)",
        "kernel": "k",
        "pc": "0x10",
        "instruction": "global_load_b32",
        "text": "read",
    }
    service.reports += [
        EmulatorReport("error", error), EmulatorReport("error", error), EmulatorReport("error", error | {"code": "hipErrorInvalidValue"}),
        EmulatorReport("host call", {"name": "hipFancyNew"}), EmulatorReport("finding", fault), EmulatorReport("dispatch", {"kernel": "k"}),
        EmulatorReport("nonsense", {}),
    ]  # fmt: skip
    found = list(emulation._findings(service))
    assert [finding.rule for finding in found] == ["SB-EMU-CODE", "SB-EMU-CALL", "SB-EMU-CALL", "SB-EMU-FINDING"]
    assert found[2].subject == "hipFancyNew"
    assert found[3].found == "out of bounds (global) at 0x10 global_load_b32: read"


@pytest.mark.parametrize(
    ("code", "rule"),
    [
        ("hipErrorNoBinaryForGpu", "SB-EMU-CODE"), ("hipErrorInvalidDeviceFunction", "SB-EMU-CODE"),
        ("hipErrorSharedObjectInitFailed", "SB-EMU-CODE"), ("hipErrorNotSupported", "SB-EMU-CODE"),
        ("hipErrorInvalidConfiguration", "SB-EMU-CALL"), ("hipErrorIllegalAddress", "SB-EMU-CALL"),
    ],
)  # fmt: skip
def test_code_that_cannot_run_has_a_rule_of_its_own(code: str, rule: str, tmp_path: Path) -> None:
    """A kernel with an unknown instruction or mode ends its launch with hipErrorNotSupported (native/hip/module.c)."""
    service = EmulatorService(limits_of("gfx1100"), tmp_path)
    error = {"call": "hipLaunchKernel", "code": code, "text": "k: v_foo is not known"}
    service.reports.append(EmulatorReport("error", error))
    assert [finding.rule for finding in emulation._findings(service)] == [rule]


def test_the_claim_says_emulated_on_a_cpu_and_that_no_gpu_worked() -> None:
    name = VerifyOptions(emulate=("gfx1100",)).emulations[0].rung_name
    rungs = (Rung(name, Status.PASSED, "", 1.0), Rung("GPU at work", Status.SKIPPED, "no AMD GPU here", 0.0))
    claim = Verification("x.whl", "0" * 64, rungs).claim
    assert (
        claim == "verified (device code, emulated gfx1100 on a CPU; not run: GPU at work: no AMD GPU here); no GPU ran"
    )
    assert unmet_rungs(rungs, ("emulated",)) == () and unmet_rungs(rungs[1:], ("emulated",))
