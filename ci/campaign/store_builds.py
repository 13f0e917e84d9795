"""The small build of support/killed_build.py in a process of its own, under strace: its calls that touch the store, and
faults at them."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from campaign.frame import NotRun
from stackbuild.store.maintenance import records
from stackbuild.store.store import Store, new_run_id
from support import killed_build
from support.other_user import OtherUser, copy_for_others
from support.paths import TESTS

CALLS = (
    "openat,write,pwrite64,fsync,syncfs,rename,renameat,renameat2,mkdir,mkdirat,unlink,unlinkat,rmdir,link,symlink,chmod,"
    "fchmod,fchmodat,ftruncate,flock,getdents64,close"
)
MADE_BY_HAND = 60.0
"""Seconds that one build may take at most."""

KillPoint = tuple[str, int]
"""A system call, and the how-manieth of its thread, as strace counts."""


@dataclass(frozen=True)
class BuildUser:
    """Who builds: the user that the tests run as, or another one from copies."""

    name: str
    words: tuple[str, ...]
    environment: Mapping[str, str]
    uid: int

    def command(self, root: Path) -> list[str]:
        return [*self.words, "-m", "support.killed_build", str(root)]

    def own(self, folder: Path) -> Path:
        """The folder, given to that user."""
        folder.mkdir(exist_ok=True)
        os.chown(folder, self.uid, self.uid)
        return folder


def own_user() -> BuildUser:
    return BuildUser("self", (sys.executable,), {**os.environ, "PYTHONPATH": str(TESTS)}, os.geteuid())


@cache
def other_user() -> BuildUser:
    """A user without rights. Raises NotRun where this is not root, or where that user has no interpreter."""
    if os.geteuid() != 0:
        raise NotRun("needs root, to become another user")
    copies = Path(tempfile.mkdtemp(prefix="stackbuild-campaign-copies-", dir="/var/tmp"))
    atexit.register(shutil.rmtree, copies, ignore_errors=True)
    copy_for_others(copies)
    shutil.copytree(TESTS / "support", copies / "support", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(Path(killed_build.__file__).parents[2] / "recipes", copies / "recipes", dirs_exist_ok=True)
    subprocess.run(["chmod", "-R", "a+rX", str(copies)], check=True)
    user = OtherUser(copies)
    if user.python is None:
        raise NotRun("the other user can start no interpreter of this version")
    return BuildUser("nobody", (*user.prefix, user.python), {**user.environment, "PATH": os.environ["PATH"]}, user.uid)


def run_traced(
    builder: BuildUser, root: Path, *inject: str, output: str = "/dev/null", calls: str = CALLS
) -> subprocess.CompletedProcess[str]:
    """That build under strace. As the other user, strace runs as that user too: the prefix ends in an `exec`."""
    if not shutil.which("strace"):
        raise NotRun("strace is not installed")
    words = ["strace", "-f", "-y", "-qq", "-o", output, "-e", f"trace={calls}", *inject]
    command = builder.command(root)
    at = command.index("-m") - 1  # the interpreter
    return subprocess.run(
        [*command[:at], *words, *command[at:]],
        env=dict(builder.environment), cwd="/", capture_output=True, text=True, errors="replace", timeout=MADE_BY_HAND, check=False,
    )  # fmt: skip


def points(builder: BuildUser, folder: Path, past_start: bool = False) -> list[KillPoint]:
    """Every call of that build that touches the store.

    With `past_start` a worker's early calls are left out where the same count is the interpreter's own start in the
    first thread: strace would fault both, and a Python that cannot read its library says so in its own words.
    """
    root = builder.own(folder / "counted")
    trace = root / "trace"
    process = run_traced(builder, root / "store", output=str(trace))
    if process.returncode:
        raise RuntimeError(f"the build failed without a fault: {process.stderr}")
    counts: dict[tuple[str, str], int] = {}
    moments: set[KillPoint] = set()
    starting: dict[str, int] = {}
    first, mark = "", f"{root}/store"
    for line in trace.read_text(errors="replace").splitlines():
        if call := re.match(r"(\d+) +(\w+)\(", line):
            thread, name = call[1], call[2]
            first = first or thread
            counts[thread, name] = counts.get((thread, name), 0) + 1
            if not moments and mark not in line and thread == first:
                starting[name] = counts[thread, name]
            if mark in line and not (past_start and counts[thread, name] <= starting.get(name, 0)):
                moments.add((name, counts[thread, name]))
    shutil.rmtree(root)
    return sorted(moments)


@cache
def expected_outputs() -> dict[str, str]:
    """Each step's output digest of a build that nobody disturbs."""
    with tempfile.TemporaryDirectory(prefix="stackbuild-campaign-", dir="/var/tmp") as folder:
        return killed_build.build(Path(folder) / "store")


def after(root: Path) -> str:
    """What is lost in a store after a fault: a half entry, another result of the next build, or something left over."""
    store = Store(root, new_run_id())
    try:
        for record in records(store):
            if reason := store.check(record.tree):
                return f"a half entry: {reason}"
    finally:
        store.close()
    if killed_build.build(root) != expected_outputs():
        return "the next build comes to another result"
    remains = [str(path.relative_to(root)) for name in ("tmp", "failed") for path in (root / name).iterdir()]
    return f"left over: {', '.join(remains)}" if remains else ""
