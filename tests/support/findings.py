"""Findings with control characters and markup in their texts."""

from __future__ import annotations

from stackbuild.model.findings import Finding, Rung, Severity, SourceLocation, Status, Verification

NASTY = "a\x00b\x1b[31m]]><script>\ud800\uffff&\"'"


def finding(n: int, severity: Severity = Severity.ERROR, place: SourceLocation | None = None) -> Finding:
    return Finding("SB-X", severity, f"lib{n}.so {NASTY}", f"found {NASTY}", "why", "fix", "https://example.org", place)


def verified(*findings: Finding) -> Verification:
    rungs = (
        Rung("static rules", Status.FAILED, f"1 error {NASTY}", 0.5, findings), Rung("import", Status.PASSED, "", 1.0),
        Rung("GPU", Status.SKIPPED, "no GPU", 0.0),
    )  # fmt: skip
    return Verification(f"/secret/place/x.whl{NASTY}", "ab" * 32, rungs)
