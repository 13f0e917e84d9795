"""Whose build tree lies in a folder: the mark that lets the next run resume in a tree whose step did not end.

A step that may be resumed is marked before its first command, so there is nothing to do when its run is killed. The
mark goes when the step fails by itself and when its output is stored, always before the tree does.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from stackbuild.core.digest import json_of

MARK = "owner.json"
REMOVED_ENDING = "//deleted"
"""How mountinfo ends the place of a folder that is no more: another's that had the same name."""
BOOT = Path("/proc/sys/kernel/random/boot_id")


def boot() -> str:
    """The id of this start of the machine (random(4))."""
    return BOOT.read_text().strip()


@dataclass(frozen=True)
class UnfinishedMark:
    """`name` is RECIPE.STEP; `inputs` the step's content key; `runner` whose processes wrote the tree.

    `boot` is the machine's boot id while the tree is as its processes left it, "" once all of it was flushed. After a
    power cut, files that were not on the disk yet are lost, and newer files may still name them.
    """

    name: str
    inputs: str
    runner: str
    boot: str

    def text(self) -> str:
        return json.dumps(asdict(self)) + "\n"

    @property
    def is_intact(self) -> bool:
        """Whether nothing of the tree can have been lost since it was written."""
        return self.boot in ("", boot())

    def names_step(self, step: str) -> bool:
        """Whether it names the step whose folder it lies in: its name becomes a folder's."""
        return self.name.endswith(f".{step}") and "/" not in self.name

    @classmethod
    def of(cls, folder: Path) -> UnfinishedMark | None:
        """The mark in a folder; None where there is none, or a broken one."""
        try:
            data = json_of((folder / MARK).read_text("utf-8"))
            mark = cls(**data)
        except (OSError, ValueError, TypeError):
            return None
        return mark if all(isinstance(value, str) for value in data.values()) else None


def is_written_to(folder: Path) -> bool:
    """Whether a process sees that folder, or one in it, through a mount of its own that it may write to.

    Sandboxes and containers do, each through mounts of their own; so does what outlived its killed run. A name is recognised
    by its last two parts: mountinfo (proc_pid_mountinfo(5)) tells places as the file system's, which need not be
    mounted at /.
    """
    for path in Path("/proc").glob("[0-9]*/mountinfo"):
        try:
            if shows_writable(path.read_text(errors="replace"), folder):
                return True
        except OSError:  # it has ended, or is another user's, who cannot write here
            continue
    return False


def shows_writable(mountinfo: str, folder: Path) -> bool:
    """Whether one of these mounts shows that folder, or one in it, and is not read-only."""
    tail = "/".join(folder.parts[-2:])
    rows = (line.split(" ") for line in mountinfo.splitlines())
    mounts = (row[3] for row in rows if row[5].startswith("rw") and not row[3].endswith(REMOVED_ENDING))
    return any(f"/{tail}/" in f"{place}/" for place in mounts)
