"""Runs a command in a root file system other than the machine's, by bwrap."""

from __future__ import annotations

import subprocess
from pathlib import Path

LIMIT = 240
"""Seconds that a command may take."""


def run_in_root(
    root: Path, mounts: dict[Path, str], words: list[str], folder: str = "/", out: Path | None = None
) -> tuple[int, str]:
    """Exit code and output (stdout, then stderr) of a command in `root`, with `folder` as its current one.

    Each key of `mounts` is a folder of this machine and its value a path below /mnt, where it lies read-only. /tmp and
    /mnt are empty otherwise; `out` lies at /mnt/out and can be written. A command that takes longer than LIMIT has exit code 124 and one line of output.
    """
    argv = [
        "bwrap",
        "--ro-bind",
        str(root),
        "/",
        "--dev",
        "/dev",
        "--proc",
        "/proc",
        "--tmpfs",
        "/tmp",
        "--tmpfs",
        "/mnt",
    ]
    for source, place in mounts.items():
        argv += ["--ro-bind", str(source), place]
    if out is not None:
        argv += ["--bind", str(out), "/mnt/out"]
    try:
        done = subprocess.run([*argv, "--chdir", folder, *words], capture_output=True, check=False, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        return 124, f"error: took longer than {LIMIT} s"
    return done.returncode, (done.stdout + done.stderr).decode("utf-8", "replace")
