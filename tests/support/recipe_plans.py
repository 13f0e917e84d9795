"""Plans of recipes that a test changes."""

from stackbuild.model.choice import Choice
from stackbuild.model.inputs import Inputs
from stackbuild.model.lock import Lock
from stackbuild.model.plan import Plan, Step
from stackbuild.plan.resolve import resolve
from stackbuild.recipe.load import parse

NOTHING = Lock(schema=1, asked="0" * 64)


def plan_of(text: str, choice: Choice = Choice(), lock: Lock = NOTHING) -> Plan:
    recipe = parse(text, "t.yaml")
    return resolve(recipe, Inputs.of(lock, dict.fromkeys(recipe.sources, "0" * 64)), choice)


def words(step: Step) -> tuple[str, ...]:
    return tuple(word for command in step.commands for word in command.argv)
