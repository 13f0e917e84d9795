"""`wheel`: packed by stackbuild itself from the packages a component installed."""

from __future__ import annotations

from stackbuild.core import digest
from stackbuild.model.components import Wheel
from stackbuild.model.plan import Step, sorted_items
from stackbuild.plan.steps.context import SOURCE_DATE_EPOCH, Context

PACKER = "2"
"""Version of the packing code: part of the key, raised when the same input gives other bytes."""


def steps(name: str, component: Wheel, context: Context) -> tuple[Step, ...]:
    """One host-side step; what it is to write is in its params."""
    metadata = component.model_dump(exclude={"kind", "needs", "env", "memory", "abi"})
    params = {"packer": PACKER, "time": SOURCE_DATE_EPOCH, **{k: digest.canonical(v) for k, v in metadata.items()}}
    if component.abi == "cpython":
        params |= {
            "python": f"cp{context.python.replace('.', '')}",
            "requires_python": digest.canonical(f"=={context.python}.*"),
        }
    return (Step(name=name, action="wheel", needs=(context.need(component.needs[0]),), params=sorted_items(params)),)
