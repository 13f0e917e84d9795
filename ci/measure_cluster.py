"""Measures what `build --on` costs: CPU seconds a step beside a local build that pushes, and two workers beside one.

    .venv/bin/python ci/measure_cluster.py               both
    .venv/bin/python ci/measure_cluster.py --steps 30 --rounds 5
    .venv/bin/python ci/measure_cluster.py --beside 10   two workers beside one alone, ten rounds
    .venv/bin/python ci/measure_cluster.py --pulls 4     four steps of 3 s whose inputs take 4 s each to pull

Steps are commands of the host that do nothing, or sleep: what is measured is the placing, not the building. A
docker-registry of its own on loopback is the remote. Rounds of both ways take turns, so other work on the machine meets
both. CPU seconds are those of the client, the scheduler and the worker with all their children; the registry's are left
out, for both ways ask it for the same.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

CI = Path(__file__).resolve().parent
sys.path[:1] = [str(CI), str(CI.parent / "tests"), str(CI.parent)]

from measure_remote import registry  # noqa: E402

from stackbuild.build.build import _push_made  # noqa: E402
from stackbuild.build.schedule import Limits, schedule  # noqa: E402
from stackbuild.cluster.engine import LONG_SECONDS  # noqa: E402
from stackbuild.cluster.weights import weigh  # noqa: E402
from stackbuild.model.choice import Choice  # noqa: E402
from stackbuild.model.plan import Plan, Step  # noqa: E402
from stackbuild.plan.current import current_plan  # noqa: E402
from stackbuild.plan.estimates import guesses  # noqa: E402
from stackbuild.recipe.prepare import prepare  # noqa: E402
from support.cluster_steps import actions, build, client, step  # noqa: E402
from support.clusters import Cluster, ClusterProcess, cluster  # noqa: E402
from support.remotes import FakeRegistry, SlowPulls  # noqa: E402

TICK = os.sysconf("SC_CLK_TCK")
SECONDS_AN_HOUR = 15.0
"""How long a step sleeps for an hour of one core that it may take, by default; half a second where nobody knows."""
WARM_SECONDS = 2.0
PULLED_STEPS, PULLED_SECONDS = 4, 3.0


def chain(count: int, word: str) -> Plan:
    """Steps that each need the one before, and do nothing."""
    steps: list[Step] = []
    for number in range(count):
        steps.append(step(f"s{number}", steps[-1:], script=f"true {word}"))
    return Plan("t", tuple(steps), (steps[-1].name,))


def side_by_side(workers: int) -> Plan:
    """A step for each worker, for its first one takes a second: it imports what later ones find in memory."""
    steps = [step(f"warm{number}", script=f"sleep {WARM_SECONDS}; : {workers}") for number in range(workers)]
    return Plan("warm", tuple(steps), tuple(one.name for one in steps))


def cpu(members: list[ClusterProcess]) -> float:
    """CPU seconds of this process and of those, with the children that have ended."""
    ticks = 0
    for member in members:
        words = Path(f"/proc/{member.process.pid}/stat").read_text().rpartition(")")[2].split()
        ticks += sum(map(int, words[11:15]))
    own = os.times()
    return ticks / TICK + own.user + own.system + own.children_user + own.children_system


def milliseconds(work: Callable[[], object], members: list[ClusterProcess], steps: int) -> float:
    before = cpu(members)
    work()
    return (cpu(members) - before) / steps * 1000


def local(members: Cluster, plan: Plan, name: str) -> None:
    """The same steps on this machine, pushed as a build with `write: true` does it."""
    with client(members, name) as member:
        context = replace(member, placement=None, actions=actions(members.root))
        outputs, failures = schedule(plan, context, Limits(1, 1 << 40))
        assert not failures
        _push_made(outputs, context)


def run_placed(members: Cluster, plan: Plan, name: str, guess_seconds: Mapping[str, float] = {}) -> None:
    with client(members, name, guess_seconds=guess_seconds) as context:
        build(context, plan)


def overhead(folder: Path, url: str, steps: int, rounds: int) -> None:
    with cluster(folder / "cluster", url) as peers:
        members = [peers.scheduler(), peers.step_worker("w1")]
        run_placed(peers, chain(2, "warm"), "warm")
        rows = []
        for number in range(rounds):
            here = milliseconds(lambda: local(peers, chain(steps, f"l{number}"), f"l{number}"), members, steps)  # noqa: B023
            there = milliseconds(lambda: run_placed(peers, chain(steps, f"p{number}"), f"p{number}"), members, steps)  # noqa: B023
            rows.append((here, there, there - here))
            print(f"round {number}: CPU ms a step, local with push {here:.1f}, placed {there:.1f}")
        for name, column in zip(("local with push", "placed", "overhead"), zip(*rows, strict=True), strict=True):
            print(f"{name}: median {statistics.median(column):.1f}, worst {max(column):.1f} CPU ms a step")


def sleeping(recipe: str, hour: float) -> tuple[Plan, dict[str, float]]:
    """The graph of a bundled recipe, each step asleep for its seconds, and those by step."""
    prepared_recipe = prepare(recipe, Choice())
    with current_plan(prepared_recipe) as (plan, _):
        steps: dict[str, Step] = {}
        hours = guesses(prepared_recipe.loaded_recipe.recipe)
        seconds = {one.name: hours[one.name] * hour if one.name in hours else 0.5 for one in plan.steps}
        for one in plan.steps:
            needs = [steps[need.step] for need in one.needs]
            steps[one.name] = step(one.name, needs, script=f"sleep {seconds[one.name]}; : {recipe}")
        return Plan(recipe, tuple(steps.values()), plan.goals), seconds


def least_share(plans: Mapping[str, tuple[Plan, dict[str, float]]]) -> float:
    """The share of the time of one worker that two cannot go below: half of the work, or the longest chain of steps."""
    work = sum(sum(seconds.values()) for _, seconds in plans.values())
    longest = max(
        max(weight.chain for weight in weigh(plan, seconds).values()) for plan, seconds in plans.values()
    )
    return max(longest, work / 2) / work


def two_beside_one(folder: Path, url: str, plans: Mapping[str, tuple[Plan, dict[str, float]]]) -> float:
    """The time of two workers as a share of that of one."""
    walls = []
    for workers in (1, 2):
        with cluster(folder / f"of-{workers}", f"{url}-{workers}") as peers:
            peers.scheduler()
            for number in range(workers):
                peers.step_worker(f"w{number}", amounts='{"step": 1}')
            run_placed(peers, side_by_side(workers), "warm")
            start_time = time.monotonic()
            with ThreadPoolExecutor(2) as pool:
                list(pool.map(lambda pair: run_placed(peers, pair[1][0], pair[0], pair[1][1]), plans.items()))
            walls.append(time.monotonic() - start_time)
            steps = sum(len(plan.steps) for plan, _ in plans.values())
            print(f"{workers} worker(s) of one step at once: {steps} sleeping steps in {walls[-1]:.1f} s")
    print(f"two workers take {walls[1] / walls[0]:.2f} of the time of one", flush=True)
    return walls[1] / walls[0]


def print_beside(folder: Path, url: str, rounds: int, hour: float) -> None:
    plans = {recipe: sleeping(recipe, hour) for recipe in ("debian-13", "debian-sid")}
    print(f"no two workers can take less than {least_share(plans):.2f}")
    shares = []
    for number in range(rounds):
        place = folder / f"beside-{number}"
        place.mkdir()
        shares.append(two_beside_one(place, f"{url}-{number}", plans))
    print(f"two beside one: median {statistics.median(shares):.2f}, worst {max(shares):.2f} of {rounds}")


def slow_pulls(folder: Path, seconds: float, workers: int) -> None:
    """Workers of two cores and four slots each. Each long step has an input of its own, which comes so slowly."""
    inputs = [step(f"in{number}") for number in range(PULLED_STEPS)]
    long = [step(f"long{number}", (one,), script=f"sleep {PULLED_SECONDS}") for number, one in enumerate(inputs)]
    last = step("last", long)
    with FakeRegistry().served() as remote, cluster(folder, remote.url) as peers:
        peers.scheduler()
        first = peers.step_worker("w1")
        run_placed(peers, Plan("t", tuple(inputs), tuple(one.name for one in inputs)), "first")
        first.end()
        for number in range(workers):
            peers.step_worker(f"w{number + 2}", amounts='{"step": 4}')
        pulls = SlowPulls(seconds, {tag for tag in remote.manifests if tag.startswith("t-")})
        remote.fault = pulls.fault
        start_time = time.monotonic()
        plan = Plan("t", (*inputs, *long, last), ("last",))
        run_placed(peers, plan, "second", {one.name: LONG_SECONDS * 2 for one in long})
        wall = time.monotonic() - start_time
        print(f"{workers} worker(s): {PULLED_STEPS} steps of {PULLED_SECONDS:g} s with pulls of {seconds:g} s: {wall:.1f} s, "
              f"at most {pulls.most} pulls at once", flush=True)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description="What `build --on` costs.")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--beside", type=int, metavar="ROUNDS", help="measure two workers beside one alone")
    parser.add_argument("--pulls", type=float, metavar="SECONDS", help="measure steps whose inputs take so long to pull")
    parser.add_argument("--hour", type=float, default=SECONDS_AN_HOUR, help="seconds of sleep for an hour of one core")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as name:
        folder = Path(name)
        os.environ["STACKBUILD_STORE"] = str(folder / "none")
        if options.pulls is not None:
            for number in range(options.rounds):
                for workers in (1, 2):
                    slow_pulls(folder / f"pulls-{number}-{workers}", options.pulls, workers)
            return
        with registry(folder) as served_folder:
            url = f"oci+http://127.0.0.1:{served_folder.port}/measure/sb"
            if options.beside is None:
                overhead(folder, url, options.steps, options.rounds)
            print_beside(folder, url, options.beside or 1, options.hour)


if __name__ == "__main__":
    main()
