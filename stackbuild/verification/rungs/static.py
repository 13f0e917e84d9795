"""The first rung: the static rules."""

from __future__ import annotations

from collections.abc import Iterable

from stackbuild.model.findings import STATIC_RUNG, Finding, Rung, Severity, Status, Verification


def static_rung(findings: Iterable[Finding], seconds: float) -> Rung:
    """The rung of static rules: failed by any error finding."""
    unique = tuple(findings)
    errors = [finding for finding in unique if finding.severity is Severity.ERROR]
    reason = (
        f"{len(errors)} error{'s' * (len(errors) != 1)}: {', '.join(dict.fromkeys(f.rule for f in errors))}"
        if errors
        else ""
    )
    return Rung(STATIC_RUNG, Status.FAILED if errors else Status.PASSED, reason, seconds, unique)


def static_verification(subject: str, sha256: str, findings: Iterable[Finding]) -> Verification:
    """What the static rules say of a file that is not run: a verification of one rung."""
    return Verification(subject, sha256, (static_rung(findings, 0.0),))
