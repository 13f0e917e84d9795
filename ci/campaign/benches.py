"""Stores that have the tests' Debian base and a small build, for rigs that attack a store through the real command."""

from __future__ import annotations

import atexit
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from campaign.frame import NotRun
from stackbuild.store import atomic
from stackbuild.store.maintenance import records
from stackbuild.store.store import Store, new_run_id
from support.build_bench import BuildBench, ensure_base

ONE = "echo one > /out/a; mkdir /out/d /out/e; echo x > /out/d/x; ln -s d/x /out/l; cp /out/a /out/run; chmod 755 /out/run"
STEPS = """\
  one: {{kind: script, run: [[sh, -c, "{one}"]]}}
  two: {{kind: script, needs: [one], env: {{NONCE: "{nonce}"}}, run: [[sh, -c, "cat /deps/one/a /deps/one/l > /out/b"]]}}
"""
CONTENT = "one\nx\n"
"""What the step `two` makes of a sound `one`, whatever the nonce."""


def write(bench: BuildBench, nonce: str) -> None:
    bench.write(STEPS.format(one=ONE, nonce=nonce))


@cache
def _base() -> Path:
    missing = [tool for tool in ("bwrap", "unshare", "mmdebstrap") if not shutil.which(tool)]
    if missing:
        raise NotRun(f"not installed: {', '.join(missing)}")
    with tempfile.TemporaryDirectory(prefix="stackbuild-campaign-base-") as scratch:
        return ensure_base(Path(scratch))


def bench_in(folder: Path, store: Path | None = None) -> BuildBench:
    """A lock in the folder, and a copy of that store, by default of one that has the base alone."""
    base = _base()
    bench = BuildBench(folder, folder / "store", env={"HOME": str(folder), "STACKBUILD_MIRROR": ""})
    shutil.copy(base / "t.lock.yaml", folder / "t.lock.yaml")
    copy(store or base / "store", bench.store)
    return bench


def copy(source: Path, target: Path) -> None:
    """A store's records and trees. A tree of the base is only linked to: nobody harms it."""
    target.mkdir()
    for name in ("records", "manifests", "latest"):
        shutil.copytree(source / name, target / name)
    shutil.copy(source / "format", target / "format")
    for tree in (source / "trees").glob("*/*"):
        place = target / "trees" / tree.parent.name / tree.name
        place.parent.mkdir(parents=True, exist_ok=True)
        if (tree / "usr").is_dir():
            place.symlink_to(tree.resolve())
        else:
            subprocess.run(["cp", "-a", str(tree), str(place)], check=True)


@cache
def built_bench() -> Path:
    """A folder with a bench in which the steps have been built."""
    folder = Path(tempfile.mkdtemp(prefix="stackbuild-campaign-built-", dir="/var/tmp"))
    atexit.register(atomic.remove, folder)
    bench = bench_in(folder)
    write(bench, "first")
    bench.build()
    return folder


def unsound(root: Path) -> str:
    """A tree that a record of the store names and that is not as its manifest says; "" where there is none."""
    store = Store(root, new_run_id())
    try:
        for record in records(store):
            if record.step != "base" and (reason := store.check(record.tree)):
                return f"{record.step}: {reason}"
        return ""
    finally:
        store.close()


@contextmanager
def running(*commands: subprocess.Popen[str]) -> Iterator[None]:
    """Ends what is still running afterwards."""
    try:
        yield
    finally:
        for process in commands:
            if process.poll() is None:
                process.kill()
            process.wait()


def outputs(root: Path, step: str) -> list[Path]:
    """The trees that the records of a step name."""
    store = Store(root, new_run_id())
    try:
        return [store.tree(record.tree) for record in records(store) if record.step == step]
    finally:
        store.close()
