"""Seconds and memory of `stackbuild inspect` beside `auditwheel show` on the same wheels, side by side in turns.

    python tests/integration/inspection/measure_inspect.py ROUNDS WHEEL...

Each run is a fresh process. Prints a table: median and best wall seconds, median CPU seconds (user + system), peak memory
of the process, for both, and the ratio of CPU seconds. `reading` is the library call alone, without start-up and rules.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

READ = (
    "import sys, time; from pathlib import Path; from stackbuild.inspection import inspect; p = Path(sys.argv[1]); "
    "w, c = time.perf_counter(), time.process_time(); inspect(p); "
    "print(time.perf_counter() - w, time.process_time() - c)"
)


def run(words: list[str]) -> tuple[float, float, float, str]:
    """Wall seconds, CPU seconds, peak MiB and output of one process."""
    started = time.perf_counter()
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    output = process.stdout.read()  # type: ignore[union-attr]
    _, _, used = os.wait4(process.pid, 0)
    return time.perf_counter() - started, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, output


def main() -> None:
    rounds, wheels = int(sys.argv[1]), [Path(name) for name in sys.argv[2:]]
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores, {rounds} rounds\n")
    print("| wheel | | wall median (best) | CPU | peak |\n|---|---|---|---|---|")
    for wheel in wheels:
        rows: dict[str, list[tuple[float, float, float]]] = {"inspect": [], "reading": [], "auditwheel show": []}
        for _ in range(rounds):
            rows["inspect"].append(run([sys.executable, "-m", "stackbuild", "inspect", "--json", str(wheel)])[:3])
            wall, cpu = map(float, (made := run([sys.executable, "-c", READ, str(wheel)]))[3].split())
            rows["reading"].append((wall, cpu, made[2]))
            rows["auditwheel show"].append(run([sys.executable, "-m", "auditwheel", "show", str(wheel)])[:3])
        for name, taken in rows.items():
            walls, cpus, peaks = zip(*taken, strict=True)
            print(
                f"| {wheel.name.split('-')[0]} | {name} | {median(walls):.2f} s ({min(walls):.2f}) | {median(cpus):.2f} s | {max(peaks):.0f} MiB |"
            )
        ratio = median(c for _, c, _ in rows["auditwheel show"]) / median(c for _, c, _ in rows["inspect"])
        print(f"| {wheel.name.split('-')[0]} | auditwheel ÷ inspect, CPU | | {ratio:.2f} | |", flush=True)


if __name__ == "__main__":
    main()
