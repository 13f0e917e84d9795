"""What goes to a worker and comes back: a step with the digests of its inputs, and the digest of its output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from stackbuild.cluster.weights import StepWeight
from stackbuild.model.events import Compiles, How
from stackbuild.model.plan import Step


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
