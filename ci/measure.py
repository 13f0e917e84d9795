"""Measures what docs/performance.md says, beside ninja, Snakemake and Bob on the same graphs, in one run.

Every figure is the median of several runs of a whole process, wall clock; sides of a comparison are interleaved.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STACKBUILD = str(ROOT / ".venv/bin/stackbuild")
PEERS = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "stackbuild" / "measure-peers"
PACKAGES = {"ninja": "ninja", "snakemake": "snakemake", "bob": "BobBuildTool"}
"""The tools of the other columns, and the packages that they come in."""
SIZES = (10, 100, 1000)


def seconds(argv: list[str], cwd: Path, env: dict[str, str] | None = None) -> float:
    """One run's wall clock. Raises CalledProcessError with its output."""
    start_time = time.perf_counter()
    subprocess.run(argv, cwd=cwd, env={**os.environ, **(env or {})}, check=True, capture_output=True, stdin=subprocess.DEVNULL)
    return time.perf_counter() - start_time


@cache
def peer(name: str) -> str:
    """The path of another tool, installed on first use; "" where it cannot be, which is said once, with the reason."""
    program = PEERS / "bin" / name
    if program.exists():
        return str(program)
    try:
        if not (PEERS / "bin" / "pip").exists():
            subprocess.run([sys.executable, "-m", "venv", str(PEERS)], check=True, capture_output=True, text=True)
        install = [str(PEERS / "bin" / "pip"), "install", "--quiet", PACKAGES[name]]
        subprocess.run(install, check=True, capture_output=True, text=True)
        if not program.exists():
            raise FileNotFoundError(f"its package brings no program {name}")
    except (OSError, subprocess.CalledProcessError) as error:
        lines = (getattr(error, "stderr", "") or str(error)).strip().splitlines()
        reason = next((line for line in reversed(lines) if "ERROR" in line), lines[-1])
        print(f"({name}: –, {PACKAGES[name]} cannot be installed: {reason})", flush=True)
        return ""
    return str(program)


def medians(sides: dict[str, Callable[[], float]], rounds: int) -> dict[str, float]:
    """The sides' medians, one run of each a round."""
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(rounds):
        for name, run in sides.items():
            seconds[name].append(run())
    return {name: statistics.median(values) for name, values in seconds.items()}


def row(*cells: object) -> None:
    print("| " + " | ".join(f"{c:.3f}" if isinstance(c, float) else str(c) for c in cells) + " |", flush=True)


def recipe(n: int, folder: Path, runner_env: dict[str, str]) -> Path:
    """A recipe of n independent steps that write one file, and its lock."""
    text = "schema: 1\nname: many\nsummary: many small steps\nbase: {debian: {suite: trixie, packages: [make]}}\ngfx: [gfx90a]\ncomponents:\n"
    text += "".join(f'  c{i}:\n    kind: script\n    memory: 10M\n    run:\n      - [sh, -c, "echo {i} > /out/x"]\n' for i in range(n))
    path = folder / f"many{n}.yaml"
    path.write_text(text)
    lock = folder / "lock.yaml"
    if not lock.exists():
        seconds([STACKBUILD, "lock", "-r", str(path)], folder, runner_env)
        shutil.move(path.with_name(f"many{n}.lock.yaml"), lock)
    shutil.copy(lock, path.with_name(f"many{n}.lock.yaml"))
    return path


def ninja_graph(n: int, folder: Path) -> None:
    folder.mkdir()
    rules = "rule w\n  command = echo $in_text > $out\n" + "".join(f"build o{i}: w\n  in_text = {i}\n" for i in range(n))
    (folder / "build.ninja").write_text(rules)


def snake_graph(n: int, folder: Path) -> None:
    folder.mkdir()
    outs = ", ".join(f'"o{i}"' for i in range(n))
    rules = "".join(f'rule r{i}:\n    output: "o{i}"\n    shell: "echo {i} > {{output}}"\n' for i in range(n))
    (folder / "Snakefile").write_text(f"rule all:\n    input: {outs}\n{rules}")


def bob_graph(n: int, folder: Path) -> None:
    (folder / "recipes").mkdir(parents=True)
    (folder / "config.yaml").write_text("bobMinimumVersion: '0.16'\n")
    needs = "".join(f"    - c{i}\n" for i in range(n))
    (folder / "recipes/all.yaml").write_text(f"root: True\ndepends:\n{needs}buildScript: 'true'\npackageScript: 'true'\n")
    for i in range(n):
        (folder / f"recipes/c{i}.yaml").write_text(f"buildScript: 'echo {i} > x'\npackageScript: 'cp $1/x .'\n")


