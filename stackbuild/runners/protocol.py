"""The one door commands go through: a Runner opens a Session on a Room and runs Execs in it.

The same plan runs on each runner with the same keys. Runners: `runners/sandbox` (bubblewrap), `runners/docker`,
`runners/fake` (remembers instead of running).
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from stackbuild.core.cancel import Stopper


@dataclass(frozen=True)
class Mount:
    """A folder or file of this machine that a session sees at `at`."""

    source: Path
    at: str
    writable: bool = False


@dataclass(frozen=True)
class Room:
    """What a session is opened on. `base` is a root file system, never written to; `upper` and `work` take what is written."""

    base: Path
    base_digest: str
    upper: Path
    work: Path
    mounts: tuple[Mount, ...]
    memory: int
    """Bytes the session may use, enforced where the machine lets us."""
    label: str
    """The run's id: what is left behind by a killed run is found by it."""
    network: bool = False


@dataclass(frozen=True)
class Exec:
    """One command in a session: argument list, whole environment, working folder, and where its output goes."""

    argv: tuple[str, ...]
    env: tuple[tuple[str, str], ...]
    cwd: str
    log: Path


@dataclass(frozen=True)
class Outcome:
    """How a command ended: its exit code (128 + n for a signal), and whether the kernel ran out of memory over it."""

    code: int
    seconds: float
    out_of_memory: bool = False


class Session(Protocol):
    def run(self, exec: Exec, stopper: Stopper) -> Outcome:
        """Run one command; its output is appended to `exec.log`. Raises Stopped when the run is being stopped."""

    def enter(self, argv: tuple[str, ...], env: tuple[tuple[str, str], ...], cwd: str) -> int:
        """Run a command on this terminal (`stackbuild shell`); its exit code."""

    def keep(self) -> str:
        """Keep the session's file system for a later look; what to hand to `Runner.revisit`."""


class Runner(Protocol):
    @property
    def name(self) -> str: ...

    def open(self, room: Room) -> AbstractContextManager[Session]:
        """Raises MachineLacks where the runner's tool is missing or refuses."""

    def revisit(self, room: Room, kept: str) -> AbstractContextManager[Session]:
        """A session on what `keep` kept."""

    def reap(self) -> tuple[str, ...]:
        """Remove what killed runs left behind (containers, images); what it was, in words."""
