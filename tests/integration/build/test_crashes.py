"""Signals, full disks, damage, and many builders at once: the next run always goes on.

Kills and faults at every system call: ci/campaign/rigs/store_kills.py and store_faults.py.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from support.build_bench import BuildBench

pytestmark = pytest.mark.sandbox


def steps(nonce: str) -> str:
    """Three small steps; what they make does not depend on the nonce, though their keys do."""
    return f"""\
  one: {{kind: script, env: {{NONCE: "{nonce}"}}, run: [[sh, -c, "echo one > /out/a; mkdir /out/d; echo x > /out/d/x"]]}}
  two: {{kind: script, env: {{NONCE: "{nonce}"}}, needs: [one], run: [[sh, -c, "cat /deps/one/a > /out/b; date +%N > /tmp/t"]]}}
"""


def begin(bench: BuildBench, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        bench.command("build", "--recipe", str(bench.recipe), *words),
        cwd=bench.root, env=bench.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL),  # as from a terminal, also where nohup runs the tests
    )  # fmt: skip


def processes_with(text: str) -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if text in line and str(os.getpid()) != path.parent.name:
            found.append(line)
    return found


def wait_for(condition: object, seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.02)


def left_over(bench: BuildBench, mark: str) -> list[str]:
    groups = [
        str(p)
        for root in ("/sys/fs/cgroup", "/sys/fs/cgroup/memory")
        for p in Path(root).glob("stackbuild-*")
        if str(bench.pid) in p.name
    ]
    mounts = [line for line in Path("/proc/mounts").read_text().splitlines() if str(bench.root) in line]
    return [*processes_with(mark), *groups, *mounts, *bench.leftovers()]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("runner", ["sandbox", pytest.param("docker", marks=pytest.mark.docker)])
def test_a_signal_stops_a_running_step(bench: BuildBench, number: signal.Signals, runner: str) -> None:
    mark = f"sleep {random.randrange(10**6, 10**7)}"
    script = f"trap '' TERM INT HUP; echo begun; {mark} & {mark}; wait"
    bench.write(f'  slow: {{kind: script, run: [[sh, -c, "{script}"]]}}\n')
    process = begin(bench, "--runner", runner)
    wait_for(
        lambda: any(
            "begun" in log.read_text()
            for log in bench.store.glob("runs/*/logs/slow.log")
            if "begun\n" in log.read_text()
        ),
        60,
    )
    started = time.monotonic()
    process.send_signal(number)
    _, said = process.communicate(timeout=20)
    assert time.monotonic() - started < 10
    assert process.returncode == 128 + number, said
    assert "stopped by SIG" in said and "run the same command again" in said and "Traceback" not in said
    bench.pid = process.pid
    end = time.monotonic() + 20
    while (rest := left_over(bench, mark)) and time.monotonic() < end:
        time.sleep(0.02)
    assert not rest
    bench.write('  slow: {kind: script, run: [["true"]]}\n')
    bench.build("--runner", runner)


@pytest.mark.parametrize("after", [0.05, 0.2, 0.4, 0.6, 0.8, 1.0, 1.3, 1.6])
def test_a_signal_at_any_moment_is_a_clean_stop(bench: BuildBench, after: float) -> None:
    bench.write(steps("x"))
    process = begin(bench)
    time.sleep(after)
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=10)
    assert process.returncode in (0, 143, -signal.SIGTERM), said  # before the handler stands, the default is as good
    assert "Traceback" not in said
    bench.build()
    assert bench.leftovers() == []


def test_killed_outright_nothing_runs_on_and_the_next_run_cleans_up(bench: BuildBench) -> None:
    mark = f"sleep {random.randrange(10**6, 10**7)}"
    bench.write(f'  slow: {{kind: script, run: [[sh, -c, "echo begun; {mark}"]]}}\n')
    process = begin(bench)
    wait_for(lambda: any("begun\n" in log.read_text() for log in bench.store.glob("runs/*/logs/slow.log")), 60)
    process.kill()
    process.communicate()
    wait_for(lambda: not processes_with(mark), 5)
    bench.pid = process.pid
    assert bench.leftovers()
    bench.write('  slow: {kind: script, run: [["true"]]}\n')
    done = bench.build()
    assert "removed what a killed run had left" in done.stderr
    assert left_over(bench, mark) == []


@pytest.mark.docker
def test_containers_of_a_killed_run_are_removed_by_the_next(bench: BuildBench) -> None:
    bench.write('  slow: {kind: script, run: [[sh, -c, "echo begun; sleep 77"]]}\n')
    process = begin(bench, "--runner", "docker")
    wait_for(lambda: any("begun\n" in log.read_text() for log in bench.store.glob("runs/*/logs/slow.log")), 60)
    run = next(bench.store.glob("runs/*/logs/slow.log")).parts[-3]
    process.kill()
    process.communicate()

    def containers() -> str:
        words = ["docker", "ps", "--all", "--quiet", "--filter", f"label=org.stackbuild.run={run}"]
        return subprocess.run(words, capture_output=True, text=True, check=True).stdout

    assert containers()
    bench.write('  slow: {kind: script, run: [["true"]]}\n')
    assert "removed what a killed run had left: container" in bench.build("--runner", "docker").stderr
    assert not containers()


@pytest.mark.timeout(280)
def test_killed_with_a_real_sandbox_the_next_run_goes_on(bench: BuildBench) -> None:
    """R2: SIGKILL of stackbuild at random moments of a real build."""
    bench.write(steps("clean"))
    bench.build()
    expected = {name: tree for name, tree in bench.trees().items() if name != "base"}
    killed = 0
    for i, after in enumerate((0.5, 0.8, 1.1, 1.4, 1.8)):
        bench.write(steps(f"k{i}"))
        process = begin(bench)
        time.sleep(after)
        process.kill()
        process.communicate()
        killed += process.returncode != 0
        bench.build()
        trees = bench.trees()
        assert {name: trees[name] for name in expected} == expected
        assert bench.leftovers() == []
    assert killed > 0


def test_the_order_on_the_disk(bench: BuildBench) -> None:
    """What is renamed into the store was flushed before. Before the record is renamed, which comes last, the folders of the
    tree and the manifest are flushed, and its own right after it. (Hints are not flushed.)"""
    bench.write(steps("order"))
    trace = bench.root / "trace"
    bench.build(before=("strace", "-f", "-y", "-qq", "-o", str(trace), "-e", "trace=fsync,syncfs,rename"))
    rows = re.findall(
        r'(?:(fsync|syncfs)\(\d+<([^>]*)>|(rename)\("([^"]*)", "([^"]*)"\))', trace.read_text(errors="replace")
    )
    store = str(bench.store)
    flushed: set[str] = set()
    folders_to_flush: set[str] = set()
    last_of_step: list[str] = []
    for i, (flush, path, rename, source, target) in enumerate(rows):
        if flush:
            flushed.add(path)
            folders_to_flush.discard(path)
        elif rename and target.startswith(store) and source.startswith(f"{store}/tmp"):
            kind = Path(target).relative_to(store).parts[0]
            hint = kind == "records" and json.loads(Path(target).read_text())["like"]
            if kind in ("trees", "manifests", "records") and not hint:
                last_of_step.append(kind)
                assert source in flushed, f"{source} was not flushed before it became {target}"
                if kind == "records":
                    assert not folders_to_flush, f"the record came before {folders_to_flush} was flushed"
                    assert (rows[i + 1][0], rows[i + 1][1]) == ("fsync", str(Path(target).parent)), rows[i : i + 2]
                folders_to_flush.add(str(Path(target).parent))
    assert last_of_step == ["trees", "manifests", "records"] * 2
    assert not folders_to_flush


ON_A_SMALL_DISK = """
set -e
store=$1 disk=$2 size=$3; shift 3
mount -t tmpfs -o size=${size}m,mode=755 none "$disk"
cp -a "$store/records" "$store/manifests" "$store/latest" "$store/format" "$disk"
for tree in "$store"/trees/*/*; do mkdir -p "$disk/trees/$(basename "$(dirname "$tree")")"; ln -s "$tree" "$disk/trees/$(basename "$(dirname "$tree")")"; done
set +e
"$@"; echo "first $?" >&2
find "$disk/tmp" -mindepth 1 >&2
mount -o remount,size=200m "$disk"
"$@"; echo "second $?" >&2
"$@"; echo "third $?" >&2
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to mount a small disk")
@pytest.mark.parametrize("size", [4, 8, 24])
def test_a_full_disk_is_exit_7_and_the_store_goes_on(bench: BuildBench, size: int) -> None:
    """R4: the store on a small tmpfs (the base's tree lies outside) that a step fills, then on a bigger one."""
    big = f"head -c {size}M /dev/urandom > /out/big"
    bench.write(
        f"  small: {{kind: script, run: [[sh, -c, 'echo s > /out/s']]}}\n  big: {{kind: script, needs: [small], run: [[sh, -c, '{big}']]}}\n"
    )
    disk = bench.root / "disk"
    disk.mkdir()
    bench.env = {"STACKBUILD_STORE": str(disk)}
    words = [
        "unshare",
        "--mount",
        "--propagation=private",
        "sh",
        "-c",
        ON_A_SMALL_DISK,
        "sh",
        str(bench.store),
        str(disk),
        str(size),
    ]
    words += bench.command("build", "--recipe", str(bench.recipe))
    done = subprocess.run(words, cwd=bench.root, env=bench.environment(), capture_output=True, text=True, timeout=100)
    assert "Traceback" not in done.stderr, done.stderr
    first, second, third = re.split(r"first|second", done.stderr)
    assert first.count("the disk is full") == 1 and str(disk) in first and "run the same command again" in first, (
        done.stderr
    )
    assert second.split()[0] == "7" and "/tmp/2" not in second, f"staging is left: {second}"
    assert third.split()[0] == "0" and "nothing to do" in third and third.split()[-1] == "0", done.stderr


def test_damage_in_the_store_is_found_and_mended_by_the_next_build(bench: BuildBench) -> None:
    """R6 on a real build: whatever of an input, its manifest or its record goes bad, the build that needs it makes it again."""
    bench.write(steps("a"))
    bench.build()
    good = bench.trees()
    one = good["one"]
    files = [
        bench.store / "trees" / one[:2] / one / "a",
        bench.store / "manifests" / one[:2] / one,
        next(
            p
            for p in (bench.store / "records").glob("*/*.json")
            if json.loads(p.read_text())["step"] == "one" and not json.loads(p.read_text())["like"]
        ),
    ]
    asked = 0
    for path in files:
        for bad in (b"", b"\0" * path.stat().st_size, bytes([path.read_bytes()[0] ^ 4]) + path.read_bytes()[1:]):
            path.chmod(0o644)
            path.write_bytes(bad)
            asked += 1
            bench.write(steps("a").replace("cat /deps/one/a", f"cat {' ' * asked}/deps/one/a"))
            bench.build()
            trees = bench.trees()
            assert trees["one"] == one and trees["two"] == good["two"]
            assert (bench.tree("two") / "b").read_text() == "one\n"
    assert list((bench.store / "quarantine").iterdir())
    assert "every file has its digest" in bench.run("store", "check").stdout


