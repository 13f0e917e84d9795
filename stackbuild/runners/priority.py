"""The priority of what runs in a session of its own.

Linux shares the processors between sessions first (`autogroup`, sched(7)). A process's nice value counts in its own
session alone, and a new session begins at 0. So a build under `nice` would compile as if it had none.
"""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path

PROC = Path("/proc")
FILE = "autogroup"
"""Of a process: such as `/autogroup-20 nice 5`. A number that is written there is the nice value of its session."""


def niceness() -> int:
    """The nice value of this process, or of its session where that is higher; 0 where both are below it."""
    text = ""
    with contextlib.suppress(OSError):  # a kernel without autogroups
        text = (PROC / "self" / FILE).read_text()
    match = re.search(r" nice (\d+)$", text.strip())
    return max(os.nice(0), int(match[1]) if match else 0, 0)


def keep_niceness(pid: int) -> None:
    """Give the session of that process this process's niceness. Does nothing where that is 0, or the kernel refuses."""
    if nice_value := niceness():
        with contextlib.suppress(OSError):
            (PROC / str(pid) / FILE).write_text(str(nice_value))
