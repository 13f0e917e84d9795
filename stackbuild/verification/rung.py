"""What the rungs share: the subject, the environment, and how a rung ends."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from stackbuild.model.findings import Finding, RuleDescription, Rung, Severity, Status
from stackbuild.verification.catalogue import CRASH
from stackbuild.verification.probe_sandbox import Budget, ProbeResult, ProbeSandbox
from stackbuild.verification.subject import Subject

RUNG_SECONDS = 900.0
"""What all probes of a rung have together: a wheel with a hundred endless constructors takes no longer than one with one."""


@dataclass(frozen=True)
class RungContext:
    """Everything a rung may use. `sandbox` has the wheel and the runtime installed; `kernels` are the bundled cases.

    `external`: sonames that the user's machine is said to provide.
    """

    subject: Subject
    external: tuple[str, ...]
    sandbox: ProbeSandbox
    kernels: Path
    work: Path


@dataclass(frozen=True)
class RungOutcome:
    """How a rung went: `skip` is why it could not run, `says` what a passed one showed."""

    findings: tuple[Finding, ...] = ()
    skip: str = ""
    says: str = ""


def rung(name: str, check: Callable[[], RungOutcome], budget: Budget) -> Rung:
    """Run one rung: failed by an error finding, skipped with a reason, otherwise passed. Its probes share `RUNG_SECONDS`."""
    start_time = time.monotonic()
    budget.begin(RUNG_SECONDS)
    outcome = check()
    seconds = time.monotonic() - start_time
    errors = [f for f in outcome.findings if f.severity is Severity.ERROR]
    if errors:
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        return Rung(name, Status.FAILED, f"{errors[0].subject}: {errors[0].found}{more}", seconds, outcome.findings)
    status = Status.SKIPPED if outcome.skip else Status.PASSED
    return Rung(name, status, outcome.skip or outcome.says, seconds, outcome.findings)


def skipped_rung(name: str, reason: str) -> Rung:
    return Rung(name, Status.SKIPPED, reason, 0.0)


def probe_finding(rule: RuleDescription, subject: str, result: ProbeResult) -> Finding:
    """The finding for a probe without a good answer: a crash where it died, else `about` with its message."""
    is_crash = result.timed_out or result.code < 0 or result.code > 128
    return (CRASH if is_crash else rule).finding(subject, result.problem)
