"""Signals in each phase of a build, once and twice; a lost terminal; a stopped holder of a lock; two process namespaces.

After each case nothing runs on, the store has no leftovers once the next build ended, and that build makes the same output.
"""

from __future__ import annotations

import os
import pty
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random

from campaign.benches import bench_in
from campaign.frame import CampaignCase, NotRun, Rig
from campaign.rigs.sandbox_kill import running
from campaign.sessions import lacking
from support.build_bench import BuildBench
from support.paths import ROOT

NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PHASES = ("starting", "planning", "opening the sandbox", "running", "storing the output")
SECOND = (None, 0.1, 1.2)
"""Seconds until the signal comes again; `stackbuild` ends at once on one that comes a second after the first."""
WAIT_SECONDS = 90.0
END_SECONDS = 30.0
OWN_PROCESSES = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "--propagation=private")


def recipe(seconds: str, files: int = 0) -> str:
    """One step that prints, writes so many files, and sleeps."""
    script = f"echo begun; sleep {seconds}; i=0; while [ $i -lt {files} ]; do i=$((i+1)); echo $i > /out/$i; done; echo x > /out/x; echo ended"
    return f"  slow: {{kind: script, run: [[sh, -c, '{script}']]}}\n"


def begin(bench: BuildBench, *words: str, before: tuple[str, ...] = (), **more: int) -> subprocess.Popen[str]:
    """Begin a build on which every signal has its default effect, also where this program runs under nohup."""
    command = ["env", "--default-signal", *before, *bench.command("build", "--recipe", str(bench.recipe), "--runner", "sandbox", *words)]
    return subprocess.Popen(
        command, cwd=bench.root, env=bench.environment(), text=True, start_new_session=True,
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more},
    )  # type: ignore[call-overload,no-any-return]  # fmt: skip


def until(condition: Callable[[], object], what: str, seconds: float = WAIT_SECONDS) -> None:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"waited {seconds:.0f} s for {what}")
        time.sleep(0.01)


def is_in_log(bench: BuildBench, word: str, name: str = "slow.log") -> bool:
    return any(word in log.read_text().splitlines() for log in bench.store.glob(f"runs/*/logs/{name}"))


def reach(phase: str, bench: BuildBench, random_seconds: float) -> None:
    """Wait until a build that was just begun is in that phase."""
    if phase == "starting":
        time.sleep(random_seconds)
    elif phase == "planning":
        until(lambda: list(bench.store.glob("tmp/*.alive")), "the run's lock")
    elif phase == "opening the sandbox":
        until(lambda: list(bench.store.glob("runs/*/logs/slow.log")), "the step's log")
    elif phase == "running":
        until(lambda: is_in_log(bench, "begun"), "the command")
    else:
        until(lambda: is_in_log(bench, "ended"), "the command's end")


def mend(bench: BuildBench, mark: str) -> str:
    """What is wrong after a build that ended early."""
    try:
        until(lambda: not running(mark), "the processes to end", END_SECONDS)
    except TimeoutError:
        return f"runs on: {running(mark)[0][:200]}"
    bench.write(recipe("0", 3))
    process = bench.build("--runner", "sandbox", check=None)
    if process.returncode:
        return f"the next build ends with {process.returncode}: {process.stderr[-300:]}"
    if (bench.tree("slow") / "x").read_text() != "x\n":
        return "the next build made something else"
    return f"left in the store: {leftovers}" if (leftovers := bench.leftovers()) else ""


def signal_build(number: signal.Signals, phase: str, second: float | None, moment: float, folder: Path) -> str:
    if why := lacking("sandbox"):
        raise NotRun(why)
    bench = bench_in(folder)
    mark = str(100_000 + int(moment * 1e6))
    storing = phase == "storing the output"
    bench.write(recipe("0" if storing else mark, 4000 if storing else 0))
    process = begin(bench)
    try:
        reach(phase, bench, moment)
        process.send_signal(number)
        if second is not None:
            time.sleep(second)
            process.send_signal(number)
        try:
            _, output = process.communicate(timeout=END_SECONDS)
        except subprocess.TimeoutExpired:
            return f"does not end within {END_SECONDS:.0f} s"
    finally:
        process.kill()
        process.communicate()
    if not _is_interpreters(output):
        if process.returncode not in (0, 128 + number, -number):
            return f"exit {process.returncode}: {output[-300:]}"
        if "Traceback" in output:
            return output[-300:]
    return mend(bench, mark)


def _is_interpreters(output: str) -> bool:
    """Whether a Ctrl-C came while Python itself started: its traceback has no file of stackbuild in it."""
    return output.rstrip().endswith("KeyboardInterrupt") and str(ROOT / "stackbuild") not in output


