"""Whether every rule of a run did something: a rule that matches nothing is an error."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from stackbuild.hipify.engines import Engine
from stackbuild.hipify.model import FileReport, Target
from stackbuild.hipify.rules.rules import ConversionRule, RuleSet
from stackbuild.model.findings import Finding, Severity

_OWN = ("generic", "base", "libraries", "hipify")
"""The sets that are in use without having been asked for."""


def faults(engine: Engine, files: Collection[FileReport], moving: frozenset[str]) -> tuple[Finding, ...]:
    """What is wrong with the rules of a run as a whole. `moving` are the path rules that moved an output."""
    if engine.name == "fast":
        return unmatched_findings(engine.rules, engine.target, files, moving)
    names = [name for name in engine.rules.sets if name not in _OWN]
    return (_not_applied(engine.name, names),) if names else ()


def unmatched_findings(
    rules: RuleSet, target: Target, files: Iterable[FileReport], moving: frozenset[str] = frozenset()
) -> tuple[Finding, ...]:
    """An error for each rule that must match, applies to this target, and matched in no file and no file's path."""
    counted_rules: set[str] = set(moving)
    for file in files:
        counted_rules |= file.rules.keys()
    return tuple(
        Finding(
            "HIPIFY-RULE-UNUSED",
            Severity.ERROR,
            rule.id,
            f"rule {rule.id} ({rule.kind}: {', '.join(rule.match)}) matched nothing{_where(rule)}",
            f"the source changed under it, or it never matched. Why the rule is there: {rule.why}",
            f"remove it at {rule.place}, fix it, or mark it `optional: true`",
            rule.link,
        )
        for rule in rules.rules
        if not rule.optional and rule.id not in counted_rules and rule.is_for_target(target.rocm, target.flavour)
    )


def _where(rule: ConversionRule) -> str:
    return f" in {', '.join(rule.files)}" if rule.files else ""


def _not_applied(engine: str, sets: Collection[str]) -> Finding:
    return Finding(
        "HIPIFY-RULES-NOT-APPLIED",
        Severity.WARNING,
        ", ".join(sets),
        f"engine {engine} applies no rules",
        "its text is what HIPIFY's own program makes",
        "use --engine fast for the rules, or --rules none",
    )
