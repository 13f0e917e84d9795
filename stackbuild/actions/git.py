"""`git`: the files of a locked commit, from its server or from a mirror."""

from __future__ import annotations

import json
from dataclasses import replace

from stackbuild.actions.job import Job
from stackbuild.actions.patching import apply_patches
from stackbuild.sources import git
from stackbuild.sources.local import settle


def do(job: Job) -> dict[str, str]:
    """Check the commit out into `job.out`; warn of a tag that means another one now. Notes: `commit`, in full,
    and those of `patched`."""
    params = job.params
    job.stopper.check()
    revision = git.Revision(
        params["url"], params["ref"], params["commit"], job.mirror, tuple(json.loads(params.get("exclude", "[]")))
    )
    commit = git.checkout(revision, job.out, submodules=params["submodules"] == "True")
    if note := git.moved_tag(replace(revision, commit=commit)):
        job.warn(note)
    notes = apply_patches(job)
    settle(job.out)
    return {"commit": commit, **notes}
