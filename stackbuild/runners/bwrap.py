"""bubblewrap's command line: what every sandbox of this program has, and the parts in which they differ.

Every sandbox has process, IPC, host name and control group namespaces of its own, a private /dev, /proc and /tmp, and
an empty environment. It has no network unless it is asked for, no capability but those named, and the system calls that
`runners/seccomp` allows. It ends with the process that started it.

bubblewrap binds a sandbox to its parent's life (`--die-with-parent`) only while it sets it up: a parent killed in those
milliseconds would leave it running. So bubblewrap begins once the guard knows of it (`runners/guard`), and the
sandbox's first process asks before it begins the command. Nobody answers for the dead: the sandbox ends.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import socket
import subprocess
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from stackbuild.core.cancel import Stopper
from stackbuild.core.errors import MachineLacks
from stackbuild.core.root_path import path_inside
from stackbuild.runners import guard, seccomp
from stackbuild.runners.priority import niceness
from stackbuild.runners.protocol import MOST_PROCESSES

INSTALL = "apt-get install bubblewrap"
_NAMESPACES = ("--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--hostname", "stackbuild")
GO = """\
read -r go || exit 1
exec "$@"
"""
"""Run by sh outside of the sandbox: bubblewrap, once it is let go."""
BEGIN = """\
echo >&0 && read -r go || exit 1
ulimit -u "$1" 2>/dev/null || ulimit -p "$1" 2>/dev/null
[ "$2" = 0 ] || echo "$2" 2>/dev/null > /proc/self/autogroup
shift 2
"$@" </dev/null
exit $?
"""
"""The first process of a sandbox, run by its sh: asks on its input, and waits for the answer; at most so many processes
(bash and dash name the limit differently; the kernel does not hold root to it); the caller's niceness for the sandbox's
session (the kernel takes ten such values a second, and a sandbox does not wait for that); then the command. One that is
not there is exit code 127, and not bwrap's failure."""
_KERNEL_FOLDERS = ("driver", "sys", "fs", "acpi", "scsi", "pressure")
"""Folders of /proc with settings that user 0 may write without any capability. bwrap makes read-only only what
access(2) calls writable, and for /proc/sys itself it never does."""


def bwrap_path(why: str = "", instead: str = "") -> str:
    """The path of bwrap. Raises MachineLacks where there is none, with `why` it is needed and what to do `instead`."""
    path = shutil.which("bwrap")
    if path is None:
        raise MachineLacks(f"`bwrap` is not installed{why}", next=f"{INSTALL}{instead}", topic="sandbox")
    return path


