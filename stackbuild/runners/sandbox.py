"""The sandbox: bubblewrap over a root file system. No daemon; works as root and, in a user namespace, without.

Each command is one process tree: `unshare` makes a mount namespace (and, without root, a user namespace), mounts the base
read-only under an overlay, and becomes `bwrap`, which drops every capability and has no network, its own pids and the
fixed paths. When stackbuild dies, however it dies, bwrap gets SIGKILL, and its pid namespace ends with it; the mounts
were only ever visible in there.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from stackbuild.errors import MachineLacks
from stackbuild.runner import Exec, Outcome, Room, Session
from stackbuild.runners import cgroup
from stackbuild.stopper import Stopper

LAUNCH = """\
set -e
mount -t overlay overlay -o "lowerdir=$1,upperdir=$2,workdir=$3$4" "$5"
shift 5
exec "$@"
"""
"""Run by sh inside the new mount namespace: lower, upper, work, more options, mount point, then bwrap's command."""


@cache
def _tools() -> tuple[str, str]:
    """Paths of unshare and bwrap. Raises MachineLacks."""
    for tool, package in (("bwrap", "bubblewrap"), ("unshare", "util-linux")):
        if not shutil.which(tool):
            raise MachineLacks(f"`{tool}` is not installed", next=f"apt-get install {package}, or use --runner docker")
    return str(shutil.which("unshare")), str(shutil.which("bwrap"))


@dataclass(frozen=True)
class Sandbox:
    """A Runner; it keeps nothing between sessions, so there is nothing to reap."""

    name: str = "sandbox"

    @contextlib.contextmanager
    def open(self, room: Room) -> Iterator[Session]:
        _tools()
        merged = room.work.with_name("root")
        merged.mkdir(exist_ok=True)
        for mount in room.mounts:  # mount points must be there before bwrap binds onto them
            point = room.upper / mount.at.lstrip("/")
            point.parent.mkdir(parents=True, exist_ok=True)
            point.mkdir(exist_ok=True) if mount.source.is_dir() else point.touch()
        yield _SandboxSession(room)

    def revisit(self, room: Room, kept: str) -> contextlib.AbstractContextManager[Session]:
        return self.open(room)

    def reap(self) -> tuple[str, ...]:
        return ()


@dataclass(frozen=True)
class _SandboxSession:
    room: Room

    def run(self, exec: Exec, stopper: Stopper) -> Outcome:
        started = time.monotonic()
        with cgroup.limited(self.room.label, self.room.memory) as group, exec.log.open("ab") as log:
            process = subprocess.Popen(
                self._command(exec.argv, exec.env, exec.cwd),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=group.enter,
                env={},
            )
            code = stopper.wait(process)
            return Outcome(code if code >= 0 else 128 - code, time.monotonic() - started, group.ran_out())

    def enter(self, argv: tuple[str, ...], env: tuple[tuple[str, str], ...], cwd: str) -> int:
        return subprocess.run(self._command(argv, env, cwd, terminal=True), check=False).returncode

    def keep(self) -> str:
        return ""  # upper and work are kept by the store

    def _command(
        self, argv: tuple[str, ...], env: tuple[tuple[str, str], ...], cwd: str, terminal: bool = False
    ) -> list[str]:
        unshare, bwrap = _tools()
        root = os.geteuid() == 0
        room = self.room
        merged = str(room.work.with_name("root"))
        overlay = [str(room.base), str(room.upper), str(room.work), "" if root else ",userxattr", merged]
        user = [] if root else ["--user", "--map-root-user"]
        return [
            *(unshare, "--mount", *user, "--propagation", "private", "--"),
            *("/bin/sh", "-c", LAUNCH, "sh", *overlay),
            *(bwrap, "--bind", merged, "/", *_inside(room.network, terminal)),
            *(word for m in room.mounts for word in ("--bind" if m.writable else "--ro-bind", str(m.source), m.at)),
            *(word for name, value in env for word in ("--setenv", name, value)),
            *("--chdir", cwd, "--", *argv),
        ]


def _inside(network: bool, terminal: bool) -> list[str]:
    """What every sandbox has: own pids, ipc, names; /dev, /proc, /tmp; no capabilities; the caller's death is its own."""
    words = ["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--hostname", "stackbuild", "--die-with-parent"]
    words += ["--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--clearenv", "--cap-drop", "ALL"]
    return words + ([] if network else ["--unshare-net"]) + ([] if terminal else ["--new-session"])
