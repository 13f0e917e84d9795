"""The ladder's pure parts: what a subject is, how a rung ends, how a death is told, what counters prove."""

from __future__ import annotations

from pathlib import Path

import pytest
from inspect_forge import GOOD, library

from stackbuild.core.packaging import Claim
from stackbuild.inspection import inspect
from stackbuild.model.findings import Finding, Severity, Status, Verification
from stackbuild.verification.catalogue import LOAD
from stackbuild.verification.clean_env import this_machine
from stackbuild.verification.probe_sandbox import ProbeResult, scrubbed_variables
from stackbuild.verification.rung import RungOutcome, probe_finding, rung
from stackbuild.verification.rungs.gpu import GpuWatch, check_gpu_activity
from stackbuild.verification.rungs.static import static_rung
from stackbuild.verification.subject import Form, installed_path, subject_of


def ended(code: int = 0, timed_out: bool = False, **answer: str) -> ProbeResult:
    return ProbeResult(code, timed_out, 3.0, dict(answer), "last words")


def finding(severity: Severity) -> Finding:
    return Finding("SB-X", severity, "lib.so", "broke", "why", "fix")


def test_how_processes_die_is_told():
    assert ended(139).problem == ended(-11).problem == "killed by SIGSEGV (exit code 139)"
    assert ended(1).problem == "exit code 1 without an answer: last words"
    assert "3 s" in ended(-9, timed_out=True).problem
    assert ended(0, done="yes").problem == "" and ended(0, error="no").problem == "no"


def test_a_death_is_a_crash_and_an_answer_is_not():
    assert probe_finding(LOAD, "lib.so", ended(139)).rule == "SB-RUN-CRASH"
    assert probe_finding(LOAD, "lib.so", ended(-9, timed_out=True)).rule == "SB-RUN-CRASH"
    assert probe_finding(LOAD, "lib.so", ended(0, error="no")).rule == "SB-RUN-LOAD"


def test_rungs_end_by_their_findings():
    assert rung("r", lambda: RungOutcome(says="well")).status is Status.PASSED
    assert rung("r", lambda: RungOutcome((finding(Severity.WARNING),), says="well")).status is Status.PASSED
    assert rung("r", lambda: RungOutcome(skip="no GPU")).status is Status.SKIPPED
    failed = rung("r", lambda: RungOutcome((finding(Severity.ERROR),) * 3, skip="no GPU"))
    assert failed.status is Status.FAILED and failed.reason == "lib.so: broke (and 2 more)"


def test_the_claim_is_never_more_than_what_was_climbed():
    passed, skipped = rung("load", lambda: RungOutcome(says="2")), rung("GPU", lambda: RungOutcome(skip="no AMD GPU here"))
    made = Verification("x.whl", "ab", (static_rung((), 0.1), passed, skipped))
    assert made.claim == "verified (static rules + load; not run: GPU: no AMD GPU here)" and not made.failed
    broken = Verification("x.whl", "ab", (static_rung((finding(Severity.ERROR),), 0.1), passed))
    assert broken.failed and broken.claim.startswith("not verified: static rules failed: 1 error: SB-X")


def forged(folder: Path, name: str, **lib: object) -> Path:
    (folder / name).mkdir()
    return GOOD.but(name=name, lib=lib).write(folder / name)


@pytest.mark.parametrize(
    ("exports", "form"),
    [
        (["CreateEpFactories", "ReleaseEpFactory"], Form.PLUGIN), (["RegisterCustomOps"], Form.CUSTOM_OPS),
        (["OrtGetApiBase"], Form.RUNTIME), (["f"], Form.OTHER),
    ],
)  # fmt: skip
def test_what_a_wheel_is(exports: list[str], form: Form, tmp_path: Path):
    made = subject_of((inspect(forged(tmp_path, "x", exports=exports)),))
    assert made.form is form and made.modules == ("onnxruntime_ep_forge",) and made.external == ("libamdhip64.so.6",)
    assert made.package == ("onnxruntime_ep_forge" if form in (Form.PLUGIN, Form.CUSTOM_OPS) else "")


