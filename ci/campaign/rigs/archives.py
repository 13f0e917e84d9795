"""Archives that nobody should be able to unpack, and good ones with bytes changed: refused whole, or whole and inside."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from random import Random

from campaign.frame import CampaignCase, Rig
from stackbuild.core.errors import StepFailed
from stackbuild.sources.archive import unpack
from support.hostile_archives import hostile, mutated

MUTATIONS = 400
MOST_SECONDS, MOST_MEMORY = 20.0, 600 << 20
"""What one archive may take of the processor, and of memory beyond what was in use."""


def cases(random: Random) -> Sequence[CampaignCase]:
    fixed_cases = [CampaignCase(f"hostile: {name}", partial(_attempt, write, True)) for name, write in hostile().items()]
    mutations = (partial(mutated, Random(random.randrange(1 << 30))) for _ in range(MUTATIONS))
    return [*fixed_cases, *(CampaignCase(f"mutated: {i}", partial(_attempt, write, False)) for i, write in enumerate(mutations))]


def _attempt(write: Callable[[Path], Path], is_hostile: bool, folder: Path) -> str:
    archive, out = folder / "archive", folder / "around" / "out"
    out.mkdir(parents=True)
    write(archive)
    began, memory = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        unpack(archive, out)
        is_refused = False
    except StepFailed:
        is_refused = True
    took = time.process_time() - began
    growth = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory) << 10
    if took > MOST_SECONDS or growth > MOST_MEMORY:
        return f"it took {took:.1f} s and {growth >> 20} MiB"
    if [path.name for path in folder.iterdir() if path.name not in ("archive", "around")] or len(
        list(out.parent.iterdir())
    ) != 1:
        return "something was written outside"
    if is_refused:
        return "the refusal left files" if any(out.iterdir()) else ""
    return "it was taken" if is_hostile else _outside(out)


def _outside(out: Path) -> str:
    """A link that leads out of the tree, or what is neither file, folder nor link."""
    for place, folders, names in os.walk(out):
        for path in (Path(place) / name for name in (*folders, *names)):
            if path.is_symlink():
                target = os.path.normpath(f"{path.parent.resolve()}/{path.readlink()}")
                if not Path(target).is_relative_to(out.resolve()):
                    return f"{path.name} leads to {target}"
            elif not (path.is_file() or path.is_dir()):
                return f"{path.name} is special"
    return ""


RIG = Rig("archives", "hostile and mutated archives", cases, needs=(), minimum=500)
