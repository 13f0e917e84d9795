"""What a step sees, and what it cannot: the same on both runners."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from support.build_bench import BuildBench, link_store

RUNNERS = [
    pytest.param("sandbox", marks=pytest.mark.sandbox),
    pytest.param("docker", marks=[pytest.mark.sandbox, pytest.mark.docker]),
]

LOOK = r"""
exec 2>&1
grep -E '^(CapEff|CapPrm|CapBnd|NoNewPrivs)' /proc/self/status
echo "devices $(tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' ' | sort | tr '\n' ' ')"
echo "where $(pwd) host $(uname -n) init-children $(ls -d /proc/[0-9]* | wc -l)"
touch /src/code/new && echo "WROTE source"; touch /deps/first/new && echo "WROTE dep"; mount -t tmpfs none /mnt && echo "MOUNTED"
mknod /tmp/null c 1 3 && echo "MADE device"; test -e /work && echo "SAW the host"; ls /root/.cache /home/* 2>/dev/null
test -S /var/run/docker.sock && echo "SAW docker"; test -w /proc/sys/kernel/hostname && echo x > /proc/sys/kernel/hostname && echo "SET hostname"
echo changed > /usr/bin/made-by-step && echo "base may be written to"
touch /out/o /build/looks/b /tmp/t /ccache/c && echo "own folders are writable"
env | cut -d= -f1 | sort | tr '\n' ' '
"""
COMPONENTS = """\
  first: {kind: script, run: [[sh, -c, "echo one > /out/one"]]}
  looks: {kind: script, source: code, needs: [first], env: {MINE: "1"}, run: [[sh, /src/code/look]]}
"""
PROGRAM = """\
  program:
    kind: script
    source: code
    env: {CCACHE_NODIRECT: ""}
    run:
      - [make, -f, /src/code/Makefile, OUT=/out]
      - [sh, -c, "/out/hello > /out/said; ln -s said /out/link; mkdir /out/empty"]
"""
SOURCES = "sources: {code: {path: code}}\n"
MAKEFILE = """\
all: $(OUT)/hello
$(OUT)/hello: a.o b.o c.o
\tgcc -o $@ $^
%.o: /src/code/%.c
\tccache gcc -g -c -o $@ $<
"""


def with_code(bench: BuildBench) -> BuildBench:
    code = bench.root / "code"
    code.mkdir()
    (code / "look").write_text(LOOK)
    (code / "Makefile").write_text(MAKEFILE)
    (code / "a.c").write_text('#include <stdio.h>\nint b(void), c(void);\nint main(void) { printf("%d %s\\n", b() + c(), __FILE__); return 0; }\n')
    (code / "b.c").write_text("int b(void) { return 40; }\n")
    (code / "c.c").write_text("int c(void) { return 2; }\n")
    return bench


@pytest.mark.parametrize("runner", RUNNERS)
def test_what_a_step_sees_and_may(bench: BuildBench, runner: str) -> None:
    with_code(bench).write(COMPONENTS, SOURCES)
    bench.build("--runner", runner)
    said = bench.run("logs", "looks").stdout
    for name in ("CapEff", "CapPrm"):
        assert re.search(rf"{name}:\s+0{{16}}\n", said), said
    assert re.search(r"NoNewPrivs:\s+1\n", said), said
    assert "devices lo " in said and "where /build/looks host stackbuild" in said
    assert "own folders are writable" in said and "base may be written to" in said
    for never in ("WROTE", "MOUNTED", "MADE", "SAW", "SET"):
        assert never not in said, said
    names = set(said.strip().splitlines()[-1].split())
    assert {"MINE", "HOME", "PATH", "LC_ALL", "SOURCE_DATE_EPOCH", "MAKEFLAGS"} <= names
    assert not names & {"STACKBUILD_STORE", "PYTEST_CURRENT_TEST", "USER", "LOGNAME", "XDG_CACHE_HOME"}
    assert not (bench.tree("base") / "usr/bin/made-by-step").exists()
    assert "every file has its digest" in bench.run("store", "check").stdout
    assert bench.leftovers() == []


@pytest.mark.sandbox
@pytest.mark.docker
def test_keys_and_bytes_are_the_same_on_both_runners(small_base: Path, bench: BuildBench, tmp_path: Path) -> None:
    other = BuildBench(bench.root, tmp_path / "other-store")
    link_store(small_base / "store", other.store)
    with_code(bench).write(PROGRAM, SOURCES)
    for where, runner in ((bench, "sandbox"), (other, "docker")):
        done = where.build("--runner", runner, "--json")
        assert "program" in [e["step"] for e in where.events(done, "StepFinished") if e["how"] == "run"]
        assert (where.tree("program") / "said").read_text() == "42 /src/code/a.c\n"
    assert bench.trees() == other.trees()
    assert {p.name for p in (bench.store / "records").glob("*/*")} == {p.name for p in (other.store / "records").glob("*/*")}


@pytest.mark.sandbox
def test_a_second_run_does_nothing_and_a_one_line_change_compiles_one_file(bench: BuildBench) -> None:
    with_code(bench).write(PROGRAM, SOURCES)
    first = bench.events(bench.build("--json"), "StepFinished")
    assert {"hits": 0, "misses": 3} in [e["compiles"] for e in first]
    again = bench.build("--json")
    assert [e["how"] for e in bench.events(again, "StepFinished")] == ["cached"]
    (bench.root / "code" / "c.c").write_text("int c(void) { return 3; }\n")
    change = bench.events(bench.build("--json"), "StepFinished")
    assert {"hits": 2, "misses": 1} in [e["compiles"] for e in change]
    assert (bench.tree("program") / "said").read_text().startswith("43")


@pytest.mark.sandbox
def test_early_cut_off_for_real(bench: BuildBench) -> None:
    """A comment changes the first step's key but not its output: what depends on it is not run again."""
    code = with_code(bench).root / "code"
    bench.write(
        "  lib: {kind: script, source: code, run: [[gcc, -c, -o, /out/b.o, /src/code/b.c]]}\n"
        "  app: {kind: script, needs: [lib], run: [[sh, -c, 'cp /deps/lib/b.o /out/app.o; date +%N > /out/now']]}\n",
        SOURCES,
    )
    bench.build()
    before = bench.trees()
    (code / "b.c").write_text("int b(void) { return 40; } // a comment\n")
    done = bench.build("--json", "--fail-on-rebuild", check=3)
    done = bench.build("--json")
    how = {e["step"]: e["how"] for e in bench.events(done, "StepFinished")}
    assert how["lib"] == "run" and how["app"] == "reused"
    assert bench.trees()["app"] == before["app"]
    assert "nothing to do" in bench.run("plan", "--recipe", str(bench.recipe)).stdout


@pytest.mark.usefixtures("memory_groups")
@pytest.mark.parametrize("runner", RUNNERS)
def test_out_of_memory_is_told_from_an_error(bench: BuildBench, runner: str) -> None:
    bench.write(
        "  small: {kind: script, memory: 64M, run: [[sh, -c, 'tail /dev/zero']]}\n"
        "  wrong: {kind: script, run: [[sh, -c, 'echo t.c:1: error: no >&2; exit 3']]}\n"
    )
    done = bench.build("--runner", runner, "--keep-going", "--json", check=4)
    broke = {e["step"]: e["what"] for e in bench.events(done, "StepBroke")}
    assert broke["wrong"] == "exit code 3"
    last = bench.events(done)[-1]
    assert (last["event"], last["exit_code"]) == ("RunStopped", 4)
    assert "out of memory" in str(broke["small"]) and "64 MiB" in str(broke["small"])
    assert bench.leftovers() == []


@pytest.mark.sandbox
@pytest.mark.usefixtures("memory_groups")
def test_a_step_says_the_most_memory_of_its_processes(bench: BuildBench) -> None:
    """A shell holds 200 MB; a file of 300 MB, which is page cache, does not count."""
    bench.write(
        "  held: {kind: script, run: [[sh, -c, 'x=$(yes | head -c 200000000); sleep 1']]}\n"
        "  file: {kind: script, run: [[sh, -c, 'head -c 300000000 /dev/zero > f; sleep 1; rm f']]}\n"
    )
    done = bench.build("--json")
    peaks = {e["step"]: e["peak_memory"] for e in bench.events(done, "StepFinished")}
    assert 200e6 < int(str(peaks["held"])) < 900e6 and int(str(peaks["file"])) < 100e6


@pytest.mark.parametrize("runner", RUNNERS)
def test_a_failure_is_told_and_shell_shows_what_it_left(bench: BuildBench, runner: str) -> None:
    bench.write("  bad: {kind: script, run: [[sh, -c, 'echo half > half; echo sys > /etc/by-step; echo x.c:1: error: no; exit 5']]}\n")
    done = bench.build("--runner", runner, check=4)
    for part in ("bad", "exit code 5", "x.c:1: error: no", "log:", f"stackbuild shell --recipe {bench.recipe} bad"):
        assert part in done.stderr, done.stderr
    shell = ("shell", "--recipe", str(bench.recipe), "bad", "--runner", runner, "--", "sh", "-c")
    seen = bench.run(*shell, "cat half /etc/by-step; pwd; ls / | tr '\\n' ' '; exit 9", check=9)
    assert seen.stdout.split()[:3] == ["half", "sys", "/build/bad"], seen.stdout + seen.stderr
    assert bench.leftovers() == []


@pytest.mark.sandbox
@pytest.mark.parametrize("name", ["with:colon", "with,comma", "with space", "ünïcode", "quote'\"", "back\\slash", "$(touch owned)"])
def test_a_store_may_lie_anywhere(bench: BuildBench, name: str) -> None:
    moved = bench.root / name
    bench.store.rename(moved)
    bench.store = moved
    bench.write("  hello: {kind: script, run: [[sh, -c, 'echo hi > /out/hi']]}\n")
    bench.build()
    assert (bench.tree("hello") / "hi").read_text() == "hi\n"
    assert not list(bench.root.rglob("owned"))


@pytest.mark.sandbox
def test_a_command_that_is_not_there_is_the_steps_failure(bench: BuildBench) -> None:
    bench.write("  bad: {kind: script, run: [[no-such-command]]}\n")
    assert "no-such-command" in bench.build(check=4).stderr


@pytest.mark.sandbox
def test_a_sandbox_that_cannot_open_is_the_machines_fault(bench: BuildBench, tmp_path: Path) -> None:
    """A bwrap that fails to set up, as in a container without namespaces: exit 7, and nothing is recorded as failed."""
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "bwrap").write_text("#!/bin/sh\necho 'bwrap: Creating new namespace failed: Operation not permitted' >&2\nexit 1\n")
    (tools / "bwrap").chmod(0o755)
    bench.env = {"PATH": f"{tools}:{os.environ['PATH']}"}
    bench.write("  hello: {kind: script, run: [[/bin/true]]}\n")
    done = bench.build("--runner", "sandbox", check=7)
    assert "Creating new namespace failed" in done.stderr and "--runner docker" in done.stderr
    assert not (bench.store / "failed" / "t.hello").exists()


@pytest.mark.sandbox
def test_missing_tools_are_named_with_what_installs_them(bench: BuildBench, tmp_path: Path) -> None:
    bench.write("  hello: {kind: script, run: [[/bin/true]]}\n")
    nowhere = tmp_path / "nowhere"
    nowhere.mkdir()
    bench.env = {"PATH": str(nowhere)}
    done = bench.build("--runner", "sandbox", check=7)
    assert "`bwrap` is not installed" in done.stderr and "apt-get install bubblewrap" in done.stderr
    bench.env["STACKBUILD_STORE"] = str(tmp_path / "fresh")
    done = bench.build("--runner", "sandbox", check=7)
    assert "`mmdebstrap` is not installed" in done.stderr and "apt-get install mmdebstrap" in done.stderr


@pytest.mark.sandbox
def test_what_a_step_leaves_running_ends_with_it(bench: BuildBench) -> None:
    bench.write("  daemon: {kind: script, run: [[sh, -c, 'setsid sleep 4242 >/dev/null 2>&1 & sleep 0.2']]}\n")
    bench.build()
    assert not [p for p in Path("/proc").glob("[0-9]*/cmdline") if b"sleep\x004242" in _read(p)]


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


@pytest.mark.sandbox
def test_until_and_only_prove_a_wheel_and_publish_nothing(bench: BuildBench) -> None:
    bench.write(
        "  tool: {kind: script, run: [[sh, -c, 'mkdir /out/tool; : > /out/tool/__init__.py; echo mine > /out/tool/LICENSE']]}\n"
        "  wheel: {kind: wheel, needs: [tool], distribution: tool, version: '1.0', summary: a tool, packages: [tool],"
        " license_files: [tool/LICENSE]}\n"
    )
    for words in (("--until", "wheel"), ("--only", "wheel")):
        done = bench.build(*words)
        assert "nothing is measured and published" in done.stderr and "wheelhouse" not in done.stderr, done.stderr
        assert not (bench.root / "dist").exists()
    assert "pip install" in bench.build().stdout
    assert list((bench.root / "dist" / "simple" / "tool").glob("tool-1.0-*.whl"))
