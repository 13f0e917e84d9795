"""Every rule there is, by what it looks at: files, a run, a recipe, an environment."""

from __future__ import annotations

from stackbuild.checks import venv_rules
from stackbuild.inspection import diff
from stackbuild.inspection.rules import GROUPS, JOINT
from stackbuild.model.findings import RuleDescription
from stackbuild.recipe import recipe_rules
from stackbuild.verification.catalogue import EMULATION_RULES, RUNNING


def catalogue() -> tuple[tuple[str, tuple[RuleDescription, ...]], ...]:
    """All rules by group, in the order of docs/rules.md."""
    return (
        *GROUPS,
        ("Several files together", (*JOINT, *diff.RULES)),
        ("Running it", RUNNING),
        ("Running its device code on a CPU", EMULATION_RULES),
        ("Recipes", recipe_rules.RULES),
        ("Environments", venv_rules.RULES),
    )


def rules_by_id() -> dict[str, RuleDescription]:
    """All rules by their ids."""
    return {rule.id: rule for _, rules in catalogue() for rule in rules}


def rules_called(name: str) -> list[RuleDescription]:
    """The rule of that id, in any case; else those whose id has the name after its group, such as `NO-ROCM`."""
    rules, text = rules_by_id(), name.upper().replace("_", "-")
    if whole := rules.get(text) or rules.get(f"SB-{text}"):
        return [whole]
    return [rule for id_, rule in rules.items() if id_.split("-", 2)[2] == text]
