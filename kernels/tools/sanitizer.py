"""compute-sanitizer over the correctness cases: what to run, and what to make of what it says."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from tools.selection import MODULES, SAMPLE

CHECKS = ("racecheck", "memcheck", "synccheck")
PROCESSES = {False: 4, True: 6}  # that share a check's cases out; thorough or not
# What it prints last about a program in which it found nothing.
NOTHING_FOUND = {"racecheck": r"^=+ RACECHECK SUMMARY: 0 hazards displayed \(0 errors, 0 warnings\)", "memcheck": r"^=+ ERROR SUMMARY: 0 errors",
                 "synccheck": r"^=+ ERROR SUMMARY: 0 errors"}
ALL_RIGHT = r"^(\d+) of (\d+) cases right"


def commands(tool: str, library: Path, seed: int, thorough: bool, operators: list[str]) -> dict[str, list[str]]:
    """Names and commands. Not thorough: a sample of the cases, another with another seed; one other way of each convolution; and the two checks of
    shared memory without LeakyRelu, which uses none."""
    by_name = {}
    for check in CHECKS:
        selection = [op for op in operators or MODULES if thorough or check == "memcheck" or op != "LeakyRelu"]
        for part in parts(seed, thorough) if selection else ():
            inside = [sys.executable, str(Path(__file__).with_name("stage.py")), "correct", "--library", str(library), "--seed", str(seed), "--part", part, "--tight"]
            inside += [word for op in selection for word in ("--op", op)] + ([] if thorough else ["--one-way"])
            by_name[f"{check} {part}"] = [tool, "--tool", check, "--error-exitcode", "9", *inside]
    return by_name


def parts(seed: int, thorough: bool) -> list[str]:
    """Each process' part of the cases."""
    count = PROCESSES[thorough]
    if thorough:
        return [f"{i}/{count}" for i in range(count)]
    return [f"{i * SAMPLE + seed % SAMPLE}/{count * SAMPLE}" for i in range(count)]


def summary(output: str) -> str:
    """The lines that count."""
    return " | ".join(line for line in output.splitlines() if re.search(ALL_RIGHT, line) or "SUMMARY" in line)


def failure(check: str, status: int, output: str) -> str:
    """What is wrong about a run of the tool `check`; "" where cases ran, were right, and it says that it found nothing."""
    if status:
        return "it found something, or a case is wrong"
    right = re.search(ALL_RIGHT, output, re.MULTILINE)
    if right is None or int(right[1]) == 0 or right[1] != right[2]:
        return "no case ran in it"
    if not re.search(NOTHING_FOUND[check], output, re.MULTILINE):
        return "it does not say that it found nothing"
    return ""
