"""What stackbuild reports of the files it built: findings, rungs and verifications.

Values only: frozen, complete, printable. `digest.plain` turns each into JSON.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Status(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True)
class SourceLocation:
    """A place in a text file, lines and columns counted from 1."""

    file: str
    line: int
    column: int = 1


@dataclass(frozen=True)
class Finding:
    """One thing a rule found: `found` in `subject`, `why` it matters, how to `fix` it.

    `rule` is a stable id such as `SB-ELF-CWD-RUNPATH`; `subject` names the file, member or step.
    """

    rule: str
    severity: Severity
    subject: str
    found: str
    why: str
    fix: str
    link: str = ""
    place: SourceLocation | None = None


GPU_RUNG = "GPU at work"
"""The rung that passes only where a GPU moved while the wheel's code ran."""
NO_GPU = "no GPU ran"
STATIC_RUNG = "static rules"
"""The rung that reads a wheel's files and runs nothing of it."""
EMULATED_RUNG = "device code, emulated "
"""What the name of a rung begins with that runs device code on an emulated GPU; the target follows."""


@dataclass(frozen=True)
class Rung:
    """One rung of the verification ladder and how it ended. `reason` says why it failed or was skipped."""

    name: str
    status: Status
    reason: str
    seconds: float
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class Verification:
    """The verification of one artifact. `sha256` identifies the bytes."""

    subject: str
    sha256: str
    rungs: tuple[Rung, ...]

    @property
    def findings(self) -> tuple[Finding, ...]:
        return tuple(f for rung in self.rungs for f in rung.findings)

    @property
    def failed(self) -> bool:
        return any(r.status is Status.FAILED for r in self.rungs)

    @property
    def gpu_ran(self) -> bool:
        """Whether the wheel's code was seen to run on a GPU."""
        return any(rung.name == GPU_RUNG and rung.status is Status.PASSED for rung in self.rungs)

    @property
    def claim(self) -> str:
        """What may be claimed: the rungs passed before the first failure, those skipped, and where no GPU ran, that."""
        passed_names: list[str] = []
        for rung in self.rungs:
            if rung.status is Status.FAILED:
                return f"not verified: {rung.name} failed: {rung.reason}"
            if rung.status is Status.PASSED:
                passed_names.append(rung.name)
        reasons: dict[str, list[str]] = {}
        for rung in self.rungs:
            if rung.status is Status.SKIPPED:
                reasons.setdefault(rung.reason, []).append(rung.name)
        skip_lines = [f"{', '.join(names)}: {reason}" for reason, names in reasons.items()]
        sentence = (f"verified ({' + '.join(passed_names)}" if passed_names else "not verified (nothing ran") + (
            f"; not run: {'; '.join(skip_lines)})" if skip_lines else ")"
        )
        return sentence if self.gpu_ran else f"{sentence}; {NO_GPU}"
