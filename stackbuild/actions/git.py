"""`git`: the files of a locked commit, from its server or from a mirror."""

from __future__ import annotations

from stackbuild.actions.job import Job
from stackbuild.actions.patching import patched
from stackbuild.sources import git
from stackbuild.sources.local import settle
from stackbuild.sources.mirror import given


def do(job: Job) -> dict[str, str]:
    """Check the commit out into `job.out`; warn of a tag that means another one now. Notes: `commit`, in full,
    and those of `patched`."""
    params = job.params
    job.stopper.check()
    commit = git.checkout(
        params["url"],
        params["ref"],
        params["commit"],
        job.out,
        submodules=params["submodules"] == "True",
        mirror=given(),
    )
    if said := git.moved(params["url"], params["ref"], commit, given()):
        job.warn(said)
    notes = patched(job)
    settle(job.out)
    return {"commit": commit, **notes}
