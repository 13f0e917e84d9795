"""Fuzzing of every parser of wheels, device code, signed files, results and gates: a refusal or a value, never another
exception or a hang.

A case is a batch of executions of one parser. Each input follows from the seed in the case's name, so a loss can be
repeated with `--only` and the same `--seed`. `CAMPAIGN_EXECUTIONS` says how many a parser gets (20,000; the nightly run
takes 1,000,000), and whole commands a fiftieth of it.
"""

from __future__ import annotations

import math
import os
import resource
import shutil
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from random import Random

from campaign import parsers
from campaign.frame import CampaignCase, Rig

EXECUTIONS = int(os.environ.get("CAMPAIGN_EXECUTIONS", "20000"))
BATCHES = 20
"""Batches of each parser in a whole run."""
SECONDS = 10.0
MEMORY = 1 << 30
"""What one input may take: seconds, and bytes of new memory."""


def cases(random: Random) -> Sequence[CampaignCase]:
    folder = parsers.scratch()
    rows = []
    for name, target in parsers.targets(folder).items():
        per_batch = math.ceil(EXECUTIONS * target.share / BATCHES)
        for number in range(BATCHES):
            seed = random.randrange(1 << 48)
            rows.append(CampaignCase(f"{name} {number} ({per_batch} inputs)", partial(attempt, target, per_batch, seed)))
    shutil.rmtree(folder)
    return rows


def attempt(target: parsers.ParserTarget, times: int, seed: int, folder: Path) -> str:
    """Run a batch; what was lost, with the seed of the input."""
    ours = parsers.targets(folder)[target.name]
    for number in range(times):
        data = ours.spoil(Random(f"{seed} {number}"))
        before, began = _memory(), time.monotonic()
        try:
            ours.parse(data)
        except Exception as error:  # every kind: it is the loss
            return f"input {number} of seed {seed}: {type(error).__name__}: {str(error)[:300]}"
        if (took := time.monotonic() - began) > SECONDS:
            return f"input {number} of seed {seed} took {took:.1f} s"
        if (growth := _memory() - before) > MEMORY:
            return f"input {number} of seed {seed} took {growth:,} bytes"
    return ""


def _memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


RIG = Rig(
    "parser-fuzz",
    "fuzzers of every parser of wheels, device code, signed files, results and gates",
    cases,
    needs=(),
    minimum=400,
)
