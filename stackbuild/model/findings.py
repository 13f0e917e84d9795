"""What stackbuild reports of the files it built: findings, rungs and verifications.

Values only: frozen, complete, printable. `digest.plain` turns each into JSON.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
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


@dataclass(frozen=True)
class RuleDescription:
    """The text of a rule in docs/rules.md. `when` is its condition, `needs` the expectation without which it never applies.

    `severity` is that of its gravest finding.
    """

    id: str
    severity: Severity
    title: str
    when: str
    why: str
    fix: str
    link: str
    needs: str

    @property
    def description(self) -> RuleDescription:
        """The rule's text without its check, as data."""
        return RuleDescription(**{field.name: getattr(self, field.name) for field in fields(RuleDescription)})

    @property
    def own_words(self) -> tuple[str, str]:
        """Cause and advice as a finding has them that brings none."""
        return self.why, self.fix

    def finding(
        self,
        subject: str,
        evidence: str,
        *,
        why: str = "",
        fix: str = "",
        link: str = "",
        severity: Severity | None = None,
        place: SourceLocation | None = None,
    ) -> Finding:
        """A finding of the rule. What is not given has the rule's words."""
        own_why, own_fix = self.own_words
        words = (why or own_why, fix or own_fix, link or self.link)
        return Finding(self.id, severity or self.severity, subject, evidence, *words, place)


@dataclass(frozen=True)
class ClauseRule(RuleDescription):
    """A rule whose findings are read inside a sentence: `reason` is its `why`, and `advice` its `fix`, as parts of one."""

    reason: str
    advice: str

    @property
    def own_words(self) -> tuple[str, str]:
        return self.reason, self.advice


def clause_rule(
    id: str, severity: Severity, title: str, *, when: str, why: str, fix: str, link: str = ""
) -> ClauseRule:
    """Such a rule. `why` and `fix` begin with a small letter and have no full stop: the sentences are made of them."""
    return ClauseRule(id, severity, title, when, _sentence(why), _sentence(fix), link, "", why, fix)


def _sentence(clause: str) -> str:
    return f"{clause[0].upper()}{clause[1:]}."


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
