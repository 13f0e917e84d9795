"""`script`: the recipe's own commands."""

from __future__ import annotations

from stackbuild.model.components import Script
from stackbuild.model.plan import Command, Step
from stackbuild.plan.steps.context import Context, session_step


def steps(name: str, component: Script, context: Context) -> tuple[Step, ...]:
    """One step that runs the commands in order."""
    commands = tuple(Command(argv) for argv in component.run)
    return (session_step(name, component, context, commands, component.source, {}),)