def test_a_damaged_wanted_output_is_not_handed_out(bench: BuildBench) -> None:
    bench.write(steps("a"))
    bench.build()
    made = bench.tree("two") / "b"
    made.chmod(0o644)
    made.write_text("evil")
    done = bench.build()
    assert "damaged" in done.stderr
    assert made.read_text() == "one\n"


@pytest.mark.parametrize("builders", [2])  # twelve, and a collector: ci/campaign/rigs/builders.py
def test_many_builders_at_once_build_each_thing_once(bench: BuildBench, builders: int) -> None:
    """R5: on one store, the same recipe; each step is run by one of them, and the others take what it made."""
    bench.write(steps("shared"))
    running = [begin(bench, "--json") for _ in range(builders)]
    ran: list[str] = []
    for process in running:
        out, said = process.communicate(timeout=200)
        assert process.returncode == 0, said
        ran += [e["step"] for e in map(json.loads, out.splitlines()) if e["event"] == "StepStarted"]
    assert sorted(ran) == ["one", "two"]
    assert bench.leftovers() == []
    assert "every file has its digest" in bench.run("store", "check").stdout


def test_two_builders_with_different_recipes_do_not_disturb_each_other(bench: BuildBench) -> None:
    bench.write(steps("left"))
    other = BuildBench(bench.root / "other", bench.store)
    other.root.mkdir()
    shutil.copy(bench.root / "t.lock.yaml", other.root / "t.lock.yaml")
    other.write(steps("right"))
    both = [begin(bench), begin(other)]
    for process in both:
        assert process.wait(100) == 0
        process.communicate()
    assert bench.trees()["two"] == other.trees()["two"]


