"""Sessions for rigs that attack a runner from inside: the small Debian base of the tests, and one command in it."""

from __future__ import annotations

import json
import os
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from campaign.frame import NotRun
from stackbuild.actions.image import PACKAGE_MANAGER
from stackbuild.core.cancel import Stopper
from stackbuild.runners import bwrap
from stackbuild.runners.cgroup import limits
from stackbuild.runners.choice import choose
from stackbuild.runners.protocol import Exec, ExecResult, Mount, SessionSpec
from stackbuild.store.store import Store, new_run_id
from stackbuild.verification.probe_sandbox import ProbeSandbox
from support.build_bench import ensure_base

RUNNERS = ("sandbox", "docker")
MEMORY, PROCESSES = 256 << 20, 200
NONCE = f"campaign-{os.getpid()}"
"""Stands in the environment of this process: a step must not see it."""


@cache
def base() -> tuple[Path, str]:
    """The tests' Debian base with gcc, make and ccache: its tree and digest. Built on first use, which takes minutes."""
    with tempfile.TemporaryDirectory(prefix="stackbuild-campaign-base-") as scratch:
        store = ensure_base(Path(scratch)) / "store"
    for path in (store / "records").glob("*/*.json"):
        record = json.loads(path.read_text())
        if record["step"] == "base":
            return store / "trees" / record["tree"][:2] / record["tree"], record["tree"]
    raise NotRun(f"{store} has no base")


@cache
def lacking(runner: str) -> str:
    """Why that runner cannot be used here, "" where it can."""
    if runner == "image" and os.geteuid() != 0:
        return "only root extends images"
    if runner != "docker":
        missing = [tool for tool in ("bwrap", "unshare", "mmdebstrap") if not shutil.which(tool)]
        return f"not installed: {', '.join(missing)}" if missing else ""
    where = os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock").removeprefix("unix://")
    try:
        with socket.socket(socket.AF_UNIX) as engine:
            engine.connect(where)
    except OSError as error:
        return f"no Docker engine answers at {where}: {error.strerror}"
    return ""


@cache
def has_groups() -> bool:
    """Whether memory and processes can be limited by control groups here."""
    with limits("campaign", 1 << 26, 100) as group:
        return group.limits_memory


@dataclass
class AttackSession:
    """A session's folders and what its one command came to."""

    folder: Path
    runner: str
    store: Store
    result: ExecResult = field(default_factory=lambda: ExecResult(-1, 0.0))

    @property
    def out(self) -> Path:
        return self.folder / "out"

    @property
    def log(self) -> Path:
        return self.folder / "log"

    @property
    def output(self) -> str:
        """The end of what the command printed."""
        with self.log.open("rb") as file:
            file.seek(max(0, self.log.stat().st_size - (1 << 20)))
            return file.read().decode("utf-8", "replace")

    def spec(self) -> SessionSpec:
        tree, digest = base()
        mounts = (
            Mount(self.folder / "need", "/deps/need"),
            Mount(self.out, "/out", writable=True),
            Mount(self.folder / "build", "/build", writable=True),
        )
        return SessionSpec(
            tree,
            digest,
            self.folder / "upper",
            self.folder / "work",
            mounts,
            MEMORY,
            self.store.run,
            processes=PROCESSES,
        )

    def run(self, *argv: str) -> ExecResult:
        """Run a command in a session of its own; its output is `output`."""
        if self.runner in PLACES:
            code, output = PLACES[self.runner](self.folder, argv)
            self.log.write_text(output)
            self.result = ExecResult(code, 0.0)
            return self.result
        runner = choose(self.runner, store=self.store, base_is_image=False)
        environment = (("PATH", "/usr/sbin:/usr/bin:/sbin:/bin"), ("HOME", "/tmp"))
        with runner.open(self.spec()) as session:
            self.result = session.run(Exec(argv, environment, "/build", self.log), Stopper())
        return self.result


def in_cell(folder: Path, argv: tuple[str, ...]) -> tuple[int, str]:
    """Run a command where `verify` runs wheels: its exit code and output."""
    cell = ProbeSandbox(folder / "cell", Path(sys.executable))
    (folder / "cell").mkdir()
    log = cell.out / "log"
    result = cell.furnish(["/bin/sh", "-c", 'log=$0; "$@" > "$log" 2>&1', str(log), *argv], 120)
    return result.code, log.read_text(errors="replace") if log.is_file() else result.tail


def in_image(folder: Path, argv: tuple[str, ...]) -> tuple[int, str]:
    """Run a command as a `RUN` line that extends an image: with a package manager's capabilities, and the network."""
    sandbox = bwrap.Bwrap(
        bwrap.bwrap_path(),
        root=("--ro-bind", str(base()[0]), "/"),
        env=(("PATH", "/usr/sbin:/usr/bin:/sbin:/bin"),),
        user_namespace=False,
        network=True,
        capabilities=PACKAGE_MANAGER,
    )
    return sandbox.run(*argv)


PLACES = {"cell": in_cell, "image": in_image}
"""What is not a runner but has the same limits."""


@contextmanager
def attack_session(folder: Path, runner: str) -> Iterator[AttackSession]:
    """A session's folders, on a fresh store. Raises NotRun where the runner is missing."""
    if why := lacking(runner):
        raise NotRun(why)
    os.environ["CAMPAIGN_SECRET"] = NONCE
    for name in ("need", "out", "build", "upper", "work"):
        (folder / name).mkdir()
    (folder / "need" / "file").write_text("as it was\n")
    store = Store(folder / "store", new_run_id())
    try:
        yield AttackSession(folder, runner, store)
    finally:
        store.close()
