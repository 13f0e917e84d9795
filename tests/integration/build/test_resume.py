"""SIGKILL of stackbuild in the middle of a compile: the next run resumes in the build tree, and the output is a clean build's."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from support.build_bench import BASE, BuildBench, ensure_base, link_store

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(400)]
RECIPE = BASE.replace("[ccache, gcc, libc6-dev, make]", "[ccache, cmake, gcc, libc6-dev, ninja-build]")
UNITS = 12
LISTS = f"""\
cmake_minimum_required(VERSION 3.16)
project(t C)
foreach(i RANGE 1 {UNITS})
  file(WRITE ${{CMAKE_BINARY_DIR}}/u${{i}}.c.new "int u${{i}}(void) {{ return ${{i}}; }}\\n")
  file(COPY_FILE ${{CMAKE_BINARY_DIR}}/u${{i}}.c.new ${{CMAKE_BINARY_DIR}}/u${{i}}.c ONLY_IF_DIFFERENT)
  list(APPEND sources ${{CMAKE_BINARY_DIR}}/u${{i}}.c)
endforeach()
add_library(t SHARED ${{sources}})
install(TARGETS t DESTINATION lib)
"""
SLOWLY = """\
#!/bin/sh
for word; do case $word in *.c.o) printf half > "$word" ;; esac; done
sleep 0.4
exec "$@"
"""
"""Before a compiler, so that a kill finds half-written objects that are newer than their sources."""
COMPONENT = """\
sources: {code: {path: code}}
components:
  tool: {kind: cmake, source: code, options: {CMAKE_C_COMPILER_LAUNCHER: /src/code/slowly%s}}
