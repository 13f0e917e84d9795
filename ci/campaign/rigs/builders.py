"""Twelve builders of one recipe on one store, with `store gc` beside them, in twenty rounds."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from random import Random

from campaign.benches import CONTENT, bench_in, running, unsound, write
from campaign.frame import CampaignCase, Rig

ROUNDS, BUILDERS = 20, 12


def cases(random: Random) -> Sequence[CampaignCase]:
    return [CampaignCase(f"round {i}", partial(_round, random.randrange(1 << 30))) for i in range(ROUNDS)]


def _round(seed: int, folder: Path) -> str:
    bench = bench_in(folder)
    write(bench, str(seed))

    def start(*words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            bench.command(*words), cwd=folder, env=bench.environment(), text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    builders = [start("build", "--recipe", str(bench.recipe), "--json") for _ in range(BUILDERS)]
    collecting = f"while [ ! -e {folder}/stop ]; do '{bench.command()[0]}' -m stackbuild store gc --days 0 || [ $? = 7 ] || exit 1; done"
    collector = subprocess.Popen(
        ["sh", "-c", collecting], cwd=folder, env=bench.environment(), text=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    ran: list[str] = []
    with running(*builders):
        for process in builders:
            out, output = process.communicate(timeout=280)
            if process.returncode != 0 or "Traceback" in output:
                (folder / "stop").touch()
                return f"exit code {process.returncode}: {output[-400:]}"
            ran += [event["step"] for event in map(json.loads, out.splitlines()) if event["event"] == "StepStarted"]
        (folder / "stop").touch()
        _, output = collector.communicate(timeout=60)
    if collector.returncode != 0 or "Traceback" in output:
        return f"gc: exit code {collector.returncode}: {output[-400:]}"
    if sorted(ran) != ["one", "two"]:
        return f"steps ran {sorted(ran)}"
    if bench.leftovers():
        return f"left over: {bench.leftovers()}"
    if (bench.tree("two") / "b").read_text() != CONTENT:
        return "another output"
    return unsound(bench.store)


RIG = Rig("builders", "twelve builders and a collector on one store", cases, minimum=ROUNDS)
