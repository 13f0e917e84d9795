"""The gate on trial for real: `stackbuild gate`'s own code on two wheels whose difference is known.

    PYTHONPATH=tests python -m support.gate_trial --runs 0=200 0.02=40 0.05=40 0.1=40 --jobs 2 --seconds 1500

Every run is a whole judgement: fresh processes, interleaved sides, A/A control, 20 to 60 pairs, delta 3 %. With --jobs N
so many run side by side, each pinned to a core of its own (of those that `taskset` leaves). No run is begun after
--seconds; the effects take turns, so that the counts stay in proportion. Prints one row per effect, with what the count
says about the rate: its upper or lower bound at 95 % (Clopper and Pearson, 1934).
"""

from __future__ import annotations

import argparse
import json
import math
import os
import queue
import shutil
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from stackbuild.bench.experiment import no_progress
from stackbuild.bench.gate import GateRequest, run_gate
from stackbuild.model.gates import Gates
from support.slowed_wheels import slowed, small_model

GATES = Gates.model_validate({"gates": [{"kind": "baseline", "delta": "3%"}]}).gates
SUITE = """kind: models
budget: {warm_seconds: 0.1, seconds: 0.05, least: 10, most: 400}
files: [{file: small.onnx, shapes: [{x: [64, 256]}]}]
"""
TrialRow = dict[str, object]


def prepare(folder: Path) -> Path:
    """A small model and the suite that measures it."""
    small_model(folder)
    (folder / "small.yaml").write_text(SUITE)
    return folder / "small.yaml"


def pinned(core: int, folder: Path) -> Path:
    """An interpreter that keeps to one core."""
    python = folder / f"python-{core}"
    if not python.exists():
        there = shutil.which("taskset")
        onto = f"import os, sys; os.sched_setaffinity(0, [{core}]); os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
        command = f"{there} -c {core} {sys.executable}" if there else f"{sys.executable} -S -c '{onto}'"
        python.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
        python.chmod(0o755)
    return python


def one(suite: Path, baseline: Path, candidate: Path, cache: Path, seed: int, python: Path) -> TrialRow:
    """One whole judgement."""
    began = time.monotonic()
    asked = GateRequest(candidate, baseline, str(suite), threads=1, seed=seed, cache=cache, python=python)
    (gate,) = run_gate(asked, GATES, no_progress).verdict.gates
    seconds = round(time.monotonic() - began, 1)
    return {
        "outcome": gate.outcome.value,
        "ratio": gate.value,
        "pairs": gate.pairs,
        "seconds": seconds,
        "says": gate.says,
    }


def turns(runs: dict[float, int]) -> list[tuple[float, int]]:
    """Every (effect, run), spread so that any beginning of the list holds the effects in proportion."""
    return sorted(
        ((effect, n) for effect, count in runs.items() for n in range(count)), key=lambda t: (t[1] + 0.5) / runs[t[0]]
    )


def trial(runs: dict[float, int], jobs: int, seconds: float) -> dict[float, list[TrialRow]]:
    """So many judgements of every effect; none is begun after `seconds`."""
    cores: queue.Queue[int] = queue.Queue()
    for core in sorted(os.sched_getaffinity(0))[:jobs]:
        cores.put(core)
    found: dict[float, list[TrialRow]] = {effect: [] for effect in runs}
    end = time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as pool:
        home = Path(folder)
        suite, baseline = prepare(home), slowed(home, 0.0)
        wheels = {effect: slowed(home / "candidates", effect) for effect in runs}

        def begin(effect: float, number: int) -> None:
            core = cores.get()
            try:
                if time.monotonic() < end:
                    found[effect].append(one(suite, baseline, wheels[effect], home, number, pinned(core, home)))
            finally:
                cores.put(core)

        for future in [pool.submit(begin, *turn) for turn in turns(runs)]:
            future.result()
    return found


def at_most(count: int, of: int, error: float = 0.05) -> float:
    """The largest rate at which `count` or fewer of `of` still happen with that probability."""
    low, high = 0.0, 1.0
    for _ in range(60):
        rate = (low + high) / 2
        chance = math.fsum(math.comb(of, k) * rate**k * (1 - rate) ** (of - k) for k in range(count + 1))
        low, high = (rate, high) if chance > error else (low, rate)
    return high


def said(effect: float, rows: list[TrialRow]) -> str:
    """One effect's row."""
    if not rows:
        return f"{effect:+.0%}  0 runs"
    counts = Counter(str(row["outcome"]) for row in rows)
    ratios = sorted(float(str(row["ratio"])) for row in rows if row["ratio"])
    wrong, name = (counts["FAIL"], "FAIL") if effect < 0.03 else (len(rows) - counts["FAIL"], "anything but FAIL")
    bound = f"{name} {wrong} of {len(rows)}: a rate of at most {at_most(wrong, len(rows)):.1%} (95 %)"
    shown = "  ".join(f"{outcome} {count}" for outcome, count in sorted(counts.items()))
    middle = f"ratios {ratios[0]:.3f}, {ratios[len(ratios) // 2]:.3f}, {ratios[-1]:.3f}" if ratios else ""
    pairs = sum(int(str(row["pairs"])) for row in rows) / len(rows)
    return f"{effect:+.0%}  {len(rows)} runs  {shown}  {middle}  {pairs:.0f} pairs  {bound}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", nargs="+", default=["0=5", "0.02=5", "0.05=5", "0.1=5"], metavar="EFFECT=N")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    runs = {float(effect): int(count) for effect, _, count in (text.partition("=") for text in asked.runs)}
    began, load = time.monotonic(), os.getloadavg()[0]
    found = trial(runs, asked.jobs, asked.seconds)
    print(f"{asked.jobs} at once, load {load:.1f} before, {time.monotonic() - began:.0f} s")
    for effect, rows in found.items():
        print(said(effect, rows))
    if asked.out:
        asked.out.write_text(json.dumps({str(e): rows for e, rows in found.items()}, indent=1))


if __name__ == "__main__":
    main()
