"""`deps`: archives that a source's own build would download, laid out as `HOST/PATH` of each URL."""

from __future__ import annotations

from stackbuild.actions.job import Job
from stackbuild.errors import LockError
from stackbuild.fetch import Wanted, fetch, place_in
from stackbuild.mirror import given


def do(job: Job) -> dict[str, str]:
    """Fetch all into `job.out`. Raises LockError where the lock has no digest of one."""
    unknown = [url for url, digest in job.params.items() if digest == "unlocked" or url == "unlocked"]
    if unknown:
        raise LockError(
            f"the lock does not have what {job.step.name} asks for: {', '.join(unknown[:3])}",
            where=job.step.name,
            next="run `stackbuild lock` where the network or a mirror is",
        )
    for url, digest in job.params.items():
        fetch(Wanted(url, digest), place_in(job.out, url), given(), job.stopper)
    return {}
