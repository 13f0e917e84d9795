"""A step's build tree: an empty one, or the one that an earlier run of the same step on the same inputs did not finish."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

from stackbuild.model.plan import Step
from stackbuild.store.resume_mark import UnfinishedMark, boot, is_written_to
from stackbuild.store.store import StagingFolder, Store

QUIET_SECONDS = 5.0
"""How long what a killed run had begun may take to end; it is killed with its run, so this is for a slow disk."""

WENT_DOWN = "the machine went down meanwhile, and what was not yet on the disk is lost"

MAKE = "Unix Makefiles"
"""CMake's name of that generator, as it stands in a step's commands."""

NINJA_LOGS = (".ninja_log", "*/.ninja_log")
"""Where ninja notes each command that it finished: in the build tree, or one folder below (ONNX Runtime's configuration)."""


def begin_tree(
    step: Step, trees: Mapping[str, str], staging: StagingFolder, store: Store, made_by: tuple[str, str]
) -> str:
    """Give `staging` the step's build tree; what there is to say of it, "" for nothing.

    `trees` are the needed outputs by step; `made_by` the recipe's and the runner's name. Raises OSError.
    """
    tree = staging.build / step.name
    if not is_resumable(step):
        tree.mkdir()
        return ""
    recipe, runner = made_by
    mark = UnfinishedMark(f"{recipe}.{step.name}", step.content_key(trees), runner, boot())
    why = store.resume(mark, staging, lambda folder, stored_mark: _unfit(folder, step.name, stored_mark, runner))
    if why is None:
        return f"{step.name}: resumes in the build tree its last run left"
    tree.mkdir()
    store.mark(staging, mark)
    return why and f"{step.name}: begins in an empty build tree, with what ccache has: {why}"


def is_resumable(step: Step) -> bool:
    """Whether the step is one of a build system that finds out what is left to do.

    Whatever was being written when its processes were killed may be half there. Ninja makes again what it has not noted as
    finished; make believes a file's time, and a script's commands may do a thing twice.
    """
    phases = [command.phase for command in step.commands]
    return "configure" in phases and phases[-1] != "configure" and not any(MAKE in c.argv for c in step.commands)


def _unfit(folder: Path, step: str, stored_mark: UnfinishedMark, runner: str) -> str:
    """Why the tree in that folder is not resumed, "" where it is."""
    if not stored_mark.is_intact:
        return WENT_DOWN
    if stored_mark.runner != runner:
        return f"the one its last run left is the {stored_mark.runner} runner's"
    tree = folder / "build" / step
    if tree.is_symlink() or not tree.is_dir():
        return "its last run put another thing in its place"
    if not any(log for pattern in NINJA_LOGS for log in tree.glob(pattern)):
        return "its last run had not begun to compile"
    end = time.monotonic() + QUIET_SECONDS
    while is_written_to(folder):
        if time.monotonic() > end:
            return "what a killed run began still writes to the one it left"
        time.sleep(0.05)
    return ""
