"""Why a step's key is what it is, and what changed since the last build."""

from __future__ import annotations

from dataclasses import dataclass

from stackbuild.errors import UsageError
from stackbuild.plan import Plan
from stackbuild.store.store import Store


@dataclass(frozen=True)
class Explanation:
    """A step's key, its text, and the text of the last build of the step ("" when there was none)."""

    step: str
    key: str
    text: str
    before: str


def explain(plan: Plan, name: str, store: Store) -> Explanation:
    """Raises UsageError where the plan has no such step."""
    if name not in plan.by_name:
        raise UsageError(f"no step {name!r}", next=f"steps are: {', '.join(plan.by_name)}")
    step = plan.by_name[name]
    last = next((r for r in store.latest(plan.recipe) if r.step == name), None)
    return Explanation(name, step.key, step.key_text, last.key_text if last else "")
