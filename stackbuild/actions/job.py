"""What a host-side action is given, and how it calls the tools of this machine."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from stackbuild.core.cancel import Stopper
from stackbuild.core.errors import MachineLacks, StepFailed
from stackbuild.model.plan import Step
from stackbuild.sources.local import LocalSource
from stackbuild.sources.mirror import Mirror

_DIE_WITH_US = ("setpriv", "--pdeathsig", "KILL", "--")
"""A tool that is still at work when we are killed ends with us; what it left is in our staging folder, which the next run removes."""


@dataclass(frozen=True)
class Job:
    """One host-side step under way: its output folder, a scratch folder, its log, and what it stands on."""

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
        with self.log.open("ab") as log:
            log.write(f"$ {' '.join(argv)}\n".encode())
            log.flush()
            process = subprocess.Popen(
                [*_DIE_WITH_US, *argv] if shutil.which(_DIE_WITH_US[0]) else argv,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                cwd=self.scratch,
                env={**os.environ, **env},
            )
            code = self.stopper.wait(process)
        if code != 0:
            raise StepFailed(f"`{argv[0]}` ended with exit code {code}", where=self.step.name)
