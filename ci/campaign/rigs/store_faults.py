"""A full disk, a broken disk, a disk that turned read-only, and one without inodes, at each write of a build."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path
from random import Random

from campaign.frame import CampaignCase, NotRun, Rig, scratch
from campaign.store_builds import BuildUser, KillPoint, after, own_user, points, run_traced

FAULTS = {
    "ENOSPC": ("mkdir", "mkdirat", "fsync", "rename", "renameat", "write", "openat"),
    "EIO": ("fsync", "rename", "renameat", "write"),
    "EROFS": ("mkdir", "mkdirat", "rename", "renameat", "write", "unlink", "unlinkat", "chmod", "fchmodat", "openat"),
}
"""Errors, and the calls that give them."""
INODES = range(20, 120, 3)
ON_A_SMALL_DISK = """
set -e
disk=$1 inodes=$2; shift 2
mount -t tmpfs -o size=64m,mode=755,nr_inodes=$inodes none "$disk"
set +e
"$@"; echo "first $?" >&2
set -e
mount -o remount,nr_inodes=0 "$disk"
"$@"; echo "second $?" >&2
"""


def cases(random: Random) -> Sequence[CampaignCase]:
    builder = own_user()
    with scratch("store-faults") as folder:
        moments = points(builder, folder, past_start=True)
    rows = [_at(builder, error, point) for error, calls in FAULTS.items() for point in moments if point[0] in calls]
    return [*rows, *(_inodes(builder, inodes) for inodes in INODES)]


def _at(builder: BuildUser, error: str, point: KillPoint) -> CampaignCase:
    call, nth = point

    def attempt(folder: Path) -> str:
        root = folder / "store"
        process = run_traced(builder, root, "-e", f"inject={call}:error={error}:when={nth}", calls=call)
        if process.returncode not in (0, 7) or "Traceback" in process.stderr:  # a hint or a clean-up may do without
            return f"exit code {process.returncode}: {process.stderr[-400:]}"
        return after(root)

    return CampaignCase(f"{error} {call} {nth}", attempt)


def _inodes(builder: BuildUser, inodes: int) -> CampaignCase:
    def attempt(folder: Path) -> str:
        if os.geteuid() != 0 or not shutil.which("unshare"):
            raise NotRun("needs root, to mount a small disk")
        disk = folder / "disk"
        disk.mkdir()
        words = [
            "unshare",
            "--mount",
            "--propagation=private",
            "sh",
            "-c",
            ON_A_SMALL_DISK,
            "sh",
            str(disk),
            str(inodes),
        ]
        process = subprocess.run(
            [*words, *builder.command(disk / "store")],
            env=dict(builder.environment), cwd="/", capture_output=True, text=True, timeout=100, check=False,
        )  # fmt: skip
        codes = dict(line.split() for line in process.stderr.splitlines() if line.startswith(("first ", "second ")))
        if codes.get("first") not in ("0", "7") or codes.get("second") != "0" or "Traceback" in process.stderr:
            return f"{codes}: {process.stderr[-400:]}"
        return ""

    return CampaignCase(f"inodes {inodes}", attempt)


RIG = Rig("store-faults", "ENOSPC, EIO, EROFS and no inodes at each write of a build", cases, needs=(), minimum=300)
