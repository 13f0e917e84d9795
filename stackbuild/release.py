"""The whole sentence: text → Recipe → Lock → Plan → Built → Verification → Benchmarks → Verdict → Receipt."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass

from stackbuild.build import Order, Outputs, build, wheels, workshop
from stackbuild.errors import MachineLacks
from stackbuild.events import Emit, Note
from stackbuild.load import Loaded
from stackbuild.look import this_python
from stackbuild.perform import Workshop
from stackbuild.publish import Receipt
from stackbuild.stages import Made, measured, proved, published


@dataclass(frozen=True)
class Released:
    """What a whole build came to. `receipt` is None where `--until` ended it before there was a wheel."""

    recipe: str
    steps_run: int
    wheels: tuple[str, ...]
    claim: str
    receipt: Receipt | None
    seconds: float


def release(loaded: Loaded, order: Order, listeners: Iterable[Emit]) -> Released:
    """Build, prove, measure, judge, publish. Raises every Stop but Defect."""
    started = time.monotonic()
    with workshop(loaded, order, listeners) as shop:
        outputs = build(loaded, order, shop)
        if _damaged(outputs, shop):
            outputs = build(loaded, order, shop)
        made = _made(loaded, outputs, shop)
        claim, receipt = "", None
        if made.wheels:
            claim = proved(made, shop)
            measured(made, shop)
            receipt = published(made, shop)
    names = tuple(path.name for path in made.wheels)
    return Released(loaded.recipe.name, outputs.ran, names, claim, receipt, time.monotonic() - started)


def _damaged(outputs: Outputs, shop: Workshop) -> bool:
    """Whether an output that is about to be used does not verify; it is in quarantine then, and another build makes it."""
    reasons = {b.step: shop.store.check(b.tree) for b in outputs.built}
    for step, reason in reasons.items():
        if reason:
            shop.emit(Note("warning", f"{step}: its stored output is damaged ({reason}); making it again"))
    return any(reasons.values())


def _made(loaded: Loaded, outputs: Outputs, shop: Workshop) -> Made:
    """The wheels and the wheelhouse they are proved in, which must be there and whole where there is a wheel."""
    made = wheels(outputs, shop.store)
    house = next((b for b in outputs.built if b.step.startswith("wheelhouse.")), None)
    if made and loaded.recipe.verify and house is None:
        raise MachineLacks(
            f"the lock has no wheelhouse for Python {this_python()}: wheels cannot be proved here",
            next=f"run stackbuild with one of Python {', '.join(loaded.recipe.python)}, or add this one to the recipe and lock",
        )
    tree = house.tree if house else ""
    return Made(loaded.recipe, made, shop.store.tree(tree) if tree else shop.store.root, tree)