@pytest.mark.parametrize(
    ("tags", "requires", "python", "why"),
    [
        (["cp312-cp312-linux_x86_64"], "", "3.12", ""), (["cp312-cp312-linux_x86_64"], "", "3.13", "it is for cp312-cp312; here has Python 3.13"),
        (["cp39-abi3-linux_x86_64"], "", "3.13", ""), (["cp312-abi3-linux_x86_64"], "", "3.11", "it is for cp312-abi3; here has Python 3.11"),
        (["cp310-none-any", "cp311-none-any"], "", "3.11", ""), (["py3-none-any"], ">=3.12", "3.11", "it is for Python >=3.12; here has Python 3.11"),
        (["py3-none-any"], ">=3.11.4,<3.12", "3.11", ""), (["cp311-cp311t-linux_x86_64"], "", "3.11", "it is for cp311-cp311t; here has Python 3.11"),
        (["pp311-pypy311_pp73-linux_x86_64"], "", "3.11", "it is for pp311-pypy311_pp73; here has Python 3.11"),
        (["py3-none-linux_aarch64"], "", "3.11", "it is for linux_aarch64; here is x86_64 with glibc 2.36"),
        (["py3-none-manylinux_2_39_x86_64"], "", "3.11", "it is for manylinux_2_39_x86_64; here is x86_64 with glibc 2.36"),
        (["py3-none-manylinux2014_x86_64", "py3-none-manylinux_2_39_x86_64"], "", "3.11", ""),
    ],
)  # fmt: skip
def test_what_a_machine_takes_is_what_pip_takes(tags: list[str], requires: str, python: str, why: str):
    assert Claim(tuple(tags), requires).refuses(python, (2, 36), "x86_64", "here") == why


def test_pythons_to_look_for():
    assert Claim(("cp310-cp310-any", "cp312-cp312-any")).pythons == ("3.10", "3.12")
    assert Claim(("cp310-abi3-any",)).pythons[:3] == ("3.10", "3.11", "3.12")
    assert Claim(("py3-none-any",)).pythons == ()


def test_folders_of_grafted_libraries_are_no_packages_and_data_folders_are_emptied(tmp_path: Path):
    files = {"more.libs/libx.so": library(), "onnxruntime_ep_forge-1.2.3+rocm.6.4.data/platlib/extra/__init__.py": b""}
    made = subject_of((inspect(GOOD.but(files=files).write(tmp_path)),))
    assert made.modules == ("extra", "onnxruntime_ep_forge")
    assert (
        installed_path("x-1.0.data/purelib/a/b.py") == "a/b.py"
        and installed_path("x-1.0.data/scripts/a") == "x-1.0.data/scripts/a"
    )


def sysfs(root: Path, vendor: str, memory: int, busy: int) -> Path:
    device = root / "card0" / "device"
    device.mkdir(parents=True)
    for name, value in (("vendor", vendor), ("mem_info_vram_used", str(memory)), ("gpu_busy_percent", str(busy))):
        (device / name).write_text(f"{value}\n")
    return device


def test_a_gpu_that_moved_is_proof_and_one_that_did_not_is_a_finding(tmp_path: Path):
    device = sysfs(tmp_path / "a", "0x1002", 100 << 20, 0)

    def work() -> None:
        import time

        (device / "mem_info_vram_used").write_text(str(400 << 20))
        time.sleep(0.15)

    moved = check_gpu_activity(GpuWatch(tmp_path / "a"), work, "")
    assert not moved.findings and "300 MiB" in moved.says
    sysfs(tmp_path / "b", "0x1002", 100 << 20, 3)
    idle = check_gpu_activity(GpuWatch(tmp_path / "b"), lambda: None, "")
    assert [f.rule for f in idle.findings] == ["SB-RUN-GPU-IDLE"]


def test_without_an_amd_gpu_nothing_is_claimed(tmp_path: Path):
    sysfs(tmp_path / "a", "0x10de", 1, 1)
    assert check_gpu_activity(GpuWatch(tmp_path / "a"), lambda: None, "").skip == "no AMD GPU here"
    sysfs(tmp_path / "b", "0x1002", 1, 1)
    assert check_gpu_activity(GpuWatch(tmp_path / "b"), lambda: None, "no libamdhip64").skip == "no libamdhip64"


def test_overrides_are_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("HSA_OVERRIDE_GFX_VERSION", "11.0.0")
    monkeypatch.setenv("ORT_MIGRAPHX_FP16_ENABLE", "1")
    monkeypatch.setenv("PYTHONUNBUFFERED", "1")
    assert {"HSA_OVERRIDE_GFX_VERSION", "ORT_MIGRAPHX_FP16_ENABLE"} <= set(scrubbed_variables())
    assert "PYTHONUNBUFFERED" not in scrubbed_variables(), "it changes nothing of what ONNX Runtime or ROCm do"


def test_reasons_are_said_once(tmp_path: Path):
    rungs = [static_rung((), 0.1), *(rung(name, lambda: RungOutcome(skip="too old")) for name in ("load", "operators"))]
    assert Verification("x", "", tuple(rungs)).claim == "verified (static rules; not run: load, operators: too old)"


def test_a_machine_too_old_for_the_libraries(tmp_path: Path):
    facts = inspect(forged(tmp_path, "x", versions={"libc.so.6": ["GLIBC_2.2.5", "GLIBC_2.999"]}))
    machine = this_machine(Claim(()), None)
    assert machine is not None
    assert machine.refusal(facts.libraries, Claim(())).startswith("the libraries need glibc 2.999, this machine has 2.")
    assert machine.refusal(inspect(forged(tmp_path, "y")).libraries, Claim(())) == ""
