#!/usr/bin/env python3
"""How many lane-operations a CPU second the emulator does: tests/emulation/speed.py LIBRARY.so TARGET [OPERATOR]….

Of each operator and element type the largest correctness case of at most 2·10⁷ multiplications is launched once, which
translates it, and then for a second of one thread's CPU time. Lane-operations are vector instructions × active lanes. They
are counted in a run of their own, so that counting costs nothing in the other. Prints a line a case, and the machine's load.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from stackbuild.emulator.hip_runtime import imports_of, runtime_folder
from stackbuild.emulator.service import CHANNEL, EmulatorService
from stackbuild.tables.gpu_limits import limits_of

ROOT = Path(__file__).resolve().parents[2]
OPERATORS = ("LeakyRelu", "BatchNormalization", "GroupNormalization", "Conv", "Attention")
SECONDS = 1.0
WORK = 2e7
LANE_OPERATIONS = 2
"""The place of this count among those that a stand-in reports (struct emulator_counters)."""


def launch(library: Path, operator: str, dtype: str, seconds: float) -> None:
    """In a process of its own, on the stand-in: print the case's name, how often it was launched, and the last ones' time."""
    sys.path[:0] = [str(ROOT / "kernels"), str(ROOT / "tests" / "emulation")]
    import check
    from tools import correctness
    from tools import device as d

    device = d.GpuDevice(library, 0)
    cases = [pair for pair in check.small_cases(0, (0, 1), operator) if pair[0].dtype == dtype and check.products(pair[0]) <= WORK]
    case, last = max(cases, key=lambda pair: check.products(pair[0]))
    placed = correctness.allocate(device, case, last)
    placed.run(device)
    device.synchronize()
    start, count = time.process_time(), 0
    while not count or time.process_time() - start < seconds:
        placed.run(device)
        device.synchronize()
        count += 1
    wrong = placed.verdict()
    assert wrong is None, wrong
    print(json.dumps([f"{operator} {dtype} {case.name}", count, time.process_time() - start]))


def run(library: Path, target: str, folder: Path, words: list[str], *, counters: bool) -> tuple[str, int, float, int]:
    """What a launching process printed, and the lane-operations of all its launches."""
    imports = imports_of([library])
    assert imports is not None, "the library does not need the HIP runtime"
    service = EmulatorService(limits_of(target), folder / "kernels", counters=counters)
    service.folder.mkdir(parents=True, exist_ok=True)
    runtime = runtime_folder(imports, folder / "runtime")
    with service.running() as descriptor:
        environment = os.environ | {"LD_LIBRARY_PATH": str(runtime), CHANNEL: str(descriptor), "STACKBUILD_EMULATOR_THREADS": "1"}
        command = [sys.executable, __file__, "--launch", str(library), *words, str(0 if counters else SECONDS)]
        done = subprocess.run(command, env=environment, pass_fds=[descriptor], stdout=subprocess.PIPE, text=True, check=True)
    name, count, seconds = json.loads(done.stdout)
    return name, count, seconds, sum(int(row["counters"].split(",")[LANE_OPERATIONS]) for row in service.of("dispatch"))


def main() -> int:
    if sys.argv[1:2] == ["--launch"]:
        launch(Path(sys.argv[2]), sys.argv[3], sys.argv[4], float(sys.argv[5]))
        return 0
    library, target = Path(sys.argv[1]).resolve(), sys.argv[2]
    with tempfile.TemporaryDirectory() as folder:
        for operator in sys.argv[3:] or OPERATORS:
            for dtype in ("float32", "float16"):
                _, counted, _, lane_operations = run(library, target, Path(folder), [operator, dtype], counters=True)
                of_launch = lane_operations // (counted + 1)
                name, count, seconds, _ = run(library, target, Path(folder), [operator, dtype], counters=False)
                rate = of_launch * count / seconds / 1e6
                print(f"{name}: {rate:,.0f} million a second ({of_launch:,} a launch, {count} launches in {seconds:.2f} s)", flush=True)
    print(f"load {os.getloadavg()[0]:.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
