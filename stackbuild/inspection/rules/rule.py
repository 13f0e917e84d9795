"""What a rule is: a stable id, why it matters, how to fix it, and a pure function from facts to subjects."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from stackbuild.inspection.expectations import Expectations
from stackbuild.inspection.facts import Facts
from stackbuild.inspection.limits import FINDINGS
from stackbuild.model.findings import Finding, RuleDescription, Severity

#: What a check yields: (subject, what was found there).
SubjectEvidence = tuple[str, str]
RuleCheck = Callable[[Facts, Expectations], Iterable[SubjectEvidence]]

ERROR, WARNING, NOTE = Severity.ERROR, Severity.WARNING, Severity.NOTE


@dataclass(frozen=True)
class Rule(RuleDescription):
    """A rule over the facts of one file."""

    check: RuleCheck

    def judge(self, facts: Facts, expectations: Expectations) -> list[Finding]:
        every = list(self.check(facts, expectations))
        findings = [self.finding(subject[:300], evidence[:2_000]) for subject, evidence in every[:FINDINGS]]
        return findings + (
            [self.finding(facts.subject, f"and {len(every) - FINDINGS:,} more") for _ in every[FINDINGS : FINDINGS + 1]]
        )


@dataclass(frozen=True)
class JointRule(RuleDescription):
    """A rule over several files that would be installed together."""

    check: Callable[[tuple[Facts, ...]], Iterable[SubjectEvidence]]

    def judge(self, all_facts: tuple[Facts, ...]) -> list[Finding]:
        return [self.finding(subject, evidence) for subject, evidence in self.check(all_facts)]


def rule(
    id: str, severity: Severity, title: str, *, why: str, fix: str, link: str = "", needs: str = ""
) -> Callable[[RuleCheck], Rule]:
    """Make a Rule of the function below it, whose docstring says when the rule speaks."""
    return lambda check: Rule(id, severity, title, _sentence(check), why, fix, link, needs, check)


def _sentence(check: object) -> str:
    return " ".join((check.__doc__ or "").split())


def some(items: Iterable[object], most: int = 4) -> str:
    """Items in words, the first few and how many more."""
    items_text = list(map(str, items))
    listing = ", ".join(items_text[:most])
    return listing + (f" and {len(items_text) - most} more" if len(items_text) > most else "")


def count_of(number: int, noun: str) -> str:
    """`1 kernel`, `81,688 kernels`, `2 libraries`, `3 matches`."""
    if number == 1:
        return f"1 {noun}"
    if noun.endswith(("py", "ry")):
        return f"{number:,} {noun[:-1]}ies"
    return f"{number:,} {noun}{'es' if noun.endswith('ch') else 's'}"
