"""The stages after the build, each remembered by what it stands on: prove, measure, judge, publish."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from stackbuild import digest
from stackbuild.clean import clean_python
from stackbuild.digest import Json, plain
from stackbuild.errors import GateClosed, VerificationFailed
from stackbuild.events import StageFinished, StageStarted
from stackbuild.perform import Workshop
from stackbuild.publish import Receipt, is_published, publish
from stackbuild.recipe import Recipe
from stackbuild.report import Status, Verification
from stackbuild.store.files import write_hint

JUDGES = ("inspect", "verify", "bench", "judge", "measures.py", "demands.py")
"""The parts of stackbuild whose code decides what a stage finds."""


@cache
def _code() -> str:
    """Digest of that code, so that a newer stackbuild does not believe what an older one found."""
    package = Path(__file__).parent
    found = [path for part in JUDGES for path in sorted((package / part).rglob("*.py")) or [package / part]]
    return digest.of_value([digest.of_file(path) for path in found])


@dataclass(frozen=True)
class Made:
    """What the build handed over: the wheels, and the wheelhouse they are proved in with its digest."""

    recipe: Recipe
    wheels: tuple[Path, ...]
    wheelhouse: Path
    wheelhouse_digest: str

    def stands_on(self, stage: str, *more: object) -> str:
        """The key under which a stage's result is remembered: these bytes, this recipe's wishes, this stackbuild."""
        files = [digest.of_file(wheel) for wheel in self.wheels]
        return digest.of_value([stage, _code(), files, self.wheelhouse_digest, *map(plain, more)])


def _remembered(stage: str, key: str, shop: Workshop, make: Callable[[], dict[str, Json]]) -> dict[str, Json]:
    """The stage's result: as remembered under the key, or made now. `says` in it is the line people see."""
    started = time.monotonic()
    known = shop.store.recall(key)
    if not isinstance(known, dict):
        shop.emit(StageStarted(stage))
        fresh = make()
        if fresh.get("keep", True):
            shop.store.remember(key, fresh)
        result = fresh
    else:
        result = known
    # `stackbuild report` reads it there
    write_hint(shop.logs.parent / f"{stage}.json", digest.canonical(result), shop.store.tmp)
    seconds = time.monotonic() - started
    shop.emit(StageFinished(stage, str(result["says"]), seconds, remembered=isinstance(known, dict)))
    return result


def proved(made: Made, shop: Workshop) -> str:
    """Climb the ladder of verification; what may be claimed. Raises VerificationFailed."""

    def climb() -> dict[str, Json]:
        from stackbuild.demands import expectations_of
        from stackbuild.verify import Ground, verify

        ground = Ground(wheelhouse=made.wheelhouse, python=Path(sys.executable))
        found = verify(made.wheels, expectations_of(made.recipe), ground, lambda _: shop.stopper.check())
        return {"says": _climbed(found), "claim": found.claim, "failed": found.failed, "verification": plain(found), "keep": not found.failed}

    result = _remembered("verify", made.stands_on("verify", made.recipe.gfx, made.recipe.verify), shop, climb)
    if result["failed"]:
        raise VerificationFailed(str(result["claim"]), next=f"stackbuild inspect {made.wheels[0]}")
    return str(result["claim"])


def _climbed(found: Verification) -> str:
    """How far up the ladder, in a line."""
    count = [sum(rung.status is status for rung in found.rungs) for status in (Status.PASSED, Status.SKIPPED, Status.FAILED)]
    return "{} rungs passed, {} not run, {} failed".format(*count)


def measured(made: Made, shop: Workshop) -> dict[str, Json]:
    """Run the recipe's suite on the wheel, paired with ONNX Runtime's own operators, and judge it by the recipe's gates.

    Raises GateClosed with the one line that says which gate and by how much.
    """
    from stackbuild.bench.machine import fingerprint

    bench = made.recipe.bench
    if bench is None:
        return {}
    machine = fingerprint().stable

    def measure() -> dict[str, Json]:
        from stackbuild.bench.kernels import KernelBench, measure_kernels
        from stackbuild.bench.suites import suite

        python = clean_python(made.wheelhouse, made.wheelhouse_digest, shop.store)
        asked = KernelBench(made.wheels[0], python=python, cache=shop.store.root / "bench")
        found = measure_kernels(asked, suite(bench.suite), bench.suite, made.recipe.gates, lambda *_: shop.stopper.check())
        closed = [gate.says for gate in found.verdict.closed]
        says = f"{len(found.benchmarks.cases)} cases, gates {found.verdict.outcome}" + (f": {closed[0]}" if closed else "")
        return {
            "says": says,
            "closed": list(closed),
            "benchmarks": plain(found.benchmarks),
            "verdict": plain(found.verdict),
            "keep": not closed,
        }

    result = _remembered("bench", made.stands_on("bench", bench, made.recipe.gates, machine), shop, measure)
    if result["closed"]:
        raise GateClosed(str(result["says"]), next=f"stackbuild report {shop.run} shows the measurement")
    return result


def published(made: Made, shop: Workshop) -> Receipt:
    """Put the wheels on the recipe's index."""
    index = Path(made.recipe.publish.index)
    started = time.monotonic()
    there = is_published(made.wheels, index)
    if not there:
        shop.emit(StageStarted("publish"))
    receipt = publish(made.wheels, index, replace=made.recipe.publish.replace)
    shop.emit(StageFinished("publish", str(index), time.monotonic() - started, remembered=there))
    return receipt
