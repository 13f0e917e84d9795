"""SIGKILL of a build at each system call that touches the store, and at random times, as this user and as another one."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from random import Random

from campaign.frame import CampaignCase, NotRun, Rig, scratch
from campaign.store_builds import BuildUser, KillPoint, after, other_user, own_user, points, run_traced

RANDOM, OF_OTHERS = 220, 150
LONGEST = 2.5
"""Seconds after the start within which a random kill comes: a build takes about so long under load."""


def cases(random: Random) -> Sequence[CampaignCase]:
    builders = [own_user()]
    rows = []
    try:
        builders.append(other_user())
    except NotRun as missing:
        rows += [CampaignCase(f"another user, call {n}", partial(_refuse, str(missing))) for n in range(OF_OTHERS)]
    for builder in builders:
        with scratch("store-kills") as folder:
            moments = points(builder, folder)
        if builder.name != "self":  # the same calls again: a share of them
            moments = random.sample(moments, min(OF_OTHERS, len(moments)))
        rows += [_at(builder, point) for point in moments]
    return [*rows, *(_random(builders[i % len(builders)], i, random.uniform(0.0, LONGEST)) for i in range(RANDOM))]


def _refuse(reason: str, _: Path) -> str:
    raise NotRun(reason)


def _at(builder: BuildUser, point: KillPoint) -> CampaignCase:
    call, nth = point

    def attempt(folder: Path) -> str:
        root = builder.own(folder / "own") / "store"
        process = run_traced(builder, root, "-e", f"inject={call}:signal=KILL:when={nth}", calls=call)
        if "Traceback" in process.stderr:
            return process.stderr[-400:]
        return after(root)

    return CampaignCase(f"{builder.name} {call} {nth}", attempt)


def _random(builder: BuildUser, number: int, seconds: float) -> CampaignCase:
    def attempt(folder: Path) -> str:
        root = builder.own(folder / "own") / "store"
        process = subprocess.Popen(
            builder.command(root), env=dict(builder.environment), cwd="/", stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        time.sleep(seconds)
        process.kill()
        _, output = process.communicate()
        if process.returncode not in (0, -signal.SIGKILL):
            return f"exit code {process.returncode}: {output[-400:]}"
        return after(root)

    return CampaignCase(f"{builder.name} random {number}", attempt)


RIG = Rig("store-kills", "SIGKILL of a build at each store call and at random times", cases, needs=(), minimum=500)
