"""A guard outside every sandbox: one small shell that ends their process groups when this process is gone.

The kernel ends bubblewrap with its parent (`--die-with-parent`), but not the process that bubblewrap has just made and
not yet let go: that one waits for a parent that is dead. It is still in bubblewrap's process group. The guard holds one
end of a pipe, and this process the other one: however this process dies, the guard sees the end of the pipe.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import subprocess
import threading
from collections.abc import Iterator

GUARD = """\
trap '' HUP INT TERM
groups=' '
while read -r sign group; do
  case $sign in
    +) groups="$groups$group " ;;
    -) groups="${groups%% $group *} ${groups#* $group }" ;;
  esac
done
for group in $groups; do kill -s KILL -- "-$group"; done
"""
"""Run by sh: reads `+ GROUP` and `- GROUP`, and at the end of its input ends the groups that are left."""

_lock = threading.Lock()
_groups: set[int] = set()
_guard: subprocess.Popen[bytes] | None = None


@contextlib.contextmanager
def guard_group(group: int) -> Iterator[None]:
    """Within, that process group ends with this process. Leave it once the group has ended: its number is used again."""
    with _lock:
        _groups.add(group)
        _tell(f"+ {group}\n")
    try:
        yield
    finally:
        with _lock:
            _groups.discard(group)
            _tell(f"- {group}\n")


def _tell(line: str) -> None:
    """One line to the guard. Where there is none, or somebody has ended it, a new one gets all groups."""
    global _guard
    if _guard is not None:
        assert _guard.stdin is not None
        try:
            os.write(_guard.stdin.fileno(), line.encode())
            return
        except BrokenPipeError:
            _dismiss()
    _guard = subprocess.Popen(
        ("/bin/sh", "-c", GUARD), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True, cwd="/", env={},
    )  # fmt: skip
    assert _guard.stdin is not None
    os.write(_guard.stdin.fileno(), "".join(f"+ {group}\n" for group in sorted(_groups)).encode())


@atexit.register
def _dismiss() -> None:
    """Let the guard go, and wait for its end."""
    global _guard
    guard, _guard = _guard, None
    if guard is not None:
        assert guard.stdin is not None
        guard.stdin.close()
        guard.wait()


def _forget() -> None:
    """In a forked child: the guard is the parent's, who would not be missed while its pipe is open here."""
    global _guard, _lock
    _lock = threading.Lock()
    guard, _guard = _guard, None
    _groups.clear()
    if guard is not None:
        assert guard.stdin is not None
        guard.stdin.close()
        guard.returncode = 0  # it is not this process's child


os.register_at_fork(after_in_child=_forget)
