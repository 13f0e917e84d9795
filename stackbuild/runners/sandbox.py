"""The sandbox: bubblewrap over a root file system. No daemon; works as root and, in a user namespace, without.

Each command is one process tree. `unshare` makes a mount namespace (and, without root, a user namespace), mounts the
base read-only under an overlay, and becomes `bwrap`. `bwrap` drops every capability and has no network, its own pids
and the fixed paths. When stackbuild dies, however it dies, bwrap gets SIGKILL, and its pid namespace ends with it; the
mounts were only ever visible in there.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path, PurePosixPath

from stackbuild.core.cancel import Stopper
from stackbuild.core.child_process import wait
from stackbuild.core.errors import MachineLacks, UsageError
from stackbuild.runners import bwrap, cgroup, seccomp
from stackbuild.runners.log import log_pipe
from stackbuild.runners.protocol import Exec, ExecResult, Mount, Session, SessionSpec
from stackbuild.store.disk import is_full

LAUNCH = """\
set -e
if [ "$1" ]; then [ "$1" = "$PPID" ]; else read -r go; fi
for group in $2; do echo 0 > "$group"; done
mount -t overlay overlay -o "lowerdir=$3,upperdir=$4,workdir=$5$6" "$7"
shift 7
exec "$@"
"""
"""Run by sh inside the new mount namespace, once it is let go or, on a terminal, while our pid is its parent's: that pid or
nothing, the control group's files, then lower, upper, work, more options, mount point, and bwrap's command. The overlay's
paths are relative: mount(8) has no way to write a colon or a comma in them."""
_CHILD = re.compile(rb'"child-pid": *([0-9]+)')
LOG_END = 4096
"""Bytes at the end of a log that a sandbox's own failure is read from."""
NAMESPACE_SECONDS = 1.0
"""How long what was killed may take to end; it may be in the middle of writing to a slow disk."""


@cache
def _tools() -> tuple[str, str]:
    """Paths of unshare and bwrap. Raises MachineLacks."""
    path = bwrap.bwrap_path(instead=", or use --runner docker")
    unshare = shutil.which("unshare")
    if unshare is None:
        raise MachineLacks(
            "`unshare` is not installed", next="apt-get install util-linux, or use --runner docker", topic="sandbox"
        )
    return unshare, path


@dataclass(frozen=True)
class Sandbox:
    """A Runner; all it can leave behind when killed is an empty control group."""

    name: str = "sandbox"

    @contextlib.contextmanager
    def open(self, spec: SessionSpec) -> Iterator[Session]:
        _tools()
        merged_root = spec.work.with_name("root")
        merged_root.mkdir(exist_ok=True)
        for mount in spec.mounts:  # mount points must be there before bwrap binds onto them
            make_mount_point(spec.upper, mount)
        yield _SandboxSession(spec)

    def reopen(self, spec: SessionSpec, snapshot: str) -> contextlib.AbstractContextManager[Session]:
        return self.open(spec)

    def reap(self) -> tuple[str, ...]:
        return cgroup.reap()


def make_mount_point(upper: Path, mount: Mount) -> None:
    """The folder or file in the overlay's upper layer that a mount goes onto. The layer may be one that a step left.

    No link in it is followed. Raises UsageError where the step put another thing in its way.
    """
    *above, last = PurePosixPath(mount.at).parts[1:]
    here = upper
    for name in above:
        here = _plain_folder(here / name, mount)
    if mount.source.is_dir():
        _plain_folder(here / last, mount)
    elif not os.path.lexists(here / last):
        (here / last).touch()
    elif (here / last).is_symlink() or not (here / last).is_file():
        raise _in_the_way(here / last, mount)


def _plain_folder(path: Path, mount: Mount) -> Path:
    if not os.path.lexists(path):
        path.mkdir()
    elif path.is_symlink() or not path.is_dir():
        raise _in_the_way(path, mount)
    return path


def _in_the_way(path: Path, mount: Mount) -> UsageError:
    return UsageError(
        f"the step put another thing where {mount.at} is mounted: its session cannot be opened again",
        where=str(path),
        next="look at its files there, or build the step again",
    )


