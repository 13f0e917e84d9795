"""`build --dry-run`: what would be run, from the same plan."""

from __future__ import annotations

from dataclasses import dataclass

from stackbuild.build import Order
from stackbuild.load import Loaded
from stackbuild.look import plan_as_is
from stackbuild.planning import reasons


@dataclass(frozen=True)
class DryStep:
    """A step that would run, why, and its commands (params for a host-side one)."""

    step: str
    action: str
    why: str
    commands: tuple[tuple[str, ...], ...]
    params: tuple[tuple[str, str], ...]


def dry(loaded: Loaded, order: Order) -> tuple[DryStep, ...]:
    """The steps that a build would run now, in order. Runs nothing."""
    with plan_as_is(loaded, order.choice) as (plan, store):
        rows = {row.step: row for row in reasons(plan, store) if row.state == "run"}
        steps = [plan.by_name[name] for name in rows]
    return tuple(DryStep(s.name, s.action, rows[s.name].why, tuple(c.argv for c in s.commands), s.params) for s in steps)
