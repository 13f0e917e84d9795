"""What happens during a run, as values: drawn by `stackbuild.views`, streamed by `build --json`, kept in the run's folder."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from stackbuild.core.digest import plain

How = Literal["cached", "run", "reused"]
"""cached: the key was in the store · reused: other key, identical inputs (early cut-off) · run: done now."""


@dataclass(frozen=True)
class Compiles:
    """ccache's count of one step."""

    hits: int = 0
    misses: int = 0


@dataclass(frozen=True)
class RunStarted:
    run: str
    recipe: str
    steps: tuple[str, ...]
    todo: tuple[str, ...]
    folder: str


@dataclass(frozen=True)
class StepStarted:
    """`expected` seconds come from the step's last run, 0.0 when there was none; `machine` is "" for this one."""

    step: str
    key: str
    log: str
    expected: float
    machine: str = ""


@dataclass(frozen=True)
class StepFinished:
    """`peak_memory` is the most memory of the step's processes at once in bytes, sampled; 0 where it is not known."""

    step: str
    key: str
    tree: str
    how: How
    seconds: float
    compiles: Compiles = Compiles()
    peak_memory: int = 0
    machine: str = ""
    """Who ran it, "" for this machine."""


@dataclass(frozen=True)
class StepBroke:
    """A step failed: the command, the lines of its log that matter, the log, and how to look at it."""

    step: str
    what: str
    command: str
    lines: tuple[str, ...]
    log: str
    look: str


@dataclass(frozen=True)
class Note:
    """Something worth a line: a warning, a wait, a repair."""

    level: Literal["info", "warning"]
    text: str


@dataclass(frozen=True)
class StageStarted:
    """A verb after the build: verify, bench, gate, publish."""

    stage: str


@dataclass(frozen=True)
class StageFinished:
    """`remembered` when its result was known for exactly these bytes; `stands` is False when it ends the run."""

    stage: str
    result: str
    seconds: float
    remembered: bool = False
    stands: bool = True


@dataclass(frozen=True)
class RunFinished:
    run: str
    seconds: float
    ran: int
    cached: int
    failed: int


@dataclass(frozen=True)
class RunStopped:
    """The run's last event where it did not come to its end: why, and the exit code it leaves with."""

    run: str
    what: str
    exit_code: int


Event = (
    RunStarted | StepStarted | StepFinished | StepBroke | Note | StageStarted | StageFinished | RunFinished | RunStopped
)
Emit = Callable[[Event], None]


def document(event: Event) -> dict[str, object]:
    """The event as one JSON object; `event` names its kind."""
    return {"event": type(event).__name__, **plain(event)}
