"""bubblewrap's command line: what every sandbox of this program has, and the parts in which they differ.

Every sandbox has process, IPC, host name and control group namespaces of its own, a private /dev, /proc and /tmp, and
an empty environment. It has no network unless it is asked for, and no capability but those named. It ends with the
process that started it.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass

from stackbuild.core.errors import MachineLacks

INSTALL = "apt-get install bubblewrap"
_NAMESPACES = ("--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--hostname", "stackbuild")
_KERNEL_FOLDERS = ("sys", "fs", "acpi", "scsi")
"""Folders of /proc with settings that user 0 may write without any capability. bwrap makes read-only only what
access(2) calls writable, and for /proc/sys itself it never does."""


def installed(why: str = "", instead: str = "") -> str:
    """The path of bwrap. Raises MachineLacks where there is none, with `why` it is needed and what to do `instead`."""
    path = shutil.which("bwrap")
    if path is None:
        raise MachineLacks(f"`bwrap` is not installed{why}", next=f"{INSTALL}{instead}")
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
    terminal: bool = False
    """Keep the caller's terminal; without it the command is in a session of its own and cannot type into it."""
    capabilities: tuple[str, ...] = ()
    options: tuple[str, ...] = ()

    def command(self, *argv: str) -> list[str]:
        """The whole argument list that runs `argv` in the sandbox."""
        return [
            *(self.path, *self.options, *_NAMESPACES, "--die-with-parent", "--clearenv", "--cap-drop", "ALL"),
            *(word for name in self.capabilities for word in ("--cap-add", name)),
            *(["--unshare-user-try"] if self.user_namespace else []),
            *([] if self.network else ["--unshare-net"]),
            *([] if self.terminal else ["--new-session"]),
            *(*self.root, "--dev", "/dev", "--proc", "/proc", *_read_only_settings(), "--tmpfs", "/tmp", *self.mounts),
            *(word for name, value in self.env for word in ("--setenv", name, value)),
            *("--chdir", self.cwd, "--", *argv),
        ]


def _read_only_settings() -> list[str]:
    """Makes the kernel's settings in /proc read-only for user 0; nobody else may write them."""
    if os.geteuid() != 0:
        return []
    return [w for name in _KERNEL_FOLDERS for w in ("--ro-bind-try", f"/proc/{name}", f"/proc/{name}")]
