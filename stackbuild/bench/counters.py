"""GPU kernels' hardware counters by rocprofv3, where it is installed: occupancy, L2 hits, LDS bank conflicts.

rocprofv3 writes one CSV row per counter and dispatch (rocprofiler-sdk, docs/how-to/using-rocprofv3). If a counter cannot
be collected, it writes no CSV and still exits 0, so the file is what is checked. The tests read the documented rows and
replace the program by a script with the same arguments: no machine of the project had rocprofv3.
"""

from __future__ import annotations

import csv
import io
import os
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from stackbuild.bench.environment import WorkerEnvironment
from stackbuild.bench.job import run_job
from stackbuild.core.digest import Json
from stackbuild.model.results import KernelCounters

PROGRAM = "rocprofv3"
COUNTERS = ("OccupancyPercent", "L2CacheHit", "LDSBankConflict")


def program() -> str | None:
    """Where rocprofv3 is: on the path, or in ROCm's own folder."""
    folders = [os.environ.get("PATH", ""), f"{os.environ.get('ROCM_PATH', '/opt/rocm')}/bin"]
    return shutil.which(PROGRAM, path=os.pathsep.join(folders))


def collect_counters(
    environment: WorkerEnvironment, job: dict[str, Json], rocprof: str
) -> tuple[tuple[KernelCounters, ...], tuple[str, ...]]:
    """The counters of every kernel that the job dispatches, longest first, and why others are missing.

    One process per counter: they share the hardware's slots.
    """
    texts, missing = [], []
    with tempfile.TemporaryDirectory(prefix="stackbuild-counters-") as folder:
        for counter in COUNTERS:
            out = Path(folder) / counter
            words = (rocprof, "--pmc", counter, "-T", "--output-format", "csv", "-d", str(out), "-o", "c", "--")
            answer = run_job(replace(environment, launcher=words), job)
            files = sorted(out.rglob("*counter_collection.csv"))
            texts += [file.read_text(errors="replace") for file in files]
            if answer.problem or not files:
                missing.append(f"{PROGRAM} gave no {counter}: {answer.problem or 'it wrote no counters'}")
    return parse_counters(texts), tuple(missing)


def parse_counters(texts: Iterable[str]) -> tuple[KernelCounters, ...]:
    """Sums of CSVs: seconds and dispatches of each kernel, and each counter's mean weighted by time."""
    seconds: dict[tuple[str, str], float] = defaultdict(float)
    weighted_sums: dict[tuple[str, str], float] = defaultdict(float)
    dispatches: dict[tuple[str, str], int] = defaultdict(int)
    for text in texts:
        for row in csv.DictReader(io.StringIO(text)):
            who = (row["Kernel_Name"], row["Counter_Name"])
            took = (int(row["End_Timestamp"]) - int(row["Start_Timestamp"])) * 1e-9
            seconds[who] += took
            weighted_sums[who] += took * float(row["Counter_Value"])
            dispatches[who] += 1
    rows = []
    for kernel in {name for name, _ in seconds}:
        keys = [who for who in seconds if who[0] == kernel]
        counters = {who[1]: weighted_sums[who] / seconds[who] if seconds[who] else 0.0 for who in sorted(keys)}
        rows.append(KernelCounters(kernel, max(dispatches[w] for w in keys), max(seconds[w] for w in keys), counters))
    return tuple(sorted(rows, key=lambda k: (-k.seconds, k.kernel)))
