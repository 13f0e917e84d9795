"""Measures real builds on one worker and on two, each with cores and a store of its own, from empty.

    .venv/bin/python ci/measure_builds.py --cores 4
    .venv/bin/python ci/measure_builds.py --cores 3 --rounds 3 --local 4
    .venv/bin/python ci/measure_builds.py --cores 1 --gfx gfx1100 --recipe debian-13

A docker-registry on loopback is the remote. A worker may use its `--cores` alone; the first `--spare` cores are for the
registry, the scheduler and the clients. One client a recipe builds all its components, by default those of debian-13
and debian-sid; all start at once. The environments in which wheels are proved are left out of the recipes, for they
are downloads alone. The time ends when the last client has its wheels. Stores, registry and compiler caches are new
each time. With `--beside` the cluster of one worker and the one of two run at the same time, on cores of their own,
and with `--local N` a build without a cluster, on N cores, of which the digests are compared. It needs Debian's
archive, docker-registry, and some gigabytes in $TMPDIR.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CI = Path(__file__).resolve().parent
sys.path[:1] = [str(CI), str(CI.parent / "tests"), str(CI.parent)]

from measure_remote import registry  # noqa: E402

from stackbuild.build.build import build  # noqa: E402
from stackbuild.build.order import Order, open_context  # noqa: E402
from stackbuild.cluster.address import TlsFiles, parse_address  # noqa: E402
from stackbuild.cluster.open import placement  # noqa: E402
from stackbuild.model.choice import Choice  # noqa: E402
from stackbuild.model.events import Event, document  # noqa: E402
from stackbuild.model.lock import questions_digest  # noqa: E402
from stackbuild.recipe.load import load  # noqa: E402
from stackbuild.recipe.prepare import prepare  # noqa: E402
from stackbuild.remote.settings import read_settings  # noqa: E402
from support.clusters import cluster  # noqa: E402

RECIPES = ("debian-13", "debian-sid")
RECIPE_PARTS = re.compile(r"^(verify|bench|gates|publish):.*?(?=^\S|\Z)", re.MULTILINE | re.DOTALL)
LOCK_PARTS = re.compile(r"^wheelhouse:.*?(?=^\S|\Z)|^  \"wheelhouse[^\n]*\n", re.MULTILINE | re.DOTALL)
QUESTIONS = re.compile(r"^asked: .*$", re.MULTILINE)


class CoreSet:
    """The cores of this process, given out to whom they are for. Raises SystemExit where there are too few."""

    def __init__(self) -> None:
        self._free = sorted(os.sched_getaffinity(0))

    def take(self, count: int) -> set[int]:
        if count > len(self._free):
            raise SystemExit(f"{count} more cores are needed, {len(self._free)} are left: less --cores or --spare")
        cores, self._free = set(self._free[:count]), self._free[count:]
        return cores


@dataclass
class BuildFigure:
    """What one way of building took: wall seconds, the steps as the events tell of them, and their output digests."""

    what: str
    wall: float
    steps: list[dict[str, Any]] = field(default_factory=list)

    def trees(self) -> dict[tuple[str, str], str]:
        """Output digests by key and step."""
        return {(step["key"], step["step"]): step["tree"] for step in self.steps}

    def print_rows(self) -> None:
        print(f"steps of {self.what}:")
        for step in self.steps:
            if float(step["seconds"]) >= 1:
                row = f"{step['seconds']:7.1f} s until {step['at']:7.1f} s  {step['how']:8} {step['machine']}"
                print(f"    {step['recipe']:12} {step['step']:24} {row}", flush=True)


def build_recipe(path: str, gfx: list[str], address: str) -> None:
    """One client: build a recipe, by that scheduler's workers or here, and print its events as JSON lines."""
    prepared_recipe = prepare(path, Choice(gfx=tuple(gfx)))
    place = placement(parse_address(address, TlsFiles()), "sandbox") if address else None
    order = Order(Choice(gfx=tuple(gfx)), remotes=read_settings() if address else None, place=place)
    with open_context(prepared_recipe.loaded_recipe, order, (print_event,)) as context:
        build(prepared_recipe, order, context)


def print_event(event: Event) -> None:
    print(json.dumps({**document(event), "printed": time.time()}), flush=True)


def without_proof(recipe: str, folder: Path) -> Path:
    """A copy of a recipe and its lock without the environments that its wheels are proved in; the same keys."""
    source = load(recipe)
    copy = folder / source.path.name
    copy.write_text(RECIPE_PARTS.sub("", source.path.read_text()))
    lock = LOCK_PARTS.sub("", source.lock_path.read_text())
    digest = questions_digest(load(str(copy)).recipe)
    copy.with_name(source.lock_path.name).write_text(QUESTIONS.sub(f'asked: "{digest}"', lock))
    return copy


