"""What a host-side action is given, and how it calls the tools of this machine."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from stackbuild.core.cancel import Stopper
from stackbuild.core.child_process import wait
from stackbuild.core.death_signal import death_signal_words
from stackbuild.core.errors import MachineLacks, StepFailed
from stackbuild.model.plan import Step
from stackbuild.runners.bwrap import Bwrap
from stackbuild.runners.log import log_pipe
from stackbuild.runners.priority import keep_niceness
from stackbuild.sources.local import LocalSource
from stackbuild.sources.mirror import Mirror


@dataclass(frozen=True)
class Job:
    """One host-side step under way: its output folder, a scratch folder, its log, and what it depends on."""

    step: Step
    out: Path
    scratch: Path
    log: Path
    stopper: Stopper
    inputs: Mapping[str, Path]
    """Trees of the needed steps by name."""
    locals: Mapping[str, LocalSource]
    """Local sources by name."""
    mirror: Mirror | None = None
    """Stands for the network where one is given."""
    warn: Callable[[str], None] = lambda text: None
    """Says a line to who watches the run."""

    @property
    def params(self) -> dict[str, str]:
        return dict(self.step.params)

    def call(self, argv: list[str], package: str, **env: str) -> None:
        """Run a tool of this machine, its output into the log. Raises MachineLacks naming the Debian package, StepFailed."""
        if not shutil.which(argv[0]):
            raise MachineLacks(f"`{argv[0]}` is not installed", next=f"apt-get install {package}")
        with self._open_log(argv) as log:
            process = subprocess.Popen(
                [*death_signal_words(), *argv],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                cwd=self.scratch,
                env={**os.environ, **env},
            )
            keep_niceness(process.pid)
            code = wait(process, self.stopper)
        self._check(argv, code)

    def call_in(self, sandbox: Bwrap, *argv: str) -> None:
        """Run a command in a sandbox, its output into the log. Raises StepFailed."""
        with (
            self._open_log(list(argv)) as log,
            sandbox.start(argv, log, cwd=self.scratch, stopper=self.stopper) as process,
        ):
            code = wait(process, self.stopper)
        self._check(list(argv), code)

    @contextlib.contextmanager
    def _open_log(self, argv: list[str]) -> Iterator[int]:
        """What a command's output goes into; its command line is in the log before."""
        with self.log.open("ab") as log:
            log.write(f"$ {shlex.join(argv)}\n".encode())
        with log_pipe(self.log) as output:
            yield output

    def _check(self, argv: list[str], code: int) -> None:
        if code != 0:
            raise StepFailed(f"`{argv[0]}` ended with exit code {code}", where=self.step.name)
