"""What goes to a worker and comes back: a step with the digests of its inputs, and the digest of its output."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import Literal

from stackbuild.cluster.weights import StepWeight
from stackbuild.core.model import TypeAdapter
from stackbuild.model.events import Compiles, How
from stackbuild.model.plan import Step

MOST_TEXT = 4000
"""Characters that are kept of each text of an outcome."""
MOST_LINES = 200
"""Lines of a failure that are kept."""
MOST_NUMBER = 1 << 60


@dataclass(frozen=True)
class StepInput:
    """An output that a step needs: whose, its key, its tree, and the text that a remote is asked by.

    `kind` is r where that is the text of the key, c where it is that of the content key.
    """

    step: str
    key: str
    tree: str
    text: str
    kind: Literal["r", "c"] = "r"


@dataclass(frozen=True)
class StepTask:
    """One step for a worker. `anew`: what the remote has of it is damaged, so it is made or sent again.

    `trusted_keys`: fingerprints of the keys whose outputs the client takes. `weight` is what the scheduler places it by.
    """

    step: Step
    inputs: tuple[StepInput, ...]
    recipe: str
    given_name: str
    lock_digest: str
    runner: str
    base_is_image: bool
    anew: bool = False
    trusted_keys: tuple[str, ...] = ()
    weight: StepWeight = StepWeight()

    @property
    def trees(self) -> dict[str, str]:
        """Digests of the inputs' trees by the step that made them."""
        return {one.step: one.tree for one in self.inputs}


@dataclass(frozen=True)
class Failure:
    """Why a step has no output: what a StepBroke or a MachineLacks says."""

    what: str
    command: str = ""
    lines: tuple[str, ...] = ()
    look: str = ""


@dataclass(frozen=True)
class StepOutcome:
    """What became of a step on a worker.

    made: the output of that tree is on the remote · broke: the step failed · lacks: the machine could not do it ·
    bad-input: the remote did not give the input named in `what` · stopped: the worker was told to stop.
    """

    status: Literal["made", "broke", "lacks", "bad-input", "stopped"]
    machine: str
    tree: str = ""
    how: How = "run"
    seconds: float = 0.0
    compiles: Compiles = Compiles()
    peak_memory: int = 0
    failure: Failure = Failure("")
    log_bytes: int = 0


def read_outcome(value: object) -> StepOutcome:
    """What a worker answered, its texts cut to `MOST_TEXT`. Raises ValueError where it is not an outcome, or an impossible one."""
    if type(value) is not StepOutcome:
        raise ValueError(f"{type(value).__name__} in place of an outcome")
    try:
        outcome = TypeAdapter(StepOutcome).validate_python(asdict(value))
    except (TypeError, RecursionError) as error:
        raise ValueError(str(error)) from None
    counts = (outcome.peak_memory, outcome.log_bytes, outcome.compiles.hits, outcome.compiles.misses)
    if not math.isfinite(outcome.seconds) or not all(0 <= one <= MOST_NUMBER for one in (outcome.seconds, *counts)):
        raise ValueError("a number of it is not possible")
    failure = outcome.failure
    return replace(
        outcome,
        machine=outcome.machine[:MOST_TEXT],
        tree=outcome.tree[:MOST_TEXT],
        failure=Failure(
            failure.what[:MOST_TEXT],
            failure.command[:MOST_TEXT],
            tuple(line[:MOST_TEXT] for line in failure.lines[:MOST_LINES]),
            failure.look[:MOST_TEXT],
        ),
    )
