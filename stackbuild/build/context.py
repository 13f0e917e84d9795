"""What a build's steps share, and what becomes of a step: its output, or why it has none."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from stackbuild.actions import Job
from stackbuild.build.jobserver import Jobserver
from stackbuild.build.sharing import RemoteSharing
from stackbuild.core.cancel import Stopper
from stackbuild.model.events import Emit, How, StepBroke
from stackbuild.model.plan import Plan, Step
from stackbuild.runners.protocol import Runner
from stackbuild.sources.local import LocalSource
from stackbuild.sources.mirror import Mirror
from stackbuild.store.records import Record
from stackbuild.store.store import Store


@dataclass(frozen=True)
class StepOutput:
    """A step with its output: which tree, and how it came about."""

    step: str
    key: str
    tree: str
    how: How
    seconds: float


class StepPlacement(Protocol):
    """Where the steps of a run are done, if not on this machine: `stackbuild.cluster` has the one that there is."""

    @property
    def at_once(self) -> int:
        """How many steps may be under way, those that wait for a machine included."""
        ...

    def is_here(self, step: Step) -> bool:
        """Whether this machine does the step: it reads files that only this machine has."""
        ...

    def gpu_targets(self) -> frozenset[str]:
        """The targets of the GPUs that the machines have now."""
        ...

    def refuse_lacking(self, steps: Iterable[Step]) -> None:
        """Raises MachineLacks where no machine has what one of these steps needs."""
        ...

    def find_records(self, plan: Plan, stored_records: Mapping[str, Record]) -> dict[str, Record]:
        """The records of the plan's steps that need not run: those of this store, and those of the machines' remote."""
        ...

    def arrange(self, plan: Plan, ready: Sequence[Step]) -> Sequence[Step]:
        """Steps that are about to be performed, in the order in which to begin them."""
        ...

    def perform(self, plan: Plan, step: Step, trees: Mapping[str, str]) -> StepOutput:
        """The step's output; a wanted one is in this store afterwards. `trees` are the outputs it needs, by step.

        Raises BrokenStep, BadInput, Stopped, MachineLacks.
        """
        ...


@dataclass(frozen=True)
class BuildContext:
    """What a run's steps are built with: the store, the runner, the jobserver and who hears of it. One a run."""

    recipe: str
    given_name: str
    """The recipe as the command line named it: what hints repeat."""
    run: str
    store: Store
    runner: Runner
    jobserver: Jobserver
    stopper: Stopper
    emit: Emit
    logs: Path
    locals: Mapping[str, LocalSource]
    mirror: Mirror | None
    actions: Mapping[str, Callable[[Job], dict[str, str]]]
    expected_seconds: Mapping[str, float]
    """Seconds of the recipe's steps when they last ran, by name."""
    lock_digest: str
    sharing: RemoteSharing | None = None
    """The remotes that are asked before a step runs, and those that get what this run makes; None where there are none."""
    placement: StepPlacement | None = None
    """Other machines that do the steps; None where this one does."""
    guess_seconds: Mapping[str, float] = field(default_factory=dict)
    """Where other machines do the steps: seconds of one core that each may take, from the table of guesses."""
    from_scratch: bool = False
    """Every step runs, with no compiler cache, no build tree of an earlier run and no stored output taken over."""

    @property
    def find_record(self) -> Callable[[str], Record | None]:
        """What tells whether a step need not run: the store; from scratch, what this run made."""
        return self._made_here if self.from_scratch else self.store.find

    def _made_here(self, key: str) -> Record | None:
        record = self.store.find(key)
        return record if record is not None and record.made_by == self.run else None


class BrokenStep(Exception):
    """A step failed; its StepBroke has been emitted."""

    def __init__(self, event: StepBroke) -> None:
        super().__init__(event.what)
        self.event = event


class BadInput(Exception):
    """The output of a needed step did not verify and is in quarantine: it has to be made again."""

    def __init__(self, step: str) -> None:
        super().__init__(step)
        self.step = step
