"""The bundled kernels' correctness cases (tests/emulation/check.py) on machine code that is emulated."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from stackbuild.emulator.code_object import load
from stackbuild.emulator.code_objects import code_object_for
from stackbuild.emulator.counter_model import EmulatedCounters, sum_by_kernel
from stackbuild.emulator.hip_runtime import imports_of, runtime_folder
from stackbuild.emulator.native_library import compiler
from stackbuild.emulator.service import CHANNEL, EmulatorService
from stackbuild.inspection.readers.byte_parser import MalformedError
from stackbuild.tables.gpu_limits import limits_of
from support.paths import ROOT


@dataclass(frozen=True)
class EmulatedCheck:
    """What a check said, its exit status, the kernels that were launched, and what the sanitizer found."""

    status: int
    said: str
    kernels: frozenset[str]
    findings: tuple[str, ...]
    counters: tuple[EmulatedCounters, ...] = ()

    @property
    def runs(self) -> int:
        """How many runs there were, 0 where the check did not end."""
        words = self.said.rpartition(" runs")[0].split()
        return int(words[-1]) if words else 0


def emulated_check(library: Path, target: str, folder: Path, *words: str, sanitize: bool = True) -> EmulatedCheck:
    """Run check.py with these words on a library whose HIP runtime is the stand-in."""
    service = EmulatorService(limits_of(target), folder / "kernels", sanitize=sanitize)
    return _checked(service, library, folder, "check.py", *words)


def each_kernel_check(
    library: Path, kernels: Iterable[str], target: str, folder: Path, *words: str
) -> list[EmulatedCheck]:
    """Run each_kernel.py with these words under the sanitizer: on the target's GPU, then what is left on one of few units.

    Some kernels are for launches that fill a device. One of a single compute unit is filled by a small case.
    """
    folder.mkdir(parents=True, exist_ok=True)
    launches, wanted = folder / "launches.so", folder / "kernels.txt"
    source = ROOT / "tests" / "emulation" / "launches.c"
    subprocess.run([compiler(), "-shared", "-fPIC", "-O1", "-o", launches, source, "-ldl"], check=True)
    left, checks = set(kernels), list[EmulatedCheck]()
    for limits, work in ((limits_of(target), "2e7"), (replace(limits_of(target), units=1), "1e8")):
        wanted.write_text("\n".join(sorted(left)))
        service = EmulatorService(limits, folder / "kernels", sanitize=True, counters=True)
        every = ("--kernels", str(wanted), "--work", work, *words)
        checks.append(_checked(service, library, folder, "each_kernel.py", *every, preloaded=launches))
        left -= checks[-1].kernels
        if not left:
            break
    return checks


def kernel_names(library: Path, target: str) -> Iterator[str]:
    """The kernels of a target in a library, by their mangled names."""
    data = library.read_bytes()
    for bundle in re.finditer(rb"__CLANG_OFFLOAD_BUNDLE__", data):
        with contextlib.suppress(MalformedError):  # a bundle without this target
            yield from (kernel.name for kernel in load(code_object_for(target, data[bundle.start() :])).kernels)


def _checked(
    service: EmulatorService, library: Path, folder: Path, script: str, *words: str, preloaded: Path | None = None
) -> EmulatedCheck:
    """Run a script of tests/emulation on the library."""
    imports = imports_of([library])
    assert imports is not None
    runtime = runtime_folder(imports, folder / "runtime")
    service.folder.mkdir(parents=True, exist_ok=True)
    with service.running() as descriptor:
        environment = {**os.environ, "LD_LIBRARY_PATH": str(runtime), CHANNEL: str(descriptor)}
        if preloaded:
            environment["LD_PRELOAD"] = f"{preloaded}:{runtime / imports.soname}"
        command = [sys.executable, str(ROOT / "tests" / "emulation" / script), str(library), *words]
        done = subprocess.run(
            command, env=environment, pass_fds=[descriptor], capture_output=True, text=True, check=False
        )
    reports = [*service.of("finding"), *service.of("error")]
    found = {f"{row.get('kernel')} at {row.get('pc')} ({row.get('instruction')}): {row.get('text')}" for row in reports}
    kernels = frozenset(row["kernel"] for row in service.of("dispatch"))
    return EmulatedCheck(
        done.returncode, done.stdout + done.stderr, kernels, tuple(sorted(found)), sum_by_kernel(service.reports)
    )