def start(work: Path) -> None:
    """Start-up of the command line."""
    print("\n### Start-up\n\n| command | s |\n|---|---|")
    for words in (["--version"], ["--help"], ["recipe", "list"]):
        row(f"`stackbuild {' '.join(words)}`", statistics.median(seconds([STACKBUILD, *words], work) for _ in range(15)))
    row("`python -c pass`", statistics.median(seconds([sys.executable, "-c", "pass"], work) for _ in range(15)))


def plan(work: Path) -> None:
    """Planning against a store, process start included."""
    peer("bob")
    print("\n### Plan of n steps, s (start-up included)\n\n| n | `stackbuild plan` | `bob ls` |\n|---|---|---|")
    env = {"STACKBUILD_STORE": str(work / "store")}
    for n in SIZES:
        path = recipe(n, work, env)
        bob_graph(n, work / f"bobplan{n}")
        sides = {"stackbuild": lambda p=path: seconds([STACKBUILD, "plan", "-r", str(p), "--json"], work, env)}
        if n <= 100 and peer("bob"):
            sides["bob"] = lambda f=work / f"bobplan{n}": seconds([peer("bob"), "ls"], f)
        times = medians(sides, 7)
        row(n, times["stackbuild"], times.get("bob", "–"))


def noop(work: Path) -> None:
    """First and second build of n trivial steps."""
    for name in PACKAGES:
        peer(name)
    print("\n### n independent one-line steps: first build / no-op, s\n")
    print("| n | stackbuild (sandboxed) | ninja | Snakemake | Bob |\n|---|---|---|---|---|")
    env = {"STACKBUILD_STORE": str(work / "store")}
    for n in SIZES:
        tools: dict[str, tuple[list[str], Path]] = {"stackbuild": ([STACKBUILD, "build", "-r", str(recipe(n, work, env))], work)}
        ninja_graph(n, work / f"ninja{n}")
        tools["ninja"] = ([peer("ninja")], work / f"ninja{n}")
        if n <= 100:
            snake_graph(n, work / f"snake{n}")
            bob_graph(n, work / f"bob{n}")
            tools["snakemake"] = ([peer("snakemake"), "--cores", "2", "--quiet"], work / f"snake{n}")
            tools["bob"] = ([peer("bob"), "dev", "-j", "2", "all"], work / f"bob{n}")
        tools = {name: tool for name, tool in tools.items() if tool[0][0]}
        if n == SIZES[0]:
            seconds([STACKBUILD, "build", "-r", str(recipe(n, work, env)), "--until", "base"], work, env)
        first = {name: seconds(argv, cwd, env) for name, (argv, cwd) in tools.items()}
        again = medians({name: lambda a=argv, c=cwd: seconds(a, c, env) for name, (argv, cwd) in tools.items()}, 5)
        row(n, *(f"{first[t]:.2f} / {again[t]:.3f}" if t in first else "–" for t in ("stackbuild", "ninja", "snakemake", "bob")))


def steps(work: Path) -> None:
    """What one step costs beyond the bare tool."""
    env = {"STACKBUILD_STORE": str(work / "store")}
    n = 40
    path = recipe(n, work, env)
    seconds([STACKBUILD, "build", "-r", str(path), "--until", "base"], work, env)
    base = _base(work / "store")
    print("\n### One small step, s: through stackbuild and bare\n\n| | a step | without the start | bare tool |\n|---|---|---|---|")
    bare = {
        "sandbox": ["bwrap", "--ro-bind", str(base), "/", "--dev", "/dev", "--proc", "/proc", "--unshare-all", "sh", "-c", "echo 1"],
        "docker": ["docker", "run", "--rm", "--network", "none", "stackbuild-measure", "sh", "-c", "echo 1"],
    }
    for runner in ("sandbox", "docker"):
        if runner == "docker":
            if subprocess.run(["docker", "info"], capture_output=True, check=False).returncode:
                row("docker", "no engine here", "–", "–")
                continue
            tar = subprocess.Popen(["tar", "-C", str(base), "-c", "."], stdout=subprocess.PIPE)
            subprocess.run(["docker", "import", "-", "stackbuild-measure"], stdin=tar.stdout, check=True, capture_output=True)
        fresh = work / f"fresh-{runner}.yaml"
        fresh.write_text(path.read_text().replace("echo ", f"echo {runner} "))
        shutil.copy(work / "lock.yaml", fresh.with_suffix(".lock.yaml"))
        warm = [STACKBUILD, "build", "-r", str(fresh), "--runner", runner, "-j", "1"]
        seconds([*warm, "--until", "c0"], work, env)
        whole = seconds(warm, work, env)
        start_up = statistics.median(seconds(warm, work, env) for _ in range(5))
        alone = statistics.median(seconds(bare[runner], work) for _ in range(15))
        row(runner, whole / (n - 1), (whole - start_up) / (n - 1), alone)
    subprocess.run(["docker", "rmi", "-f", "stackbuild-measure"], capture_output=True, check=False)


