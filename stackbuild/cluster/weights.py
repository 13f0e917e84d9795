"""What the steps of a plan weigh, for whoever places them: the heaviest go first, and away from one another."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from stackbuild.model.plan import Plan, Step

SECONDS = {"debian": 60.0, "image": 60.0}
"""Seconds by action, where neither an earlier run nor the table of guesses says more. Guesses."""
OTHER_SECONDS = 5.0
TURN_SECONDS = 0.5
"""How long a step waits for heavier ones that are about to be given out."""


@dataclass(frozen=True)
class StepWeight:
    """Seconds that a step may take, and seconds of the longest chain of steps that begins with it.

    Only ratios count: one may be of an earlier run, another one a guess in seconds of one core.
    """

    seconds: float = OTHER_SECONDS
    chain: float = OTHER_SECONDS


def weigh(plan: Plan, known_seconds: Mapping[str, float]) -> dict[str, StepWeight]:
    """The weights by step name. `known_seconds` has the seconds that are known."""
    chains: dict[str, float] = {}
    weights: dict[str, StepWeight] = {}
    for step in reversed(plan.steps):  # what needs a step comes before it here
        seconds = known_seconds.get(step.name) or SECONDS.get(step.action, OTHER_SECONDS)
        weights[step.name] = StepWeight(seconds, seconds + chains.get(step.name, 0.0))
        for need in step.needs:
            chains[need.step] = max(chains.get(need.step, 0.0), weights[step.name].chain)
    return weights


class HeaviestFirst:
    """Of steps that become ready together, the heaviest is given out first: it gets the idlest worker, others the next one."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._coming: dict[str, StepWeight] = {}
        self._plan: Plan | None = None
        self._weights: dict[str, StepWeight] = {}

    def announce(self, plan: Plan, steps: Iterable[Step], known_seconds: Mapping[str, float]) -> list[Step]:
        """The steps, the heaviest first. From now on, until each waits or leaves, lighter ones wait for it."""
        with self._condition:
            if self._plan is not plan:
                self._plan, self._weights = plan, weigh(plan, known_seconds)
            self._coming.update((step.name, self._weights[step.name]) for step in steps)
            return sorted(steps, key=lambda step: -self._weights[step.name].chain)

    def wait(self, step: Step) -> StepWeight:
        """Wait for heavier ones, for at most TURN_SECONDS. Lighter ones wait until this one leaves. Returns its weight."""
        with self._condition:
            weight = self._weights.get(step.name, StepWeight())
            self._condition.wait_for(
                lambda: all(one.chain <= weight.chain for one in self._coming.values()), TURN_SECONDS
            )
        return weight

    def leave(self, step: Step) -> None:
        """Let the others go on: this step is given out, or need not be."""
        with self._condition:
            self._coming.pop(step.name, None)
            self._condition.notify_all()
