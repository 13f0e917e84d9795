"""`wheel`: packed by stackbuild itself from the packages a component installed."""

from __future__ import annotations

from stackbuild.core import digest
from stackbuild.model.components import Wheel
from stackbuild.model.materials import materials_of, materials_text
from stackbuild.model.plan import Step, sorted_items
from stackbuild.plan.steps.context import SOURCE_DATE_EPOCH, Context

PACKER = "5"
"""Version of the packing code: part of the key, raised when the same input gives other bytes."""


def steps(name: str, component: Wheel, context: Context) -> tuple[Step, ...]:
    """One host-side step; what it is to write is in its params."""
    metadata = component.model_dump(exclude={"kind", "needs", "env", "memory", "abi"})
    made_from = materials_of(_closure(component.needs[0], context))
    params = {
        "materials": materials_text(made_from),
        "packer": PACKER,
        "time": SOURCE_DATE_EPOCH,
        **{k: digest.canonical(v) for k, v in metadata.items()},
    }
    if component.abi == "cpython":
        params |= {
            "python": f"cp{context.python.replace('.', '')}",
            "requires_python": digest.canonical(f"=={context.python}.*"),
        }
    return (Step(name=name, action="wheel", needs=(context.need(component.needs[0]),), params=sorted_items(params)),)


def _closure(component: str, context: Context) -> list[Step]:
    """The step that makes a component and all that it needs."""
    closure: dict[str, Step] = {}
    todo = [context.names.get(component, component)]
    while todo:
        step = context.steps[todo.pop()]
        if step.name not in closure:
            closure[step.name] = step
            todo += [need.step for need in step.needs]
    return list(closure.values())