def _base(store: Path) -> Path:
    key = (store / "latest/many.base.key").read_text().strip()
    tree = json.loads((store / "records" / key[:2] / f"{key}.json").read_text())["tree"]
    return store / "trees" / tree[:2] / tree


def check(work: Path) -> None:
    """Reading a whole base in the store and comparing each file with its digest."""
    from stackbuild.store.store import Store

    env = {"STACKBUILD_STORE": str(work / "store")}
    seconds([STACKBUILD, "build", "-r", str(recipe(10, work, env)), "--until", "base"], work, env)
    tree = _base(work / "store")
    size = sum(p.lstat().st_size for p in tree.rglob("*") if p.is_file() and not p.is_symlink()) / 1e6
    print(f"\n### Check of a tree of {size:.0f} MB, MB/s\n\n| what | MB/s |\n|---|---|")

    def bytes_per_second(action: Callable[[Path], object]) -> float:
        target = work / "copy"
        shutil.rmtree(target, ignore_errors=True)
        start_time = time.perf_counter()
        action(target)
        return size / (time.perf_counter() - start_time)

    def check_tree(target: Path) -> None:
        store = Store(work / "store", f"measure-{time.time_ns()}")
        assert store.check(tree.name) == ""
        store.close()

    sides: dict[str, Callable[[], float]] = {
        "every file read and compared with its digest": lambda: bytes_per_second(check_tree),
        "`cp -al`": lambda: bytes_per_second(lambda t: subprocess.run(["cp", "-al", tree, t], check=True)),
        "`cp -a`": lambda: bytes_per_second(lambda t: subprocess.run(["cp", "-a", tree, t], check=True)),
    }
    for name, value in medians(sides, 3).items():
        row(name, f"{value:.0f}")


def demo(work: Path) -> None:
    """The demo recipe: cold, with a warm compiler cache, after a one-line change, and again with nothing to do."""
    shutil.copytree(ROOT / "kernels", work / "kernels", symlinks=True)
    text = (ROOT / "recipes/debian-13.yaml").read_text().replace("bundled: kernels", "path: kernels")
    (work / "demo.yaml").write_text(text)
    shutil.copy(ROOT / "recipes/debian-13.lock.yaml", work / "demo.lock.yaml")
    store = work / "demo-store"
    build = [STACKBUILD, "build", "-r", "demo.yaml", "--json"]
    print("\n### The demo build, s\n\n| build | whole | step `kernels` | ccache hits | verify | bench |\n|---|---|---|---|---|---|")
    _demo_row("cold: empty store, empty ccache", build, work, store)
    for folder in ("records", "latest", "memos", "trees", "manifests"):
        shutil.rmtree(store / folder, ignore_errors=True)
    _demo_row("warm: empty store, full ccache", build, work, store)
    source = work / "kernels/leaky_relu/leaky_relu_kernels.hpp"
    source.write_text(source.read_text().replace("#pragma once", "#pragma once\nnamespace { [[maybe_unused]] constexpr int changed = 1; }", 1))
    _demo_row("one line changed in one kernel", build, work, store)
    _demo_row("nothing changed", build, work, store)


def _demo_row(name: str, build: list[str], work: Path, store: Path) -> None:
    start_time = time.perf_counter()
    process = subprocess.run(build, cwd=work, env={**os.environ, "STACKBUILD_STORE": str(store)}, capture_output=True, text=True, check=False)
    whole = time.perf_counter() - start_time
    if process.returncode:
        raise SystemExit(f"{name}: exit {process.returncode}\n{process.stderr[-2000:]}")
    events = [json.loads(line) for line in process.stdout.splitlines()]
    step = next((e for e in events if e["event"] == "StepFinished" and e["step"] == "kernels" and e["how"] == "run"), None)
    stages = {e["stage"]: e["seconds"] for e in events if e["event"] == "StageFinished"}
    hits = f"{step['compiles']['hits']} of {step['compiles']['hits'] + step['compiles']['misses']}" if step else "–"
    row(name, f"{whole:.1f}" if whole > 1 else f"{whole:.2f}", f"{step['seconds']:.1f}" if step else "–", hits, *(f"{stages.get(s, 0):.1f}" for s in ("verify", "bench")))


@contextmanager
def workplace() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="stackbuild-measure-", dir="/var/tmp") as folder:
        yield Path(folder)


def main() -> None:
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # a tool in use has its modules compiled; with it, each start compiles what changed
    parts = {f.__name__: f for f in (start, plan, noop, steps, check, demo)}
    for name in sys.argv[1:] or parts:
        with workplace() as work:
            parts[name](work)


if __name__ == "__main__":
    main()
