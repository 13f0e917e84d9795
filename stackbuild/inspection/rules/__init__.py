"""The rules, in the order that docs/rules.md lists them."""

from __future__ import annotations

from stackbuild.inspection.expectations import NOTHING, Expectations
from stackbuild.inspection.facts import Facts
from stackbuild.inspection.rules import (
    conflicts,
    device,
    elf,
    log,
    package,
    problems,
    rocm,
    tags,
    text,
    wheel_variants,
)
from stackbuild.inspection.rules.rule import Rule
from stackbuild.model.findings import Finding, Severity

GROUPS: tuple[tuple[str, tuple[Rule, ...]], ...] = (
    ("Reading the files", problems.RULES),
    ("The wheel's metadata", package.RULES),
    ("The wheel's tags", tags.RULES),
    ("Wheel variants", wheel_variants.RULES),
    ("Host libraries", elf.RULES),
    ("GPU code", device.RULES),
    ("ROCm and the recipe", rocm.RULES),
    ("Text in the files", text.RULES),
    ("Build logs", log.RULES),
)
RULES = tuple(rule for _, rules in GROUPS for rule in rules)
JOINT = conflicts.RULES
_ORDER = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.NOTE: 2}


def judge(facts: Facts, expectations: Expectations | None = None) -> tuple[Finding, ...]:
    """Every finding of every rule: errors first, in the order of the rules within a severity."""
    expectations = expectations or NOTHING
    findings = [finding for rule in RULES for finding in rule.judge(facts, expectations)]
    return _sort(findings)


def judge_together(all_facts: tuple[Facts, ...]) -> tuple[Finding, ...]:
    """Findings about files that would be installed into one environment."""
    return _sort([finding for rule in JOINT for finding in rule.judge(all_facts)])


def _sort(findings: list[Finding]) -> tuple[Finding, ...]:
    return tuple(sorted(findings, key=lambda finding: _ORDER[finding.severity]))
