"""The bundled kernels' correctness cases (tests/emulation/check.py) on machine code that is emulated."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from stackbuild.emulator.hip_runtime import imports_of, runtime_folder
from stackbuild.emulator.service import CHANNEL, EmulatorService
from stackbuild.tables.gpu_limits import limits_of
from support.paths import ROOT


@dataclass(frozen=True)
class EmulatedCheck:
    """What a check said, its exit status, the kernels that were launched, and what the sanitizer found."""

    status: int
    said: str
    kernels: frozenset[str]
    findings: tuple[str, ...]

    @property
    def runs(self) -> int:
        """How many runs there were, 0 where the check did not end."""
        words = self.said.rpartition(" runs")[0].split()
        return int(words[-1]) if words else 0


def emulated_check(library: Path, target: str, folder: Path, *words: str, sanitize: bool = True) -> EmulatedCheck:
    """Run check.py with these words on a library whose HIP runtime is the stand-in."""
    imports = imports_of([library])
    assert imports is not None
    runtime = runtime_folder(imports, folder / "runtime")
    service = EmulatorService(limits_of(target), folder / "kernels", sanitize=sanitize)
    service.folder.mkdir(parents=True, exist_ok=True)
    with service.running() as descriptor:
        environment = {**os.environ, "LD_LIBRARY_PATH": str(runtime), CHANNEL: str(descriptor)}
        command = [sys.executable, str(ROOT / "tests" / "emulation" / "check.py"), str(library), *words]
        done = subprocess.run(
            command, env=environment, pass_fds=[descriptor], capture_output=True, text=True, check=False
        )
    reports = [*service.of("finding"), *service.of("error")]
    found = {f"{row.get('kernel')} at {row.get('pc')} ({row.get('instruction')}): {row.get('text')}" for row in reports}
    kernels = frozenset(row["kernel"] for row in service.of("dispatch"))
    return EmulatedCheck(done.returncode, done.stdout + done.stderr, kernels, tuple(sorted(found)))