@dataclass(frozen=True)
class _SandboxSession:
    spec: SessionSpec
    first_processes: list[int] = field(default_factory=list)
    """The first process of the last command's sandbox: bwrap ends a little before it does."""

    def run(self, exec: Exec, stopper: Stopper) -> ExecResult:
        start_time = time.monotonic()
        for first in self.first_processes:  # its overlay is on the folders that the next one is mounted on
            _await_end(first)
        with (
            cgroup.limits(self.spec.label, self.spec.memory, self.spec.processes) as group,
            log_pipe(exec.log) as log,
            _status_file() as status,
            cgroup.PeakMemory(group) as peak,
        ):
            with self._bwrap(exec.env, exec.cwd, ("--json-status-fd", str(status))).start(
                exec.argv,
                log,
                inside=partial(self._launch, group.entry_files),
                pass_fds=(status,),
                cwd=self._layers_folder,
                stopper=stopper,
            ) as process:
                code = wait(process, stopper)
            report = os.pread(
                status, 1 << 16, 0
            )  # `exit-code` is there when the sandbox stood and the command was begun
            first = _first_process(report)
            if first and _has_children(first):  # a command may leave some that still write to the output
                _await_end(first)
            self.first_processes[:] = [first] if first else []
            out_of_memory = group.ran_out()
        if code > 0 and not out_of_memory and b"exit-code" not in report:
            raise _not_opened(exec.log)
        return ExecResult(code if code >= 0 else 128 - code, time.monotonic() - start_time, out_of_memory, peak.bytes)

    def exec_interactive(self, argv: tuple[str, ...], env: tuple[tuple[str, str], ...], cwd: str) -> int:
        with seccomp.filter_file() as filter_file:
            command = self._launch((), self._bwrap(env, cwd).on_terminal(filter_file, *argv), str(os.getpid()))
            passed_files = (filter_file,)
            return subprocess.run(command, check=False, cwd=self._layers_folder, pass_fds=passed_files).returncode

    def snapshot(self) -> str:
        return ""  # upper and work are kept by the store

    @property
    def _layers_folder(self) -> str:
        """The folder that the overlay's paths are relative to."""
        return os.path.commonpath((self.spec.base, self.spec.work))

    def _bwrap(self, env: tuple[tuple[str, str], ...], cwd: str, options: tuple[str, ...] = ()) -> bwrap.Bwrap:
        spec = self.spec
        return bwrap.Bwrap(
            _tools()[1],
            root=("--bind", self._mount_point, "/"),
            mounts=tuple(
                w for m in spec.mounts for w in ("--bind" if m.writable else "--ro-bind", str(m.source), m.at)
            ),
            env=env,
            cwd=cwd,
            user_namespace=False,  # root keeps the machine's users; for others unshare makes one
            network=spec.network,
            processes=spec.processes,
            options=options,
        )

    @property
    def _mount_point(self) -> str:
        """Where the overlay is mounted."""
        return str(self.spec.work.with_name("root"))

    def _launch(self, entry_files: tuple[str, ...], command: list[str], parent: str = "") -> list[str]:
        """Bwrap's command, begun in a mount namespace with the overlay and in the control groups.

        It waits for a line, or begins at once where that process is its `parent`.
        """
        root = os.geteuid() == 0
        spec = self.spec
        layers = [os.path.relpath(layer, self._layers_folder) for layer in (spec.base, spec.upper, spec.work)]
        user = [] if root else ["--user", "--map-root-user"]
        return [
            *(_tools()[0], "--mount", *user, "--propagation", "private", "--"),
            *("/bin/sh", "-c", LAUNCH, "sh"),
            *(parent, " ".join(entry_files), *layers, "" if root else ",userxattr", self._mount_point),
            *command,
        ]


@contextlib.contextmanager
def _status_file() -> Iterator[int]:
    """Where bwrap writes of itself. A pipe would kill it where nobody is left to read: in the middle of its set-up."""
    file = os.memfd_create("status", os.MFD_CLOEXEC)
    try:
        yield file
    finally:
        os.close(file)


def _first_process(status: bytes) -> int:
    """The sandbox's first process by bwrap's own words, 0 where there was none."""
    match = _CHILD.search(status)
    return int(match[1]) if match else 0


def _await_end(first: int) -> None:
    """Wait until a sandbox's first process is gone, and with it all others: the kernel ends it last."""
    try:
        process = os.pidfd_open(first)
    except OSError:  # it is gone
        return
    try:
        select.select([process], [], [], NAMESPACE_SECONDS)
    finally:
        os.close(process)


def _has_children(pid: int) -> bool:
    """Whether a process has children; also where the kernel does not say. In a sandbox the first has all others below it."""
    try:
        return bool(Path(f"/proc/{pid}/task/{pid}/children").read_text())
    except OSError:
        return True


def _not_opened(log: Path) -> MachineLacks:
    """The sandbox itself could not be opened; no fault of the step. Raises OSError where the disk is full."""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - LOG_END))
        lines = file.read().decode("utf-8", "replace").splitlines()
    if any(os.strerror(errno.ENOSPC) in line for line in lines[-2:]) and is_full(log.parent):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(log))
    return MachineLacks(
        f"the sandbox could not be opened: {lines[-1] if lines else 'it said nothing'}",
        where=str(log),
        next="overlay mounts and namespaces are needed (not inside an unprivileged container); or use --runner docker",
        topic="sandbox",
    )