@pytest.mark.parametrize("folder", ["", "trees", "records", "tmp"])
def test_a_store_that_cannot_be_written_says_so(open_bench: BuildBench, folder: str) -> None:
    """As another user: root may write everywhere."""
    bench = open_bench
    assert bench.user
    bench.write(steps("x"))
    where = bench.store / folder
    where.mkdir(exist_ok=True)
    subprocess.run(
        [
            "chown",
            "-R",
            "--no-dereference",
            f"{bench.user.uid}:{bench.user.uid}",
            *map(str, (p for p in bench.store.iterdir() if p.name != "trees")),
        ],
        check=True,
    )
    where.chmod(0o555)
    where.chmod(0o500)
    os.chown(where, 0, 0)
    done = bench.build(check=7)
    assert "store cannot be used" in done.stderr and "STACKBUILD_STORE" in done.stderr


@pytest.mark.parametrize(("folder", "code"), [("/out", 4), ("/build", 0)])
def test_a_tree_3000_deep_is_the_steps_fault_and_the_next_start_goes_on(
    bench: BuildBench, folder: str, code: int
) -> None:
    script = f"chdir '{folder}'; for (1..3000) {{ mkdir 'd' x 200 and chdir 'd' x 200 or die }}"
    bench.write(f'  deep: {{kind: script, run: [[perl, -e, "{script}"]]}}\n')
    done = bench.build(check=code)
    assert code == 0 or "deep  its output is refused: it holds a path of" in done.stderr
    assert bench.leftovers() == []
    bench.write('  deep: {kind: script, run: [["true"]]}\n')
    bench.build()
