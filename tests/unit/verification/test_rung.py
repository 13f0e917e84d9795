"""How a rung ends, how a death is told, what the ladder claims."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from stackbuild.core.packaging import Claim
from stackbuild.inspection import inspect
from stackbuild.model.findings import GPU_RUNG, Finding, Severity, Status, Verification
from stackbuild.verification.catalogue import LOAD
from stackbuild.verification.clean_env import this_machine
from stackbuild.verification.probe_sandbox import Budget, ProbeResult, ProbeSandbox
from stackbuild.verification.rung import RUNG_SECONDS, RungOutcome, probe_finding, rung
from stackbuild.verification.rungs.static import static_rung
from support.binaries import GOOD


def ended(code: int = 0, timed_out: bool = False, **answer: str) -> ProbeResult:
    return ProbeResult(code, timed_out, 3.0, dict(answer), "last words")


def finding(severity: Severity) -> Finding:
    return Finding("SB-X", severity, "lib.so", "broke", "why", "fix")


def test_how_processes_die_is_told():
    assert ended(139).problem == ended(-11).problem == "killed by SIGSEGV (exit code 139)"
    assert ended(1).problem == "exit code 1 without an answer: last words"
    assert "3 s" in ended(-9, timed_out=True).problem
    assert ended(0, done="yes").problem == "" and ended(0, error="no").problem == "no"


def test_the_probes_of_a_rung_share_its_time(tmp_path: Path) -> None:
    """A probe for which nothing is left is not begun: in a unit test it could not be."""
    sandbox = ProbeSandbox(tmp_path, Path("python"))
    sandbox.budget.begin(1e-6)
    result = replace(sandbox, rocm=True).probe("loading", {}, 60)
    assert result.timed_out and "all probes of this check share" in result.problem
    assert probe_finding(LOAD, "lib.so", result).rule == "SB-RUN-CRASH"
    began: list[float] = []

    def check() -> RungOutcome:
        began.append(sandbox.budget.remaining())
        return RungOutcome()

    assert rung("r", check, sandbox.budget).status is Status.PASSED
    assert RUNG_SECONDS - 5 < began[0] <= RUNG_SECONDS


def test_a_death_is_a_crash_and_an_answer_is_not():
    assert probe_finding(LOAD, "lib.so", ended(139)).rule == "SB-RUN-CRASH"
    assert probe_finding(LOAD, "lib.so", ended(-9, timed_out=True)).rule == "SB-RUN-CRASH"
    assert probe_finding(LOAD, "lib.so", ended(0, error="no")).rule == "SB-RUN-LOAD"


def test_rungs_end_by_their_findings():
    assert rung("r", lambda: RungOutcome(says="well"), Budget()).status is Status.PASSED
    assert rung("r", lambda: RungOutcome((finding(Severity.WARNING),), says="well"), Budget()).status is Status.PASSED
    assert rung("r", lambda: RungOutcome(skip="no GPU"), Budget()).status is Status.SKIPPED
    failed = rung("r", lambda: RungOutcome((finding(Severity.ERROR),) * 3, skip="no GPU"), Budget())
    assert failed.status is Status.FAILED and failed.reason == "lib.so: broke (and 2 more)"


def test_the_claim_is_never_more_than_what_was_climbed():
    passed, skipped = rung("load", lambda: RungOutcome(says="2"), Budget()), rung("GPU", lambda: RungOutcome(skip="no AMD GPU here"), Budget())
    made = Verification("x.whl", "ab", (static_rung((), 0.1), passed, skipped))
    assert made.claim == "verified (static rules + load; not run: GPU: no AMD GPU here); no GPU ran" and not made.failed
    worked = Verification("x.whl", "ab", (static_rung((), 0.1), rung(GPU_RUNG, lambda: RungOutcome(says="busy"), Budget())))
    assert worked.gpu_ran and worked.claim == "verified (static rules + GPU at work)"
    broken = Verification("x.whl", "ab", (static_rung((finding(Severity.ERROR),), 0.1), passed))
    assert broken.failed and broken.claim.startswith("not verified: static rules failed: 1 error: SB-X")


def forged(folder: Path, name: str, **lib: object) -> Path:
    (folder / name).mkdir()
    return GOOD.but(name=name, lib=lib).write(folder / name)


def test_reasons_are_said_once(tmp_path: Path):
    rungs = [static_rung((), 0.1), *(rung(name, lambda: RungOutcome(skip="too old"), Budget()) for name in ("load", "operators"))]
    assert Verification("x", "", tuple(rungs)).claim == "verified (static rules; not run: load, operators: too old); no GPU ran"


def test_a_machine_too_old_for_the_libraries(tmp_path: Path):
    facts = inspect(forged(tmp_path, "x", versions={"libc.so.6": ["GLIBC_2.2.5", "GLIBC_2.999"]}))
    machine = this_machine(Claim(()), None)
    assert machine is not None
    assert machine.refusal(facts.libraries, Claim(())).startswith("the libraries need glibc 2.999, this machine has 2.")
    assert machine.refusal(inspect(forged(tmp_path, "y")).libraries, Claim(())) == ""
