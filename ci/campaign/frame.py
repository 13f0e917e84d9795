"""What every rig of the campaign shares: cases, seeds, shares, and the count of what was tried and what survived."""

from __future__ import annotations

import math
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from support.build_bench import changed_base


class NotRun(Exception):
    """A case cannot run on this machine; its text says what is missing."""


@dataclass(frozen=True)
class CampaignCase:
    """One attack. `attempt` runs it in an empty folder and returns what was lost, "" where everything held.

    An exception other than NotRun counts as a loss.
    """

    name: str
    attempt: Callable[[Path], str]


@dataclass(frozen=True)
class Rig:
    """A family of attacks. `cases` makes all of them from a seeded generator, always in the same order.

    `needs` are markers of pyproject.toml ("sandbox", "docker") that say what the machine must have. `minimum` is how many
    cases a whole run must have tried: a rig that tries fewer fails.
    """

    name: str
    summary: str
    cases: Callable[[Random], Sequence[CampaignCase]]
    needs: tuple[str, ...] = ("sandbox",)
    minimum: int = 1


@dataclass
class RigReport:
    """What a rig tried; `lost` and `not_run` are pairs of a case's name and the reason."""

    rig: str
    seed: int
    tried: int = 0
    survived: int = 0
    lost: list[tuple[str, str]] = field(default_factory=list)
    not_run: list[tuple[str, str]] = field(default_factory=list)
    seconds: float = 0.0

    def line(self) -> str:
        """The count in one line, as each rig prints it."""
        missing = f" · not run {len(self.not_run)}" if self.not_run else ""
        return f"{self.rig}: tried {self.tried} · survived {self.survived}{missing} · {self.seconds:.1f} s · seed {self.seed}"


@dataclass(frozen=True)
class Shard:
    """One of `count` parts of a rig's cases: processes side by side take one each. `number` counts from 1."""

    number: int = 1
    count: int = 1

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Such as `2/4`. Raises ValueError."""
        number, _, count = text.partition("/")
        shard = cls(int(number), int(count))
        if not 1 <= shard.number <= shard.count:
            raise ValueError(f"there is no shard {text}")
        return shard

    def of(self, cases: Sequence[CampaignCase]) -> list[CampaignCase]:
        return list(cases[self.number - 1 :: self.count])


def sample(rig: Rig, seed: int, share: float = 1.0, only: str = "") -> list[CampaignCase]:
    """The cases of a run: all, or that share of them (at least one) drawn with the seed, or those whose name has `only`."""
    random = Random(f"{rig.name} {seed}")
    cases = list(rig.cases(random))
    if len({case.name for case in cases}) != len(cases):
        raise ValueError(f"two cases of {rig.name} have one name")
    if only:
        return [case for case in cases if only in case.name]
    if share >= 1:
        if len(cases) < rig.minimum:
            raise ValueError(f"{rig.name} has {len(cases)} cases, fewer than {rig.minimum}")
        return cases
    return random.sample(cases, max(1, math.ceil(share * len(cases))))


def run(
    rig: Rig, cases: Sequence[CampaignCase], seed: int, tick: Callable[[CampaignCase, str], None] = lambda case, loss: None
) -> RigReport:
    """Try the cases one after the other, each in a folder of its own; `tick` is called after each one."""
    count, start_time = RigReport(rig.name, seed), time.monotonic()
    for case in cases:
        with scratch(rig.name) as folder:
            try:
                loss = case.attempt(folder)
            except NotRun as missing:
                count.not_run.append((case.name, str(missing)))
                continue
            except Exception as error:
                loss = f"{type(error).__name__}: {error}"
        loss = loss or changed_base()
        count.tried += 1
        if loss:
            count.lost.append((case.name, loss))
        else:
            count.survived += 1
        tick(case, loss)
    count.seconds = time.monotonic() - start_time
    return count


@contextmanager
def scratch(name: str) -> Iterator[Path]:
    """An empty folder below /var/tmp that any user can enter; removed afterwards, however deep it has become."""
    folder = Path(tempfile.mkdtemp(prefix=f"stackbuild-campaign-{name}-", dir="/var/tmp"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        open_files = [
            "find",
            str(folder),
            "-type",
            "d",
            "-exec",
            "chmod",
            "u+rwx",
            "{}",
            "+",
        ]  # files may be links to the tests' base
        subprocess.run(open_files, check=False, stderr=subprocess.DEVNULL)
        subprocess.run(["rm", "-rf", "--", str(folder)], check=True)
