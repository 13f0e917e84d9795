"""The whole sentence: text → Recipe → Lock → Plan → Built → Verification → Benchmarks → Verdict → Receipt."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from stackbuild.build import Order, build, wheels, workshop
from stackbuild.events import Emit
from stackbuild.load import Loaded
from stackbuild.publish import Receipt
from stackbuild.stages import judged, measured, proved, published


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
        made = wheels(outputs, shop.store)
        claim, receipt = "", None
        if made:
            verification = proved(loaded, made, outputs, shop)
            benchmarks = measured(loaded, made, outputs, shop)
            verdict = judged(loaded, benchmarks, shop)
            receipt = published(loaded, made, verdict, shop)
            claim = verification.claim
    return Released(loaded.recipe.name, outputs.ran, _names(made), claim, receipt, time.monotonic() - started)


def _names(made: tuple[Path, ...]) -> tuple[str, ...]:
    return tuple(path.name for path in made)
