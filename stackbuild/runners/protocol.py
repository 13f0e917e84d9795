"""The one interface that commands run through: a Runner opens a Session on a SessionSpec and runs Execs in it.

The same plan runs on each runner with the same keys. Runners: `runners/sandbox` (bubblewrap), `runners/docker`,
`runners/fake` (remembers instead of running).
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from stackbuild.core.cancel import Stopper

MOST_PROCESSES = 8192
"""So many processes and threads a session may have at once, enforced where the machine lets us."""


@dataclass(frozen=True)
class Mount:
    """A folder or file of this machine that a session sees at `at`."""

    source: Path
    at: str
    writable: bool = False


@dataclass(frozen=True)
class SessionSpec:
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
    processes: int = MOST_PROCESSES


@dataclass(frozen=True)
class Exec:
    """One command in a session: argument list, whole environment, working folder, and where its output goes."""

    argv: tuple[str, ...]
    env: tuple[tuple[str, str], ...]
    cwd: str
    log: Path


@dataclass(frozen=True)
class ExecResult:
    """How a command ended: its exit code (128 + n for a signal), and whether the kernel killed in it for memory.

    `out_of_memory` is None where no control group counts that. Its log may tell then, and could be lying.
    `peak_memory` is the most memory of all its processes at once in bytes, page cache left out; 0 where it is not known.
    """

    code: int
    seconds: float
    out_of_memory: bool | None = None
    peak_memory: int = 0


class Session(Protocol):
    def run(self, exec: Exec, stopper: Stopper) -> ExecResult:
        """Run one command; its output is appended to `exec.log`. Raises Stopped when the run is being stopped."""

    def exec_interactive(self, argv: tuple[str, ...], env: tuple[tuple[str, str], ...], cwd: str) -> int:
        """Run a command on this terminal (`stackbuild shell`); its exit code."""

    def snapshot(self) -> str:
        """Keep the session's file system for a later look; what to hand to `Runner.reopen`."""


class Runner(Protocol):
    @property
    def name(self) -> str: ...

    def open(self, spec: SessionSpec) -> AbstractContextManager[Session]:
        """Raises MachineLacks where the runner's tool is missing or refuses."""

    def reopen(self, spec: SessionSpec, snapshot: str) -> AbstractContextManager[Session]:
        """A session with the file system that `Session.snapshot` kept."""

    def reap(self) -> tuple[str, ...]:
        """Remove what killed runs left behind (containers, images); what it was, in words."""
