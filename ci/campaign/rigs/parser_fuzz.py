"""Fuzzing of every parser of wheels, device code, results and gates: a refusal or a value, never another exception or a hang.

A case is a batch of executions of one parser. Each input follows from the seed in the case's name, so a loss can be
repeated with `--only` and the same `--seed`.
"""

from __future__ import annotations

import math
import resource
import shutil
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from random import Random

from campaign import parsers
from campaign.frame import CampaignCase, Rig

BATCHES = 40
"""Batches of each parser in a whole run."""
SECONDS = 10.0
MEMORY = 1 << 30
"""What one input may take: seconds, and bytes of new memory."""


def cases(random: Random) -> Sequence[CampaignCase]:
    folder = parsers.scratch()
    rows = []
    for name, (target, times) in parsers.targets(folder).items():
        per_batch = math.ceil(times / BATCHES)
        for number in range(BATCHES):
            seed = random.randrange(1 << 48)
            rows.append(CampaignCase(f"{name} {number} ({per_batch} inputs)", partial(attempt, target, per_batch, seed)))
    shutil.rmtree(folder)
    return rows


def attempt(target: parsers.ParserTarget, times: int, seed: int, folder: Path) -> str:
    """Run a batch; what was lost, with the seed of the input."""
    ours = parsers.targets(folder)[target.name][0]
    for number in range(times):
        data = ours.spoil(Random(f"{seed} {number}"))
        before, began = _memory(), time.monotonic()
        try:
            ours.parse(data)
        except Exception as error:  # every kind: it is the loss
            return f"input {number} of seed {seed}: {type(error).__name__}: {str(error)[:300]}"
        if (took := time.monotonic() - began) > SECONDS:
            return f"input {number} of seed {seed} took {took:.1f} s"
        if (grown := _memory() - before) > MEMORY:
            return f"input {number} of seed {seed} took {grown:,} bytes"
    return ""


def _memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


RIG = Rig(
    "parser-fuzz",
    "every parser of wheels, device code, results and gates on damaged input: 1,314,000 executions",
    cases,
    needs=(),
    minimum=400,
)