@dataclass(frozen=True)
class Bwrap:
    """One call of bwrap at `path`. `root` are the options that mount `/`, `mounts` those that mount more, in this
    order."""

    path: str
    root: tuple[str, ...]
    mounts: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    cwd: str = "/"
    user_namespace: bool = True
    """Off where the caller has made one, or wants the users of the machine."""
    network: bool = False
    capabilities: tuple[str, ...] = ()
    processes: int = MOST_PROCESSES
    options: tuple[str, ...] = ()

    def on_terminal(self, filter_file: int, *argv: str) -> list[str]:
        """The argument list that runs `argv` in the sandbox on the caller's terminal.

        `filter_file` is a descriptor of `seccomp.filter_file`, to be passed on. It keeps the command from typing into the
        terminal.
        """
        return self._words(filter_file, argv)

    @contextlib.contextmanager
    def start(
        self,
        argv: Sequence[str],
        output: IO[bytes] | int,
        *,
        inside: Callable[[list[str]], list[str]] = lambda command: ["/bin/sh", "-c", GO, "sh", *command],
        pass_fds: tuple[int, ...] = (),
        cwd: str | Path | None = None,
        preexec: Callable[[], None] | None = None,
        stopper: Stopper | None = None,
        seconds: float | None = None,
    ) -> Iterator[subprocess.Popen[bytes]]:
        """Start `argv` in the sandbox, in a session of its own, with what it prints going to `output`.

        `inside` wraps the command line into another one that reads a line from its input and then becomes it; `pass_fds`
        are handed on. The thread that calls this must live as long as the sandbox: the kernel takes its end for the
        parent's. Begins once the command does, the sandbox could not be opened, the run is being stopped, or after
        `seconds`. Whoever calls this waits for the process or ends it within. Raises MachineLacks.
        """
        first = ("/bin/sh", "-c", BEGIN, "sh", str(self.processes), str(niceness()))
        ours, theirs = socket.socketpair()
        with contextlib.ExitStack() as guards:
            with ours, seccomp.filter_file() as filter_file:
                with theirs:
                    words = self._words(filter_file, (*first, *argv), ("--as-pid-1", "--new-session"))
                    process = subprocess.Popen(
                        inside(words),
                        stdin=theirs.fileno(),
                        stdout=output,
                        stderr=subprocess.STDOUT,
                        start_new_session=True,
                        pass_fds=(*pass_fds, filter_file),
                        cwd=cwd,
                        preexec_fn=preexec,
                        env={},
                    )
                guards.enter_context(guard.guard_group(process.pid))
                _let_go(ours)
                _answer(ours, stopper, seconds)
            yield process

    def run(self, *argv: str) -> tuple[int, str]:
        """Run `argv` in the sandbox: its exit code, and what it printed."""
        with self.start(argv, subprocess.PIPE) as process:
            output, _ = process.communicate()
        return process.returncode, output.decode("utf-8", "replace")

    def _words(self, filter_file: int, argv: Sequence[str], options: tuple[str, ...] = ()) -> list[str]:
        return [
            *(
                self.path,
                *self.options,
                *options,
                "--seccomp",
                str(filter_file),
                *_NAMESPACES,
                "--die-with-parent",
                "--clearenv",
                "--cap-drop",
                "ALL",
            ),
            *(word for name in self.capabilities for word in ("--cap-add", name)),
            *(["--unshare-user-try"] if self.user_namespace else []),
            *([] if self.network else ["--unshare-net"]),
            *(*self.root, "--dev", "/dev", "--proc", "/proc", *_read_only_settings(), "--tmpfs", "/tmp", *self.mounts),
            *(word for name, value in self.env for word in ("--setenv", name, value)),
            *("--chdir", self.cwd, "--", *argv),
        ]


def root_mounts(root: Path, folders: Iterable[str], settings: Iterable[str]) -> tuple[str, ...]:
    """bubblewrap's words for parts of a root file system, read-only: folders at its top, and files below /etc.

    A link at the top is made anew in the sandbox. Below /etc bubblewrap would follow links on this machine: it is given the
    place that they lead to inside the root.
    """
    words: list[str] = []
    for name in folders:
        path = root / name
        if path.is_symlink():
            words += ["--symlink", os.readlink(path), f"/{name}"]
        elif path.exists():
            words += ["--ro-bind", str(path), f"/{name}"]
    for name in (f"etc/{name}" for name in settings):
        if place := path_inside(root, name):
            words += ["--ro-bind", str(place), f"/{name}"]
    return tuple(words)


def _let_go(ours: socket.socket) -> None:
    with contextlib.suppress(ConnectionError):
        ours.send(b"\n")


def _answer(ours: socket.socket, stopper: Stopper | None, seconds: float | None) -> None:
    """Answer a sandbox when it asks; end of file where it could not be opened."""
    connection, stop_fds = ours.fileno(), [stopper.fileno()] if stopper else []
    ready, _, _ = select.select([connection, *stop_fds], [], [], seconds)
    with contextlib.suppress(ConnectionError):
        if connection in ready and ours.recv(1):
            _let_go(ours)


def _read_only_settings() -> list[str]:
    """Makes the kernel's settings in /proc read-only for user 0; nobody else may write them."""
    if os.geteuid() != 0:
        return []
    return [w for name in _KERNEL_FOLDERS for w in ("--ro-bind-try", f"/proc/{name}", f"/proc/{name}")]
