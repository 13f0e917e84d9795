"""The whole sentence: text → Recipe → Lock → Plan → Built → Verification → Benchmarks → Verdict → Receipt."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass

from stackbuild.build import Order, Outputs, build, wheels, workshop
from stackbuild.errors import MachineLacks
from stackbuild.events import Emit
from stackbuild.load import Loaded
from stackbuild.look import this_python
from stackbuild.perform import Workshop
from stackbuild.publish import Receipt
from stackbuild.stages import Made, measured, proved, published


@dataclass(frozen=True)
class Released:
    """What a whole build came to. `fresh`: something was built, proved, measured or published that was not before.

    `receipt` is None where `--until` ended it before there was a wheel.
    """

    recipe: str
    run: str
    fresh: bool
    wheels: tuple[str, ...]
    claim: str
    receipt: Receipt | None
    seconds: float


def release(loaded: Loaded, order: Order, listeners: Iterable[Emit]) -> Released:
    """Build, prove, measure, judge, publish. Raises every Stop but Defect."""
    started = time.monotonic()
    with workshop(loaded, order, listeners) as shop:
        outputs = build(loaded, order, shop)
        made = _made(loaded, outputs, shop)
        fresh, claim, receipt = outputs.ran > 0, "", None
        if made.wheels:
            proof = proved(made, shop)
            measurement = measured(made, shop)
            receipt = published(made, shop)
            claim = str(proof.body["claim"])
            fresh |= not proof.remembered or (measurement is not None and not measurement.remembered)
            fresh |= any(wheel.fresh for wheel in receipt.wheels)
    names = tuple(path.name for path in made.wheels)
    return Released(loaded.recipe.name, shop.run, fresh, names, claim, receipt, time.monotonic() - started)


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

