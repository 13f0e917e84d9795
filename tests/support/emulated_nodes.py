"""ONNX's node tests through the plugin provider, its device code emulated."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from stackbuild.emulator.hip_runtime import imports_of, runtime_folder
from stackbuild.emulator.service import CHANNEL, EmulatorService
from stackbuild.tables.gpu_limits import limits_of
from support.paths import ROOT

CHECK = ROOT / "kernels" / "ep" / "gpu-check"
_COUNTS = re.compile(r"ONNX node tests: (\d+) passed, (\d+) failed, (\d+) not wholly ours, (\d+) that")


@dataclass(frozen=True)
class NodeTests:
    """How many node tests ended how, what kinds of reports the emulator made, and all that was printed."""

    passed: int
    failed: int
    elsewhere: int
    reports: Counter[str]
    output: str


def run_node_tests(provider: Path, target: str, kept: Path) -> NodeTests:
    """Run them with the provider's libraries in folder `provider`; translated kernels are kept in `kept`."""
    imports = imports_of([provider / "librockernels_ep_hip.so"])
    service = EmulatorService(limits_of(target), kept / "kernels")
    (kept / "kernels").mkdir(parents=True, exist_ok=True)
    library = provider / "libonnxruntime_ep_rockernels.so"
    with service.running() as descriptor:
        runtime = runtime_folder(imports, kept / "runtime")
        environment = {**os.environ, "LD_LIBRARY_PATH": str(runtime), CHANNEL: str(descriptor)}
        command = [sys.executable, str(CHECK), "--library", str(library), "--only", "nodes"]
        done = subprocess.run(
            command, env=environment, pass_fds=[descriptor], capture_output=True, text=True, check=False
        )
    found = _COUNTS.search(done.stdout)
    assert found, done.stdout[-1000:] + done.stderr[-2000:]
    passed, failed, elsewhere = (int(found[i]) for i in (1, 2, 3))
    return NodeTests(passed, failed, elsewhere, Counter(report.kind for report in service.reports), done.stdout)
