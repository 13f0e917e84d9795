"""The stages after the build, each remembered by what it stands on: prove, measure, judge, publish."""

from __future__ import annotations

import time
from pathlib import Path

from stackbuild.build import Outputs
from stackbuild.events import StageFinished, StageStarted
from stackbuild.load import Loaded
from stackbuild.perform import Workshop
from stackbuild.publish import Receipt, is_published, publish
from stackbuild.report import Verification


def proved(loaded: Loaded, made: tuple[Path, ...], outputs: Outputs, shop: Workshop) -> Verification:
    return Verification("", "", ())


def measured(loaded: Loaded, made: tuple[Path, ...], outputs: Outputs, shop: Workshop) -> None:
    return None


def judged(loaded: Loaded, benchmarks: None, shop: Workshop) -> None:
    return None


def published(loaded: Loaded, made: tuple[Path, ...], verdict: None, shop: Workshop) -> Receipt:
    """Put the wheels on the recipe's index."""
    index = Path(loaded.recipe.publish.index)
    started = time.monotonic()
    there = is_published(made, index)
    if not there:
        shop.emit(StageStarted("publish"))
    receipt = publish(made, index, replace=loaded.recipe.publish.replace)
    shop.emit(StageFinished("publish", str(index), time.monotonic() - started, remembered=there))
    return receipt