def lost_terminal(moment: float, folder: Path) -> str:
    """The terminal goes away while a step runs: the kernel hangs up."""
    if why := lacking("sandbox"):
        raise NotRun(why)
    bench = bench_in(folder)
    mark = str(200_000 + int(moment * 1e6))
    bench.write(recipe(mark))
    ours, theirs = pty.openpty()
    process = begin(bench, before=("setsid", "--ctty"), stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    try:
        until(lambda: is_in_log(bench, "begun"), "the command")
        time.sleep(moment)
        os.close(ours)
        try:
            process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            return f"does not end within {END_SECONDS:.0f} s"
    finally:
        process.kill()
        process.wait()
    return mend(bench, mark)


def stopped_holder(folder: Path) -> str:
    """A builder that holds a step's lock is stopped (SIGSTOP): others wait, say for whom, and can be ended."""
    if why := lacking("sandbox"):
        raise NotRun(why)
    bench = bench_in(folder)
    bench.write(recipe("3"))
    holder = begin(bench)
    other = None
    try:
        until(lambda: is_in_log(bench, "begun"), "the command")
        holder.send_signal(signal.SIGSTOP)
        other = begin(bench)
        time.sleep(6)
        if other.poll() is not None:
            return f"the other one ended with {other.returncode}"
        gc = bench.run("store", "gc", "--days", "0", check=None)
        if gc.returncode == 0:
            return "the store was cleaned up while a build holds it"
        other.send_signal(signal.SIGINT)
        try:
            _, output = other.communicate(timeout=END_SECONDS)
        except subprocess.TimeoutExpired:
            return "the waiting builder does not end on SIGINT"
        if other.returncode != 130 or "waiting" not in output:
            return f"the waiting builder ends with {other.returncode}: {output[-300:]}"
        holder.send_signal(signal.SIGCONT)
        _, output = holder.communicate(timeout=END_SECONDS)
        return "" if holder.returncode == 0 else f"the stopped builder ends with {holder.returncode}: {output[-300:]}"
    finally:
        for process in (holder, other):
            if process is not None:
                process.send_signal(signal.SIGCONT)
                process.kill()
                process.communicate()


def two_namespaces(kill: bool, folder: Path) -> str:
    """Two builders that cannot see each other's processes: neither removes what is the other's, until that is dead."""
    if why := lacking("sandbox"):
        raise NotRun(why)
    if os.geteuid() != 0:
        raise NotRun("needs root, for a process namespace")
    bench = bench_in(folder)
    mark = "6.0625" if not kill else "300125"
    bench.write(recipe(mark))
    one = begin(bench, before=OWN_PROCESSES)
    try:
        until(lambda: is_in_log(bench, "begun"), "the command")
        (first_run,) = (bench.store / "runs").iterdir()
        if kill:
            one.kill()
            one.communicate()
        other = BuildBench(folder / "other", bench.store)
        other.root.mkdir()
        shutil.copy(folder / "t.lock.yaml", other.root / "t.lock.yaml")
        other.write("  quick: {kind: script, run: [[sh, -c, 'echo y > /out/y']]}\n")
        process = other.build("--runner", "sandbox", check=None, before=OWN_PROCESSES)
        if process.returncode:
            return f"the second builder ends with {process.returncode}: {process.stderr[-300:]}"
        # Control groups of other killed runs of this machine may be removed and named as well.
        removed = any("removed what a killed run had left" in line and first_run.name in line for line in process.stderr.splitlines())
        if removed is not kill:
            return f"what the first builder has was {'removed' if removed else 'left'}: {process.stderr[-300:]}"
        if not kill:
            _, output = one.communicate(timeout=END_SECONDS)
            if one.returncode:
                return f"the first builder ends with {one.returncode}: {output[-300:]}"
    finally:
        one.kill()
        one.communicate()
    return mend(bench, mark)


def cases(random: Random) -> list[CampaignCase]:
    rows = []
    for number in NUMBERS:
        for phase in PHASES:
            for second in SECOND:
                again = "" if second is None else f", again after {second} s"
                attempt = partial(signal_build, number, phase, second, random.uniform(0.02, 0.8))
                rows.append(CampaignCase(f"{number.name} while {phase}{again}", attempt))
    rows += [CampaignCase(f"lost terminal {i}", partial(lost_terminal, random.uniform(0, 0.5))) for i in range(3)]
    rows += [
        CampaignCase(f"two process namespaces{', one killed' * kill}", partial(two_namespaces, kill)) for kill in (False, True)
    ]
    return [*rows, CampaignCase("a stopped holder of a lock", stopped_holder)]


RIG = Rig("signals", "signals, a lost terminal, a stopped holder, two process namespaces", cases, minimum=51)