"""
RUNNERS = ["sandbox", pytest.param("docker", marks=pytest.mark.docker)]


@pytest.fixture(scope="session")
def base_with_ninja(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return ensure_base(tmp_path_factory.mktemp("ninja"), RECIPE)


@pytest.fixture
def works(base_with_ninja: Path, tmp_path: Path) -> BuildBench:
    return bench_in(tmp_path / "works", base_with_ninja)


def bench_in(folder: Path, base: Path) -> BuildBench:
    made = BuildBench(folder, folder / "store")
    link_store(base / "store", made.store)
    shutil.copy(base / "t.lock.yaml", folder / "t.lock.yaml")
    code = folder / "code"
    code.mkdir()
    (code / "CMakeLists.txt").write_text(LISTS)
    (code / "slowly").write_text(SLOWLY)
    (code / "slowly").chmod(0o755)
    write(made)
    return made


def write(bench: BuildBench, more: str = "") -> None:
    bench.recipe.write_text(RECIPE.replace("NAME", "t") + COMPONENT % more)


def compiled(bench: BuildBench) -> list[set[str]]:
    """The objects that ninja said it made, for each run of the step so far, oldest first."""
    logs = sorted(bench.store.glob("runs/*/logs/tool.log"))
    return [set(re.findall(r"\[\d+/\d+\] Building C object \S*/(u\d+)\.c\.o", log.read_text())) for log in logs]


def end_in_the_middle(bench: BuildBench, number: signal.Signals, runner: str, objects: int = 4) -> set[str]:
    """Start a build, and send it the signal once a few objects are there; which those are."""
    before = len(compiled(bench))
    words = bench.command("build", "--recipe", str(bench.recipe), "--runner", runner, "--jobs", "2")
    process = subprocess.Popen(words, cwd=bench.root, env=bench.environment(), stderr=subprocess.DEVNULL)
    end = time.monotonic() + 90
    while len(compiled(bench)) <= before or len(compiled(bench)[-1]) < objects:
        assert time.monotonic() < end and process.poll() is None, "it ended or hung before it could be killed"
        time.sleep(0.02)
    process.send_signal(number)
    process.communicate()
    return compiled(bench)[-1]


def noted(bench: BuildBench) -> set[str]:
    """The objects that ninja's own log in the tree says are finished, once nothing has been added for a second.

    What stackbuild's log shows may be one short: an object may be finished when nobody is left to read ninja's words.
    """
    (log,) = bench.store.rglob(".ninja_log")
    text, since = "", time.monotonic()
    while time.monotonic() < since + 1:
        if (now := log.read_text()) != text:
            text, since = now, time.monotonic()
        time.sleep(0.05)
    return set(re.findall(r"/(u\d+)\.c\.o\t", text))


@pytest.mark.parametrize("runner", RUNNERS)
@pytest.mark.parametrize("number", [signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_what_was_compiled_is_not_compiled_again(
    works: BuildBench, base_with_ninja: Path, tmp_path: Path, number: signal.Signals, runner: str
) -> None:
    made = end_in_the_middle(works, number, runner)
    if runner == "sandbox":  # a container compiles on until the next run removes it
        finished = noted(works)
        assert made <= finished, "ninja noted less than it said"
        made = finished
    assert 4 <= len(made) < UNITS
    done = works.build("--runner", runner)
    assert "tool: resumes in the build tree its last run left" in done.stderr
    assert ("kept the build tree that a killed run had left of t.tool" in done.stderr) == (number == signal.SIGKILL)
    again = compiled(works)[-1]
    assert not made & again, "an object that ninja had noted as finished was compiled again"
    if runner == "sandbox":
        assert made | again == {f"u{i}" for i in range(1, UNITS + 1)}
    clean = bench_in(tmp_path / "clean", base_with_ninja)
    clean.build("--runner", runner)
    assert works.trees()["tool"] == clean.trees()["tool"]
    assert works.leftovers() == [] and not list((works.store / "failed").iterdir())


@pytest.mark.slow
def test_killed_again_and_again_it_comes_to_its_end(works: BuildBench) -> None:
    finished: set[str] = set()
    for _ in range(3):
        made = end_in_the_middle(works, signal.SIGKILL, "sandbox", objects=2)
        assert not made & finished, "a kill took what an earlier run had finished"
        finished |= made
    works.build()
    assert len(finished) >= 6 and not compiled(works)[-1] & finished


@pytest.mark.slow
def test_other_inputs_leave_it_and_going_back_goes_on_in_it(works: BuildBench) -> None:
    made = end_in_the_middle(works, signal.SIGKILL, "sandbox")
    write(works, ", CMAKE_C_FLAGS: -DOTHER")
    assert "kept the build tree" in works.build("--until", "source.code").stderr
    write(works)
    assert "resumes in the build tree" in works.build().stderr and not compiled(works)[-1] & made


@pytest.mark.slow
def test_what_outlived_its_run_and_still_writes_has_the_tree_to_itself(works: BuildBench) -> None:
    made = end_in_the_middle(works, signal.SIGKILL, "sandbox")
    (tree,) = works.store.glob("tmp/*/tool/build")
    holder = subprocess.Popen(
        ["unshare", "--mount", "--propagation=private", "sh", "-c", 'mount --bind "$1" /mnt && echo held && exec sleep 300', "sh", str(tree)],
        stdout=subprocess.PIPE,
    )  # fmt: skip
    try:
        assert holder.stdout is not None and holder.stdout.readline() == b"held\n"
        done = works.build()
    finally:
        holder.kill()
        holder.communicate()
    assert "begins in an empty build tree, with what ccache has: what a killed run began still writes" in done.stderr
    assert compiled(works)[-1] >= made


@pytest.mark.slow
def test_a_run_that_waited_for_a_killed_one_goes_on_in_its_tree(works: BuildBench) -> None:
    words = works.command("build", "--recipe", str(works.recipe), "--runner", "sandbox", "--jobs", "2")
    first = subprocess.Popen(words, cwd=works.root, env=works.environment(), stderr=subprocess.DEVNULL)
    end = time.monotonic() + 90
    while not compiled(works):
        assert time.monotonic() < end and first.poll() is None
        time.sleep(0.02)
    said = []
    with subprocess.Popen(words, cwd=works.root, env=works.environment(), stderr=subprocess.PIPE, text=True) as second:
        assert second.stderr is not None
        for line in second.stderr:
            said.append(line)
            if "waiting" in line:
                while len(compiled(works)[0]) < 4:
                    assert time.monotonic() < end
                    time.sleep(0.02)
                first.kill()
                first.communicate()
    assert second.returncode == 0 and "resumes in the build tree" in "".join(said), said
    made, again = compiled(works)
    assert len(made) >= 4 and not made & again
    assert works.leftovers() == [] and not list((works.store / "failed").iterdir())


def test_a_shell_looks_at_the_tree_and_does_not_touch_it(works: BuildBench) -> None:
    made = end_in_the_middle(works, signal.SIGKILL, "sandbox")
    works.build("--until", "source.code")
    look = ("shell", "--recipe", str(works.recipe), "tool", "--", "sh", "-c")
    seen = works.run(*look, "ls .ninja_log; touch mine || echo closed; touch /tmp/t /out/o /etc/e && echo open")
    assert seen.stdout.split() == [".ninja_log", "closed", "open"] and "/build is read-only" in seen.stderr
    assert "resumes in the build tree" in works.build().stderr and not compiled(works)[-1] & made
