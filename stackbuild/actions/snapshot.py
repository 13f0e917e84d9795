"""`snapshot`: a local source copied into the store, so that later edits cannot slip into a build under way."""

from __future__ import annotations

import os
import shutil

from stackbuild.actions.job import Job
from stackbuild.core.copy_file import copy_file
from stackbuild.core.errors import StepFailed
from stackbuild.sources.local import TIME, LocalSource, content, files


def do(job: Job) -> dict[str, str]:
    """Copy the files that the plan saw. Raises StepFailed when they changed since."""
    name = job.step.name.removeprefix("source.")
    local = job.locals[name]
    for path in files(local):
        target = job.out / path
        target.parent.mkdir(parents=True, exist_ok=True)
        source = local.folder / path
        if source.is_symlink():
            target.symlink_to(os.readlink(source))
        else:
            copy_file(source, target)
            shutil.copymode(source, target)
            os.utime(target, (TIME, TIME))
    if content(LocalSource(job.out)) != job.params["tree"]:
        raise StepFailed(
            "the source changed while it was copied", where=str(local.folder), next="run the same command again"
        )
    return {}