@contextlib.contextmanager
def running_on(cores: set[int]) -> Iterator[None]:
    """Within, processes that this thread starts may use those cores alone."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@dataclass(frozen=True)
class BuildOrder:
    """What is built: paths of recipes, and targets where not all are wanted."""

    recipes: tuple[Path, ...]
    gfx: tuple[str, ...]

    def run(self, what: str, folder: Path, environment: dict[str, str], address: str = "") -> BuildFigure:
        """All recipes at once, each by a process. Raises SystemExit where one fails."""
        folder.mkdir()
        start_time, processes = time.monotonic(), []
        began = time.time()
        for path in self.recipes:
            command = [sys.executable, __file__, "--client", str(path), "--address", address]
            command += [word for target in self.gfx for word in ("--gfx", target)]
            with (folder / f"{path.stem}.json").open("wb") as out, (folder / f"{path.stem}.log").open("wb") as errors:
                processes.append(
                    subprocess.Popen(command, stdout=out, stderr=errors, env={**os.environ, **environment})
                )
        codes = [process.wait() for process in processes]
        figure = BuildFigure(what, time.monotonic() - start_time)
        print(f"{what}: {figure.wall:.1f} s", flush=True)
        for path, code in zip(self.recipes, codes, strict=True):
            if code:
                raise SystemExit(f"{path.stem} ended with {code}:\n{(folder / f'{path.stem}.log').read_text()[-2000:]}")
            figure.steps += finished_steps(path.stem, (folder / f"{path.stem}.json").read_text(), began)
        return figure


def finished_steps(recipe: str, text: str, began: float) -> list[dict[str, Any]]:
    """The steps that finished, with the recipe and the second at which each had."""
    events = [json.loads(line) for line in text.splitlines()]
    return [
        {**event, "recipe": recipe, "at": event["printed"] - began}
        for event in events
        if event["event"] == "StepFinished"
    ]


def build_placed(order: BuildOrder, folder: Path, others: set[int], workers: list[set[int]]) -> BuildFigure:
    """Build by a worker on each of those sets of cores, everything new."""
    folder.mkdir()
    with running_on(others), registry(folder) as remote:
        url = f"oci+http://127.0.0.1:{remote.port}/measure/sb"
        with cluster(folder / "cluster", url) as peers:
            peers.scheduler()
            for number, cores in enumerate(workers, 1):
                with running_on(cores):
                    words = ("--jobs", str(len(cores)), "--memory", "24G")
                    peers.worker(f"w{number}", peers.root / f"w{number}-store", *words)
            environment = peers.environment("client", folder / "client-store")
            what = f"{len(workers)} worker(s) of {len(workers[0])} cores"
            return order.run(what, folder / "logs", environment, peers.address)


def build_here(order: BuildOrder, folder: Path, cores: set[int]) -> BuildFigure:
    """Build without a cluster and without a remote, in a new store."""
    folder.mkdir()
    environment = {"STACKBUILD_STORE": str(folder / "store"), "STACKBUILD_REMOTES": "none"}
    with running_on(cores):
        return order.run(f"without a cluster, {len(cores)} cores", folder / "logs", environment)


def same_or_exit(figures: list[BuildFigure]) -> None:
    """Compare the output digests. Raises SystemExit where they differ."""
    first = figures[0].trees()
    for other in figures[1:]:
        if other.trees() != first:
            theirs = other.trees()
            differs = sorted(step for (key, step), tree in first.items() if theirs.get((key, step)) != tree)
            raise SystemExit(f"{other.what} made other outputs than {figures[0].what}: {', '.join(differs)}")
    print(f"{len(first)} outputs have the same digests in {len(figures)} builds")


def run_round(order: BuildOrder, folder: Path, options: argparse.Namespace) -> float:
    """The time of two workers as a share of the time of one."""
    folder.mkdir()
    free = CoreSet()
    others, one = free.take(options.spare) or os.sched_getaffinity(0), free.take(options.cores)
    two = [free.take(options.cores), free.take(options.cores)] if options.beside else [one, free.take(options.cores)]
    local = free.take(options.local) if options.local and options.beside else set(os.sched_getaffinity(0))
    ways: list[Callable[[], BuildFigure]] = [
        lambda: build_placed(order, folder / "one", others, [one]),
        lambda: build_placed(order, folder / "two", others, two),
    ]
    if options.local:
        ways.append(lambda: build_here(order, folder / "here", local))
    with ThreadPoolExecutor(len(ways) if options.beside else 1) as pool:  # affinity is a thread's: each has its own
        figures = list(pool.map(lambda way: way(), ways))
    for figure in figures:
        figure.print_rows()
    same_or_exit(figures)
    subprocess.run(["chmod", "-R", "u+w", folder], check=True)
    shutil.rmtree(folder)
    one_wall, two_wall = figures[0].wall, figures[1].wall
    return two_wall / one_wall


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recipe", action="append", help="a bundled one or a path; may be repeated")
    parser.add_argument("--cores", type=int, default=4, help="of each worker")
    parser.add_argument("--spare", type=int, default=2, help="cores of everybody else; 0: all")
    parser.add_argument("--gfx", action="append", default=[], help="these targets alone; may be repeated")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--beside", action="store_true", help="measure one worker and two at the same time")
    parser.add_argument("--local", type=int, default=0, metavar="CORES", help="also build without a cluster")
    parser.add_argument("--client", help=argparse.SUPPRESS)
    parser.add_argument("--address", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.client:
        build_recipe(options.client, options.gfx, options.address)
        return
    with tempfile.TemporaryDirectory(prefix="stackbuild-measure-builds-") as name:
        os.environ["STACKBUILD_STORE"] = f"{name}/none"
        copies = tuple(without_proof(recipe, Path(name)) for recipe in options.recipe or RECIPES)
        order = BuildOrder(copies, tuple(options.gfx))
        shares = []
        for number in range(options.rounds):
            shares.append(run_round(order, Path(name) / str(number), options))
            print(f"round {number}: two workers take {shares[-1]:.2f} of the time of one", flush=True)
    print(f"two workers: {statistics.median(shares):.2f} of the time of one in the median, {max(shares):.2f} at worst")


if __name__ == "__main__":
    main()
